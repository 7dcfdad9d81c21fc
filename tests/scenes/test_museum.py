"""The scene `museum`: its sizes, and where the triangles of its sculpture are."""

import numpy as np
import pytest

import scenes
from scenes import Scene
from scenes.document import KeyedTriangles, triangle_count
from scenes.meshes.geometry import double_area_normals, unit
from scenes.model import Snapshot
from scenes.shipped import museum
from scenes.shipped.museum import hall
from scenes.shipped.museum.pictures import PICTURES
from scenes.shipped.museum.sculpture import (
    APART_TIME,
    BALL_RADIUS,
    BALL_TIME,
    CENTER,
    KEY_TIMES,
    STRANDS,
    Shards,
    rope,
    strands,
    turned,
    weave,
)

SIZE = 12_000


@pytest.fixture(scope="module")
def scene() -> Scene:
    return museum.scene(SIZE)


def keyed(scene: Scene) -> list[KeyedTriangles]:
    """The shapes of the sculpture."""
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


def test_default_size():
    assert abs(scenes.load("museum").document.triangles - 60_000) < 3_000


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


def test_it_is_whole_in_frame_0_and_the_last_and_apart_in_frame_100(scene):
    whole, apart = (sculpture_of(scene, scene.at_frame(frame)) for frame in (0, 100))
    assert scene.animation.time_of(100) == APART_TIME
    assert np.array_equal(whole, sculpture_of(scene, scene.at_frame(scene.animation.frames - 1)))
    small, large = (np.ptp(corners.reshape(-1, 3), axis=0) for corners in (whole, apart))
    assert (large > small).all()
    assert large.prod() > 5.0 * small.prod()


def test_every_triangle_goes_its_own_way(scene):
    whole, apart = (sculpture_of(scene, scene.at_frame(frame)).astype(np.float64) for frame in (0, 100))
    ways = (apart - whole).mean(axis=1)
    assert len(np.unique(ways.round(4), axis=0)) == len(ways)
    turns = np.sum(unit(double_area_normals(whole)) * unit(double_area_normals(apart)), axis=-1)
    assert np.quantile(turns, 0.1) < 0.0 < 0.8 < np.quantile(turns, 0.9)  # some are upside down, some little turned
    assert len(np.unique(apart.reshape(-1, 3).round(5), axis=0)) == 3 * len(apart)  # no two share a corner


def test_it_stays_clear_of_pillars_plinth_and_ceiling(scene):
    for time in np.linspace(0.0, 8.0, 33):
        corners = sculpture_of(scene, scene.at(time)).reshape(-1, 3)
        from_axis = np.hypot(corners[:, 0], corners[:, 2])
        assert from_axis.max() < hall.RING - 0.7
        assert corners[:, 1].min() > 0.5
        assert corners[from_axis < 1.5, 1].min() > 0.88  # the plinth's height
        assert corners[:, 1].max() < hall.HEIGHT - 0.14


def test_the_ball_is_round_and_covers_all_directions(scene):
    centers = sculpture_of(scene, scene.at(BALL_TIME)).mean(axis=1) - CENTER
    radii = np.linalg.norm(centers, axis=1)
    assert np.allclose(radii, BALL_RADIUS, rtol=0.04)
    octants = np.unique(centers > 0.0, axis=0, return_counts=True)[1]
    assert len(octants) == 8
    assert octants.max() < 1.1 * octants.min()


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


def test_normals_are_unit_and_agree_with_the_winding(scene):
    for shape in keyed(scene):
        assert np.allclose(np.linalg.norm(shape.normals, axis=-1), 1.0)
        for positions, normals in zip(shape.positions, shape.normals, strict=True):
            assert (np.sum(double_area_normals(positions)[:, None] * normals, axis=-1) > 0.0).mean() > 0.99
    for time in np.linspace(-0.5, 8.5, 19):
        picture = scene.at(time)
        assert np.isfinite(picture.positions).all()
        assert np.allclose(np.linalg.norm(picture.normals, axis=-1), 1.0, atol=1e-5)


def test_turning():
    quarter = np.array([[0.0, 0.0, np.pi / 2.0]])
    assert np.allclose(turned(np.array([[1.0, 0.0, 5.0]]), quarter), [[0.0, 1.0, 5.0]])
    triangle = Shards(np.eye(3)[None], np.eye(3)[None])
    assert np.allclose(triangle.centers, 1.0 / 3.0)


def test_hall_has_pillars_pictures_and_light(scene):
    names = [material.name for material in hall.MATERIALS]
    assert [names[index] for index in (hall.FLOOR, hall.PILLAR, hall.LIGHT, hall.LEATHER)] == [
        "floor",
        "pillar",
        "light",
        "leather",
    ]
    used = [part.shape.material if part.material is None else part.material for part in scene.document.parts]
    assert used.count(hall.PILLAR) == hall.PILLARS
    assert set(range(hall.FIRST_PICTURE, len(hall.MATERIALS))) < set(used)
    assert len(scene.document.textures) == 1 + len(PICTURES)
    assert all(material.texture < len(scene.document.textures) for material in hall.MATERIALS)
    lamps = scene.at(0.0).positions[scene.at(0.0).material_ids == hall.LIGHT].astype(np.float64)
    assert (double_area_normals(lamps)[:, 1] < 0.0).all()
    assert set(scene.at(0.0).cameras) == {"hall", "corner", "pillar"}
