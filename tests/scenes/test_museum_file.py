"""A file like that of the BART robots, written here: what hangs
deep in transforms whose tracks have all the flaws that such files have."""

import math

import numpy as np
import pytest

from scenes import Scene, load

HIERARCHIES, DEPTH = 10, 15
#: Doubled at both ends and between, and once out of order.
TIMES = (0.0, 0.0, 2.0, 3.5, 3.5, 3.5, 6.0, 4.2, 8.0, 10.0, 10.0)
AXES = ((0.76, -0.62, -0.445), (0.0, 0.95, 0.2), (30.0, 0.0, 4.0))
TRIANGLE = "pp 3 0 0 0 0 0 1  1 0 0 0 0 1  0 1 0 0 0 1\n"


def keys(name: str, seed: int) -> str:
    """Keyframes of shifts, turns and scales at `TIMES`."""
    random = np.random.default_rng(seed)
    count = len(TIMES)
    axis = "{} {} {}".format(*AXES[seed % len(AXES)])
    shifts = "\n".join("{} {} {} {} 0 0 0".format(t, *random.normal(size=3)) for t in TIMES)
    turns = "\n".join(f"{t} {axis} {random.uniform(-400.0, 400.0)} 0 .5 -.3" for t in TIMES)
    sizes = "\n".join("{} {} {} {} 0 0 0".format(t, *random.uniform(0.8, 1.25, 3)) for t in TIMES)
    return f"k {name} {{ transl {count}\n{shifts}\nrot {count}\n{turns}\nscale {count}\n{sizes}\n}}\n"


def hierarchy(number: int) -> str:
    """Fixed transforms and named ones in turn; a third of the names have no keyframes, or some that none uses."""
    opened, tracks = "", keys(f"unused{number}", number)
    for level in range(DEPTH):
        name = f"h{number}_{level}"
        if level % 2:
            opened += f"xs 1 {1.0 + 0.01 * number} 1  .6 0 .8 {7 * level}  .1 0 -.1 {{\n"
        else:
            opened += f"x {name} {{\n"
            tracks += keys(name, 100 * number + level) if level % 6 else ""
    return opened + TRIANGLE + "}" * DEPTH + "\n" + tracks


def two_keys(kind: str, start: str, end: str) -> str:
    """An even motion from time 0 to 10, its first and last key doubled."""
    rows = "\n".join(f"{time} {value} 0 0 0" for time, value in ((0, start), (0, start), (10, end), (10, end)))
    return f"{kind} 4\n{rows}\n"


KNOWN = (
    "x drive { xs 2 2 2 0 1 0 0 0 0 0 { x nobody { x turn { xs 1 1 1 0 0 1 180 0 1 0 {\n"
    + "x bend {" * 5
    + "xs 1 1 1 1 0 0 0 .2 0 0 {" * 5
    + TRIANGLE
    + "}" * DEPTH
    + "\nk drive {"
    + two_keys("transl", "0 0 0", "10 0 0")
    + "}\nk turn {"
    + two_keys("rot", "0 0 5 0", "0 0 5 90")
    + "}\nk bend {"
    + two_keys("rot", "0 .1 0 36", "0 .1 0 36")
    + "}\n"
)


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    path = tmp_path_factory.mktemp("deep") / "deep.aff"
    path.write_text("a 0 10 250\n" + KNOWN + "".join(hierarchy(number) for number in range(1, HIERARCHIES)))
    return load(path)


def test_ten_hierarchies_fifteen_deep(deep):
    assert [part.transform.depth for part in deep.document.parts] == [DEPTH] * HIERARCHIES
    assert deep.moving_triangles == HIERARCHIES
    used = set()
    for part in deep.document.parts:
        transform = part.transform
        while transform is not None:
            used |= {transform.track} - {""}
            transform = transform.parent
    assert len(used - set(deep.document.tracks)) == 1 + 3 * (HIERARCHIES - 1)


def test_flawed_tracks_give_numbers_at_all_times(deep):
    times = np.unique([*np.linspace(-2.0, 12.0, 180), *TIMES, *np.nextafter(TIMES, 99.0), *np.nextafter(TIMES, -9.0)])
    assert len(times) >= 200
    seen = []
    for time in times.tolist():
        picture = deep.at(time)
        assert np.isfinite(picture.positions).all()
        assert np.allclose(np.linalg.norm(picture.normals, axis=-1), 1.0, atol=1e-5)
        seen.append(picture.positions)
    moving = np.ptp(np.array(seen), axis=0).max(axis=(1, 2))
    assert (moving > 0.1).all()
    assert np.array_equal(deep.at(-2.0).positions, deep.at(0.0).positions)
    assert np.array_equal(deep.at(12.0).positions, deep.at(10.0).positions)


@pytest.mark.parametrize("time", [-1.0, 0.0, 2.5, 5.0, 10.0, 11.0])
def test_a_position_computed_by_hand(deep, time):
    """Five shifts of 0.2; half a turn about y in five; half a turn about z and a shift up; a turn about z that grows;
    twice the size; a shift that grows."""
    share = min(max(time / 10.0, 0.0), 1.0)
    angle = 0.5 * math.pi * share
    right, up = np.array([math.cos(angle), math.sin(angle), 0.0]), np.array([-math.sin(angle), math.cos(angle), 0.0])
    corner = right + up
    expected = [10.0 * share, 0.0, 0.0] + 2.0 * np.array([corner, corner + right, corner - up])
    picture = deep.at(time)
    assert np.allclose(picture.positions[0], expected, atol=1e-5)
    assert np.allclose(picture.normals[0], (0.0, 0.0, -1.0), atol=1e-5)
