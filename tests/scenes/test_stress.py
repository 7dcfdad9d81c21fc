"""The scene for tracers: as many triangles as were asked for, of all sizes, many of them shared."""

import numpy as np
import pytest

from scenes.meshes.geometry import areas
from scenes.shipped import stress

SIZES = [1_000, 10_000, 100_000]


@pytest.fixture(scope="module", params=SIZES)
def case(request):
    """How many triangles, the scene, and its picture."""
    scene = stress.scene(request.param)
    return request.param, scene, scene.at(0.0)


@pytest.fixture(scope="module")
def large():
    return stress.scene(100_000)


def longest(positions):
    return np.linalg.norm(positions - np.roll(positions, 1, axis=1), axis=-1).max(axis=1)


def test_as_many_as_asked(case):
    count, scene, picture = case
    assert len(picture.positions) == scene.document.triangles == count


@pytest.mark.parametrize("count", [1_001, 1_007, 12_345, 54_321])
def test_any_number_will_do(count):
    assert len(stress.scene(count).at(0.0).positions) == count


def test_sizes_differ_by_far(case):
    _, _, picture = case
    sizes = areas(picture.positions)
    assert sizes.min() > 0.0
    assert sizes.max() / sizes.min() > 1e12
    edges = longest(picture.positions.astype(np.float64))
    decades = np.unique(np.floor(np.log10(edges)))
    assert decades.min() <= -4
    assert decades.max() >= 3


def test_many_are_long_and_thin(large):
    positions = large.at(0.0).positions.astype(np.float64)
    edges = longest(positions)
    heights = 2.0 * areas(positions) / edges
    assert np.mean(edges > 20.0 * heights) > 0.4
    assert (edges / heights).max() > 50.0


def test_clusters_are_dense_and_far_apart(large):
    """The next flower is mostly within a twelfth of the way to the middle of the plain, and some are far from there."""
    stems = [part for part in large.document.parts if part.shape.material == stress.GREEN]
    places = np.array([part.transform.matrix[:3, 3] for part in stems])
    distances = np.linalg.norm(places[:, None] - places[None], axis=-1)
    np.fill_diagonal(distances, np.inf)
    assert np.median(distances.min(axis=1) / (1.0 + np.linalg.norm(places, axis=1))) < 1.0 / 12.0
    assert places[:, 2].min() < -0.8 * stress.FARTHEST


def test_meshes_are_shared(large):
    document = large.document
    assert document.stored_triangles < 0.2 * document.triangles
    heads = {id(part.shape) for part in document.parts if part.shape.material == stress.WHITE}
    assert 30 < len(heads) < len(document.parts) / 10


def test_same_bits_twice(large):
    first, second = large.at(0.0), stress.scene(100_000).at(0.0)
    for name in ("positions", "normals", "uvs", "material_ids"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()


def test_all_materials_are_in_use(large):
    picture = large.at(0.0)
    assert set(picture.material_ids) == set(range(len(picture.materials)))


def test_the_sun_faces_the_flowers(large):
    picture = large.at(0.0)
    sun = picture.positions[picture.material_ids == stress.SUN].astype(np.float64)
    normals = np.cross(sun[:, 1] - sun[:, 0], sun[:, 2] - sun[:, 0])
    assert (np.sum(normals * -sun.mean(axis=1), axis=1) > 0.99 * 2 * areas(sun) * 200.0).all()


def test_flowers_are_before_the_camera(large):
    """A tenth of them is within ten metres of the eye and in its field of view."""
    camera = large.at(0.0).camera
    places = np.array([p.transform.matrix[:3, 3] for p in large.document.parts if p.shape.material == stress.GREEN])
    toward = places + [0.0, stress.STEM, 0.0] - np.array(camera.eye)
    depth = toward @ np.array(camera.forward)
    across = np.abs(toward @ np.cross(camera.forward, camera.up))
    seen = (depth > 0.5) & (depth < 10.0) & (across < depth * np.tan(np.radians(camera.vertical_fov / 2)) * 4 / 3)
    assert seen.mean() > 0.1
