"""Polygons cut into triangles: areas, points and winding that are known."""

import numpy as np
import pytest

from scenes.meshes.geometry import areas, double_area_normals
from scenes.meshes.polygons import fan, polygon_triangles, triangulated

#: An L, a square with a square hole by a bridge that is gone both ways, a comb, and a notch whose corners lie on what
#: would be edges of triangles.
L = [(0, 0), (4, 0), (4, 4), (3, 4), (3, 1), (0, 1)]
KEYHOLE = [(0, 0), (4, 0), (4, 4), (0, 4), (0, 0), (1, 1), (1, 3), (3, 3), (3, 1), (1, 1)]
COMB = [(0, 0), (7, 0), (7, 3), (6, 3), (6, 1), (4, 1), (4, 3), (3, 3), (3, 1), (1, 1), (1, 3), (0, 3)]
NOTCH = [(0, 2), (0, 1), (1, 1), (1, 2), (4, 2), (4, 0), (-2, 0), (-2, 2)][::-1]
#: Turns the plane so that no axis is along it.
TURN = np.linalg.qr(np.array([[1.0, 2.0, 3.0], [-2.0, 1.0, 0.5], [0.3, -1.0, 2.0]]))[0]


def in_space(outline, turn=TURN):
    """The corners (k, 3) of an outline (k, 2) in a plane."""
    return np.column_stack([np.array(outline, np.float64), np.zeros(len(outline))]) @ turn + (5.0, -3.0, 2.0)


def covering(outline, triangles, points):
    """(n,) how many triangles of an outline each of some points lies in."""
    corners = np.array(outline, np.float64)[triangles]
    edges = np.roll(corners, -1, axis=1) - corners
    spokes = points[:, None, None] - corners
    sides = edges[..., 0] * spokes[..., 1] - edges[..., 1] * spokes[..., 0]
    return ((sides > 0.0).all(axis=2) | (sides < 0.0).all(axis=2)).sum(axis=1)


@pytest.mark.parametrize(("outline", "area"), [(L, 7.0), (KEYHOLE, 12.0), (COMB, 13.0), (NOTCH, 11.0)])
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("turn", [TURN, np.eye(3)], ids=["tilted", "exact"])
def test_concave_outlines_and_holes(outline, area, backward, turn):
    outline = outline[::-1] if backward else outline
    for first in range(len(outline)):
        turned = outline[first:] + outline[:first]
        positions = in_space(turned, turn)
        triangles, crosses = polygon_triangles(positions)
        assert not crosses
        assert len(triangles) == len(outline) - 2
        assert areas(positions[triangles]).sum() == pytest.approx(area)
        normals = double_area_normals(positions[triangles]) @ turn[2]
        assert (normals * (-1 if backward else 1) > -1e-12).all()


def test_each_point_of_a_comb_with_a_hole_is_in_one_triangle():
    outline = [*COMB[:1], (0.2, 0.2), (0.8, 0.8), (2.0, 0.4), (0.2, 0.2), *COMB]
    triangles, crosses = polygon_triangles(in_space(outline))
    points = np.random.default_rng(1).uniform((0, 0), (7, 3), (500, 2))
    x, y = points.T
    in_comb = (y < 1) | (x < 1) | (np.abs(x - 3.5) < 0.5) | (x > 6)
    in_hole = covering([(0.2, 0.2), (0.8, 0.8), (2.0, 0.4)], np.array([[0, 1, 2]]), points) == 1
    assert in_hole.any()
    assert not crosses
    assert covering(outline, triangles, points).tolist() == (in_comb & ~in_hole).astype(int).tolist()


def test_convex_polygons_are_fans_in_the_order_of_old():
    ring = [(np.cos(t), np.sin(t)) for t in np.arange(6) * np.pi / 3]
    assert polygon_triangles(in_space(ring))[0].tolist() == fan(6).tolist()
    shapes = [ring[:5], ring[:4], ring[:3], ring, ring[1:5]]
    found = triangulated(np.array([len(shape) for shape in shapes]), np.concatenate([in_space(s) for s in shapes]))
    assert found.polygons.tolist() == [2, 1, 4, 1, 4, 0, 0, 0, 3, 3, 3, 3]
    assert found.corners[:5].tolist() == [[9, 10, 11], [5, 6, 7], [18, 19, 20], [7, 8, 5], [20, 21, 18]]
    assert found.corners[5:8].tolist() == fan(5).tolist()
    assert found.in_order.polygons.tolist() == sorted(found.polygons.tolist())
    assert len(found.crossing) == 0
