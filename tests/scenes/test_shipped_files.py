"""Scenes that scripts made are as the scripts make them."""

from importlib import import_module

import numpy as np
import pytest

import scenes
from scenes.shipped import FOLDER
from scenes.shipped.scripts.writing import SCENES


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_is_what_its_script_makes(name: str) -> None:
    made, read = (
        import_module(f"scenes.shipped.scripts.{name}").scene(),
        scenes.load(FOLDER / f"{name.replace('_', '-')}.toml"),
    )
    assert (made.animation, made.document.stored_triangles) == (read.animation, read.document.stored_triangles)
    assert made.document.triangles == read.document.triangles
    for time in (made.animation.start, 0.3 * made.animation.end):
        first, second = made.at(time), read.at(time)
        for array in ("positions", "normals", "uvs"):
            # Sines differ in their last bits between machines.
            assert np.allclose(getattr(first, array), getattr(second, array), atol=1e-4), array
        assert np.array_equal(first.material_ids, second.material_ids)
        assert first.lights == second.lights
        assert [(m.name, m.diffuse, m.specular) for m in first.materials] == [
            (m.name, m.diffuse, m.specular) for m in second.materials
        ]
