"""OBJ and MTL as people write them: arrays and materials that are known, notes, and files of any content."""

import gzip

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from PIL import Image

from scenes import SceneFileError, load
from scenes.document import Document
from scenes.materials.microfacets import metallic
from scenes.mesh_file import read_mesh_document
from scenes.meshes.geometry import areas
from scenes.views.viewing import Viewing
from scenes.wavefront import read_obj
from scenes.wavefront.mtl import options_and_name, read_mtl

SQUARE = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n"
TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
UVS = "vt 0 0\nvt 1 0\nvt 0 1\n"
#: The corners of the triangle.
CORNERS = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]


def read(tmp_path, text, name="a.obj"):
    """The scene of an OBJ file, and its notes without the name of the file."""
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    scene = load(tmp_path / name, Viewing(up_axis="y"))
    return scene.at(0.0), [line.removeprefix(f"{tmp_path}/") for line in scene.document.notes.lines]


@pytest.mark.parametrize(
    "text",
    [
        TRIANGLE + "f 1 2 3\n",
        "v\t0 0 0\n\tv 1\t0 0  \n  v\t0 1 0\n \tf\t1  2\t3",
        "# v 9 9 9\nv 0 0 0 # v\nv 1 0 0# f 1 1 1\n#\n\nv 0 1 0\nf 1 2 3 # 4\n#f 1 1 1",
        "v 0 \\\n0 0\nv 1 \\\r\n 0 0\nv \\  \n 0 1 0\nf 1 2 \\\n\\\n3\n",
        TRIANGLE.replace("\n", "\r\n") + "f 1 2 3\r\n",
        TRIANGLE.replace("\n", "\r") + "f 1 2 3\r",
        TRIANGLE + "f -3 -2 -1\n",
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 -1\nv 7 7 7\n",
        "v 9 9 9\nf 2 3 4\n" + TRIANGLE,
        TRIANGLE + "fo 1 2 3\n",
        TRIANGLE.replace(" 0\n", " 0 1.0\n") + "f +1 +2 +3\n",
        "v 0.0 .0 0.\nv 1e0 0 -0\nv 0 +10E-1 0\nf 1 2 3\n",
        "g all\no one\ns off\n" + TRIANGLE + "g\nf 1 2 3\n",
        b"\xef\xbb\xbf" + (TRIANGLE + "f 1 2 3\n").encode(),
    ],
)
def test_one_triangle_in_many_ways(tmp_path, text):
    picture, notes = read(tmp_path, text)
    assert picture.positions.tolist() == [CORNERS]
    assert notes == []


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "latin-1"])
def test_other_encodings_are_noted(tmp_path, encoding):
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    picture, notes = read(tmp_path, f"{mark}# \xe9\n{TRIANGLE}f 1 2 3\n".encode(encoding))
    assert picture.positions.tolist() == [CORNERS]
    assert notes == [f"a.obj: the text is {'UTF-16' if '16' in encoding else 'not UTF-8, and taken for Latin-1'}"]


def test_corners_have_what_they_refer_to(tmp_path):
    faces = "f 1/1 2/2 3/3\nf -4/-3/-1 -3/-2/1 -2/-1/2\nf 1//1 2//2 3//1\nf 1/1/ 2/2/ 4/3/\nf 1/ 2 3//\n"
    picture, notes = read(tmp_path, SQUARE + UVS + "vn 0 0 2\nvn 1 0 0\n" + faces)
    with_uvs, without = picture.uvs.any(axis=(1, 2)), ~picture.uvs.any(axis=(1, 2))
    assert (with_uvs.sum(), without.sum()) == (3, 2)
    for uvs in picture.uvs[with_uvs]:
        assert uvs.tolist() == [[0, 1], [1, 1], [0, 0]]  # v runs down
    up, x = [0, 0, 1], [1, 0, 0]
    assert picture.normals.tolist() == [[up] * 3, [x, up, x], [up] * 3, [up, x, up], [up] * 3]
    assert notes == []


def test_polygons_of_all_kinds(tmp_path):
    corners = "v 0 0 0\nv 4 0 0\nv 4 4 0\nv 3 4 0\nv 3 1 0\nv 0 1 0\n"
    picture, _ = read(tmp_path, corners + "f 1 2 3 4 5 6\n")
    assert areas(picture.positions).sum() == pytest.approx(7.0)
    picture, notes = read(tmp_path, corners + "f 1 2 3 4 5 6\nf 1 2 3\nf 1 3 2 6\n" + "f 1 2 5 6\nf 6 5 2 1\n")
    assert len(picture.positions) == 11
    assert notes == ["a.obj:9: a polygon that crosses itself is cut somehow"]
    # those of a group with quadrilaterals alone: first halves, then second ones
    picture, _ = read(tmp_path, corners + "f 1 2 5 6\nf 6 5 2 1\n")
    assert picture.positions[:, 1, 0].tolist() == [4, 3, 0, 0]


def test_materials_in_any_order(tmp_path):
    (tmp_path / "m.mtl").write_text("newmtl red\nKd 1 0 0\nnewmtl big #2\nKd 0 1 0\n")
    (tmp_path / "two words.mtl").write_text("newmtl blue # sky\nKd 0 0 1\nnewmtl red\nKd 0 0 0\n")
    faces = "usemtl red\nf 1 2 3\nmtllib m.mtl gone.mtl\nmtllib two words.mtl\nusemtl big #2\nf 1 2 4\n"
    faces += "usemtl blue # x\nf 1 3 4"
    picture, notes = read(tmp_path, "f 2 3 4\n" + SQUARE + faces + "\nusemtl red\nf 2 3 4\nusemtl none\nf 2 3 1\n")
    diffuse = [picture.materials[index].diffuse for index in picture.material_ids]
    grey, red, green, blue = (0.6, 0.6, 0.6), (1, 0, 0), (0, 1, 0), (0, 0, 1)
    assert diffuse == [grey, blue, green, red, red, grey]
    assert notes == [
        "a.obj:8: there is no file 'gone.mtl': its materials are plain",
        "a.obj:16: there is no material 'none': what has it is plain",
    ]


def test_lines_that_are_not_read_are_noted_once_each(tmp_path):
    _, notes = read(tmp_path, TRIANGLE + "l 1 2\ns 1\nf 1 2 3\nl 2 3\ncurv2 1\np 1\ns 2\n")
    assert notes == [
        "a.obj:5: smoothing groups are not read: without normals surfaces are flat",
        "a.obj:4: lines that begin with 'l' are not read",
        "a.obj:8: lines that begin with 'curv2' are not read",
        "a.obj:9: lines that begin with 'p' are not read",
    ]
    _, notes = read(tmp_path, TRIANGLE + "vn 0 0 1\ns 1\nf 1//1 2//1 3//1\n")
    assert notes == []


def test_colours_of_vertices_and_what_becomes_of_them(tmp_path):
    colored = TRIANGLE.replace(" 0\n", " 0 1 0 0\n")
    picture, notes = read(tmp_path, colored + "f 1 2 3\n")
    assert picture.textures[0].pixels[0, 0].tolist() == [255, 0, 0]
    (tmp_path / "m.mtl").write_text("newmtl a\nKd 0 1 0\n")
    picture, notes = read(tmp_path, "mtllib m.mtl\nusemtl a\n" + colored + "f 1 2 3\n")
    assert picture.materials[0].diffuse == (0, 1, 0)
    assert notes == ["a.obj: colours of vertices count for nothing where there is a material"]
    _, notes = read(tmp_path, colored.replace(" 1 0 0\n", "\n", 1) + "f 1 2 3\n")
    assert notes == ["a.obj: colours of some vertices only are left out"]


def dressed(tmp_path, lines, uvs=UVS):
    """What an OBJ file shows whose material has some lines, and its notes."""
    (tmp_path / "m.mtl").write_text("newmtl a\n" + lines)
    corners = "f 1/1 2/2 3/3\n" if uvs else "f 1 2 3\n"
    return read(tmp_path, "mtllib m.mtl\n" + TRIANGLE + uvs + "usemtl a\n" + corners)


@pytest.fixture
def pictures(tmp_path):
    for name, color in (("t.png", (10, 20, 30)), ("n.png", (128, 127, 250)), ("h.png", (90, 90, 90))):
        Image.new("RGB", (4, 2), color).save(tmp_path / name)
    (tmp_path / "sub dir").mkdir()
    Image.new("RGB", (1, 1), (7, 7, 7)).save(tmp_path / "sub dir" / "deep.png")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "options", "name"),
    [
        ("t.png", {}, "t.png"),
        ("two words.png", {}, "two words.png"),
        ("-bm 0.5 t.png", {"-bm": ["0.5"]}, "t.png"),
        ("-o 1 -s 2 3 -clamp on  my t.png", {"-o": ["1"], "-s": ["2", "3"], "-clamp": ["on"]}, "my t.png"),
        ("-mm 0 1 -s 1 1 1 2.png", {"-mm": ["0", "1"], "-s": ["1", "1", "1"]}, "2.png"),
        ("-blendu off -imfchan l -1.png", {"-blendu": ["off"], "-imfchan": ["l"]}, "-1.png"),
        ("-bm", {"-bm": []}, ""),
    ],
)
def test_options_stand_before_names(text, options, name):
    assert options_and_name(text) == (options, name)


@pytest.mark.parametrize(
    "name", ["sub dir\\deep.png", "sub dir/deep.png", ".\\sub dir\\deep.png", '"sub dir/deep.png"']
)
def test_pictures_in_folders_of_any_system(pictures, name):
    picture, notes = dressed(pictures, f"map_Kd {name}\n")
    assert picture.textures[0].pixels.tolist() == [[[7, 7, 7]]]
    assert notes == []


def test_a_path_of_another_machine_is_looked_for_beside(pictures):
    picture, _ = dressed(pictures, "map_Kd C:\\work\\t.png\n")
    assert picture.textures[0].pixels[0, 0].tolist() == [10, 20, 30]


def test_all_maps_that_are_read(pictures):
    maps = "map_Kd t.png\nmap_Ks t.png\nmap_Ke h.png\nmap_d h.png\nnorm n.png\nmap_Bump -bm 2 h.png\n"
    picture, notes = dressed(pictures, "Ks 0.5 0.5 0.5\nNs 9\nKe 2 2 2\n" + maps)
    (material,) = picture.materials
    names = {field: picture.textures[index].name for field, index in material.pictures.items()}
    assert names == {
        "texture": "t.png",
        "cutout": "h.png",
        "specular_map": "t.png",
        "emission_map": "h.png",
        "normal_map": "n.png",
        "bump_map": "h.png",
    }
    linear = {field for field, index in material.pictures.items() if picture.textures[index].is_linear}
    assert linear == {"normal_map", "bump_map"}
    # the triangle and its texture are half a square: a texel of 4 x 2 is as large as a square of this side
    assert material.bump_scale == pytest.approx(2 * 8**-0.5)
    assert len(picture.textures) == 4
    assert notes == []


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("Pm 1\nPr 0.5", metallic("a", (0.8, 0.6, 0.4), 1.0, 0.5)),
        ("Pm 0.25\nPr 0.5", metallic("a", (0.8, 0.6, 0.4), 0.25, 0.5)),
        ("Pr 1", metallic("a", (0.8, 0.6, 0.4), 0.0, 1.0)),
        ("Pm 1\nPr 0", metallic("a", (0.8, 0.6, 0.4), 1.0, 0.0)),
    ],
)
def test_metals_and_plastics(tmp_path, lines, expected):
    picture, notes = dressed(tmp_path, f"Kd 0.8 0.6 0.4\n{lines}\n", uvs="")
    assert picture.materials == (expected,)
    assert notes == []


def test_what_is_not_read_or_has_no_use_is_noted(pictures):
    lines = "Ka 0 0 0\nmap_Kd t.png\nmap_Ka t.png\nsharpness 60\ndisp h.png\n"
    lines += "map_Ks t.png\nKs 0 0 0\nd 0.5\nmap_d -mm 0 1 x.dds\n"
    (pictures / "x.dds").write_bytes(b"DDS nothing")
    _, notes = dressed(pictures, lines)
    assert notes[:2] == ["m.mtl:5: sharpness is not read", "m.mtl:6: disp is not read"]
    assert notes[2:5] == [
        "m.mtl:10: the option -mm is not read",
        "m.mtl:9: a surface that is no glass by its illum or Tf is opaque, whatever its d",
        "m.mtl:10: picture 'x.dds' is left out: it is no PNG, JPEG, PPM, BMP, TGA or WEBP that can be read",
    ]
    assert notes[5:] == ["m.mtl:7: map_Ks counts for nothing: the surface has nothing that it multiplies"]
    _, notes = dressed(pictures, "map_Kd t.png\n", uvs="")
    assert notes == ["m.mtl:1: pictures are left out where there are no texture coordinates"]


def test_packed_files(tmp_path, monkeypatch):
    path = tmp_path / "a.obj.gz"
    path.write_bytes(gzip.compress((TRIANGLE + "f 1 2 3\n").encode()))
    scene = load(path)
    assert scene.name == "a"
    assert scene.at(0.0).positions.tolist() == [CORNERS]
    for data, message in ((b"plain", "cannot be unpacked"), (path.read_bytes()[:-9], "cannot be unpacked")):
        path.write_bytes(data)
        with pytest.raises(SceneFileError, match=message):
            load(path)
    monkeypatch.setattr("scenes.mesh_file.reader.MAX_FILE_BYTES", 1000)
    path.write_bytes(gzip.compress(b"#" * 2000))
    with pytest.raises(SceneFileError, match="unpack to more than the 1000 that are read"):
        load(path)


#: Words of lines, each of which may be anywhere.
WORDS = st.from_regex(r"v|vt|vn|f|1|-1|2//1|3/1/1|0|nan|1e400|-|/|#|\\\n|usemtl|a|mtllib|m\.mtl|g", fullmatch=True)
OBJ_TEXTS = st.lists(st.lists(WORDS, max_size=7).map(" ".join), max_size=12).map("\n".join).map(str.encode)
MTL_WORDS = st.from_regex(
    r"newmtl|a|Kd|Ks|Ns|d|Tf|illum|7|0\.5|-1|x|map_Kd|bump|-bm|-s|-o|norm|m\.mtl|#", fullmatch=True
)
MTL_TEXTS = st.lists(st.lists(MTL_WORDS, max_size=6).map(" ".join), max_size=10).map("\n".join).map(str.encode)
FUZZ = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def is_read(call):
    """Whether a call does not raise the error of bad files, of one line."""
    try:
        call()
    except SceneFileError as error:
        return "\n" in str(error)
    return True


@FUZZ
@given(st.one_of(OBJ_TEXTS, OBJ_TEXTS.map(lambda text: TRIANGLE.encode() + b"\n" + text), st.binary(max_size=200)))
@example(b"f")
@example(b"\\")
@example(b"v 1 2 3\\")
@example(b"\xff\xfe1")
def test_any_obj_is_read_or_refused(tmp_path, data):
    document = Document()
    if is_read(lambda: read_obj(tmp_path / "a.obj", data, document)):
        for part in document.parts:
            assert (part.shape.triangles >= 0).all()  # type: ignore[union-attr]
            assert (part.shape.triangles < len(part.shape.vertices)).all()  # type: ignore[operator, union-attr]


@FUZZ
@given(st.one_of(MTL_TEXTS.map(lambda text: b"newmtl a\n" + text), st.binary(max_size=200)))
@example(b"newmtl a\nmap_Kd -s\n")
@example(b"newmtl a\nbump -bm m.mtl\n")
def test_any_mtl_is_read_or_refused(tmp_path, data):
    (tmp_path / "m.mtl").write_bytes(data or b"#")
    (tmp_path / "b.obj").write_text("mtllib m.mtl\nusemtl a\n" + TRIANGLE + UVS + "f 1/1 2/2 3/3\n")
    documents = []
    if is_read(lambda: documents.append(read_mesh_document(tmp_path / "b.obj"))):
        (document,) = documents
        assert document.triangles == 1
        assert "a" in read_mtl(tmp_path / "m.mtl", document.notes) or document.materials[0].name == "plain"


def test_a_byte_of_zero_is_found_before_all_is_read(tmp_path, monkeypatch):
    """Of a file of a terabyte that takes no room on the disk nothing is kept, and the line is told."""
    monkeypatch.setattr("scenes.wavefront.lines.PIECE", 64)
    monkeypatch.setattr("scenes.mesh_file.reader.MAX_FILE_BYTES", 1 << 50)
    path = tmp_path / "a.obj"
    path.write_bytes(b"v 0 0 0\n" * 100)
    with path.open("ab") as file:
        file.truncate(1 << 40)
    with pytest.raises(SceneFileError, match=r"a.obj:101: expected text, got a byte of zero"):
        load(path)


def test_normals_under_the_name_of_heights(pictures):
    picture, notes = dressed(pictures, "bump -bm 0.5 n.png\n")
    (material,) = picture.materials
    assert (material.normal_map, material.normal_scale, material.bump_map) == (0, 0.5, -1)
    assert notes == ["m.mtl:2: the picture of bump holds normals, and is read as that of norm"]
