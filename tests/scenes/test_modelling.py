"""Builders of surfaces against known areas, volumes and normals."""

import numpy as np
import pytest
from solids import corners, is_closed, volume

from scenes.meshes.geometry import areas, corner_arrays, double_area_normals, unit
from scenes.meshes.shapes import arc, box, curve, lathe
from scenes.shipped.modelling import loft, pose, skin, tube
from scenes.shipped.scripts.surfaces import frame, joined, level, moved, rounded, upright

BALL = lathe(arc((0.0, 0.0), 2.0, (-90.0, 90.0), 16), 32, 0)
RING = lathe(arc((1.0, 0.0), 0.25, (0.0, 360.0), 32), 64, 0)
SLAB = loft([level(rounded(1.0, 0.6, 0.1), height) for height in (0.0, 0.2)], 0)
BEAM = loft([upright(rounded(0.4, 0.3, 0.05), x) for x in (-1.0, 1.0)], 0)
CLOSED = {
    "box": (box((1, 2, 3), (2, 4, 6), 0), 6.0),
    "bevelled box": (box((1, 2, 3), (2, 4, 6), 0, 0.01), 6.0),
    "ball": (BALL, 4.0 / 3.0 * np.pi * 8.0),
    "ring": (RING, 2.0 * np.pi * np.pi * 0.25**2),
    "rod": (tube([[0, 0, 0], [1, 1, 0], [2, 2, 0]], 0.1, 0, 48), np.pi * 0.01 * np.sqrt(8.0)),
    "bent rod": (tube(curve([[1, 0, 0], [2, 0, 1], [3, 2, 1]], 8), 0.1, 0, 32), None),
    "slab": (SLAB, 0.2 * (0.6 - (4.0 - np.pi) * 0.01)),
    "beam": (BEAM, 2.0 * (0.12 - (4.0 - np.pi) * 0.0025)),
    "frame": (frame((0, 0, 0), (2, 1, 0.1), 0.2, 0), 0.1 * (2.0 - 1.6 * 0.6)),
}


@pytest.mark.parametrize("name", CLOSED)
def test_solids_are_closed_and_face_outward(name):
    mesh, expected = CLOSED[name]
    assert is_closed(corners(mesh))
    assert areas(corners(mesh)).min() > 0.0
    assert volume(corners(mesh)) > 0.0
    if expected is not None:
        assert volume(corners(mesh)) == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("name", CLOSED)
def test_shading_normals_are_near_the_geometric_ones(name):
    positions, normals = corner_arrays(CLOSED[name][0], np.eye(4))
    cosines = np.sum(normals * unit(double_area_normals(positions))[:, None, :], axis=-1)
    assert cosines.min() > 0.55  # the tips of bevels have the normals of three faces: 1 / sqrt(3)


def test_a_lathe_has_the_normals_of_the_ball():
    assert np.allclose(corners(BALL), 2.0 * BALL.normals[BALL.normal_triangles])  # type: ignore[index]


def test_sharp_corners_of_a_profile_stay_edges():
    can = lathe([[0, 0], [1, 0], [1, 2], [0, 2]], 24, 0)
    assert set(np.round(np.abs(can.normals[:, 1]), 9)) == {0.0, 1.0}  # type: ignore[index]
    round_can = lathe([[0, 0], [1, 0], [1, 2], [0, 2]], 24, 0, crease=100.0)
    assert np.isclose(np.abs(round_can.normals[:, 1]), np.sqrt(0.5)).any()  # type: ignore[index]


def test_a_bevel_keeps_the_size_and_has_the_normals_of_the_faces():
    mesh = box((-1, -1, -1), (1, 1, 1), 0, 0.1)
    assert len(mesh.triangles) == 44
    assert np.array_equal(np.ptp(mesh.vertices, axis=0), [2.0, 2.0, 2.0])
    assert np.allclose(np.sum(corners(mesh) * mesh.normals[mesh.normal_triangles], axis=-1), 1.0)  # type: ignore[index]


def test_curves_go_through_their_points_and_stop_at_corners():
    points = [[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 2.0], [0.0, 3.0]]
    line = curve(points, 4)
    assert len(line) == 4 * 3 + 1
    assert np.allclose(line[[0, 4, 8, 12]], [points[0], points[1], points[3], points[4]])
    assert np.allclose(line[:5, 1], 0.0)


def test_moved_and_joined_keep_shapes_and_materials():
    first, second = box((0, 0, 0), (1, 2, 3), 7), lathe(arc((0.0, 0.0), 1.0, (-90.0, 90.0), 8), 16, 2)
    both = joined([first, moved(second, pose((5.0, 0.0, 0.0), 30.0))])
    assert both.material == 7
    assert volume(corners(both)) == pytest.approx(volume(corners(first)) + volume(corners(second)))
    assert corners(both)[12:, :, 0].mean() == pytest.approx(5.0, abs=0.01)


def test_skins_are_open():
    ring = level(rounded(1.0, 1.0, 0.2), 0.0)
    assert len(skin([ring, ring + [0.0, 1.0, 0.0]], 0).triangles) == 2 * len(ring)
