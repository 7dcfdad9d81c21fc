"""The scene of caustics: what must be closed is, and stands clear on the table."""

import numpy as np
import pytest
from solids import is_closed, volume

from scenes import load
from scenes.meshes.geometry import areas, double_area_normals

#: Objects of the file, in its order, and materials.
TABLE, BAND, RING, BALL, LAMP, SKY = range(6)
RING_RADIUS, TUBE_RADIUS, BALL_RADIUS = 0.036, 0.013, 0.026
PLACES = {BAND: ((-0.062, -0.035), 0.070), RING: ((0.075, 0.050), 0.049), BALL: ((0.080, -0.085), BALL_RADIUS)}
VOLUMES = {RING: 2 * np.pi**2 * RING_RADIUS * TUBE_RADIUS**2, BALL: 4 / 3 * np.pi * BALL_RADIUS**3}


@pytest.fixture(scope="module")
def picture():
    return load("caustic").at(0.0)


def of_object(picture, number):
    """The triangles of an object, where it is, and their normals."""
    own = picture.object_ids == number
    return picture.positions[own].astype(np.float64), picture.normals[own].astype(np.float64)


@pytest.mark.parametrize("number", PLACES)
def test_solids_are_closed_and_face_outward(picture, number):
    triangles, _ = of_object(picture, number)
    assert is_closed(triangles)
    assert (areas(triangles) > 0).all()
    assert volume(triangles) > 0
    if number in VOLUMES:
        assert volume(triangles) == pytest.approx(VOLUMES[number], rel=0.01)


@pytest.mark.parametrize("number", PLACES)
def test_normals_are_smooth_and_outward(picture, number):
    """On the side of the triangle, close to its own normal, and the same for all triangles at a place."""
    triangles, normals = of_object(picture, number)
    faces = double_area_normals(triangles)
    faces /= np.linalg.norm(faces, axis=1, keepdims=True)
    assert np.sum(normals * faces[:, None], axis=-1).min() > np.cos(np.radians(15.0))
    places = np.unique(triangles.reshape(-1, 3), axis=0, return_inverse=True)[1].ravel()
    first = np.unique(places, return_index=True)[1]
    assert np.allclose(normals.reshape(-1, 3), normals.reshape(-1, 3)[first][places], atol=1e-6)
