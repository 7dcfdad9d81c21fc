"""The ray engine for trimesh against the engine that trimesh has for Embree."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh

import tracecore
from tracecore.trimesh_engine import RayMeshIntersector

#: Away from the origin, where float32 alone would be off by 1e-4.
MIDDLE = (1000.0, -20.0, 3.0)


@pytest.fixture(scope="module")
def mesh():
    """A ball within a ball, away from the origin."""
    balls = [trimesh.creation.icosphere(subdivisions=1, radius=radius) for radius in (1.0, 0.5)]
    made = trimesh.util.concatenate(balls)
    made.apply_translation(MIDDLE)
    return made


@pytest.fixture(scope="module")
def rays() -> tuple[np.ndarray, np.ndarray]:
    numbers = np.random.default_rng(4)
    origins = numbers.normal(0.0, 1.5, (60, 3)) + MIDDLE
    targets = numbers.normal(0.0, 0.5, (60, 3)) + MIDDLE
    return origins, (targets - origins) * numbers.uniform(0.1, 10.0, (60, 1))


@pytest.fixture
def engine(mesh: trimesh.Trimesh) -> RayMeshIntersector:
    return RayMeshIntersector(mesh, device="brute")


def in_order(places: np.ndarray, ray: np.ndarray, triangle: np.ndarray) -> tuple[np.ndarray, ...]:
    order = np.lexsort((triangle, ray))
    return places[order], ray[order], triangle[order]


@pytest.mark.parametrize("device", ["brute", "cpu"])
def test_hits_are_those_of_trimesh(mesh: trimesh.Trimesh, rays: tuple[np.ndarray, np.ndarray], device: str) -> None:
    own_engine = pytest.importorskip("trimesh.ray.ray_pyembree", reason="embreex is not installed")
    own, engine = own_engine.RayMeshIntersector(mesh), RayMeshIntersector(mesh, device=device, threads=1)
    expected, found = (in_order(*one.intersects_location(*rays)) for one in (own, engine))
    assert 4 > np.bincount(expected[1]).max() / 2 >= 1
    assert len(expected[0]) > 100
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_array_equal(found[2], expected[2])
    np.testing.assert_allclose(found[0], expected[0], atol=1e-5)
    np.testing.assert_array_equal(engine.intersects_first(*rays), own_first(own, rays))
    np.testing.assert_array_equal(engine.intersects_any(*rays), own.intersects_any(*rays))
    engine.close()


def own_first(own: Any, rays: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The nearest triangle of each ray, of all hits of trimesh."""
    places, ray, triangle = own.intersects_location(*rays)
    distance = np.linalg.norm(places - rays[0][ray], axis=1)
    first = np.full(len(rays[0]), -1)
    for i in np.argsort(-distance):
        first[ray[i]] = triangle[i]
    return first


def test_hits_of_a_ray_come_by_distance(engine: RayMeshIntersector) -> None:
    origins, directions = [[1000.1, -19.9, 13.0]] * 2, [[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]
    places, ray, triangle = engine.intersects_location(origins, directions)
    assert ray.tolist() == [0] * 4
    assert (np.diff(places[:, 2]) < 0).all()
    np.testing.assert_allclose(places[:, :2], [[1000.1, -19.9]] * 4, atol=1e-12)
    nearest, _, one = engine.intersects_location(origins, directions, multiple_hits=False)
    assert np.array_equal(nearest, places[:1])
    assert one.tolist() == [triangle[0]] == [engine.intersects_first(origins, directions)[0]]
    assert engine.intersects_any(origins, directions).tolist() == [True, False]


def test_places_and_distances_are_those_of_the_planes() -> None:
    """Of three squares across z, two of them half a thousandth of the way behind one another, met aslant."""
    heights = np.array([0.0, 1000.0, 1000.5])
    corners = np.array([[-900.0, -900.0], [900.0, -900.0], [900.0, 900.0], [-900.0, 900.0]])
    vertices = np.concatenate([np.column_stack([corners, np.full(4, height)]) for height in heights]) + MIDDLE
    faces = np.concatenate([np.array([[0, 1, 2], [0, 2, 3]]) + 4 * k for k in range(3)])
    engine = RayMeshIntersector(trimesh.Trimesh(vertices, faces, process=False), device="brute")
    origins = np.array([[3.0, -2.0, -1.0], [7.0, 11.0, 1002.5]]) + MIDDLE
    directions = np.array([[0.2, 0.1, 2.0], [-0.03, 0.01, -0.25]])
    for ray, order in ((0, heights), (1, heights[::-1])):
        origin, direction = origins[ray], directions[ray]
        t = (order + MIDDLE[2] - origin[2]) / direction[2]
        places, rays, triangles = engine.intersects_location([origin], [direction])
        np.testing.assert_allclose(places, origin + t[:, None] * direction, rtol=0.0, atol=1e-9)
        distances = np.linalg.norm(places - origin, axis=1)
        np.testing.assert_allclose(distances, t * np.linalg.norm(direction), rtol=1e-12)
        assert rays.tolist() == [0, 0, 0]
        assert (triangles // 2).tolist() == np.argsort(t)[np.argsort(order)].tolist() == ([0, 1, 2], [2, 1, 0])[ray]


def test_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(tracecore.__file__).parents[1] / "docs" / "ray-casting.md"
    names: dict[str, Any] = {}
    for block in re.findall(r"(?<! -->\n\n)```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        exec(block, names)
    assert names["is_hit"].tolist() == [True, True, False]
    assert len(names["places"]) == 2
    assert (names["first"] >= 0).all()
    assert names["inside"].tolist() == [True, False]
