"""The scene of caustics: what must be closed is, and stands clear on the table."""

import numpy as np
import pytest
from solids import is_closed, volume

from scenes import load
from scenes.meshes.geometry import areas, double_area_normals

#: Objects of the file, in its order, and materials.
TABLE, BAND, RING, BALL, LAMP, SKY = range(6)
GOLD, GLASS = 1, 2
#: Metres: how high things stand above the table; from the axis of the glass ring to the middle of the glass, and the
#: radius of the glass; the radius of the ball; and where things stand, x and z, with how far they reach.
GAP = 0.0005
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


def test_normals_of_the_glass_ring_point_from_its_middle(picture):
    (x, z), _ = PLACES[RING]
    points, normals = of_object(picture, RING)
    points -= (x, GAP, z)
    across = np.linalg.norm(points[..., [0, 2]], axis=-1, keepdims=True)
    middle = RING_RADIUS * points / across
    middle[..., 1] = TUBE_RADIUS
    assert np.allclose(normals, (points - middle) / TUBE_RADIUS, atol=1e-5)


def test_things_stand_clear_on_the_table(picture):
    table, _ = of_object(picture, TABLE)
    assert table[..., 1].min() == 0.0
    assert double_area_normals(table)[:, 1].min() >= -1e-12
    lowest = [of_object(picture, number)[0][..., 1].min() for number in PLACES]
    assert lowest == pytest.approx([GAP] * 3, abs=1e-8)


@pytest.mark.parametrize("number", PLACES)
def test_things_are_where_they_should_be_and_apart(picture, number):
    (place, radius), (triangles, _) = PLACES[number], of_object(picture, number)
    assert np.linalg.norm(triangles[..., [0, 2]] - place, axis=-1).max() == pytest.approx(radius, rel=1e-3)
    for other, far in (PLACES[one] for one in PLACES if one != number):
        assert np.linalg.norm(np.subtract(place, other)) > radius + far + 0.01


def test_light_comes_down(picture):
    (lamp, _), (sky, _) = of_object(picture, LAMP), of_object(picture, SKY)
    assert areas(lamp).sum() == pytest.approx(0.018**2, rel=1e-5)
    toward = -lamp.mean(axis=(0, 1))
    facing = double_area_normals(lamp) @ toward
    assert facing == pytest.approx(np.linalg.norm(toward) * 2 * areas(lamp), rel=1e-4)
    assert (double_area_normals(sky)[:, 1] < 0).all()


def test_size_and_kinds(picture):
    assert 20_000 < len(picture.positions) < 60_000
    kinds = [material.kind for material in picture.materials]
    assert (kinds[GOLD], kinds[GLASS], kinds[0]) == ("mirror", "dielectric", "diffuse")
