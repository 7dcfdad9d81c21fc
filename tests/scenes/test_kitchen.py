"""The shipped kitchen: its size, closed glass, things that rest on what is below them, and a car that rolls."""

import numpy as np
import pytest

from scenes.document import triangle_count
from scenes.meshes.geometry import areas, corner_arrays, double_area_normals
from scenes.meshes.shapes import curve
from scenes.playing.evaluator import SceneEvaluator
from scenes.shipped import kitchen
from scenes.shipped.kitchen import car, counter, dishes, furniture, room, still_life
from scenes.shipped.kitchen.materials import of
from scenes.shipped.kitchen.textures import PAINTERS, SIZE, cells, noise

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


def lowest_points(evaluator, parts, time=0.0):
    """Lowest height of each group of parts that share a transform."""
    lowest = {}
    for part in parts:
        positions, _ = corner_arrays(part.shape, evaluator.moment(time).pose(part.transform).matrix)
        key = id(part.transform)
        lowest[key] = min(lowest.get(key, np.inf), positions[..., 1].min())
    return np.array(list(lowest.values()))


def test_size(scene, start):
    assert 100_000 <= scene.document.triangles <= 120_000
    assert [len(scene.at(time).positions) for time in (-1.0, 0.0, 3.3, 99.0)] == [scene.document.triangles] * 4
    assert (scene.animation.start, scene.animation.end, scene.animation.frames) == (0.0, 8.0, 200)
    assert list(start.cameras) == ["door", "table", "car"]


def test_all_materials_and_textures_are_in_use(start):
    assert set(start.material_ids) == set(range(len(start.materials)))
    assert [texture.name for texture in start.textures] == list(PAINTERS)
    assert {material.texture for material in start.materials} == set(range(-1, len(PAINTERS)))


def test_what_stands_in_several_places_is_stored_once(scene):
    assert scene.document.stored_triangles < 0.6 * scene.document.triangles
    # Cushions and a curtain; tyres and the seat; legs, table, counter and shelves; kinds of glass.
    for name, places, shapes in (("gingham", 5, 2), ("rubber", 5, 2), ("oak", 7, 4), ("glass", 11, 6)):
        shown = [part.shape for part in scene.document.parts if part.shape.material == of(name)]
        assert (len(shown), len({id(shape) for shape in shown})) == (places, shapes), name


@pytest.mark.parametrize("time", [0.0, 2.9, 6.1])
def test_all_is_inside_the_room(scene, time):
    corners = scene.at(time).positions.reshape(-1, 3)
    assert np.isfinite(corners).all()
    assert corners.min(axis=0) == pytest.approx([-room.REVEAL, 0.0, -room.REVEAL])
    assert corners.max(axis=0) == pytest.approx([room.WIDTH + room.REVEAL, room.HEIGHT, room.DEPTH])


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


def crossings(line):
    """How many pairs of steps of a line (n, 2) cross."""
    begin, end = line[:-1], line[1:]

    def side(points):
        """(n, m) on which side of the line through each step points (m, 2) are."""
        step, offset = (end - begin)[:, None], points[None] - begin[:, None]
        return np.sign(np.round(step[..., 0] * offset[..., 1] - step[..., 1] * offset[..., 0], 15))

    apart = side(begin) * side(end) < 0
    return int((apart & apart.T).sum()) // 2


@pytest.mark.parametrize(
    "profile", [dishes.WINE_GLASS, dishes.TUMBLER, dishes.BOTTLE, dishes.PLATE, dishes.CUP, dishes.POT, dishes.PAN]
)
def test_inner_and_outer_walls_do_not_cross(profile):
    line = curve(profile, 4)
    assert crossings(line) == 0
    assert crossings(np.concatenate([line, [[0.5, 0.1], [0.0, 0.001]]])) > 0  # a step through the walls


def test_dishes_rest_on_what_is_below_them(evaluator):
    table, top = furniture.TABLE, counter.COUNTER
    kinds = dishes.wine_glass(), dishes.cup(), dishes.plate()
    groups = [
        (still_life.laid_table(*kinds), [table, table + room.GAP + still_life.MAT]),
        (still_life.on_counter(), [top, top + room.GAP + 0.022]),
        (still_life.on_stove(), [counter.HOB - room.GAP]),
        (still_life.on_shelves(kinds[2], kinds[1]), [*furniture.SHELVES]),
    ]
    for parts, grounds in groups:
        lowest = lowest_points(evaluator, parts)
        gaps = lowest[:, None] - np.array(grounds)
        on_plates = len(lowest) - int(((gaps > 0.0) & (gaps < 0.002)).any(axis=1).sum())
        assert on_plates == (4 if parts is groups[3][0] else 0)


def test_fruit_lies_in_the_bowl():
    (_, *fruit) = still_life.fruit_bowl()
    places = np.unique([part.transform.matrix[:3, 3] for part in fruit], axis=0)
    middle = np.array([furniture.TABLE_PLACE[0], furniture.TABLE + room.GAP, furniture.TABLE_PLACE[1]])
    places -= middle + [0.0, dishes.BOWL_MIDDLE, 0.0]
    *ring, top = places[np.argsort(places[:, 1])]
    gaps = dishes.BOWL_RADIUS - np.linalg.norm(ring, axis=-1) - 0.037
    assert len(ring) == 5
    assert ((gaps > 0.0) & (gaps < 0.002)).all()
    between = np.linalg.norm(np.array(ring) - top, axis=-1)
    assert ((between > 2 * 0.037) & (between < 2 * 0.037 + 0.002)).all()
    apart = np.linalg.norm(np.array(ring)[:, None] - np.array(ring)[None], axis=-1)
    assert apart[~np.eye(5, dtype=bool)].min() > 2 * 0.037


def test_furniture_stands_on_the_floor(evaluator):
    lowest = lowest_points(evaluator, furniture.parts())
    standing = lowest[lowest < 0.1]
    assert len(standing) == len(furniture.CHAIRS) + 4
    assert ((standing > 0.0) & (standing < 0.002)).all()
    assert lowest_points(evaluator, counter.parts()).min() == pytest.approx(room.GAP)


def test_floor_and_walls_face_the_room(start):
    middle = np.array([room.WIDTH, room.HEIGHT, room.DEPTH]) / 2.0
    for name in ("floor tiles", "ceiling", "plaster", "blue sky", "bright sky"):
        positions = start.positions[start.material_ids == of(name)].astype(np.float64)
        if name == "plaster":  # of the windows' sides only the walls around them
            across = (positions == positions[:, :1]).all(axis=1)
            on_wall = np.isclose(positions[:, 0], 0.0) | np.isclose(positions[:, 0], [room.WIDTH, 0.0, room.DEPTH])
            positions = positions[(across & on_wall).any(axis=1)]
        assert len(positions) > 0
        assert (np.sum(double_area_normals(positions) * (middle - positions[:, 0]), axis=-1) > 0).all()


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


def test_car_comes_back_to_its_start(evaluator):
    assert np.allclose(matrix_of(evaluator, "toy car", 0.0), matrix_of(evaluator, "toy car", car.DURATION), atol=1e-6)


@pytest.mark.parametrize("name", WHEEL_NAMES)
def test_wheels_stay_on_the_floor(evaluator, name):
    parts = moved_by(evaluator, name)
    for time in TIMES:
        lowest = lowest_points(evaluator, parts, time)
        assert ((lowest > 0.0) & (lowest < 0.002)).all()


@pytest.mark.parametrize("name", WHEEL_NAMES)
def test_wheels_roll_without_slipping(evaluator, name):
    # Where a rolling wheel meets the floor, it stands still, while its middle moves on.
    h = 1e-3
    for time in TIMES[1:-1]:
        before, now, after = (matrix_of(evaluator, name, t) for t in (time - h, time, time + h))
        contact = np.linalg.inv(now) @ [now[0, 3], now[1, 3] - car.SCALE * car.WHEEL_RADIUS, now[2, 3], 1.0]
        slip = np.linalg.norm((after - before) @ contact)
        assert slip < 0.05 * np.linalg.norm((after - before)[:3, 3])


def test_rear_wheels_turn_by_distance_over_radius(evaluator):
    way = car.drive()
    turns = [way.rolled(at)[-1] for at in car.WHEELS if not at.steers]
    assert np.mean(turns) == pytest.approx(way.step * (car.KEYS + 2), rel=1e-6)
    extra = 2.0 * np.pi * 2.0 * car.SCALE * car.HALF_TRACK * (car.KEYS + 2) / car.KEYS
    assert turns[1] - turns[0] == pytest.approx(extra, rel=0.02)


def test_every_track_moves_something(evaluator):
    assert all(moved_by(evaluator, name) for name in evaluator.document.tracks)


def test_only_the_car_moves(scene, start, of_car):
    later = scene.at(0.7)
    changed = (start.positions != later.positions).any(axis=(1, 2))
    assert np.array_equal(changed, of_car)
    assert changed.sum() == scene.moving_triangles


def test_car_runs_into_nothing(evaluator, start, of_car):
    still = start.positions[~of_car].reshape(-1, 3).astype(np.float64)
    still = still[(still[:, 1] > 0.0005) & (still[:, 1] < 0.20)]
    body = start.positions[of_car].reshape(-1, 3) @ np.linalg.inv(matrix_of(evaluator, "toy car", 0.0))[:3, :3].T
    body += np.linalg.inv(matrix_of(evaluator, "toy car", 0.0))[:3, 3]
    low, high = body.min(axis=0) - 0.02, body.max(axis=0) + 0.02
    for time in TIMES:
        to_car = np.linalg.inv(matrix_of(evaluator, "toy car", time))
        seen = still @ to_car[:3, :3].T + to_car[:3, 3]
        assert not ((seen > low) & (seen < high)).all(axis=-1).any()


@pytest.mark.parametrize("smoothness", [(6.0, 6.0), (0.8, 40.0), (14.0, 150.0)])
def test_noise_repeats_without_a_seam(smoothness):
    field = noise(smoothness, 1)
    assert (field.mean(), field.std()) == pytest.approx((0.0, 1.0), abs=1e-9)
    for axis in (0, 1):
        steps = np.abs(np.diff(field, axis=axis)).mean(axis=1 - axis)
        seam = np.abs(field.take(0, axis) - field.take(-1, axis)).mean()
        assert seam < 2.0 * steps.mean()


def test_tiles_are_of_one_size():
    cell, joint = cells(4, 0.1)
    assert np.array_equal(np.unique(cell, return_counts=True), [np.arange(16), np.full(16, SIZE**2 / 16)])
    assert joint.mean() == pytest.approx(1.0 - 0.9**2, abs=0.02)
    assert np.array_equal(joint[:, 64], joint[:, 64 + SIZE // 4])
