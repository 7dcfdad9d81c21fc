"""What is solid in shipped scenes is closed, faces outward and has its volume; a sky looks like one."""

from functools import cache

import numpy as np
import pytest
from solids import is_closed, volume

from scenes import load
from scenes.meshes.geometry import areas, double_area_normals

RING_RADIUS, TUBE_RADIUS, BALL_RADIUS = 0.036, 0.013, 0.026
#: Scenes and numbers of objects, in the order of the file, and the volume where it is known.
SOLIDS = {
    "the band of the caustic": ("caustic", 1, None),
    "its ring": ("caustic", 2, 2 * np.pi**2 * RING_RADIUS * TUBE_RADIUS**2),
    "its ball": ("caustic", 3, 4 / 3 * np.pi * BALL_RADIUS**3),
    "a pier of the terrace": ("outdoor", 39, None),
    "its slab": ("outdoor", 40, None),
    "its mirror ball": ("outdoor", 41, None),
    "its table": ("outdoor", 45, None),
    "its glass ball": ("outdoor", 46, None),
    "its goblet": ("outdoor", 47, None),
    "its leaves": ("outdoor", 49, None),
    "the first vase": ("vases", 2, None),
}
#: How thick a vase is, in metres.
THICKNESS = 0.004


@cache
def picture(name):
    """A scene at its beginning."""
    return load(name).at(0.0)


def of_object(name, number):
    """The triangles of an object, where it is, and their normals."""
    own = picture(name).object_ids == number
    return picture(name).positions[own].astype(np.float64), picture(name).normals[own].astype(np.float64)


@pytest.mark.parametrize(("scene", "number", "expected"), SOLIDS.values(), ids=SOLIDS)
def test_solids_are_closed_and_face_outward(scene, number, expected):
    triangles, _ = of_object(scene, number)
    assert is_closed(triangles)
    assert areas(triangles).min() > 0.0
    found = volume(triangles - triangles.mean(axis=(0, 1)))
    assert found > 0.0
    if expected is not None:
        assert found == pytest.approx(expected, rel=0.01)
    if scene == "vases":  # it is hollow: a thin wall has two sides
        assert found == pytest.approx(0.5 * areas(triangles).sum() * THICKNESS, rel=0.15)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_normals_of_caustic_glass_are_smooth_and_outward(number):
    """On the side of the triangle, close to its own normal, and the same for all triangles at a place."""
    triangles, normals = of_object("caustic", number)
    faces = double_area_normals(triangles)
    faces /= np.linalg.norm(faces, axis=1, keepdims=True)
    assert np.sum(normals * faces[:, None], axis=-1).min() > np.cos(np.radians(15.0))
    places = np.unique(triangles.reshape(-1, 3), axis=0, return_inverse=True)[1].ravel()
    first = np.unique(places, return_index=True)[1]
    assert np.allclose(normals.reshape(-1, 3), normals.reshape(-1, 3)[first][places], atol=1e-6)


def test_the_sky_is_brightest_about_the_sun_and_dark_below():
    sky, (sun,) = picture("outdoor").environment.radiance, picture("outdoor").lights
    assert sky.min() > 0.0
    rows, columns, _ = sky.shape
    towards = -np.array(sun.direction)
    row = int(np.arccos(towards[1]) / np.pi * rows)
    column = int((0.5 + np.arctan2(towards[0], -towards[2]) / (2.0 * np.pi)) * columns)
    brightness = sky.sum(axis=2)
    assert brightness[row, column] > 2.0 * brightness[row, (column + columns // 2) % columns]
    brightest = np.unravel_index(brightness[: rows // 3].argmax(), brightness.shape)
    assert abs(brightest[1] - column) <= 1
    assert brightness[: rows // 2].mean() > brightness[rows // 2 :].mean()
    assert sky[0, 0, 2] > sky[0, 0, 0]
