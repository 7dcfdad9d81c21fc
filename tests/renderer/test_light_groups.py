"""Light groups: what of a picture comes from which lamp."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from command_line import run
from driver_passes import opened, passes, z_scores
from small_scenes import FURNACE, closed_box, flat_snapshot, furnace

import renderer
from renderer.drivers import DRIVERS
from renderer.errors import UsageError
from renderer.film.film import Film
from renderer.film.layers import LAYER_BEAUTY, LAYER_BIAS, LAYER_END, columns_of
from renderer.film.picture_file import read_picture
from renderer.scene.light_groups import MOST_GROUPS, REST, group_names, plain_name
from renderer.settings.picture import Settings
from scenes import from_tables
from scenes.lights import PointLight

GROUPED = sorted(name for name, driver in DRIVERS.items() if driver.has_light_groups)
SMALL = {"width": 16, "height": 12, "photons": 4000, "max_bounces": 6}


def rectangle(material, corner, *edges):
    return {"shape": "rectangle", "material": material, "corner": corner, "edges": edges}


def room_of_lamps():
    """A corner with a mirror and a glass ball, in the light of lamps of all kinds, of which one is black; and what is
    seen alone. The mirror shows the panel."""
    glow = [0.5, 4.0, 12.0]
    return from_tables(
        {
            "scene": {"background": [0.05, 0.02, 0.02]},
            "materials": {
                "white": {"diffuse": 0.7},
                "coat": {"kind": "plastic", "diffuse": 0.4},
                "mirror": {"kind": "mirror", "specular": 0.9},
                "glass": {"kind": "dielectric"},
                "panel": {"diffuse": 0.0, "emission": glow},
                "tube": {"diffuse": 0.2, "emission": [3.0, 0.5, 2.0], "group": "neon"},
                "view": {"diffuse": 0.0, "backdrop": [0.1, 0.3, 0.2]},
            },
            "object": [
                rectangle("white", [-2, 0, -2], [0, 0, 4], [4, 0, 0]),
                rectangle("coat", [-2, 0, -2], [4, 0, 0], [0, 2, 0]),
                rectangle("view", [-2, 2, -2], [4, 0, 0], [0, 1, 0]),
                rectangle("mirror", [2, 0, -2], [0, 0, 3], [0, 2, 0]),
                rectangle("panel", [-1.6, 2.2, -0.4], [0.8, 0, 0], [0, 0, 0.8]),
                rectangle("tube", [-1.2, 0.3, -1.5], [0.4, 0, 0], [0, 0.6, 0]),
                {"shape": "sphere", "material": "glass", "center": [0.3, 0.5, 0.3], "radius": 0.5},
            ],
            "light": [
                {"position": [1.2, 2.0, 1.0], "intensity": [14, 6, 1.5], "group": "key"},
                {"position": [-1.2, 2.0, 1.0], "intensity": 0.0, "group": "broken"},
                {"kind": "spot", "position": [0, 2.5, 1], "direction": [0, -1, 0], "intensity": 3.0},
                {"kind": "distant", "direction": [-1, -2, -1], "irradiance": [0.6, 0.6, 0.2], "angular_radius": 6},
                {"position": [0, 1.5, 1.5], "intensity": [0.5, 0.5, 0.9], "group": "neon"},
            ],
            "environment": {"color": [0.05, 0.08, 0.06]},
            "cameras": {"front": {"eye": [0, 1.7, 5], "target": [0, 0.9, 0], "resolution": [16, 12]}},
        }
    )


NAMES = ("key", "broken", "light3", "light4", "neon", "environment", "panel", "background")


@cache
def lamps():
    return room_of_lamps().at(0.0)


def grouped(snapshot, driver, count, **settings):
    """(count, height, width, columns) passes with light groups, and (count, height, width, groups, 3) these alone."""
    made = passes(snapshot, driver, count, light_groups=len(group_names(snapshot)), **settings)
    return made, made[..., LAYER_END:].reshape(*made.shape[:3], -1, 3)


def pictures(snapshot, driver, numbers, **settings):
    """(n, height, width, columns) pictures with random numbers of their own, by which photons of one map differ too."""
    if driver == "photons-only":
        return np.concatenate([passes(snapshot, driver, 1, seed=number, **settings) for number in numbers])
    return passes(snapshot, driver, len(numbers), seed=numbers[0], **settings)


def alone(snapshot, group):
    """The scene with no light but that of a group."""
    shown = [light for light, own in zip(snapshot.lights, snapshot.light_groups, strict=True) if own == group]
    dark = {"emission": (0.0, 0.0, 0.0), "backdrop": (0.0, 0.0, 0.0)}
    materials = [one if group in (one.group, one.name) else replace(one, **dark) for one in snapshot.materials]
    return replace(
        snapshot,
        lights=tuple(shown),
        materials=tuple(materials),
        environment=snapshot.environment if group == "environment" else None,
        background=(0.0, 0.0, 0.0),
    )


def test_names_are_those_of_the_scene():
    assert group_names(lamps()) == NAMES


@pytest.mark.parametrize("driver", GROUPED)
def test_groups_add_up_to_the_picture(driver):
    """Which is the same without them; nothing is negative, and a lamp that is black lights nothing."""
    made, groups = grouped(lamps(), driver, 2, **SMALL)
    beauty = made[..., LAYER_BEAUTY:LAYER_BIAS]
    np.testing.assert_array_equal(beauty, passes(lamps(), driver, 2, **SMALL))
    np.testing.assert_allclose(groups.sum(axis=3), beauty, rtol=2e-6, atol=1e-9)
    assert (groups >= 0.0).all()
    is_lit = groups.any(axis=(0, 1, 2, 4))
    assert dict(zip(NAMES, is_lit, strict=True)) == {name: name != "broken" for name in NAMES}


@pytest.mark.parametrize("driver", GROUPED)
def test_a_group_is_the_picture_of_its_lamps_alone(driver):
    settings = SMALL | {"photons": 20_000, "radius": 0.1, "max_bounces": 4}
    made = pictures(lamps(), driver, range(24), **settings, light_groups=len(NAMES))[..., LAYER_END:].mean(axis=(1, 2))
    for number, group in enumerate(NAMES):
        if group not in ("broken", "background"):
            judge = pictures(alone(lamps(), group), driver, range(24, 48), **settings).mean(axis=(1, 2))
            own = made[:, 3 * number : 3 * number + 3]
            assert np.abs(z_scores(own, judge, 0.01)).max() < 4.5, group


def test_what_is_seen_alone_is_background():
    """The view on the wall, and what nothing covers."""
    groups = grouped(lamps(), "whitted", 1, **SMALL)[1][0, :, :, NAMES.index("background")]
    seen = np.unique(np.round(groups[:4].reshape(-1, 3), 6), axis=0)
    assert [0.05, 0.02, 0.02] in seen.tolist()
    assert [0.1, 0.3, 0.2] in seen.tolist()


@pytest.mark.parametrize("driver", ["path", "photon"])
def test_the_group_of_a_furnace_is_one_and_that_of_a_black_lamp_is_nothing(driver):
    lamp = PointLight(position=(0.5, 0.7, 0.4), intensity=(0.0, 0.0, 0.0))
    walls = replace(FURNACE, name="walls")
    snapshot = flat_snapshot(closed_box(), [walls], lights=[lamp], camera=furnace().camera)
    assert group_names(snapshot) == ("light1", "walls")
    made, groups = grouped(snapshot, driver, 64, **SMALL | {"max_bounces": 64, "radius": 0.1})
    assert not groups[..., 0, :].any()
    np.testing.assert_allclose(groups[..., 1, :], made[..., LAYER_BEAUTY:LAYER_BIAS], rtol=2e-6)
    z = z_scores(groups[..., 1, :].mean(axis=(1, 2)), np.ones(3), 0.02)
    assert np.abs(z).max() < 4.0


def test_names_that_no_layer_can_have():
    assert plain_name("Lamp.001 é") == "Lamp_001__"
    assert plain_name("") == REST
    many = replace(lamps(), light_groups=tuple(f"lamp {n}" for n in range(99)))
    names = group_names(many)
    assert len(names) == MOST_GROUPS
    assert names[0] == "lamp_0"
    assert names[-1] == REST
    made, groups = grouped(many, "whitted", 1, **SMALL)
    np.testing.assert_allclose(groups.sum(axis=3), made[..., LAYER_BEAUTY:LAYER_BIAS], rtol=2e-6, atol=1e-9)
    assert groups[..., -1, :].any()  # of the panel, which comes behind all lights


def test_a_lamp_that_is_hidden_keeps_its_layer():
    tables = {
        "materials": {"white": {}},
        "object": [rectangle("white", [-1, 0, -1], [0, 0, 2], [2, 0, 0])],
        "tracks": {"blink": {"visible": [{"time": 1, "value": False}]}},
        "group": [{"name": "off", "track": "blink"}],
        "light": [
            {"position": [0, 1, 0], "intensity": [1, 0, 0], "parent": "off"},
            {"position": [0, 1, 0], "intensity": [0, 1, 0]},
        ],
        "animation": {"end": 2.0, "frames": 3},
        "cameras": {"front": {"eye": [0, 3, 0.1], "target": [0, 0, 0]}},
    }
    scene = from_tables(tables)
    shown, hidden = scene.at(0.0), scene.at(1.0)
    assert group_names(shown) == group_names(hidden) == ("light1", "light2")
    first, second = (grouped(one, "whitted", 1, **SMALL)[1].any(axis=(0, 1, 2)) for one in (shown, hidden))
    assert first.tolist() == [[True, False, False], [False, True, False]]
    assert second.tolist() == [[False, False, False], [False, True, False]]


def test_clamped_samples_still_add_up():
    with opened(lamps(), "path", light_groups=len(NAMES), **SMALL) as driver:
        film = Film(16, 12, columns_of(driver.settings), clamp=0.2)
        for index in range(3):
            film.add(driver.render_pass(index))
    assert film.counts.clamped > 10
    np.testing.assert_allclose(film.light_groups.sum(axis=2), film.linear, rtol=1e-6, atol=1e-9)


def test_a_film_that_goes_on_has_the_same_groups():
    with opened(lamps(), "sppm", light_groups=len(NAMES), **SMALL) as driver:
        made = [driver.render_pass(index) for index in range(4)]
        whole, begun, resumed = (Film(16, 12, columns_of(driver.settings)) for _ in range(3))
    for index, one in enumerate(made):
        whole.add(one)
        if index < 2:
            begun.add(one)
    resumed.resume(2, begun.sums())
    for one in made[2:]:
        resumed.add(one)
    np.testing.assert_array_equal(resumed.light_groups, whole.light_groups)
    assert whole.light_groups.shape == (12, 16, len(NAMES), 3)


CHOSEN = Settings(driver="path", size=(12, 9), passes=3, device="cpu", threads=1, quiet=True, layers=("lights",))


def test_layers_of_a_picture():
    """By name, with others beside them, and of a part of the picture."""
    picture = renderer.render(room_of_lamps(), CHOSEN)
    assert list(picture.layers) == [f"light.{name}" for name in NAMES]
    np.testing.assert_allclose(sum(picture.layers.values()), picture.image, rtol=1e-6, atol=1e-9)
    part = renderer.render(room_of_lamps(), CHOSEN, crop=(3, 2, 5, 4), layers=("depth", "lights", "direct"))
    for name, layer in picture.layers.items():
        np.testing.assert_array_equal(part.layers[name], layer[2:6, 3:8])
    assert {"depth", "direct"} < set(part.layers)


def test_refusals():
    for driver in ("gather", "ao"):
        with pytest.raises(
            UsageError, match=f"driver {driver} does not tell lamps apart; leave lights out of --layers"
        ):
            renderer.render(room_of_lamps(), CHOSEN, driver=driver)
    with pytest.raises(UsageError, match="only the CPU tells light groups apart"):
        renderer.render(room_of_lamps(), CHOSEN, shading="gpu")


def scene_file(folder: Path) -> Path:
    path = folder / "lamps.toml"
    path.write_text(
        """
[materials.white]
[materials.panel]
emission = [2, 1, 1]
group = "top"
[[object]]
shape = "rectangle"
material = "white"
corner = [-1, 0, -1]
edges = [[0, 0, 2], [2, 0, 0]]
[[object]]
shape = "rectangle"
material = "panel"
corner = [-0.2, 1, -0.2]
edges = [[0.4, 0, 0], [0, 0, 0.4]]
[[light]]
position = [0.5, 1, 0]
intensity = [0, 1, 2]
[cameras.front]
eye = [0, 2, 2]
target = [0, 0, 0]
""",
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize("driver", ["path", "photon"])
def test_parts_are_merged(driver, tmp_path):
    pytest.importorskip("OpenEXR")
    words = f"--driver {driver} --size 12x9 --passes 4 --device cpu --quiet --layers lights,noise --exr multi"
    common = (scene_file(tmp_path), *words.split())
    assert run("render", *common, "-o", tmp_path / "whole.exr") == 0
    layers = read_picture(tmp_path / "whole.exr").layers
    assert set(layers) == {"picture", "noise", "light.light1", "light.top"}
    np.testing.assert_allclose(layers["light.light1"] + layers["light.top"], layers["picture"], rtol=1e-6, atol=1e-9)
    for number in (1, 2):
        assert run("render", *common, "--part", f"{number}/2", "-o", tmp_path / f"{number}.film") == 0
    assert run("merge", tmp_path / "1.film", tmp_path / "2.film", "-o", tmp_path / "merged.exr", "--quiet") == 0
    assert (tmp_path / "merged.exr").read_bytes() == (tmp_path / "whole.exr").read_bytes()
