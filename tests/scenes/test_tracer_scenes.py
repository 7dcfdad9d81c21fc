"""Scenes of any size to try tracers with: as many triangles as were asked for, and what each is hard for."""

import numpy as np
import pytest

import scenes
from scenes.meshes.geometry import areas
from scenes.shipped import forest

NAMES = ("hair", "forest", "city")


def positions_of(name):
    return scenes.load(name).at(0.0).positions.astype(np.float64)


def edges_of(positions):
    """Edges of triangles, (n, 3, 3), and their lengths, (n, 3)."""
    edges = positions - np.roll(positions, 1, axis=1)
    return edges, np.linalg.norm(edges, axis=2)


def thinness(positions):
    """The longest edge of each triangle over the height above it."""
    longest = edges_of(positions)[1].max(axis=1)
    return longest**2 / (2.0 * areas(positions))


@pytest.mark.parametrize("size", [1_000, 1_001, 4_321])
@pytest.mark.parametrize("name", NAMES)
def test_as_many_as_asked(name, size):
    scene = scenes.load(f"{name}:{size}")
    positions = scene.at(0.0).positions
    assert len(positions) == scene.document.triangles == size
    assert areas(positions.astype(np.float64)).min() > 0.0
    assert positions.tobytes() == scenes.load(f"{name}:{size}").at(0.0).positions.tobytes()


def test_hairs_are_thin_and_within_the_hall():
    positions = positions_of("hair:100k")
    assert np.mean(thinness(positions) > 10.0) > 0.9
    assert np.abs(positions).max() <= 8.0
    assert positions[..., 1].min() >= -0.01


def test_trees_share_a_few_shapes():
    document = scenes.load("forest:1M").document
    assert document.stored_triangles < 0.2 * document.triangles
    shapes = {id(part.shape) for part in document.parts}
    assert 5 < len(shapes) <= 4 + forest.MOST_SHAPES < len(document.parts) / 5  # ground, sun, trunk and fallen needles


def test_nothing_thin_of_the_city_lies_along_an_axis():
    positions = positions_of("city:20k")[4:]  # without the ground and the sun
    assert np.median(thinness(positions)) > 10.0
    edges, lengths = edges_of(positions)
    longest = lengths.argmax(axis=1)
    direction = np.take_along_axis(edges, longest[:, None, None], 1)[:, 0] / lengths.max(axis=1)[:, None]
    assert np.mean(np.abs(direction).max(axis=1) < 0.99) > 0.5
