"""3MF and OFF files: triangles in their places, and files that are none."""

import io
import zipfile

import pytest
import trimesh

from scenes import SceneFileError, load
from scenes.mesh_file import threemf

TETRAHEDRON = """<mesh><vertices><vertex x="0" y="0" z="0"/><vertex x="1" y="0" z="0"/><vertex x="0" y="1" z="0"/>
<vertex x="0" y="0" z="1"/></vertices><triangles><triangle v1="0" v2="2" v3="1"/><triangle v1="0" v2="1" v3="3"/>
<triangle v1="0" v2="3" v3="2"/><triangle v1="1" v2="2" v3="3"/></triangles></mesh>"""
CORNER = f'<object id="1">{TETRAHEDRON}</object>'
OFF = "OFF # a square\n4 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n"


def model(resources, build):
    """The text of a model. Prefixes and the order of attributes are those of no program."""
    space = 'xmlns="http://schemas.microsoft.com/3dmanufacturing/core/2015/02" xmlns:p="x"'
    return f'<?xml version="1.0"?><model {space}><resources>{resources}</resources><build>{build}</build></model>'


@pytest.fixture
def written(tmp_path):
    """Writes a package of a model, and of more parts by name; returns its path."""

    def write(text, **parts):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("3D/3dmodel.model", text)
            for name, more in parts.items():
                archive.writestr(f"3D/Objects/{name}.model", more)
        (tmp_path / "a.3mf").write_bytes(file.getvalue())
        return tmp_path / "a.3mf"

    return write


def places(path):
    """Where the vertex at (0, 0, 0) of each tetrahedron is."""
    picture = load(path).at(0.0)
    return picture.positions.reshape(-1, 4, 3, 3)[:, 0, 0].tolist()


def test_objects_stand_where_they_are_built(written):
    moved = '<item objectid="1"/><item objectid="1" transform="0 1 0 -1 0 0 0 0 2 5 6 7"/>'
    path = written(model(CORNER, moved))
    assert places(path) == [[0, 0, 0], [5, 6, 7]]
    second = load(path).at(0.0).positions[4:].reshape(-1, 3)
    assert {tuple(point) for point in second.tolist()} == {(5, 6, 7), (5, 7, 7), (4, 6, 7), (5, 6, 9)}


def test_components_are_objects_of_objects_and_of_other_parts(written):
    pair = """<object id="2"><components><component objectid="1" transform="1 0 0 0 1 0 0 0 1 0 0 3"/>
    <component objectid="8" p:path="/3D/Objects/other.model"/></components></object>"""
    other = model(CORNER.replace('id="1"', 'id="8"'), "")
    path = written(model(CORNER + pair, '<item objectid="2" transform="2 0 0 0 2 0 0 0 2 1 0 0"/>'), other=other)
    assert places(path) == [[1, 0, 6], [1, 0, 0]]
    assert load(path).at(0.0).positions.max() == 8.0


def nested(depth):
    rows = "".join(
        f'<object id="{k + 1}"><components><component objectid="{k}"/><component objectid="{k}"/></components></object>'
        for k in range(1, depth)
    )
    return model(CORNER + rows, f'<item objectid="{depth}"/>')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (model(CORNER, '<item objectid="7"/>'), "has no object '7'"),
        (model(CORNER, '<item objectid="1" p:path="/none.model"/>'), "has no part 'none.model'"),
        (model(CORNER, "<item/>"), "line 3 of its model: 'objectid'"),
        (model(CORNER, '<item objectid="1" transform="1 2"/>'), "is not a readable 3MF file: line 3 of its model"),
        (model(CORNER, '<item objectid="1" transform="1 0 0 0 1 0 0 0 1 0 nan 0"/>'), "of finite numbers"),
        (model(CORNER.replace('x="1"', 'x="one"'), ""), "line 1 of its model: could not convert"),
        (model(CORNER.replace('x="1"', 'x="nan"'), '<item objectid="1"/>'), "position 1 is [nan, 0.0, 0.0]"),
        (model(CORNER.replace('v1="1"', 'v1="9"'), '<item objectid="1"/>'), "indices reach from 0 to 9"),
        (model(CORNER, ""), "there are no triangles"),
        ("<model><resources>", "no element found"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><model/>', "expected no document type"),
        (nested(40), "objects are nested deeper than 32, or over"),
        (nested(30), "or over 1000 of them are placed"),
    ],
)
def test_files_that_are_none(written, monkeypatch, text, message):
    monkeypatch.setattr(threemf, "MAX_PARTS", 1000)
    with pytest.raises(SceneFileError) as caught:
        load(written(text))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_off_files(tmp_path):
    (tmp_path / "a.off").write_text(OFF)
    assert load(tmp_path / "a.off").at(0.0).positions.tolist() == [
        [[0, 0, 0], [1, 0, 0], [1, 1, 0]],
        [[1, 1, 0], [0, 1, 0], [0, 0, 0]],
    ]
    (tmp_path / "b.off").write_text(trimesh.creation.icosphere().export(file_type="off"))
    assert len(load(tmp_path / "b.off").at(0.0).positions) == 1280


@pytest.mark.parametrize(
    "text", ["OFF\n", "OFX\n1 1 1\n", OFF[:-12], OFF.replace("4 0 1 2 3", "4 0 1 2 9"), "OFF\n9999999 1 0\n"]
)
def test_off_files_that_are_none(tmp_path, text):
    (tmp_path / "a.off").write_text(text)
    with pytest.raises(SceneFileError, match=r"a.off: (is not a readable OFF file|there are no triangles)"):
        load(tmp_path / "a.off")


def test_packages_that_are_none(tmp_path, written):
    (tmp_path / "b.3mf").write_bytes(b"PK\3\4 nothing")
    with pytest.raises(SceneFileError, match="is not a readable 3MF file: expected a packed folder"):
        load(tmp_path / "b.3mf")
    path = written(model(CORNER, f'<item objectid="1"/>{" " * (1 << 26)}'))
    with pytest.raises(SceneFileError, match="more than can be packed into them"):
        load(path)


def test_colours_are_noted(written):
    looks = '<m:colorgroup xmlns:m="y" id="4"><m:color color="#ff0000"/></m:colorgroup>'
    told = load(written(model(looks + CORNER, '<item objectid="1"/>'))).document.notes.lines
    assert any(line.endswith("a.3mf: colours of 3MF files are not read") for line in told)
