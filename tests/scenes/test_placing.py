"""Meshes that stand in many places are placed together, to the same bits as one by one."""

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scenes.document import Document, KeyedTriangles, Origin, Part
from scenes.errors import SceneError, SceneFileError
from scenes.facts import describe
from scenes.meshes.geometry import JoinedMeshes, MeshCopies, areas, corner_arrays
from scenes.meshes.shapes import rectangle, sphere
from scenes.model import Material, Texture
from scenes.motion.tracks import Track, VisibilityTrack
from scenes.motion.transforms import WORLD, compose, quaternion
from scenes.playing import evaluator
from scenes.playing.evaluator import SceneEvaluator, scene_of
from scenes.playing.plain import plain


def some_places(count):
    """Maps (count, 4, 4) that turn, stretch, mirror and shift, and some that flatten."""
    random = np.random.default_rng(7)
    scales, axes, shifts = (random.normal(size=(count, 3)) for _ in range(3))
    scales[::5, 0] = 0.0
    return np.array([compose(s, quaternion(a, 100.0 * a[0]), t) for s, a, t in zip(scales, axes, shifts, strict=True)])


@pytest.mark.parametrize("mesh", [sphere(np.ones(3), 2.0, 0, 8), rectangle([0, 0, 0], [1, 0, 0], [0, 1, 1], 0)])
def test_all_places_at_once_give_the_same_bits(mesh):
    places = some_places(40)
    positions, normals = JoinedMeshes.of([mesh] * len(places)).corners(places)
    for k, place in enumerate(places):
        own = slice(k * len(mesh.triangles), (k + 1) * len(mesh.triangles))
        one = corner_arrays(mesh, place)
        assert positions[own].tobytes() == one[0].tobytes()
        assert normals[own].tobytes() == one[1].tobytes()


def test_runs_are_as_the_parts_one_by_one(monkeypatch):
    monkeypatch.setattr("scenes.playing.placing.MAX_RUN", 10)
    ball, square = sphere(np.zeros(3), 1.0, 0, 8), rectangle([0, 0, 0], [1, 0, 0], [0, 1, 0], 1)
    shapes = [ball] * 3 + [square] + [ball] + [square] * 13
    places = some_places(len(shapes))
    parts = [Part(shape, WORLD.inner(matrix=place)) for shape, place in zip(shapes, places, strict=True)]
    materials = [Material(name="a"), Material(name="b")]
    together = SceneEvaluator("a", Document(parts=parts, materials=materials)).arrays_at(0.0)
    copies = [replace(part, shape=replace(part.shape)) for part in parts]  # no two are the same mesh
    apart = SceneEvaluator("a", Document(parts=copies, materials=materials)).arrays_at(0.0)
    assert together.positions.tobytes() == apart.positions.tobytes()
    assert together.normals.tobytes() == apart.normals.tobytes()


@pytest.fixture
def by_threads(monkeypatch):
    """Has four threads place parts, of which each is a run of its own."""
    monkeypatch.setattr("scenes.playing.placing.MAX_RUN", 1)
    monkeypatch.setattr("tracecore.threads.usable_cores", lambda: 4)

    def begin():
        monkeypatch.setattr("scenes.playing.evaluator.PLACED_ALONE", 0)
        place, used = evaluator.place_run, set()
        meeting = threading.Barrier(2)

        def watched(*arguments):
            if len(used) < 2 and threading.get_ident() not in used:
                used.add(threading.get_ident())
                meeting.wait(10)  # for another thread
            place(*arguments)

        monkeypatch.setattr(evaluator, "place_run", watched)

    return begin


def test_threads_place_what_one_does(by_threads):
    alone = SceneEvaluator("a", forest(60)).arrays_at(0.0)
    by_threads()
    together = SceneEvaluator("a", forest(60)).arrays_at(0.0)
    for name in ("positions", "normals", "shown"):
        assert getattr(alone, name).tobytes() == getattr(together, name).tobytes()


def test_the_first_part_that_is_out_of_range_is_told(by_threads):
    document = forest(60)
    far = WORLD.inner(matrix=np.diag([1e30, 1e30, 1e30, 1.0]))
    for number in (50, 20, 40):
        part = document.parts[number]
        document.parts[number] = replace(part, transform=far, origin=Origin(Path(f"part {number}")))
    by_threads()
    with pytest.raises(SceneFileError, match="part 20"):
        SceneEvaluator("a", document).arrays_at(0.0)


def test_each_shape_in_its_place_is_an_object():
    """What is hidden keeps its number, and what moves has one too."""
    square = rectangle([0, 0, 0], [1, 0, 0], [0, 1, 0], 0)
    keys = KeyedTriangles(np.array([0.0, 1.0]), np.zeros((2, 3, 3, 3)), np.zeros((2, 3, 3, 3)), 0)
    parts = [Part(square), Part(keys), Part(square, WORLD.inner(track="hidden")), Part(square)]
    hiding = Track(visibility=VisibilityTrack(np.array([1.0]), np.array([False])))
    scene = scene_of("a", Document(parts=parts, materials=[Material()], tracks={"hidden": hiding}))
    assert scene.at(0.0).object_ids.tolist() == [0, 0, 1, 1, 1, 2, 2, 3, 3]
    assert scene.at(1.0).object_ids.tolist() == [0, 0, 1, 1, 1, 3, 3]
    assert plain(scene.at(1.0)).object_ids.tolist() == [0, 0, 1, 1, 1, 3, 3, 4, 4]


@pytest.mark.parametrize("mesh", [sphere(np.ones(3), 2.0, 0, 8), rectangle([0, 0, 0], [1, 0, 0], [0, 1, 1], 0)])
def test_copies_are_as_many_meshes_side_by_side(mesh):
    places = some_places(40)
    many, copies = JoinedMeshes.of([mesh] * len(places)), MeshCopies(mesh)
    for one, other in zip(copies.corners(places), many.corners(places), strict=True):
        assert one.tobytes() == other.tobytes()
    boxes = copies.boxes(places)
    assert boxes.tobytes() == many.boxes(places).tobytes()
    corners = copies.positions(places).reshape(len(places), -1, 3)
    assert np.array_equal(boxes, np.stack([corners.min(axis=1), corners.max(axis=1)], axis=1))


def forest(count):
    """A floor, once more as a point, and a ball in many places, one of them hidden."""
    ball, floor = sphere(np.zeros(3), 1.0, 1, 8), rectangle([-9, 0, -9], [0, 0, 18], [18, 0, 0], 0)
    places = [WORLD.inner(matrix=place) for place in some_places(count)]
    tracks = {"hidden": Track(visibility=VisibilityTrack(np.array([0.0]), np.array([False])))}
    point = WORLD.inner(matrix=np.diag([0.0, 0.0, 0.0, 1.0]))
    parts = [
        Part(floor),
        Part(floor, point),
        *(Part(ball, place) for place in places),
        Part(ball, WORLD.inner(track="hidden")),
    ]
    return Document(parts=parts, materials=[Material(), Material(emission=(1.0, 0.0, 0.0))], tracks=tracks)


def test_what_a_scene_holds_is_counted_without_making_it():
    scene = scene_of("a", forest(300))
    snapshot = scene.at(0.0)
    facts = describe(scene, scene.view(0.0))
    assert facts.triangles == len(snapshot.positions)
    assert facts.emitters == facts.triangles - 4
    assert facts.surface == pytest.approx(areas(snapshot.positions).sum())
    assert facts.degenerate_triangles == np.count_nonzero(areas(snapshot.positions) == 0.0) == 2
    assert facts.lower == tuple(snapshot.positions.min(axis=(0, 1)).tolist())
    assert facts.upper == tuple(snapshot.positions.max(axis=(0, 1)).tolist())


def test_very_many_instances_are_looked_at_as_boxes(monkeypatch):
    """The camera is that which all triangles give, and nobody makes these before a picture asks for them."""
    expected = scene_of("a", forest(300)).at(0.0).camera
    monkeypatch.setattr("scenes.playing.evaluator.MANY_TRIANGLES", 1000)
    made = []
    corners = MeshCopies.corners
    monkeypatch.setattr(MeshCopies, "corners", lambda mesh, places: made.append(len(places)) or corners(mesh, places))
    scene = scene_of("a", forest(300))
    describe(scene, scene.view(0.0))
    assert sum(made) == 2  # those of the floor
    assert scene.at(0.0).camera == expected
    assert sum(made) > 300


def test_textures_are_bounded_together(monkeypatch):
    monkeypatch.setattr("scenes.document.MAX_ALL_PIXELS", 100)
    document = Document()
    assert [document.add_texture(Texture(name="a", pixels=np.zeros((5, 8, 3), np.uint8))) for _ in range(2)] == [0, 1]
    with pytest.raises(SceneError, match="its textures have over 100 pixels in all"):
        document.add_texture(Texture(name="a", pixels=np.zeros((5, 8, 3), np.uint8)))
