"""Animations of glTF files against closed forms: nodes, cameras, lights, morph targets, skins."""

import math

import numpy as np
import pytest
from gltf_file import TRIANGLE, GltfBuilder, notes_of

from scenes import load
from scenes.export import export
from scenes.mesh_file import read_mesh_document

HALF = math.sqrt(0.5)


def moved(tmp_path, path, times, values, interpolation="LINEAR"):
    """The scene of a triangle in a node of which one thing moves."""
    file = GltfBuilder()
    node = file.node(mesh=file.mesh(), translation=[0, 0, 5])
    file.animate(node, path, times, values, interpolation)
    return load(file.write(tmp_path / "a.gltf"))


def first_corner(scene, time):
    """Where the corner at the origin of the triangle is."""
    return scene.at(time).positions[0, 0]


@pytest.mark.parametrize(
    ("interpolation", "time", "expected"),
    [
        ("LINEAR", 0.5, [1, 0, 5]),
        ("LINEAR", 1.25, [2, 1.5, 5]),
        ("LINEAR", 9.0, [2, 6, 5]),
        ("STEP", 0.999, [0, 0, 5]),
        ("STEP", 1.0, [2, 0, 5]),
        ("STEP", 1.9, [2, 0, 5]),
        ("STEP", 2.0, [2, 6, 5]),
    ],
)
def test_translations(tmp_path, interpolation, time, expected):
    scene = moved(tmp_path, "translation", [0, 1, 2], [[0, 0, 5], [2, 0, 5], [2, 6, 5]], interpolation)
    assert first_corner(scene, time) == pytest.approx(expected, abs=1e-5)
    assert (scene.animation.start, scene.animation.end, scene.animation.frames) == (0.0, 2.0, 51)
    assert scene.moving_triangles == 1


def test_cubics_have_tangents_of_their_own(tmp_path):
    """x = t^3 - t, whose tangent 3 t^2 - 1 is given at times 0, 2 and 3: the cubic is met exactly."""
    times = np.array([0.0, 2.0, 3.0])
    rows = [[[3 * t**2 - 1, 0, 0], [t**3 - t, 0, 0], [3 * t**2 - 1, 0, 0]] for t in times]
    scene = moved(tmp_path, "translation", times, np.reshape(rows, (-1, 3)), "CUBICSPLINE")
    for time in (0.0, 0.5, 1.7, 2.0, 2.5, 3.0, 4.0):
        held = min(time, 3.0)
        assert first_corner(scene, time)[0] == pytest.approx(held**3 - held, abs=1e-4)


def test_turns_follow_great_arcs(tmp_path):
    """A quarter turn about z, written with the quaternion's other sign: it goes the short way all the same."""
    scene = moved(tmp_path, "rotation", [0, 1], [[0, 0, 0, 1], [0, 0, -HALF, -HALF]])
    for time in (0.0, 0.3, 1.0):
        angle = time * math.pi / 2
        expected = [math.cos(angle), math.sin(angle), 5.0]
        assert scene.at(time).positions[0, 1] == pytest.approx(expected, abs=1e-6)


def test_nodes_move_what_is_inside_them_at_frames(tmp_path):
    file = GltfBuilder()
    inner = file.node(False, mesh=file.mesh(), translation=[1, 0, 0])
    outer = file.node(False, children=[inner])
    file.node(children=[outer], translation=[0, 0, 7])
    animation = file.animate(outer, "rotation", [0, 1], [[0, 0, 0, 1], [0, 0, HALF, HALF]])
    file.animate(inner, "translation", [0, 1], [[1, 0, 0], [3, 0, 0]], animation=animation)
    scene = load(file.write(tmp_path / "a.gltf"))
    assert scene.at_frame(0).positions[0, 0] == pytest.approx([1, 0, 7], abs=1e-6)
    assert scene.at_frame(25).positions[0, 0] == pytest.approx([0, 3, 7], abs=1e-6)


def test_cameras_and_lights_move_with_their_nodes(tmp_path):
    file = GltfBuilder()
    file.node(mesh=file.mesh())
    file.add("cameras", name="eye", type="perspective", perspective={"yfov": 1, "znear": 0.1})
    file.header["extensions"] = {"KHR_lights_punctual": {"lights": [{"type": "spot"}]}}
    lamp = {"extensions": {"KHR_lights_punctual": {"light": 0}}}
    inner = file.node(False, camera=0, translation=[0, 0, 2], **lamp)
    outer = file.node(children=[inner])
    file.animate(outer, "rotation", [0, 2], [[0, 0, 0, 1], [0, HALF, 0, HALF]])
    scene = load(file.write(tmp_path / "a.gltf"))
    for frame in (0, 10, 25, 50):
        snapshot, angle = scene.at_frame(frame), frame / 50 * math.pi / 2
        assert snapshot.camera.eye == pytest.approx([2 * math.sin(angle), 0, 2 * math.cos(angle)], abs=1e-6)
        assert snapshot.camera.forward == pytest.approx([-math.sin(angle), 0, -math.cos(angle)], abs=1e-6)
        assert snapshot.camera.up == pytest.approx([0, 1, 0], abs=1e-6)
        assert snapshot.lights[0].position == pytest.approx(snapshot.camera.eye, abs=1e-6)  # type: ignore[attr-defined]
        assert snapshot.lights[0].direction == pytest.approx(snapshot.camera.forward, abs=1e-6)  # type: ignore[attr-defined]


def morph(file, **others):
    """A primitive whose two targets lift one corner each, with a normal."""
    up, right = np.zeros((3, 3)), np.zeros((3, 3))
    up[1, 2], right[2, 0] = 2.0, 4.0
    tilt = np.array([[1.0, 0, 0]] * 3)
    targets = [{"POSITION": file.accessor(up), "NORMAL": file.accessor(tilt)}, {"POSITION": file.accessor(right)}]
    return file.primitive(
        {"NORMAL": [[0, 0, 1]] * 3, "TEXCOORD_0": [[0, 0], [1, 0], [0, 1]]}, targets=targets, **others
    )


def test_morph_targets_stand_still_by_their_weights(tmp_path):
    file = GltfBuilder()
    mesh = file.mesh(morph(file), weights=[0.5, 0.25])
    file.node(mesh=mesh)
    file.node(mesh=mesh, weights=[0, 1])
    scene = load(file.write(tmp_path / "a.gltf"))
    first, second = scene.at(0.0).positions
    assert np.allclose(first, [[0, 0, 0], [1, 0, 1], [1, 1, 0]])
    assert np.allclose(second, [[0, 0, 0], [1, 0, 0], [4, 1, 0]])
    assert np.allclose(scene.at(0.0).normals[0], np.array([0.5, 0, 1]) / math.sqrt(1.25))
    assert scene.moving_triangles == 0


def test_weights_move(tmp_path):
    file = GltfBuilder()
    file.add("materials", doubleSided=True)
    node = file.node(mesh=file.mesh(morph(file, material=0)), translation=[0, 0, 1])
    file.animate(node, "weights", [0, 1], [0, 0, 1, 0.5])
    scene = load(file.write(tmp_path / "a.gltf"))
    assert np.allclose(scene.at(0.5).positions[0], [[0, 0, 1], [1, 0, 2], [1, 1, 1]])
    assert np.allclose(scene.at(7.0).positions[0], [[0, 0, 1], [1, 0, 3], [2, 1, 1]])
    assert scene.moving_triangles == 1


def skinned(file, **node):
    """A triangle of which the second corner hangs on joint 1 and the third on both; joint 1 stands at x = 1 in joint
    0."""
    influences = {
        "JOINTS_0": file.accessor([[0, 1, 0, 0]] * 3, "u1"),
        "WEIGHTS_0": [[1, 0, 0, 0], [0, 1, 0, 0], [0.5, 0.5, 0, 0]],
        "NORMAL": [[0, 0, 1]] * 3,
    }
    tip = file.node(False, translation=[1, 0, 0])
    root = file.node(children=[tip])
    inverses = np.array([np.eye(4), np.eye(4)])
    inverses[1, 0, 3] = -1.0
    file.add("skins", joints=[root, tip], inverseBindMatrices=file.accessor(inverses.transpose(0, 2, 1).reshape(2, 16)))
    file.node(mesh=file.mesh(file.primitive(influences)), skin=0, **node)
    return root, tip


def test_a_skin_blends_its_joints(tmp_path):
    """Joint 1 turns by a quarter about z through (1, 0, 0): (x, y) goes to (1 - y, x - 1)."""
    file = GltfBuilder()
    _, tip = skinned(file, translation=[50, 0, 0])  # the node of what a skin moves does nothing
    file.animate(tip, "rotation", [0, 1], [[0, 0, 0, 1], [0, 0, HALF, HALF]])
    scene = load(file.write(tmp_path / "a.gltf"))
    assert np.allclose(scene.at(0.0).positions[0], TRIANGLE, atol=1e-6)
    expected = [[0, 0, 0], [1, 0, 0], 0.5 * (np.array([0, 1, 0]) + np.array([0, -1, 0]))]
    assert np.allclose(scene.at(1.0).positions[0], expected, atol=1e-6)


def test_normals_turn_with_joints(tmp_path):
    file = GltfBuilder()
    root, _ = skinned(file)
    file.animate(root, "rotation", [0, 1], [[0, 0, 0, 1], [HALF, 0, 0, HALF]])
    snapshot = load(file.write(tmp_path / "a.gltf")).at(1.0)
    assert np.allclose(snapshot.normals[0], [[0, -1, 0]] * 3, atol=1e-6)
    assert np.allclose(snapshot.positions[0], [[0, 0, 0], [1, 0, 0], [0, 0, 1]], atol=1e-6)


@pytest.mark.parametrize("suffix", [".toml", ".aff"])
def test_animations_are_exported(tmp_path, suffix):
    file = GltfBuilder()
    _, tip = skinned(file)
    node = file.node(mesh=file.mesh(), translation=[0, 0, 5])
    animation = file.animate(tip, "rotation", [0, 1], [[0, 0, 0, 1], [0, 0, HALF, HALF]])
    file.animate(node, "translation", [0, 0.25, 1], [[0, 0, 5], [4, 0, 5], [4, 1, 5]], animation=animation)
    scene = load(file.write(tmp_path / "a.gltf"))
    exported = export(scene, tmp_path / f"b{suffix}", 0.0)
    assert "meshes that bend have a key at each frame, and no texture coordinates: 1" in exported.losses
    again = load(exported.files[0])
    for frame in (0, 3, 13, 25):
        assert np.allclose(again.at_frame(frame).positions, scene.at_frame(frame).positions, atol=1e-5)


def test_a_second_animation_of_the_same_nodes_is_noted(tmp_path):
    file = GltfBuilder()
    node = file.node(mesh=file.mesh())
    other = file.node(mesh=0)
    file.animate(node, "translation", [0, 1], [[0, 0, 0], [1, 0, 0]])
    file.animate(node, "translation", [0, 5], [[0, 0, 0], [0, 9, 0]])
    file.animate(other, "translation", [0, 2], [[0, 0, 0], [0, 0, 4]])
    scene = load(file.write(tmp_path / "a.gltf"))
    assert np.allclose(scene.at(1.0).positions[:, 0], [[1, 0, 0], [0, 0, 2]])
    assert scene.animation.end == 2.0
    assert "animations[1]" in notes_of(scene.document)


def test_inside_another_scene_nothing_moves(tmp_path):
    file = GltfBuilder()
    node = file.node(mesh=file.mesh(), translation=[3, 0, 0])
    file.animate(node, "translation", [0, 1], [[0, 0, 0], [1, 0, 0]])
    document = read_mesh_document(file.write(tmp_path / "a.gltf"))
    assert not document.tracks
    assert np.allclose(document.parts[0].transform.matrix[:3, 3], [3, 0, 0])  # type: ignore[index]
    assert "animations are not played inside another scene" in notes_of(document)
