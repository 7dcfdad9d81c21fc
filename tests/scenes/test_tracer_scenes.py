"""Scenes of any size to try tracers with: as many triangles as were asked for, and what each is hard for."""

import numpy as np
import pytest

import scenes
from scenes.meshes.geometry import areas

NAMES = ("hair", "forest", "city")


@pytest.mark.parametrize("size", [1_000, 1_001, 4_321])
@pytest.mark.parametrize("name", NAMES)
def test_as_many_as_asked(name, size):
    scene = scenes.load(f"{name}:{size}")
    positions = scene.at(0.0).positions
    assert len(positions) == scene.document.triangles == size
    assert areas(positions.astype(np.float64)).min() > 0.0
    assert positions.tobytes() == scenes.load(f"{name}:{size}").at(0.0).positions.tobytes()
