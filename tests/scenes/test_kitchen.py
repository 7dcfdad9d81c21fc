"""The shipped kitchen: its size, closed glass, things that rest on what is below them, and a car that rolls."""

import numpy as np
import pytest

from scenes.document import triangle_count
from scenes.meshes.geometry import areas, double_area_normals
from scenes.playing.evaluator import SceneEvaluator
from scenes.shipped import kitchen
from scenes.shipped.kitchen import car, room
from scenes.shipped.kitchen.materials import of
from scenes.shipped.kitchen.textures import noise

TIMES = np.linspace(0.0, car.DURATION, 50)
WHEEL_NAMES = [at.name for at in car.WHEELS]


@pytest.fixture(scope="module")
def scene():
    return kitchen.scene()


@pytest.fixture(scope="module")
def evaluator(scene):
    return SceneEvaluator("kitchen", scene.document)


@pytest.fixture(scope="module")
def start(scene):
    return scene.at(0.0)


@pytest.fixture(scope="module")
def of_car(evaluator):
    """(n,) whether a triangle belongs to the car."""
    flags = [np.full(triangle_count(item.part.shape), evaluator.moves(item.part)) for item in evaluator.placed]
    return np.concatenate(flags)


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


def test_size(scene, start):
    assert 100_000 <= scene.document.triangles <= 120_000
    assert [len(scene.at(time).positions) for time in (-1.0, 0.0, 3.3, 99.0)] == [scene.document.triangles] * 4
    assert (scene.animation.start, scene.animation.end, scene.animation.frames) == (0.0, 8.0, 200)
    assert list(start.cameras) == ["door", "table", "car"]


def test_what_stands_in_several_places_is_stored_once(scene):
    assert scene.document.stored_triangles < 0.6 * scene.document.triangles
    # Cushions and a curtain; tyres and the seat; legs, table, counter and shelves; kinds of glass.
    for name, places, shapes in (("gingham", 5, 2), ("rubber", 5, 2), ("oak", 7, 4), ("glass", 11, 6)):
        shown = [part.shape for part in scene.document.parts if part.shape.material == of(name)]
        assert (len(shown), len({id(shape) for shape in shown})) == (places, shapes), name


def test_triangles_have_area_and_normals_on_their_front(start):
    assert areas(start.positions).min() > 1e-10
    assert np.allclose(np.linalg.norm(start.normals, axis=-1), 1.0, atol=1e-5)
    front = double_area_normals(start.positions.astype(np.float64))
    assert (np.sum(front[:, None, :] * start.normals, axis=-1) > 0.0).all()


def volume(positions):
    """What closed triangles (n, 3, 3) enclose, > 0 if they face outward."""
    return np.sum(positions[:, 0] * np.cross(positions[:, 1], positions[:, 2])) / 6.0


def test_glass_is_closed_and_faces_outward(scene):
    meshes = {id(part.shape): part.shape for part in scene.document.parts if part.shape.material == of("glass")}
    assert len(meshes) >= 5
    for mesh in meshes.values():
        positions = mesh.vertices[mesh.triangles]
        corners = np.unique(positions.reshape(-1, 3), axis=0, return_inverse=True)[1].reshape(-1, 3)
        edges = [tuple(edge) for edge in np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])]
        assert len(set(edges)) == len(edges)
        assert set(edges) == {(end, begin) for begin, end in edges}
        assert volume(positions) > 1e-7


def test_room_is_closed(start):
    # By the divergence theorem what faces inward sums up to nothing and has the room's volume inside, once the panes at
    # the far ends of the windows' reveals are added.
    names = ("floor tiles", "ceiling", "plaster")
    shell = np.isin(start.material_ids, [of(name) for name in names])
    flow = double_area_normals(start.positions[shell].astype(np.float64)).sum(axis=0) / 2.0
    windows = room.BACK_WINDOW, room.LEFT_WINDOW, room.RIGHT_WINDOW
    back, left, right = (window.width * window.height for window in windows)
    assert np.allclose(flow, [right - left, 0.0, -back], atol=1e-5)
    out = room.REVEAL
    inward = volume(start.positions[shell].astype(np.float64)) * 3.0 - out * (back + left) - (room.WIDTH + out) * right
    room_and_reveals = room.WIDTH * room.HEIGHT * room.DEPTH + out * (back + left + right)
    assert -inward / 3.0 == pytest.approx(room_and_reveals, rel=1e-6)


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


def test_only_the_car_moves(scene, start, of_car):
    later = scene.at(0.7)
    changed = (start.positions != later.positions).any(axis=(1, 2))
    assert np.array_equal(changed, of_car)
    assert changed.sum() == scene.moving_triangles


@pytest.mark.parametrize("smoothness", [(6.0, 6.0), (0.8, 40.0), (14.0, 150.0)])
def test_noise_repeats_without_a_seam(smoothness):
    field = noise(smoothness, 1)
    assert (field.mean(), field.std()) == pytest.approx((0.0, 1.0), abs=1e-9)
    for axis in (0, 1):
        steps = np.abs(np.diff(field, axis=axis)).mean(axis=1 - axis)
        seam = np.abs(field.take(0, axis) - field.take(-1, axis)).mean()
        assert seam < 2.0 * steps.mean()
