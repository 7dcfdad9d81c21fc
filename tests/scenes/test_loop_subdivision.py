"""Surfaces by Loop's subdivision, by what does not depend on how often a mesh is divided."""

import numpy as np
import pytest

from scenes.meshes.geometry import double_area_normals, unit
from scenes.meshes.loop_subdivision import loop_surface

OCTAHEDRON = np.concatenate([np.eye(3), -np.eye(3)])
FACES = np.array([[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]])


def fan(count, is_closed):
    """Triangles about a vertex, all vertices somewhat moved."""
    spokes = count if is_closed else count + 1
    angles = (2.0 if is_closed else 1.0) * np.pi * np.arange(spokes) / count
    rim = np.stack([np.cos(angles), np.sin(angles), np.zeros(spokes)], axis=-1)
    points = np.concatenate([np.zeros((1, 3)), rim]) + 0.2 * np.random.default_rng(count).normal(size=(spokes + 1, 3))
    ends = np.arange(count)
    return points, np.stack([np.zeros(count, int), 1 + ends, 1 + (ends + 1) % spokes], axis=-1)


@pytest.mark.parametrize("is_closed", [True, False])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 9])
def test_vertices_are_on_the_limit_surface_however_often_it_is_divided(count, is_closed):
    points, triangles = fan(max(count, 3) if is_closed else count, is_closed)
    first, *others = (loop_surface(points, triangles, levels) for levels in range(4))
    for made in others:
        assert made.vertices[: len(points)] == pytest.approx(first.vertices, abs=1e-12)
        assert np.einsum("ni,ni->n", made.normals[: len(points)], first.normals).min() > 1.0 - 1e-9  # type: ignore[arg-type, index]


def test_an_octahedron_becomes_round():
    """By symmetry each of its vertices moves along its axis: half of the way by the limit's weights."""
    made = loop_surface(OCTAHEDRON, FACES, 4)
    assert len(made.triangles) == 8 * 4**4
    assert made.vertices[:6] == pytest.approx(0.5 * OCTAHEDRON)
    assert made.normals[:6] == pytest.approx(OCTAHEDRON, abs=1e-12)  # type: ignore[index]
    fronts = unit(double_area_normals(made.vertices[made.triangles]))
    cosines = np.einsum("nki,ni->nk", made.normals[made.normal_triangles], fronts)  # type: ignore[index]
    assert cosines.min() > 0.95  # 1.0 where triangles have no size


def test_a_border_is_the_spline_of_its_vertices_alone():
    """The cubic B-spline at its knots: a sixth, two thirds, a sixth."""
    points, triangles = fan(4, False)
    made = loop_surface(points, triangles, 2)
    assert made.vertices[2] == pytest.approx((points[1] + 4.0 * points[2] + points[3]) / 6.0)
    inner = points.copy()
    inner[0] += (0.0, 0.0, 5.0)  # an end of the fan is at the border too; its middle vertices are not next to one
    assert loop_surface(inner, triangles, 2).vertices[2] == pytest.approx(made.vertices[2])
