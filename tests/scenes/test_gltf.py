"""Nodes of glTF and GLB files: instances, mirrors, cameras and lights."""

import json

import numpy as np
import pytest
import trimesh

from scenes import load
from scenes.mesh_file import read_mesh_document
from scenes.meshes.geometry import double_area_normals
from scenes.motion.transforms import compose, quaternion

TURNED = compose(np.array([1.0, 2.0, 1.0]), quaternion(np.array([0.0, 1.0, 0.0]), 90.0), np.array([5.0, 0.0, 0.0]))
MIRRORED = np.diag([-1.0, 1.0, 1.0, 1.0])


def instances(tmp_path, matrices, mesh=None):
    """A GLB file with one mesh in several places."""
    scene = trimesh.Scene({"shared": mesh or trimesh.creation.box()})
    scene.graph.update("shared", matrix=matrices[0])
    for index, matrix in enumerate(matrices[1:]):
        scene.graph.update(f"copy {index}", matrix=matrix, geometry="shared")
    scene.export(tmp_path / "a.glb")
    return tmp_path / "a.glb"


def test_instances_stand_where_their_matrices_put_them(tmp_path):
    box = trimesh.creation.box()
    positions = load(instances(tmp_path, [np.eye(4), TURNED])).at(0.0).positions
    first, second = sorted(np.split(positions, 2), key=np.mean)
    assert np.allclose(first, box.triangles, atol=1e-6)
    assert np.allclose(second, box.triangles @ TURNED[:3, :3].T + TURNED[:3, 3], atol=1e-6)


@pytest.mark.parametrize("with_normals", [True, False])
def test_a_mirrored_instance_keeps_its_outside(tmp_path, with_normals):
    ball = trimesh.creation.icosphere(subdivisions=1)
    if with_normals:
        assert ball.vertex_normals is not None  # trimesh writes those that it has computed
    places = [np.eye(4), MIRRORED, MIRRORED @ TURNED, TURNED, MIRRORED]
    path = instances(tmp_path, places, ball)
    document = read_mesh_document(path)
    assert len({id(part.shape) for part in document.parts}) == 2
    picture = load(path).at(0.0)
    for positions, normals in zip(np.split(picture.positions, 5), np.split(picture.normals, 5), strict=True):
        outward = positions.mean(axis=1) - positions.mean(axis=(0, 1))
        assert (np.einsum("ni,ni->n", double_area_normals(positions.astype(float)), outward) > 0.0).all()
        assert (np.einsum("nci,ni->nc", normals, outward) > 0.0).all()


def gltf(tmp_path, change):
    """A glTF file of one triangle whose header is changed."""
    mesh = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], process=False)
    for name, data in mesh.export(file_type="gltf").items():
        (tmp_path / ("a.gltf" if name == "model.gltf" else name)).write_bytes(data)
    header = json.loads((tmp_path / "a.gltf").read_bytes())
    change(header)
    (tmp_path / "a.gltf").write_text(json.dumps(header))
    return tmp_path / "a.gltf"


def with_node(header, node, **others):
    """Adds a node inside one that turns by 90 degrees about y and stands at x = 10."""
    header.update(others)
    half = np.sqrt(0.5)
    count = len(header["nodes"])
    header["nodes"] += [{"rotation": [0, half, 0, half], "translation": [10, 0, 0], "children": [count + 1]}, node]
    header["scenes"][0]["nodes"].append(count)


LENS = {"type": "perspective", "perspective": {"yfov": 0.5, "aspectRatio": 2.0, "znear": 0.25}}


def test_cameras_look_along_minus_z_of_their_node(tmp_path):
    def change(header):
        with_node(header, {"camera": 0, "translation": [0, 0, 3]}, cameras=[{"name": "side", **LENS}])

    scene = load(gltf(tmp_path, change))
    camera = scene.at(0.0).camera
    assert list(scene.document.cameras) == ["side"]
    assert camera.eye == pytest.approx((13, 0, 0))
    assert camera.forward == pytest.approx((-1, 0, 0))
    assert camera.up == pytest.approx((0, 1, 0))
    assert camera.vertical_fov == pytest.approx(np.degrees(0.5))
    assert (camera.near, camera.resolution) == (0.25, (1200, 600))


def test_all_cameras_are_there_by_name_and_what_is_in_their_nodes_stays(tmp_path):
    def change(header):
        with_node(
            header,
            {"camera": 0},
            cameras=[
                {"name": "a", **LENS},
                {"name": "b", "type": "orthographic", "orthographic": {"xmag": 1, "ymag": 1}},
            ],
        )
        with_node(header, {"camera": 0, "mesh": 0, "scale": [2, 2, 2]})
        with_node(header, {"camera": 1})

    scene = load(gltf(tmp_path, change))
    assert list(scene.document.cameras) == ["a", "a 2", "b"]
    farther = max(scene.at(0.0).positions, key=np.max)
    assert np.allclose(farther, [[10, 0, 0], [10, 0, -2], [10, 2, 0]], atol=1e-6)


def with_lights(*lights):
    """A change of a header that adds lights, each in a node."""

    def change(header):
        for index in range(len(lights)):
            with_node(header, {"extensions": {"KHR_lights_punctual": {"light": index}}, "translation": [0, 1, 2]})
        header["extensions"] = {"KHR_lights_punctual": {"lights": lights}}

    return change


def test_lights(tmp_path):
    cone = {"innerConeAngle": 0.25, "outerConeAngle": 0.5}
    lights = (
        {"type": "directional", "intensity": 3},
        {"type": "point", "color": [1, 0.5, 0], "intensity": 8},
        {"type": "spot", "intensity": 2, "spot": cone},
        {"type": "spot"},
    )
    sun, point, spot, plain = load(gltf(tmp_path, with_lights(*lights))).at(0.0).lights
    assert point.position == spot.position == pytest.approx((12, 1, 0))
    assert point.intensity == (8.0, 4.0, 0.0)
    assert sun.direction == spot.direction == pytest.approx((-1, 0, 0))
    assert sun.irradiance == (3.0, 3.0, 3.0)
    assert spot.intensity == (2.0, 2.0, 2.0)
    assert (spot.inner_angle, spot.outer_angle) == pytest.approx((np.degrees(0.25), np.degrees(0.5)))
    assert (plain.inner_angle, plain.outer_angle) == pytest.approx((0.0, 45.0))


def test_orthographic_cameras_see_twice_their_ymag(tmp_path):
    lens = {"type": "orthographic", "orthographic": {"xmag": 3.0, "ymag": 1.5, "znear": 0.5, "zfar": 9.0}}
    camera = load(gltf(tmp_path, lambda header: with_node(header, {"camera": 0}, cameras=[lens]))).at(0.0).camera
    assert (camera.height, camera.near, camera.resolution) == (3.0, 0.5, (1200, 600))
    assert camera.forward == pytest.approx((-1, 0, 0))


def test_nodes_share_one_mesh(tmp_path):
    document = read_mesh_document(instances(tmp_path, [np.eye(4), TURNED, np.diag([3.0, 3.0, 3.0, 1.0]) @ TURNED]))
    assert len({id(part.shape) for part in document.parts}) == 1
    assert (document.triangles, document.stored_triangles) == (36, 12)
