"""The scene `museum`: its sizes, and where the triangles of its sculpture are."""

import numpy as np
import pytest

from scenes import Scene
from scenes.document import KeyedTriangles, triangle_count
from scenes.model import Snapshot
from scenes.shipped import museum
from scenes.shipped.museum import APART_TIME, KEY_TIMES, STRANDS, rope, strands, weave

SIZE = 12_000


@pytest.fixture(scope="module")
def scene() -> Scene:
    return museum.scene(SIZE)


def keyed(scene: Scene) -> list[KeyedTriangles]:
    return [part.shape for part in scene.document.parts if isinstance(part.shape, KeyedTriangles)]


def sculpture_of(scene: Scene, picture: Snapshot) -> np.ndarray:
    """(n, 3, 3) positions of the sculpture's triangles, the last of a picture."""
    return picture.positions[-scene.moving_triangles :]


@pytest.mark.parametrize("triangles", [10_000, 60_000, 200_000])
def test_triangles_are_nearly_those_asked_for(scene, triangles):
    sized = museum.scene(triangles)
    assert abs(sized.document.triangles - triangles) < 0.05 * triangles
    assert len(sized.at(APART_TIME).positions) == sized.document.triangles
    assert sized.moving_triangles == sum(triangle_count(shape) for shape in keyed(sized))
    in_hall = sized.document.triangles - sized.moving_triangles
    assert in_hall == scene.document.triangles - scene.moving_triangles


def test_only_the_sculpture_moves(scene):
    moved = (scene.at(0.0).positions != scene.at(APART_TIME).positions).any(axis=(1, 2))
    assert moved.sum() == scene.moving_triangles
    assert moved[-scene.moving_triangles :].all()


def test_triangles_are_at_their_keys_at_key_times_and_half_way_between(scene):
    positions = np.concatenate([shape.positions for shape in keyed(scene)], axis=1)
    for index, time in enumerate(KEY_TIMES):
        assert np.array_equal(sculpture_of(scene, scene.at(time)), positions[index].astype(np.float32))
    for index, time in enumerate((KEY_TIMES[:-1] + KEY_TIMES[1:]) / 2.0):
        middle = (positions[index] + positions[index + 1]) / 2.0
        assert np.allclose(sculpture_of(scene, scene.at(time)), middle, atol=1e-5)


def test_rope_has_no_holes():
    cloth = weave(3000)
    triangles = rope(cloth).positions
    assert len(triangles) == cloth.triangles == len(strands(cloth))
    edges = np.sort(np.unique(triangles.reshape(-1, 3), axis=0, return_inverse=True)[1].reshape(-1, 3), axis=1)
    pairs = np.concatenate([edges[:, [0, 1]], edges[:, [1, 2]], edges[:, [0, 2]]])
    assert (np.unique(pairs, axis=0, return_counts=True)[1] == 2).all()
    counts = np.bincount(strands(cloth))
    assert len(counts) == STRANDS
    assert counts.max() < 1.1 * counts.min()
