"""Mesh files: read back what trimesh wrote, and errors for what is no sound mesh."""

import re
import struct
from pathlib import Path

import numpy as np
import pytest
import trimesh
from data_files import messages
from PIL import Image

from scenes import SceneFileError, load
from scenes.meshes.geometry import areas

SUFFIXES = [".obj", ".ply", ".stl", ".glb", ".gltf"]
SQUARE = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n"


def export(mesh, path: Path):
    """Writes a trimesh mesh in the format of the suffix."""
    if path.suffix == ".gltf":
        for name, data in mesh.export(file_type="gltf").items():
            (path.parent / (path.name if name == "model.gltf" else name)).write_bytes(data)
    else:
        mesh.export(path)
    return path


def bad(path, data):
    """The message of the error about a file of some bytes."""
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return refused(path)


def refused(path, named=None):
    """The message of the error about a file: one line that names the file once, or another, and no exceptions of
    Python."""
    named = named or path
    with pytest.raises(SceneFileError) as caught:
        load(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(named))
    assert message.count(str(named)) == 1
    assert not re.search(r"[a-z]Error|Exception|module|charset", message)
    return message


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_read_back(tmp_path, suffix):
    mesh = trimesh.creation.box((1, 2, 4))
    path = export(mesh, tmp_path / f"box{suffix}")
    picture = load(path).at(0.0)
    assert np.allclose(picture.positions, mesh.triangles, atol=1e-6)
    assert picture.name == "box"
    assert picture.camera.vertical_fov == 40.0
    assert len(picture.lights) == 1
    assert picture.lights[0].kind == "distant"
    assert picture.environment is not None


@pytest.mark.parametrize("suffix", [".obj", ".ply", ".glb"])
def test_normals_of_the_file(tmp_path, suffix):
    ball = trimesh.creation.icosphere(subdivisions=2)
    assert ball.vertex_normals is not None  # trimesh writes those that it has computed
    picture = load(export(ball, tmp_path / f"ball{suffix}")).at(0.0)
    assert np.allclose(picture.normals, picture.positions, atol=0.02)


@pytest.mark.parametrize("suffix", [".obj", ".ply", ".stl", ".glb"])
def test_triangles_without_area_stay(tmp_path, suffix):
    mesh = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2], [0, 1, 1], [0, 1, 2]], process=False)
    picture = load(export(mesh, tmp_path / f"thin{suffix}")).at(0.0)
    assert areas(picture.positions).tolist() == [0.5, 0.0, 0.5]
    assert np.allclose(np.linalg.norm(picture.normals, axis=-1), 1.0)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_empty_missing_and_nonsense(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    with pytest.raises(SceneFileError, match="no such file"):
        load(path)
    assert "empty" in bad(path, b"")
    bad(path, b"nonsense\n" * 30)
    bad(path, bytes(range(256)) * 4)


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".aff"])
def test_folders_are_no_files(tmp_path, suffix):
    (tmp_path / f"folder{suffix}").mkdir()
    assert refused(tmp_path / f"folder{suffix}").endswith(f"folder{suffix}: expected an ordinary file")


@pytest.mark.parametrize("suffix", [".ply", ".stl", ".glb"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_files_cut_off(tmp_path, suffix, share):
    data = export(trimesh.creation.icosphere(subdivisions=1), tmp_path / f"whole{suffix}").read_bytes()
    message = bad(tmp_path / f"part{suffix}", data[: int(share * len(data))])
    assert ": is cut off: " in message


def test_binary_stl_of_another_size(tmp_path):
    data = bytearray(export(trimesh.creation.box(), tmp_path / "box.stl").read_bytes())
    assert ": is not a readable STL file: 12 triangles need 684 bytes" in bad(tmp_path / "a.stl", bytes(data) + b"\0")
    struct.pack_into("<I", data, 80, 4_000_000_000)
    assert ": is cut off: 4000000000 triangles need " in bad(tmp_path / "a.stl", bytes(data))
    data[:5] = b"solid"  # as some programs begin binary files
    assert ": is cut off: " in bad(tmp_path / "a.stl", bytes(data))
    struct.pack_into("<I", data, 80, 12)
    (tmp_path / "a.stl").write_bytes(data)
    assert len(load(tmp_path / "a.stl").at(0.0).positions) == 12


def test_ascii_stl_cut_off(tmp_path):
    text = trimesh.creation.box().export(file_type="stl_ascii")
    path = tmp_path / "a.stl"
    path.write_text(text + "\n" + text)
    assert len(load(path).at(0.0).positions) == 24
    assert ": is cut off: " in bad(path, text + "\n" + text[: len(text) // 2])


LATIN = b"# caf\xe9 \xb0\n"


def test_latin_text_of_obj_and_mtl(tmp_path):
    Image.new("RGB", (2, 2), (1, 2, 3)).save(tmp_path / "caf\u00e9.png")
    names = (b"caf\xe9", "caf\u00e9".encode())
    for name, other in (names, names[::-1], names[:1] * 2):
        (tmp_path / "m.mtl").write_bytes(
            LATIN[:2] + name + b"\nnewmtl " + name + b"\nKd 0.8 0 0\nmap_Kd " + name + b".png\n"
        )
        faces = b"vt 0 0\nusemtl " + other + b"\nf 1/1 2/1 3/1\n"
        (tmp_path / "a.obj").write_bytes(b"# " + other + b"\nmtllib m.mtl\n" + SQUARE.encode() + faces)
        picture = load(tmp_path / "a.obj").at(0.0)
        assert [(material.name, material.diffuse) for material in picture.materials] == [("caf\u00e9", (0.8, 0, 0))]
        assert picture.textures[0].pixels[0, 0].tolist() == [1, 2, 3]


def of_mtl(tmp_path, lines):
    """An OBJ file of one triangle whose material has some lines."""
    (tmp_path / "m.mtl").write_text("newmtl a\n" + lines)
    (tmp_path / "a.obj").write_text("mtllib m.mtl\n" + SQUARE + "usemtl a\nf 1 2 3\n")
    return tmp_path / "a.obj"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("Kd 1 -1 0", "expected colours not below 0, got 1, -1, 0"),
        ("Kd nan 1 0", "expected finite colours, got nan, 1, 0"),
        ("Kd 1 inf 0", "expected finite colours"),
        ("Ke 0 0 -2", "not below 0"),
        ("Ke 0 inf 0", "expected finite colours"),
        ("Ke 1e30 0 0", "expected an emission of at most 1e+09, got 1e+30"),
        ("Ke red 0 0", "expected the numbers of a colour"),
    ],
)
def test_bad_colours(tmp_path, lines, expected):
    assert expected in refused(of_mtl(tmp_path, lines), f"{tmp_path / 'm.mtl'}:2: ")


def noted(scene):
    return [line for line in scene.document.notes.lines if "what is up" not in line]


def test_what_is_missing_is_plain_and_noted(tmp_path):
    path = of_mtl(tmp_path, "Kd 0.1 0.2 0.3\nmap_Kd none.png\n")
    path.write_text(path.read_text().replace("f 1 2 3", "vt 0 0\nf 1/1 2/1 3/1"))
    scene = load(path)
    material = scene.at(0.0).materials[0]
    assert (material.diffuse, material.texture) == ((0.1, 0.2, 0.3), -1)
    assert noted(scene) == [f"{tmp_path / 'm.mtl'}:3: there is no picture 'none.png': it is left out"]
    (tmp_path / "m.mtl").unlink()
    scene = load(path)
    assert scene.at(0.0).materials[0].diffuse == (0.6, 0.6, 0.6)
    assert noted(scene) == [
        f"{path}:1: there is no file 'm.mtl': its materials are plain",
        f"{path}:6: there is no material 'a': what has it is plain",
    ]
    header = b"comment TextureFile none.png\nelement vertex"
    ply = PLY.format("ascii", 3, FACES).replace("element vertex", header.decode(), 1) + "0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"
    ply = ply.replace("property float z", "property float z\nproperty float s\nproperty float t", 1).replace(
        " 0\n", " 0 0 0\n"
    )
    (tmp_path / "t.ply").write_text(ply)
    scene = load(tmp_path / "t.ply")
    assert scene.at(0.0).materials[0].diffuse == (0.6, 0.6, 0.6)
    assert noted(scene) == [f"{tmp_path / 't.ply'}:3: there is no picture 'none.png': it is left out"]


def test_normals_of_obj_that_are_no_numbers_are_left_out(tmp_path):
    path = tmp_path / "a.obj"
    path.write_text(SQUARE + "vn nan nan nan\nvn 0 0.6 0.8\nvt nan 0\nvt 0.5 0.5\nf 1/1/1 2/2/2 3/2/2\n")
    scene = load(path)
    assert scene.at(0).normals[0] == pytest.approx(np.array([(0, 0, 1), (0, 0.6, 0.8), (0, 0.6, 0.8)]))
    assert [line.partition(": ")[2] for line in noted(scene)] == [
        "texture coordinates that are NaN are left out: 1",
        "normals that are NaN are left out: 1",
    ]


@pytest.mark.parametrize(("text", "line", "expected"), messages("obj", {}))
def test_bad_obj(tmp_path, text, line, expected):
    message = bad(tmp_path / "a.obj", SQUARE + text)
    assert expected in message
    assert line == "-" or f"a.obj:{line}: " in message


PLY = "ply\nformat {} 1.0\nelement vertex {}\nproperty float x\nproperty float y\nproperty float z\n{}end_header\n"
FACES = "element face 1\nproperty list uchar int vertex_indices\n"


@pytest.mark.parametrize(("path", "count"), [("bunny/bunny.obj", 69_451), ("sibenik/sibenik.obj", 73_564)])
def test_public_meshes(shared_scenes, path, count):
    if not (shared_scenes / path).is_file():
        pytest.skip(f"there is no {path} among the public scenes")
    picture = load(shared_scenes / path).at(0.0)
    assert len(picture.positions) == count
    assert np.allclose(np.linalg.norm(picture.normals, axis=-1), 1.0, atol=1e-5)


def test_gltf_indices_out_of_range(tmp_path):
    mesh = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], process=False)
    path = export(mesh, tmp_path / "a.glb")
    data = path.read_bytes()
    for kind in ("<3B", "<3H", "<3I"):
        old, new = struct.pack(kind, 0, 1, 2), struct.pack(kind, 0, 1, 9)
        if data.count(old) == 1:
            assert "indices" in bad(path, data.replace(old, new))
            return
    pytest.fail("the indices were not found in the file")


def test_headers_cut_off(tmp_path):
    ball = trimesh.creation.icosphere(subdivisions=1)
    for suffix, size in ((".stl", 50), (".glb", 15)):
        data = export(ball, tmp_path / f"whole{suffix}").read_bytes()
        assert ": is cut off: a header has" in bad(tmp_path / f"part{suffix}", data[:size])
