"""The scene of caustics: what must be closed is, and stands clear on the table."""

import numpy as np
import pytest
from solids import corners, is_closed, volume

from scenes.geometry import areas, double_area_normals
from scenes.shipped import caustic

SOLIDS = {
    "band": (caustic.band(), None),
    "ring": (caustic.glass_ring(), 2 * np.pi**2 * caustic.RING_RADIUS * caustic.TUBE_RADIUS**2),
    "ball": (caustic.ball(), 4 / 3 * np.pi * caustic.BALL_RADIUS**3),
}


@pytest.mark.parametrize(("mesh", "expected"), SOLIDS.values(), ids=SOLIDS)
def test_solids_are_closed_and_face_outward(mesh, expected):
    triangles = corners(mesh)
    assert is_closed(triangles)
    assert (areas(triangles) > 0).all()
    assert volume(triangles) > 0
    if expected is not None:
        assert volume(triangles) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(("mesh", "_volume"), SOLIDS.values(), ids=SOLIDS)
def test_normals_are_smooth_and_outward(mesh, _volume):
    """On the side of the triangle, close to its own normal, and the same for all triangles at a place."""
    faces = double_area_normals(corners(mesh))
    faces /= np.linalg.norm(faces, axis=1, keepdims=True)
    normals = mesh.normals[mesh.normal_triangles]
    assert np.sum(normals * faces[:, None], axis=-1).min() > np.cos(np.radians(15.0))
    places = np.unique(corners(mesh).reshape(-1, 3), axis=0, return_inverse=True)[1].ravel()
    first = np.unique(places, return_index=True)[1]
    assert np.allclose(normals.reshape(-1, 3), normals.reshape(-1, 3)[first][places], atol=1e-9)


def test_normals_of_the_glass_ring_point_from_its_middle():
    ring = caustic.glass_ring()
    points, normals = ring.vertices[ring.triangles], ring.normals[ring.normal_triangles]
    across = np.linalg.norm(points[..., [0, 2]], axis=-1, keepdims=True)
    middle = caustic.RING_RADIUS * points / across
    middle[..., 1] = caustic.TUBE_RADIUS
    assert np.allclose(normals, (points - middle) / caustic.TUBE_RADIUS, atol=1e-6)


@pytest.fixture(scope="module")
def picture():
    return caustic.scene().at(0.0)


def of_material(picture, material):
    return picture.positions[picture.material_ids == material].astype(np.float64)


def test_things_stand_clear_on_the_table(picture):
    table = of_material(picture, caustic.TABLE)
    assert table[..., 1].min() == 0.0
    assert double_area_normals(table)[:, 1].min() >= -1e-12
    lowest = [of_material(picture, material)[..., 1].min() for material in (caustic.GOLD, caustic.GLASS)]
    assert lowest == pytest.approx([caustic.GAP, caustic.GAP], abs=1e-8)


def test_things_are_apart():
    radii = (
        (caustic.BAND_PLACE, caustic.BAND_RADIUS + caustic.BAND_THICKNESS),
        (caustic.RING_PLACE, caustic.RING_RADIUS + caustic.TUBE_RADIUS),
        (caustic.BALL_PLACE, caustic.BALL_RADIUS),
    )
    for number, (place, radius) in enumerate(radii):
        for other, far in radii[number + 1 :]:
            assert np.linalg.norm(np.subtract(place, other)) > radius + far + 0.01


def test_light_comes_down(picture):
    lamp, sky = of_material(picture, caustic.LAMP), of_material(picture, caustic.SKY)
    assert areas(lamp).sum() == pytest.approx(caustic.LAMP_SIDE**2, rel=1e-5)
    toward = -lamp.mean(axis=(0, 1))
    facing = double_area_normals(lamp) @ toward
    assert facing == pytest.approx(np.linalg.norm(toward) * 2 * areas(lamp), rel=1e-4)
    assert (double_area_normals(sky)[:, 1] < 0).all()


def test_size(picture):
    assert 20_000 < len(picture.positions) < 60_000
