"""The walkers of the scene `robots`: how many triangles move, how deep they hang, how they walk."""

from collections import Counter
from dataclasses import fields

import numpy as np
import pytest

import scenes
from scenes import Scene
from scenes.document import Part, triangle_count
from scenes.model import Mesh
from scenes.motion.transforms import Transform
from scenes.shipped.scripts import robots
from scenes.shipped.scripts.robots.materials import FIRST_PAINT
from scenes.shipped.scripts.robots.walker import Body

ROBOTS = 10


@pytest.fixture(scope="module")
def scene() -> Scene:
    return scenes.load("robots")


def names_of(transform: Transform | None) -> list[str]:
    """The names of the tracks on the way up from a transform."""
    names = []
    while transform is not None:
        names += [transform.track] if transform.track else []
        transform = transform.parent
    return names


def places(scene: Scene) -> list[tuple[Part, slice]]:
    """Each part with where its triangles are in a snapshot."""
    ends = np.cumsum([triangle_count(part.shape) for part in scene.document.parts])
    return [
        (part, slice(end - triangle_count(part.shape), end))
        for part, end in zip(scene.document.parts, ends.tolist(), strict=True)
    ]


def edge_lengths(corners: np.ndarray) -> np.ndarray:
    """(n, 3) lengths of the edges of triangles (n, 3, 3)."""
    corners = corners.astype(np.float64)
    return np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1)


def test_most_triangles_move(scene):
    moved = (scene.at(1.0).positions != scene.at(1.7).positions).any(axis=(1, 2))
    assert moved.sum() == scene.moving_triangles
    assert scene.moving_triangles > 0.5 * scene.document.triangles


def test_fingers_hang_on_all_joints_from_the_way_on(scene):
    parts = [part for part in scene.document.parts if part.transform.track == "robot3/left grip"]
    deepest = max(parts, key=lambda part: part.transform.depth)
    assert deepest.transform.depth >= 15
    joints = ["left grip", "left grip", "left wrist", "left elbow", "left shoulder", "waist", "hips"]
    assert names_of(deepest.transform) == [*(f"robot3/{joint}" for joint in joints), "robot3"]
    assert all(name in scene.document.tracks for part in scene.document.parts for name in names_of(part.transform))


def test_walkers_share_their_meshes_and_differ_in_paint(scene):
    shapes, paints = {}, set()
    for part in scene.document.parts:
        if names := names_of(part.transform):
            shapes.setdefault(id(part.shape), Counter())[names[-1]] += 1
            paints |= {(names[-1], part.own_material)} if part.own_material >= FIRST_PAINT else set()
    assert len(shapes) == len(fields(Body))
    assert all(set(counts) == {f"robot{number}" for number in range(ROBOTS)} for counts in shapes.values())
    assert len(paints) == len({paint for _, paint in paints}) == ROBOTS


def test_limbs_keep_their_shape(scene):
    first, later = scene.at(0.0), scene.at(3.21)
    sizes = {f"robot{number}": way[0] for number, way in enumerate(robots.WAYS)}
    for part, place in places(scene):
        if names := names_of(part.transform):
            assert isinstance(part.shape, Mesh)
            own = sizes[names[-1]] * edge_lengths(part.shape.vertices[part.shape.triangles])
            assert np.allclose(edge_lengths(first.positions[place]), own, atol=1e-4)
            assert np.allclose(edge_lengths(later.positions[place]), own, atol=1e-4)
