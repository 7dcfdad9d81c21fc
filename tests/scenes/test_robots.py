"""The walkers of the scene `robots`: how many triangles move, how deep they hang, how they walk."""

from collections import Counter
from dataclasses import fields, replace

import numpy as np
import pytest

from scenes import Scene
from scenes.document import Part, triangle_count
from scenes.meshes.geometry import double_area_normals
from scenes.model import Mesh
from scenes.motion.transforms import Transform
from scenes.playing.evaluator import scene_of
from scenes.shipped import robots
from scenes.shipped.robots.gait import STRIDE, foot_path, leg_angles, rounded
from scenes.shipped.robots.materials import MATERIALS, RUBBER, SUN, ZENITH
from scenes.shipped.robots.walker import ANKLE_HEIGHT, SHIN, THIGH, Body

ROBOTS = 10


@pytest.fixture(scope="module")
def scene() -> Scene:
    return robots.scene()


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


@pytest.fixture(scope="module")
def feet(scene: Scene) -> Scene:
    """The soles of the scene alone."""
    soles = [part for part in scene.document.parts if part.shape.material == RUBBER and "ankle" in part.transform.track]
    return scene_of("feet", replace(scene.document, parts=soles))


def test_triangles_at_several_times(scene):
    for time in (-1.0, 3.3, 11.0):
        assert len(scene.at(time).positions) == scene.document.triangles
    assert 65_000 <= scene.document.triangles <= 75_000
    assert (scene.animation.start, scene.animation.end, scene.animation.frames) == (0.0, 10.0, 251)


def test_most_triangles_move(scene):
    moved = (scene.at(1.0).positions != scene.at(1.7).positions).any(axis=(1, 2))
    assert moved.sum() == scene.moving_triangles
    assert scene.moving_triangles > 0.5 * scene.document.triangles


def test_every_walker_has_the_same_triangles_and_tracks_of_its_own(scene):
    triangles, tracks = Counter(), Counter(name.partition("/")[0] for name in scene.document.tracks)
    for part in scene.document.parts:
        if names := names_of(part.transform):
            triangles[names[-1]] += triangle_count(part.shape)
    assert set(triangles) == set(tracks) == {f"robot{number}" for number in range(ROBOTS)}
    assert len(set(triangles.values())) == len(set(tracks.values())) == 1


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
            paints |= {(names[-1], part.material)} if part.material is not None else set()
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


def test_feet_stand_on_the_ground_and_do_not_sink(feet):
    tracks = [part.transform.track for part, _ in places(feet)]
    assert sorted(tracks) == sorted(f"robot{n}/{side} ankle" for n in range(ROBOTS) for side in ("left", "right"))
    lowest = np.array(
        [
            [picture.positions[place, :, 1].min() for _, place in places(feet)]
            for picture in map(feet.at, np.linspace(0.0, 10.0, 40))
        ]
    )
    assert lowest.min() > -0.01
    of_walker = np.stack([lowest[:, k : k + 2] for k in range(0, 2 * ROBOTS, 2)])
    assert of_walker.min(axis=2).max() < 0.01  # one foot is down at every time
    assert of_walker.max(axis=2).max(axis=1).min() > 0.1  # and each walker lifts its feet


def test_a_standing_foot_does_not_slide(feet):
    """Of a walker that goes straight on: its left foot stands in the first half of a stride."""
    walk, way = robots.walks()[0], feet.document.tracks["robot0"].transl
    place = next(place for part, place in places(feet) if part.transform.track == "robot0/left ankle")
    start = 2.0 / walk.cadence - walk.start
    shares = [0.1, 0.3, 0.5]
    path = np.array([feet.at(start + share / walk.cadence).positions[place].mean(axis=(0, 1)) for share in shares])
    assert np.ptp(path, axis=0).max() < 0.015
    assert np.linalg.norm(way.at(start + 0.5 / walk.cadence) - way.at(start)) > 0.5


def test_angles_of_a_leg_bring_the_foot_to_its_place():
    phases, hips = np.linspace(0.0, 2.0, 41), np.full(41, 1.13)
    hip, knee, ankle = (np.radians(angle) for angle in leg_angles(phases, hips))
    ahead = THIGH * np.sin(hip) + SHIN * np.sin(hip + knee)
    height = 1.13 - THIGH * np.cos(hip) - SHIN * np.cos(hip + knee)
    expected_ahead, lift, tip = foot_path(phases)
    assert np.allclose(ahead, expected_ahead)
    assert np.allclose(height, ANKLE_HEIGHT + lift)
    assert np.allclose(hip + knee + ankle, -np.radians(tip))
    assert (knee < 0.0).all()  # knees bend one way


def test_ways_are_longer_than_the_walks_and_keep_apart(scene):
    walks = robots.walks()
    for walk in walks:
        line = rounded(np.array(walk.corners))
        length = np.linalg.norm(np.diff(line, axis=0), axis=1).sum()
        assert walk.phases[-1] * STRIDE * walk.scale < length
    for time in np.linspace(0.0, 10.0, 51):
        middles = np.array([scene.document.tracks[f"robot{n}"].transl.at(time) for n in range(ROBOTS)])
        apart = np.linalg.norm(middles[:, None] - middles[None], axis=-1) + 9.0 * np.eye(ROBOTS)
        assert apart.min() > 0.9


def test_light_and_views(scene):
    picture = scene.at(5.0)
    assert picture.background > (0.0, 0.0, 0.0)
    assert set(picture.cameras) == {"street", "passing", "roofs"}
    assert all(camera.resolution == (800, 600) for camera in picture.cameras.values())
    assert np.isfinite(picture.positions).all()
    assert np.allclose(np.linalg.norm(picture.normals, axis=-1), 1.0, atol=1e-5)
    for material in (ZENITH, SUN):
        assert max(MATERIALS[material].emission) > 0.0
        corners = picture.positions[picture.material_ids == material].astype(np.float64)
        inward = np.array([0.0, 5.0, 0.0]) - corners.mean(axis=1)
        assert (np.sum(double_area_normals(corners) * inward, axis=-1) > 0.0).all()
