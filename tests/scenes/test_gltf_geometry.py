"""Triangles of glTF files: strips and fans, instances, colours of vertices, arrays in all their forms, Draco."""

import importlib.util
import sys

import numpy as np
import pytest
from gltf_file import TRIANGLE, GltfBuilder, notes_of

from scenes import SceneFileError, load
from scenes.colors.srgb import decoded
from scenes.meshes.geometry import double_area_normals
from shaders.textures import lookup, pack_textures


def snapshot_of(file, tmp_path, suffix=".gltf"):
    """The moment of a file, which has a node for its mesh if it has no nodes yet."""
    if "nodes" not in file.header:
        file.node(mesh=0)
    return load(file.write(tmp_path / f"a{suffix}")).at(0.0)


ZIGZAG = [[x // 2, x % 2, 0] for x in range(6)]


@pytest.mark.parametrize("suffix", [".gltf", ".glb"])
@pytest.mark.parametrize(
    ("mode", "indices", "count"),
    [(5, None, 4), (5, [0, 1, 2, 3, 65535, 2, 3, 4, 5], 4), (6, [0, 1, 3, 5], 2), (6, [0, 1, 3, 65535, 0, 3, 5], 2)],
    ids=["strip", "strips", "fan", "fans"],
)
def test_strips_and_fans_keep_their_winding(tmp_path, suffix, mode, indices, count):
    file = GltfBuilder()
    file.mesh(file.primitive({"POSITION": np.array(ZIGZAG) * [1, -1, 1]}, indices, mode=mode))
    normals = double_area_normals(snapshot_of(file, tmp_path, suffix).positions.astype(float))
    assert np.allclose(normals, [[0, 0, 1]] * count)


def test_lines_and_points_are_left_out(tmp_path):
    file = GltfBuilder()
    file.mesh(*(file.primitive(mode=mode) for mode in (0, 1, 2, 3, 4)))
    assert len(snapshot_of(file, tmp_path).positions) == 1
    for kind in ("points", "lines", "line loops", "line strips"):
        assert f": {kind} are left out" in notes_of(load(tmp_path / "a.gltf").document)


def test_arrays_that_are_interleaved_sparse_and_quantised(tmp_path):
    """Corners of one byte each, the second one replaced, in a view whose items are four bytes apart."""
    file = GltfBuilder()
    rows = np.array([[0, 0, 0, 9], [7, 7, 7, 9], [0, 127, 0, 9]], "<i1")
    view = file.view(rows.tobytes(), byteStride=4)
    at, values = file.view(b"\1\0"), file.view(bytes([127, 0, 0]))
    sparse = {"count": 1, "indices": {"bufferView": at, "componentType": 5123}, "values": {"bufferView": values}}
    position = file.add(
        "accessors", bufferView=view, count=3, type="VEC3", componentType=5120, normalized=True, sparse=sparse
    )
    file.mesh(file.primitive({"POSITION": position}))
    file.header["extensionsRequired"] = ["KHR_mesh_quantization"]
    assert np.allclose(snapshot_of(file, tmp_path).positions[0], TRIANGLE)


@pytest.mark.parametrize("mirror", [1.0, -1.0])
def test_instances_on_the_gpu_are_parts(tmp_path, mirror):
    file = GltfBuilder()
    half = np.sqrt(0.5)
    attributes = {
        "TRANSLATION": file.accessor([[1, 0, 0], [0, 0, 9]]),
        "ROTATION": file.accessor([[0, 0, 0, 1], [0, 0, half, half]]),
        "SCALE": file.accessor([[2, 2, 2], [1, 3, 1]]),
    }
    file.node(
        mesh=file.mesh(), scale=[mirror, 1, 1], extensions={"EXT_mesh_gpu_instancing": {"attributes": attributes}}
    )
    scene = load(file.write(tmp_path / "a.gltf"))
    first, second = scene.at(0.0).positions
    corners = sorted((np.array([[1, 0, 0], [3, 0, 0], [1, 2, 0]]) * [mirror, 1, 1]).tolist())
    assert np.allclose(sorted(first.tolist()), corners, atol=1e-6)
    turned = sorted((np.array([[0, 0, 9], [0, 1, 9], [-3, 0, 9]]) * [mirror, 1, 1]).tolist())
    assert np.allclose(sorted(np.round(second, 6).tolist()), turned, atol=1e-6)
    assert (scene.document.triangles, scene.document.stored_triangles) == (2, 1)
    assert (double_area_normals(scene.at(0.0).positions.astype(float))[:, 2] > 0).all()  # as glTF has its front


def seen(snapshot, triangle, weights):
    """The linear colour of a point of a triangle, by its barycentric weights."""
    material = snapshot.materials[snapshot.material_ids[triangle]]
    images = [
        decoded(texture.pixels, np.float32) if texture.colors is None else texture.colors
        for texture in snapshot.textures
    ]
    u, v = np.array(weights) @ snapshot.uvs[triangle].astype(float)
    return np.array(lookup(pack_textures(images), material.texture, float(u), float(v))) * material.diffuse


COLORS = np.array([[1.0, 0.0, 0.2], [0.0, 0.5, 0.2], [0.25, 0.0, 1.0]])
SHINY = {"metallicFactor": 1, "roughnessFactor": 0.5}


@pytest.mark.parametrize("pbr", [{"metallicFactor": 0, "roughnessFactor": 1}, SHINY], ids=["dull", "metal"])
@pytest.mark.parametrize(("kind", "largest"), [("f4", 1.0), ("u2", 65535), ("u1", 255)])
def test_colours_of_vertices_multiply_the_material_between_them(tmp_path, pbr, kind, largest):
    file = GltfBuilder()
    file.add("materials", pbrMetallicRoughness={"baseColorFactor": [0.5, 1, 1, 1], **pbr})
    others = {} if kind == "f4" else {"normalized": True}
    color = file.accessor(np.round(COLORS * largest) if others else COLORS, kind, **others)
    file.mesh(file.primitive({"COLOR_0": color}, material=0))
    snapshot = snapshot_of(file, tmp_path)
    for weights in ([1, 0, 0], [0, 0.5, 0.5], [1 / 3, 1 / 3, 1 / 3], [0.2, 0.7, 0.1]):
        expected = np.array(weights) @ COLORS * [0.5, 1, 1]
        assert seen(snapshot, 0, weights) == pytest.approx(expected, abs=0.003)


@pytest.mark.parametrize("metal", [0, 0.5, 1])
@pytest.mark.parametrize("colors", [COLORS[[2, 2, 2]], COLORS], ids=["one", "three"])
def test_colours_of_vertices_tint_what_is_metal(tmp_path, metal, colors):
    """As they do what is not."""
    shown = []
    for base, color in (([0.5, 1, 1], colors), (colors.mean(axis=0) * [0.5, 1, 1], np.ones((3, 3)))):
        file = GltfBuilder()
        pbr = {"baseColorFactor": [*base, 1], "metallicFactor": metal, "roughnessFactor": 0.5}
        file.add("materials", pbrMetallicRoughness=pbr)
        file.mesh(file.primitive({"COLOR_0": color}, material=0))
        shown.append(snapshot_of(file, tmp_path).materials[0])
    one, expected = shown
    assert (one.kind, one.own) == (expected.kind, expected.own)
    if one.texture < 0:
        assert one.diffuse == pytest.approx(expected.diffuse)
    else:
        assert one.diffuse == (0.5, 1.0, 1.0)


def test_one_colour_of_all_vertices_is_a_factor_of_the_picture(tmp_path):
    file = GltfBuilder()
    texture = file.picture(np.full((2, 2, 3), 128))
    file.add("materials", pbrMetallicRoughness={"baseColorTexture": {"index": texture}, "metallicFactor": 0})
    color = [[0.5, 0.25, 1.0]] * 3
    file.mesh(file.primitive({"COLOR_0": color, "TEXCOORD_0": [[0, 0], [1, 0], [0, 1]]}, material=0))
    snapshot = snapshot_of(file, tmp_path)
    assert seen(snapshot, 0, [0.3, 0.3, 0.4]) == pytest.approx(np.array(color[0]) * 0.2158605, abs=1e-5)


@pytest.mark.parametrize("wrap", [10497, 33648])
def test_colours_of_vertices_multiply_a_picture_between_them(tmp_path, wrap):
    """A picture whose red is a ramp of 8 texels, linear in bytes that are shares: looked up between its texels, it is
    the product of two linear functions."""
    file = GltfBuilder()
    ramp = np.zeros((2, 8, 3), np.uint8)
    ramp[..., 0] = np.arange(20, 180, 20)
    texture = file.picture(ramp, {"wrapS": wrap})
    file.add("materials", pbrMetallicRoughness={"baseColorTexture": {"index": texture}, **SHINY, "metallicFactor": 0})
    uvs = np.array([[0.1, 0.2], [0.9, 0.2], [0.1, 0.8]])
    triangles = [0, 1, 2, 0, 2, 1, 1, 0, 2]
    file.mesh(file.primitive({"COLOR_0": COLORS, "TEXCOORD_0": uvs}, triangles, material=0))
    snapshot = snapshot_of(file, tmp_path)
    image = decoded(ramp[0, :, 0])
    for number, corners in enumerate(np.reshape(triangles, (3, 3))):
        for weights in ([1, 0, 0], [0, 1, 0], [0, 0.5, 0.5], [0.2, 0.7, 0.1], [0.4, 0.3, 0.3]):
            u = 8 * (np.array(weights) @ uvs[corners])[0] - 0.5
            expected = np.interp(u, np.arange(8), image) * (np.array(weights) @ COLORS[corners])[0]
            assert seen(snapshot, number, weights)[0] == pytest.approx(expected, abs=0.004)
    assert "multiplied by the mean" not in notes_of(load(tmp_path / "a.gltf").document)


def test_without_a_material_colours_of_vertices_are_all_there_is(tmp_path):
    file = GltfBuilder()
    file.mesh(file.primitive({"COLOR_0": COLORS}))
    assert seen(snapshot_of(file, tmp_path), 0, [0.5, 0.5, 0]) == pytest.approx([0.5, 0.25, 0.2], abs=1e-6)


def with_draco(file, data, required=True):
    packed = {"bufferView": file.view(data), "attributes": {"POSITION": 0}}
    position = file.add("accessors", count=3, type="VEC3", componentType=5126)
    file.header["extensionsUsed"] = ["KHR_draco_mesh_compression"]
    if required:
        file.header["extensionsRequired"] = ["KHR_draco_mesh_compression"]
    file.mesh(file.primitive({"POSITION": position}, extensions={"KHR_draco_mesh_compression": packed}))
    file.node(mesh=0)
    return file


def test_without_its_library_draco_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "DracoPy", None)
    path = with_draco(GltfBuilder(), b"DRACO").write(tmp_path / "a.gltf")
    with pytest.raises(SceneFileError) as caught:
        load(path)
    assert "is compressed by Draco, which needs DracoPy: pip install 'tracecore[draco]'" in str(caught.value)


needs_draco = pytest.mark.skipif(importlib.util.find_spec("DracoPy") is None, reason="DracoPy is not installed")


@needs_draco
def test_draco(tmp_path):
    import DracoPy

    corners = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0], [4, 4, 1]], np.float32)
    data = DracoPy.encode(corners, np.array([[0, 1, 2], [2, 1, 3]]), quantization_bits=14, preserve_order=True)
    snapshot = load(with_draco(GltfBuilder(), data).write(tmp_path / "a.glb")).at(0.0)
    assert np.allclose(snapshot.positions, corners[[[0, 1, 2], [2, 1, 3]]], atol=1e-3)


@needs_draco
def test_bad_draco(tmp_path):
    with pytest.raises(SceneFileError, match="expected a mesh that Draco can decode"):
        load(with_draco(GltfBuilder(), b"DRACO\2\2").write(tmp_path / "a.glb"))


def test_fans_turn_about_their_first_vertex(tmp_path):
    file = GltfBuilder()
    ring = [[np.cos(angle), np.sin(angle), 0] for angle in np.radians([0, 60, 120, 180])]
    file.mesh(file.primitive({"POSITION": [[0, 0, 0], *ring]}, [0, 1, 2, 3, 4], mode=6))
    positions = snapshot_of(file, tmp_path).positions
    expected = [[ring[k], ring[k + 1], [0, 0, 0]] for k in range(3)]
    assert np.allclose(positions, expected, atol=1e-6)
