"""Files like those of the BART museum and robots, written here: what is animated triangle by triangle, and what hangs
deep in transforms whose tracks have all the flaws that such files have."""

import math
from itertools import pairwise, product

import numpy as np
import pytest

from scenes import Scene, load

# --- a hall with a sculpture of animated triangles and reflecting pillars ---------------------------------------------

COLUMNS, ROWS, POLYGONS = 100, 50, 142
STATIC = 2 * COLUMNS * ROWS + 2 * POLYGONS
ANIMATED, PILLARS = 1_024, 8
KEY_TIMES = (0.0, 1.0, 2.0, 3.0, 4.0)
ORIGINS = np.array([(x, y, 0.0) for x, y in product(range(32), range(32))]) * 0.25
CORNERS = np.array([(0.0, 0.0, 0.0), (0.125, 0.0, 0.0), (0.0, 0.125, 0.0)])
PLACES = [(x, z) for x in (-6.0, 6.0) for z in (-6.0, -2.0, 2.0, 6.0)]


def corners_at(key: int) -> np.ndarray:
    """(n, 3, 3) the animated triangles at a key, each flying its own way; every number is exact in float32."""
    number = np.arange(ANIMATED)
    way = np.stack([number % 5 - 2, number % 3, number % 7 - 3], axis=-1) * 0.5
    return ORIGINS[:, None] + CORNERS + (way * (0, 1, 4, 2, 0)[key])[:, None]


def animated_triangle(index: int) -> str:
    """A tpa whose normals are short and lean at all keys but the fourth."""
    rows = []
    for key, time in enumerate(KEY_TIMES):
        normal = "0 0 1" if key == 3 else "0 .6e-5 .8e-5"
        rows.append(f"{time:g} " + " ".join(f"{x} {y} {z} {normal}" for x, y, z in corners_at(key)[index]))
    return f"tpa {len(KEY_TIMES)}\n" + "\n".join(rows) + "\n"


def floor_mesh() -> str:
    """A grid of triangles at y = 0."""
    vertices = "\n".join(f"{x * 0.25} 0 {z * 0.25}" for z in range(ROWS + 1) for x in range(COLUMNS + 1))
    triangles = []
    for z, x in product(range(ROWS), range(COLUMNS)):
        a, b = z * (COLUMNS + 1) + x, (z + 1) * (COLUMNS + 1) + x
        triangles += [f"{a} {b} {b + 1}", f"{a} {b + 1} {a + 1}"]
    counts = (ROWS + 1) * (COLUMNS + 1), 2 * ROWS * COLUMNS
    return f"m vertices {counts[0]}\n{vertices}\ntriangles {counts[1]}\n" + "\n".join(triangles) + "\n"


MATERIAL = "fm 0 0 0 .5 .5 .5 .3 .3 .3 60 0 0\n"
WALL = "".join(f"p 4 {x} 0 9 {x + 1} 0 9 {x + 1} 4 9 {x} 4 9\n" for x in range(POLYGONS))
CYLINDERS = "".join(f"c {x} 0 {z} 0.5 {x} 5 {z} 0.5\n" for x, z in PLACES)
CAMERA = "v from 0 2 8 at 0 2 0 up 0 1 0 angle 45 hither 0.01 resolution 800 600\n"


@pytest.fixture(scope="module")
def museum(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("museum")
    includes = {
        "mirror.aff": "fm 0 0 0 .1 .1 .1 .8 .8 .8 100 0 0\n",
        "hall.aff": MATERIAL + floor_mesh() + WALL,
        "sculpture.aff": "".join(animated_triangle(index) for index in range(ANIMATED)),
        "camera.aff": CAMERA,
    }
    for name, text in includes.items():
        (folder / name).write_text(text)
    lines = [
        "# a hall",
        "a -1 5 300",
        "i 0 hall.aff",
        "i 0 sculpture.aff",
        "i 0 mirror.aff",
        CYLINDERS,
        "l 0 4 0 1 1 1",
    ]
    (folder / "museum.aff").write_text("\n".join([*lines, "i 0 camera.aff"]))
    return load(folder / "museum.aff")


def test_triangles_of_the_museum_file(museum):
    assert STATIC == 10_284
    assert len(museum.at(0.5).positions) == STATIC + ANIMATED + museum.document.fineness.triangles
    assert museum.document.fineness.shapes == PILLARS
    assert museum.moving_triangles == ANIMATED
    assert (museum.animation.start, museum.animation.end, museum.animation.frames) == (-1.0, 5.0, 300)
    assert museum.at(0.0).camera.eye == (0.0, 2.0, 8.0)


def test_only_the_animated_triangles_move(museum):
    first, later = museum.at(0.0).positions, museum.at(2.0).positions
    moved = (first != later).any(axis=(1, 2))
    flying = (corners_at(0) != corners_at(2)).any(axis=(1, 2))
    assert moved[STATIC : STATIC + ANIMATED].tolist() == flying.tolist()
    assert flying.sum() > 0.98 * ANIMATED
    assert not moved[:STATIC].any()
    assert not moved[STATIC + ANIMATED :].any()


def test_animated_triangles_are_where_the_file_says(museum):
    def sculpture(time: float) -> np.ndarray:
        return museum.at(time).positions[STATIC : STATIC + ANIMATED]

    for key, time in enumerate(KEY_TIMES):
        assert np.array_equal(sculpture(time), corners_at(key))
    for key, (start, end) in enumerate(pairwise(KEY_TIMES)):
        assert np.array_equal(sculpture((start + end) / 2.0), (corners_at(key) + corners_at(key + 1)) / 2.0)
    assert np.array_equal(sculpture(-1.0), corners_at(0))
    assert np.array_equal(sculpture(5.0), corners_at(4))


def test_normals_of_animated_triangles_have_unit_length_whatever_the_files(museum):
    for time, normal in ((0.5, (0.0, 0.6, 0.8)), (2.5, (0.0, 0.3, 0.9)), (3.0, (0.0, 0.0, 1.0))):
        normals = museum.at(time).normals[STATIC : STATIC + ANIMATED]
        assert np.allclose(normals, normal / np.linalg.norm(normal), atol=1e-6)


def test_pillars_stand_in_their_places_and_reflect(museum):
    picture = museum.at(0.0)
    corners = picture.positions[STATIC + ANIMATED :].reshape(-1, 3)
    nearest = np.hypot(*(corners[:, None, ::2] - np.array(PLACES)).transpose(2, 0, 1))
    assert set(nearest.argmin(axis=1).tolist()) == set(range(PILLARS))
    assert np.allclose(nearest.min(axis=1), 0.5, atol=1e-6)
    assert set(corners[:, 1].tolist()) == {0.0, 5.0}
    material = picture.materials[picture.material_ids[-1]]
    assert (material.specular, material.exponent) == ((0.8, 0.8, 0.8), 100.0)
    assert picture.materials[picture.material_ids[STATIC]].specular == (0.3, 0.3, 0.3)


# --- ten hierarchies of fifteen transforms ----------------------------------------------------------------------------

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
