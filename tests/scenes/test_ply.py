"""PLY files: polygons, strips, colours and types, in text and both byte orders; and files of any content."""

import struct

import numpy as np
import pytest
from PIL import Image

from scenes import SceneFileError, load
from scenes.meshes.geometry import areas
from scenes.views.viewing import Viewing

FORMATS = ("ascii", "binary_little_endian", "binary_big_endian")
CODES = {"uchar": "B", "char": "b", "ushort": "H", "short": "h", "int": "i", "uint": "I", "float": "f", "double": "d"}
XYZ = ["float x", "float y", "float z"]
FACES = ("list uchar int vertex_indices",)
L = [(0, 0, 0), (4, 0, 0), (4, 4, 0), (3, 4, 0), (3, 1, 0), (0, 1, 0)]


def ply(kind, *elements, comments=()):
    """A PLY file of elements: name, properties, rows of numbers and lists of numbers."""
    lines = ["ply", f"format {kind} 1.0", *comments]
    body = b""
    for name, properties, rows in elements:
        lines += [f"element {name} {len(rows)}", *(f"property {one}" for one in properties)]
        for row in rows:
            body += written(kind, [one.split() for one in properties], row)
    return "\n".join([*lines, "end_header\n"]).encode() + body


def written(kind, properties, row):
    numbers = []
    for words, value in zip(properties, row, strict=True):
        if words[0] == "list":
            numbers += [(words[1], len(value)), *((words[2], item) for item in value)]
        else:
            numbers.append((words[0], value))
    if kind == "ascii":
        return (" ".join(str(value) for _, value in numbers) + "\n").encode()
    order = ">" if "big" in kind else "<"
    return b"".join(struct.pack(order + CODES[type_], value) for type_, value in numbers)


def read(tmp_path, data):
    """The scene of a PLY file, and its notes without the name of the file."""
    (tmp_path / "a.ply").write_bytes(data)
    scene = load(tmp_path / "a.ply", Viewing(up_axis="y"))
    return scene.at(0.0), [line.removeprefix(f"{tmp_path}/") for line in scene.document.notes.lines]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("faces", [[L], [L[:3], L[:3]], [L, L[:3], L[:4], L[::-1]]])
def test_polygons_of_one_and_of_many_sizes(tmp_path, kind, faces):
    indices = [([L.index(corner) for corner in face], 7.5) for face in faces]
    vertices = [(1, *corner) for corner in L]
    data = ply(
        kind,
        ("vertex", ["uchar flag", "float x", "double y", "float z"], vertices),
        ("face", [*FACES, "float quality"], indices),
    )
    picture, notes = read(tmp_path, data)
    expected = {6: 7.0, 3: 8.0, 4: 10.0}
    assert areas(picture.positions).sum() == pytest.approx(sum(expected[len(face)] for face in faces))
    assert notes == [
        "a.ply:4: the property 'flag' of 'vertex' is not read",
        "a.ply:10: the property 'quality' of 'face' is not read",
    ]


@pytest.mark.parametrize("kind", FORMATS)
def test_strips_turn_every_other_triangle(tmp_path, kind):
    vertices = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 2, 0), (1, 2, 0)]
    strips = [([0, 1, 2, 3, -1, 2, 3, 4, 5],), ([0, 1, 2, 2, 4],)]
    picture, _ = read(tmp_path, ply(kind, ("vertex", XYZ, vertices), ("tristrips", FACES, strips)))
    corners = [[0, 1, 2], [2, 1, 3], [2, 3, 4], [4, 3, 5], [0, 1, 2]]
    assert picture.positions.tolist() == np.array(vertices, float)[corners].tolist()
    assert (picture.normals == (0, 0, 1)).all()


@pytest.mark.parametrize("kind", FORMATS)
def test_faces_and_strips_in_any_order_with_colours_and_texture_coordinates(tmp_path, kind):
    Image.new("RGB", (2, 2), (9, 8, 7)).save(tmp_path / "t.png")
    vertices = [(x, y, z, x / 4, y / 4) for x, y, z in L]
    both = ("tristrips", ["list int int vertex_indices"], [([0, 1, 2],)]), ("face", FACES, [([0, 1, 2],)])
    comments = ["comment TextureFile t.png", "obj_info made by hand"]
    picture, notes = read(
        tmp_path, ply(kind, both[0], ("vertex", [*XYZ, "float u", "float v"], vertices), both[1], comments=comments)
    )
    assert picture.positions.shape == (2, 3, 3)
    assert picture.uvs.tolist() == [[[0, 1], [1, 1], [1, 0]]] * 2
    assert picture.textures[0].pixels[0, 0].tolist() == [9, 8, 7]
    assert notes == []


def test_texture_coordinates_of_corners(tmp_path):
    Image.new("RGB", (2, 2)).save(tmp_path / "t.png")
    faces = [([0, 1, 2], [0, 0, 1, 0, 1, 1]), ([0, 2, 5, 1], [0.5, 0, 0, 0, 0, 0, 0, 0])]
    properties = [*FACES, "list uchar float texcoord"]
    picture, _ = read(
        tmp_path, ply("ascii", ("vertex", XYZ, L), ("face", properties, faces), comments=["comment TextureFile t.png"])
    )
    assert picture.uvs[0].tolist() == [[0, 1], [1, 1], [1, 0]]
    assert (picture.uvs[:, :, 0] == 0.5).sum() == 2  # both halves have the first corner


@pytest.mark.parametrize(("kind", "most"), [("uchar", 255), ("ushort", 65535), ("float", 1.0)])
def test_colours_of_any_type(tmp_path, kind, most):
    vertices = [(*corner, most, type(most)(most / 5), 0) for corner in L]
    names = [f"{kind} {name}" for name in ("red", "green", "blue")]
    picture, _ = read(tmp_path, ply(FORMATS[1], ("vertex", [*XYZ, *names], vertices), ("face", FACES, [([0, 1, 2],)])))
    assert picture.textures[0].pixels[0, 0].tolist() == [255, 51, 0]


@pytest.mark.parametrize("kind", FORMATS)
def test_corners_whose_normal_is_no_number_are_flat(tmp_path, kind):
    nan, tilted = float("nan"), (0.0, 0.6, 0.8)
    properties = [*XYZ, "float nx", "float ny", "float nz", "float s", "float t"]
    rows = [(0, 0, 0, *tilted, nan, 0.5), (1, 0, 0, nan, 0, 1, 0.25, 0.5), (0, 1, 0, *tilted, 0.25, 0.75)]
    path = tmp_path / "a.ply"
    path.write_bytes(ply(kind, ("vertex", properties, rows), ("face", FACES, [([0, 1, 2],)])))
    scene = load(path)
    snapshot = scene.at(0)
    assert snapshot.normals[0] == pytest.approx(np.array([tilted, (0, 0, 1), tilted]))
    assert snapshot.uvs[0].tolist() == [[0.0, 1.0], [0.25, 0.5], [0.25, 0.25]]
    for name in ("normal", "texture coordinate"):
        assert f"{path}: {name}s that are NaN are left out: 1" in scene.document.notes.lines


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("format ascii", "format base64", "a.ply:2: expected a format that is one of"),
        ("float x", "float", "a.ply:4: expected a property"),
        ("list uchar int vertex_indices", "list", "a.ply:8: expected a property"),
        ("list uchar", "list", "a.ply:8: expected a property"),
        ("element vertex 6", "element vertex", "a.ply:3: expected a name and a count"),
        ("float z", "float w", "expected vertices with x, y and z"),
        ("4 4 0\n", "4 4 zero\n", "a.ply:12: expected numbers, got 'zero'"),
        ("4 4 0\n", "4 4 nan\n", "position 2 is [4.0, 4.0, nan]"),
        ("4 4 0\n", "4 4 1e30\n", "position 2 is"),
        ("3 0 1 2", "2 0 1", "expected 3 or more corners of a face, got 2 of face 0"),
        ("3 0 1 2", "3 0 1 6", "indices reach from 0 to 6, but there are 6 vertices"),
        ("3 0 1 2", "9 0 1 2", "is cut off: row 0 of element 'face' ends after it"),
        ("3 0 1 2", "-3 0 1 2", "is cut off: row 0 of element 'face' ends after it"),
        ("3 0 1 2", "3 0 1 2 9", "there are 1 numbers more than its header says"),
        ("3 0 1 2", "", "is cut off: 1 row of element 'face' is more than there is left"),
    ],
)
def test_bad_files(tmp_path, old, new, message):
    text = ply("ascii", ("vertex", XYZ, L), ("face", FACES, [([0, 1, 2],)])).decode()
    assert text.count(old) >= 1
    with pytest.raises(SceneFileError) as caught:
        read(tmp_path, text.replace(old, new).encode())
    assert message in str(caught.value)
