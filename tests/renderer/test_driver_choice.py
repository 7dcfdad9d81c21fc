"""`--driver auto`: which driver it is for which light, and that the picture is that driver's."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import renderer
from renderer.drivers import register_driver
from renderer.drivers.choice import best_drivers
from renderer.drivers.path import PathDriver
from renderer.errors import UsageError
from scenes import load, shipped
from scenes.lights import DistantLight, PointLight
from scenes.model import Material

SMALL: dict[str, Any] = {"size": (16, 12), "passes": 2, "device": "cpu", "threads": 1}


@pytest.mark.parametrize(
    ("scene", "expected"),
    [
        ("cornell", "photon"),
        ("caustic", "photon"),
        ("kitchen", "photon"),
        ("museum:10k", "photon"),
        ("vases", "path+caustics"),  # a window shines on glass
        ("outdoor", "path"),  # a wide sun, and the sky
        ("robots", "path+caustics"),
        ("street", "path+caustics"),
    ],
)
def test_shipped_scenes(scene, expected):
    assert best_drivers(load(scene).at(0.0))[0][0] == expected


def test_lamps_that_paths_cannot_meet_want_caustics_where_there_are_mirrors():
    outdoor = load("outdoor").at(0.0)
    narrow, wide = (
        DistantLight(direction=(0, 0, -1), irradiance=(1, 1, 1), angular_radius=angle) for angle in (0, 0.5)
    )
    lamp = PointLight(position=(0, 0, 2), intensity=(1, 1, 1))
    for lights, expected in (((), "path"), ((wide,), "path"), ((narrow,), "path+caustics"), ((lamp,), "path+caustics")):
        assert best_drivers(replace(outdoor, lights=lights))[0][0] == expected
    dull = (Material(diffuse=(0.5, 0.5, 0.5)),) * len(outdoor.materials)
    assert best_drivers(replace(outdoor, lights=(lamp,), materials=dull))[0][0] == "path"
    lit = replace(outdoor, lights=(), environment=None)
    assert best_drivers(replace(lit, background=(0.0, 0.0, 0.0)))[0][0] == "photon"
    assert best_drivers(replace(lit, background=(0.0, 0.0, 0.1)))[0][0] == "path"


@pytest.mark.parametrize("scene", ["cornell", "outdoor"])
def test_the_picture_is_that_of_the_driver(scene, caplog):
    chosen = renderer.render(scene, driver="auto", **SMALL)
    name = best_drivers(load(scene).at(0.0))[0][0]
    assert chosen.statistics["driver"] == name
    np.testing.assert_array_equal(
        chosen.film.linear, renderer.render(scene, driver=name, quiet=True, **SMALL).film.linear
    )
    assert f"note: driver '{name}': " in caplog.text


def test_a_driver_is_chosen_that_takes_what_is_asked_for(caplog):
    made = renderer.render("outdoor", driver="auto", photons=500, **SMALL)
    assert made.statistics["driver"] == "path+caustics"
    assert "it takes what is asked for" in caplog.text
    with pytest.raises(UsageError, match="keeps no photons"):
        renderer.render("outdoor", driver="auto", save_photons="photons.npz", **SMALL)


def test_a_scene_file_may_ask_for_it(tmp_path):
    text = (Path(shipped.__file__).parent / "cornell.toml").read_text(encoding="utf-8")
    asked = text.replace("[render]", '[render]\ndriver = "auto"')
    (tmp_path / "a.toml").write_text(asked, encoding="utf-8")
    assert renderer.render(tmp_path / "a.toml", quiet=True, **SMALL).statistics["driver"] == "photon"


def test_no_driver_has_that_name():
    class Auto(PathDriver):
        name = "auto"

    with pytest.raises(UsageError, match="'auto' is registered already"):
        register_driver(Auto)
