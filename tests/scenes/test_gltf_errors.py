"""What is wrong with a glTF file is told in one line, with its place; what is not read is noted."""

import contextlib
import copy
import json
import math
import re

import numpy as np
import pytest
from data_files import messages
from gltf_file import CORNERS, GltfBuilder, notes_of
from hypothesis import given, settings
from hypothesis import strategies as st

from scenes import SceneError, SceneFileError, load

NAN, INF = math.nan, math.inf


def rich():
    file = GltfBuilder()
    texture = file.picture([[[255, 0, 0, 255], [0, 255, 0, 9]]], {"wrapS": 33071, "wrapT": 33648})
    clear = {"KHR_materials_transmission": {"transmissionFactor": 1}, "KHR_materials_volume": {"thicknessFactor": 1}}
    file.add("materials", pbrMetallicRoughness={"baseColorTexture": {"index": texture}}, emissiveFactor=[0, 0, 1])
    file.add("materials", extensions=clear, normalTexture={"index": texture}, alphaMode="MASK")
    glossy = {"specularGlossinessTexture": {"index": texture}, "glossinessFactor": 0.75}
    file.add("materials", extensions={"KHR_materials_pbrSpecularGlossiness": glossy})
    targets = [{"POSITION": file.accessor(np.ones((3, 3)))}]
    bones = {"JOINTS_0": file.accessor(np.zeros((3, 4)), "u1"), "WEIGHTS_0": [[1, 0, 0, 0]] * 3}
    one = file.primitive({"TEXCOORD_0": CORNERS}, [0, 1, 2], material=0)
    two = file.primitive({"TEXCOORD_0": CORNERS, "COLOR_0": np.eye(3)}, material=1, targets=targets, mode=5)
    three = file.primitive({**bones, "TEXCOORD_0": CORNERS}, material=2)
    file.add("cameras", type="perspective", perspective={"yfov": 1.0, "aspectRatio": 1.5, "znear": 0.1, "zfar": 9.0})
    file.add("cameras", type="orthographic", orthographic={"xmag": 1.0, "ymag": 1.0, "znear": 0.1, "zfar": 9.0})
    lights = [{"type": "spot", "intensity": 2, "color": [1, 1, 0], "spot": {"outerConeAngle": 0.5}}]
    file.header["extensions"] = {"KHR_lights_punctual": {"lights": lights}}
    file.header["extensionsUsed"] = ["KHR_lights_punctual", "KHR_materials_transmission"]
    inner = file.node(False, camera=0, rotation=[0, 0, 0, 1], mesh=file.mesh(one, two), weights=[0.5])
    places = {"attributes": {"TRANSLATION": file.accessor(np.eye(3))}}
    outer = file.node(children=[inner], translation=[0, 0, 1], extensions={"KHR_lights_punctual": {"light": 0}})
    file.node(matrix=np.eye(4).ravel().tolist(), camera=1)
    file.node(mesh=file.mesh(one), extensions={"EXT_mesh_gpu_instancing": places})
    file.add("skins", joints=[outer, inner])
    file.node(mesh=file.mesh(three), skin=0)
    animation = file.animate(inner, "translation", [0, 1], np.ones((2, 3)))
    file.animate(inner, "weights", [0, 1], [0, 1], animation=animation)
    file.animate(outer, "rotation", [0, 1], np.ones((6, 4)), "CUBICSPLINE", animation=animation)
    return file


RICH = rich()


#: Extensions that are not read, and what is told of them beside that.
UNREAD = {
    "KHR_materials_variants": ": the file shows its own materials",
    "KHR_materials_iridescence": "",
    "KHR_materials_dispersion": "",
    "KHR_materials_diffuse_transmission": "",
    "KHR_texture_basisu": ": the pictures beside it, or colours alone, are used; others that are read are made by "
    "gltf-transform ktxdecompress IN.glb OUT.glb",
    "EXT_lights_image_based": "",
    "ADOBE_materials_thin_transparency": "",
    "ACME_magic": "",
}


def demanding(tmp_path, name, required=True):
    """The path of a file of a triangle that requires, or uses, an extension."""
    file = GltfBuilder()
    file.header["extensionsUsed"] = [name]
    file.header["extensionsRequired"] = [name] * required
    file.node(mesh=file.mesh())
    return file.write(tmp_path / "a.gltf")


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize("name", UNREAD)
def test_extensions_that_are_not_read_are_noted(tmp_path, name, required):
    path = demanding(tmp_path, name, required)
    scene = load(path)
    message = f'the extension "{name}" is not read{UNREAD[name]}'
    assert scene.document.triangles == 1
    assert scene.document.notes.lines == [f"{path}: {message}"]
    with pytest.raises(SceneError) as caught:
        load(path, strict=True)
    assert str(caught.value) == f"{path}: {message} (an error by --strict)"


@pytest.mark.parametrize("name", ["KHR_xmp_json_ld", "MSFT_lod", "EXT_structural_metadata", "KHR_mesh_quantization"])
def test_extensions_that_are_read_or_not_seen_are_not_told(tmp_path, name):
    assert load(demanding(tmp_path, name), strict=True).document.notes.lines == []


def changed(way, value):
    """The rich file in which one value is another."""
    file = GltfBuilder()
    file.data = RICH.data
    file.header = copy.deepcopy(RICH.header)
    inner(file.header, way)[way[-1]] = value
    return file


def inner(header, way):
    """What holds the value at the end of a way."""
    for key in way[:-1]:
        header = header[key]
    return header


def refused(tmp_path, file):
    """The error about a file: one line that begins with its name."""
    path = file.write(tmp_path / "a.gltf")
    with pytest.raises(SceneFileError) as caught:
        load(path)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


LENS, VIEW = ("cameras", 0, "perspective"), ("cameras", 1, "orthographic")
LIGHT = ("extensions", "KHR_lights_punctual", "lights", 0)
PBR = ("materials", 0, "pbrMetallicRoughness")
ODD = (INF, -INF, NAN, None, True, "1", [1], 1e300)


@pytest.mark.parametrize(
    "way",
    [
        (*LENS, "yfov"),
        (*LENS, "aspectRatio"),
        (*LENS, "znear"),
        (*VIEW, "xmag"),
        (*LIGHT, "intensity"),
        (*LIGHT, "spot", "outerConeAngle"),
        (*PBR, "metallicFactor"),
        ("materials", 0, "alphaCutoff"),
        ("materials", 1, "extensions", "KHR_materials_volume", "thicknessFactor"),
        ("materials", 2, "extensions", "KHR_materials_pbrSpecularGlossiness", "glossinessFactor"),
    ],
    ids=lambda way: way[-1],
)
def test_numbers_that_are_none(tmp_path, way):
    for value in ODD:
        file = changed(way, value)
        file.header["materials"][0]["alphaMode"] = "MASK"
        assert f"{way[-1]}: expected a finite number from " in refused(tmp_path, file), value


@pytest.mark.parametrize(
    "way", [("materials", 0, "emissiveFactor"), ("nodes", 1, "translation"), (*LIGHT, "color")], ids=lambda way: way[-1]
)
def test_triples_that_are_none(tmp_path, way):
    for value in ([1, NAN, 0], [1, 0], [1, None, 0], [True, 0, 0], "red", None, 3, [1, INF, 0]):
        assert f"{way[-1]}: expected 3 finite numbers from " in refused(tmp_path, changed(way, value)), value


@pytest.mark.parametrize(
    ("way", "rows"),
    [
        (("nodes", 0, "camera"), "cameras"),
        (("nodes", 0, "mesh"), "meshes"),
        (("nodes", 4, "skin"), "skins"),
        (("nodes", 1, "extensions", "KHR_lights_punctual", "light"), "lights"),
        (("nodes", 1, "children", 0), "nodes"),
        (("scenes", 0, "nodes", 0), "nodes"),
        (("scene",), "scenes"),
        (("meshes", 0, "primitives", 0, "material"), "materials"),
        (("meshes", 0, "primitives", 0, "indices"), "accessors"),
        (("meshes", 0, "primitives", 0, "attributes", "POSITION"), "accessors"),
        (("accessors", 1, "bufferView"), "buffer views"),
        (("bufferViews", 1, "buffer"), "buffers"),
        (("textures", 0, "source"), "images"),
        (("textures", 0, "sampler"), "samplers"),
        ((*PBR, "baseColorTexture", "index"), "textures"),
        (("animations", 0, "channels", 0, "target", "node"), "nodes"),
        (("animations", 0, "channels", 0, "sampler"), "samplers"),
        (("skins", 0, "joints", 1), "nodes"),
    ],
    ids=lambda way: str(way[-1]) if isinstance(way, tuple) else way,
)
def test_numbers_of_what_is_not_there(tmp_path, way, rows):
    for value in (-1, 99, True, None, 0.5, "0"):
        message = refused(tmp_path, changed(way, value))
        assert re.search(rf"expected the number of one of the \d+ {rows}, got ", message), value


@pytest.mark.parametrize(("way", "value", "expected"), messages("gltf", {}))
def test_what_is_wrong_is_named(tmp_path, way, value, expected):
    keys = [int(key) if key.isdigit() else key for key in way.split(".")]
    assert expected in refused(tmp_path, changed(keys, json.loads(value)))


@pytest.mark.parametrize(
    "uri", ["../a.bin", "b/../../a.bin", "%2e%2e/a.bin", "..\\a.bin", "{}/a.bin", "file://{}/a.bin"]
)
def test_files_outside_the_folder_are_not_read(tmp_path, uri):
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.bin").write_bytes(RICH.data)
    file = changed(("buffers",), [{"byteLength": len(RICH.data), "uri": uri.format(tmp_path)}])
    message = refused(tmp_path / "inner", file)
    assert "outside of the folder" in message or "which is not in its folder" in message
    (tmp_path / "inner" / "a.bin").write_bytes(RICH.data)
    file.header["buffers"][0]["uri"] = "a.bin"
    assert load(file.write(tmp_path / "inner" / "a.gltf")).document.triangles == 6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"asset": {},\n"a" 1}', "a.gltf:2: expected a glTF header in JSON"),
        ("[" * 100_000, "expected a glTF header in JSON"),
        ('{"a": ' + "9" * 5000 + "}", "expected a glTF header in JSON"),
        ("[]", "expected a glTF header in JSON, an object"),
        ('{"accessors": {}}', 'is glTF "1.0"'),
        ("{}", "there are no triangles"),
    ],
    ids=range(6),
)
def test_headers_that_are_none(tmp_path, text, expected):
    (tmp_path / "a.gltf").write_text(text)
    with pytest.raises(SceneFileError) as caught:
        load(tmp_path / "a.gltf")
    assert expected in str(caught.value)


def places_of(value, way=()):
    rows = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in rows:
        yield (*way, key)
        yield from places_of(inner, (*way, key))


WAYS = list(places_of(RICH.header))
VALUES = [None, True, -1, 0, 1, 2, 99, 0.5, 1e30, NAN, INF, "", "x", [], [0], {}, [[]], 2**70, [1e8] * 3, "\0"]


@settings(max_examples=40, deadline=None, database=None)
@given(changes=st.lists(st.tuples(st.sampled_from(WAYS), st.sampled_from(VALUES)), min_size=1, max_size=3))
def test_any_header_is_read_or_refused(tmp_path_factory, changes):
    header = copy.deepcopy(RICH.header)
    for way, value in changes:
        try:
            inner(header, way)[way[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue
    file = GltfBuilder()
    file.data, file.header = RICH.data, header
    with contextlib.suppress(SceneError):
        scene = load(file.write(tmp_path_factory.getbasetemp() / "fuzzed.gltf"))
        assert np.isfinite(scene.at_frame(0).positions).all()


def test_notes_are_told_once_each(tmp_path):
    file = GltfBuilder()
    plain = {"doubleSided": True}
    file.add("materials", **plain, occlusionTexture={"index": 0})
    file.picture([[[1, 2, 3]]])
    points = file.primitive(mode=0)
    given = file.primitive({"_WIND": np.zeros(3)}, material=0)
    file.node(mesh=file.mesh(points, given, points))
    file.header["extensionsUsed"] = ["ACME_magic", "KHR_lights_punctual"]
    path = file.write(tmp_path / "a.gltf")
    scene = load(path)
    assert scene.document.triangles == 1
    assert scene.document.notes.lines == [
        f'{path}: the extension "ACME_magic" is not read',
        f"{path}: points are left out: surfaces alone are seen",
        f"{path}: the attribute _WIND is not read",
        f"{path}: occlusionTexture is not read: shadows of the surroundings are traced",
    ]


def test_a_missing_picture_is_noted(tmp_path):
    file = changed(("images", 0), {"uri": "gone.png"})
    scene = load(file.write(tmp_path / "a.gltf"))
    assert not [texture for texture in scene.document.textures if "images" in texture.name]
    told = 'images[0]: refers to "gone.png", which is not in its folder: colours alone are used'
    assert told in notes_of(scene.document)


def test_binary_gltf_1(tmp_path):
    (tmp_path / "a.glb").write_bytes(b"glTF" + bytes([1, 0, 0, 0]) + bytes(40))
    with pytest.raises(SceneFileError, match=r"is binary glTF 1; glTF 2\.0 is read"):
        load(tmp_path / "a.glb")


def test_a_picture_of_no_format_is_noted(tmp_path):
    scene = load(changed(("images", 0, "bufferView"), 1).write(tmp_path / "a.gltf"))
    assert not [texture for texture in scene.document.textures if "images" in texture.name]
    assert "images[0] is no picture that is read, PNG" in notes_of(scene.document)
