"""The shipped kitchen: its size, closed glass, things that rest on what is below them, and a car that rolls."""

import numpy as np
import pytest
from solids import corners, is_closed, volume

import scenes
from scenes.playing.evaluator import SceneEvaluator
from scenes.shipped.scripts.kitchen import car, room
from scenes.shipped.scripts.kitchen.materials import of
from scenes.shipped.scripts.kitchen.textures import noise

TIMES = np.linspace(0.0, car.DURATION, 50)
WHEEL_NAMES = [at.name for at in car.WHEELS]


@pytest.fixture(scope="module")
def scene():
    return scenes.load("kitchen")


@pytest.fixture(scope="module")
def start(scene):
    return scene.at(0.0)


def test_size(scene, start):
    assert 100_000 <= scene.document.triangles <= 120_000
    assert [len(scene.at(time).positions) for time in (-1.0, 0.0, 3.3, 99.0)] == [scene.document.triangles] * 4
    assert (scene.animation.start, scene.animation.end, scene.animation.frames) == (0.0, 8.0, 200)
    assert list(start.cameras) == ["door", "table", "car"]


def test_what_stands_in_several_places_is_stored_once(scene):
    assert scene.document.stored_triangles < 0.6 * scene.document.triangles
    # Cushions and a curtain; tyres and the seat; legs, table, counter and shelves; kinds of glass.
    for name, places, shapes in (("gingham", 5, 2), ("rubber", 5, 2), ("oak", 7, 4), ("glass", 11, 6)):
        shown = [part.shape for part in scene.document.parts if part.own_material == of(name)]
        assert (len(shown), len({id(shape) for shape in shown})) == (places, shapes), name


def test_glass_is_closed_and_faces_outward(scene):
    meshes = {id(part.shape): part.shape for part in scene.document.parts if part.own_material == of("glass")}
    assert len(meshes) >= 5
    for mesh in meshes.values():
        assert is_closed(corners(mesh))
        assert volume(corners(mesh)) > 1e-7


@pytest.mark.parametrize("smoothness", [(6.0, 6.0), (0.8, 40.0), (14.0, 150.0)])
def test_noise_repeats_without_a_seam(smoothness):
    field = noise(smoothness, 1)
    assert (field.mean(), field.std()) == pytest.approx((0.0, 1.0), abs=1e-9)
    for axis in (0, 1):
        steps = np.abs(np.diff(field, axis=axis)).mean(axis=1 - axis)
        seam = np.abs(field.take(0, axis) - field.take(-1, axis)).mean()
        assert seam < 2.0 * steps.mean()


def levels_of(part):
    """The transforms around a part, innermost first."""
    level, levels = part.transform, []
    while level is not None:
        levels.append(level)
        level = level.parent
    return levels


def moved_by(evaluator, name):
    """The parts that a track moves."""
    return [part for part in evaluator.document.parts if any(level.track == name for level in levels_of(part))]


def matrix_of(evaluator, name, time):
    """(4, 4) what a track and all around it do at a time."""
    level = next(level for level in levels_of(moved_by(evaluator, name)[0]) if level.track == name)
    return evaluator.moment(time).pose(level).matrix


@pytest.fixture(scope="module")
def evaluator(scene):
    return SceneEvaluator("kitchen", scene.document)


@pytest.mark.parametrize("time", [0.0, 2.9, 6.1])
def test_all_is_inside_the_room(scene, time):
    corners = scene.at(time).positions.reshape(-1, 3)
    assert np.isfinite(corners).all()
    assert corners.min(axis=0) == pytest.approx([-room.REVEAL, 0.0, -room.REVEAL])
    assert corners.max(axis=0) == pytest.approx([room.WIDTH + room.REVEAL, room.HEIGHT, room.DEPTH])


@pytest.mark.parametrize("key", [0, 1, 57, 199, 200])
def test_car_is_at_its_keys(evaluator, key):
    way = car.drive()
    matrix = matrix_of(evaluator, "toy car", key * car.DURATION / car.KEYS)
    assert np.allclose(matrix[:3, 3], way.places[key + 1])
    ahead = way.places[key + 2] - way.places[key]
    assert matrix[:3, 0] @ ahead == pytest.approx(2.0 * way.step, rel=1e-3)


@pytest.mark.parametrize("name", WHEEL_NAMES)
def test_wheels_roll_without_slipping(evaluator, name):
    # Where a rolling wheel meets the floor, it stands still, while its middle moves on.
    h = 1e-3
    for time in TIMES[1:-1]:
        before, now, after = (matrix_of(evaluator, name, t) for t in (time - h, time, time + h))
        contact = np.linalg.inv(now) @ [now[0, 3], now[1, 3] - car.SCALE * car.WHEEL_RADIUS, now[2, 3], 1.0]
        slip = np.linalg.norm((after - before) @ contact)
        assert slip < 0.05 * np.linalg.norm((after - before)[:3, 3])
