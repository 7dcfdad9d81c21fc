"""The garden terrace: its sky looks like one, its sun stands where the glow is, and what is solid is closed."""

import numpy as np
import pytest
from solids import is_closed, volume

from scenes import load
from scenes.meshes.geometry import areas

#: Numbers of what is solid, in the order of the file, and of materials.
SOLIDS = {"pier": 39, "slab": 40, "mirror ball": 41, "table": 45, "glass ball": 46, "goblet": 47, "leaves": 49}


@pytest.fixture(scope="module")
def picture():
    return load("outdoor").at(0.0)


@pytest.mark.parametrize("number", SOLIDS.values(), ids=SOLIDS)
def test_solids_are_closed_and_face_outward(picture, number):
    triangles = picture.positions[picture.object_ids == number].astype(np.float64)
    assert is_closed(triangles)
    assert areas(triangles).min() > 0.0
    assert volume(triangles - triangles.mean(axis=(0, 1))) > 0.0


def texel_towards(direction, shape):
    """Row and column of the sky in a direction."""
    right = 0.5 + np.arctan2(direction[0], -direction[2]) / (2.0 * np.pi)
    return int(np.arccos(direction[1]) / np.pi * shape[0]), int(right * shape[1])


def test_the_sky_is_brightest_about_the_sun_and_dark_below(picture):
    sky, (sun,) = picture.environment.radiance, picture.lights
    assert sky.min() > 0.0
    rows, columns, _ = sky.shape
    row, column = texel_towards(-np.array(sun.direction), sky.shape)
    brightness = sky.sum(axis=2)
    assert brightness[row, column] > 2.0 * brightness[row, (column + columns // 2) % columns]
    brightest = np.unravel_index(brightness[: rows // 3].argmax(), brightness.shape)
    assert abs(brightest[1] - column) <= 1
    assert brightness[: rows // 2].mean() > brightness[rows // 2 :].mean()
    assert sky[0, 0, 2] > sky[0, 0, 0]
