"""The vases: closed, of even thickness, apart from each other, one of each surface."""

import numpy as np
import pytest
from solids import is_closed, volume

from scenes import load
from scenes.meshes.geometry import areas

#: Objects of the file in its order; metres: how thick a vase is, how wide, and how high it stands above the table.
TABLE, WINDOW, FIRST_VASE = 0, 1, 2
THICKNESS, WIDEST, GAP = 0.004, 0.058, 0.0005


@pytest.fixture(scope="module")
def scene():
    return load("vases")


@pytest.fixture(scope="module")
def picture(scene):
    return scene.at(0.0)


def of_object(picture, number):
    return picture.positions[picture.object_ids == number].astype(np.float64)


def test_a_vase_is_closed_and_hollow(picture):
    triangles = of_object(picture, FIRST_VASE)
    assert is_closed(triangles)
    assert areas(triangles).min() > 0.0
    surface = areas(triangles).sum()
    assert volume(triangles) == pytest.approx(0.5 * surface * THICKNESS, rel=0.15)  # a thin wall has two sides
