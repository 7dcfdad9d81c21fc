"""What readers tell of files beside their scenes: notes once each, and problems all in one go."""

import logging

import pytest
from gltf_file import CORNERS as TEXTURE_CORNERS
from gltf_file import TRIANGLE, GltfBuilder

import scenes
from renderer import cli
from scenes.document import Document, Scene
from scenes.errors import MAX_NOTES, MAX_PROBLEM_LINES, Notes, SceneFileError, SceneProblemsError


def test_very_many_notes_are_counted():
    notes = Notes()
    for line in range(MAX_NOTES + 7):
        notes.add(f"note {line}", "a.xml", line)
    assert len(notes.lines) == MAX_NOTES + 1
    assert notes.lines[-1] == "7 more notes"


def test_loading_logs_the_notes(monkeypatch, caplog):
    document = Document()
    document.notes.add("hair is left out", "a.noted", 3)
    scene = Scene(name="a", snapshot=None, view=None, pieces=None, document=document)  # type: ignore[arg-type]
    monkeypatch.setitem(scenes.READERS, ".noted", lambda _: scene)
    with caplog.at_level(logging.WARNING, "scenes"):
        scenes.load("a.noted")
    assert caplog.messages == ["note: a.noted:3: hair is left out"]


def test_problems_take_a_line_each(monkeypatch, capsys, tmp_path):
    """At most ten lines in all, and the same problem is told once, with the number of its other places."""
    errors = [SceneFileError("a.bad", line, f"expected less than {line % 50}") for line in range(100)]

    def refuse(_):
        raise SceneProblemsError(errors)

    (tmp_path / "a.bad").write_text("x")
    monkeypatch.setitem(scenes.READERS, ".bad", refuse)
    assert cli.main(["scene", "info", str(tmp_path / "a.bad")]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "tracecore: error: a.bad:0: expected less than 0 (and in 1 more place)"
    assert len(lines) == len(set(lines)) == MAX_PROBLEM_LINES == 10
    assert lines[-1] == "tracecore: error: 41 more problems"


CORNERS = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\n"
FACE = "usemtl a\nf 1/1 2/2 3/3\n"
PLY = (
    "ply\nformat ascii 1.0\ncomment TextureFile none.png\nelement vertex 3\nproperty float x\nproperty float y\n"
    "property float z\nproperty float u\nproperty float v\nelement face 1\nproperty list uchar int vertex_indices\n"
    "end_header\n0 0 0 0 0\n1 0 0 1 0\n0 1 0 0 1\n3 0 1 2\n"
)


def gltf_of_a_picture():
    file = GltfBuilder()
    corners = {"POSITION": file.accessor(TRIANGLE), "TEXCOORD_0": file.accessor(TEXTURE_CORNERS)}
    texture = file.add("textures", source=file.add("images", uri="none.png"))
    material = file.add("materials", pbrMetallicRoughness={"baseColorTexture": {"index": texture}})
    file.node(mesh=file.add("meshes", primitives=[{"attributes": corners, "material": material}]))
    return file


PBRT = "WorldBegin\n"
LACKING = {
    "no MTL file": ({"a.obj": f"mtllib none.mtl\n{CORNERS}{FACE}"}, "a.obj:1: there is no file 'none.mtl'"),
    "no picture of an MTL file": (
        {"a.obj": f"mtllib m.mtl\n{CORNERS}{FACE}", "m.mtl": "newmtl a\nmap_Kd none.png\n"},
        "m.mtl:2: there is no picture 'none.png'",
    ),
    "a picture that is none": (
        {"a.obj": f"mtllib m.mtl\n{CORNERS}{FACE}", "m.mtl": "newmtl a\nmap_Kd t.png\n", "t.png": "text"},
        "m.mtl:2: picture 't.png' is left out: it is no PNG",
    ),
    "no picture of a PLY file": ({"a.ply": PLY}, "a.ply:3: there is no picture 'none.png'"),
    "no picture of a glTF file": ({"a.gltf": ""}, 'refers to "none.png", which is not in its folder'),
    "no picture of a pbrt file": (
        {"a.pbrt": f'{PBRT}Texture "t" "spectrum" "imagemap" "string filename" "none.png"\nShape "sphere"'},
        "a.pbrt:2: there is no picture 'none.png': grey stands for it",
    ),
    "a picture of a pbrt file that is none": (
        {"a.pbrt": f'{PBRT}LightSource "infinite" "string filename" "a.pfm"\nShape "sphere"', "a.pfm": "PF"},
        "a.pbrt:2: the picture 'a.pfm' is not a readable .pfm file: expected PF or Pf, width, height and a factor: ",
    ),
    "no spectrum of a pbrt file": (
        {"a.pbrt": f'{PBRT}Material "conductor" "spectrum eta" "Au.spd"\nShape "sphere"'},
        "a.pbrt:2: there is no spectrum 'Au.spd': a usual one stands for it",
    ),
    "media of a pbrt file": (
        {"a.pbrt": f'{PBRT}MakeNamedMedium "fog" "string type" "uniformgrid"\nShape "sphere"'},
        "a.pbrt:2: a medium is left out: space is empty",
    ),
    "a camera of a pbrt file": (
        {"a.pbrt": f'Camera "realistic" "string lensfile" "wide.22mm.dat"\n{PBRT}Shape "sphere"'},
        "a.pbrt:1: a realistic camera is replaced by a perspective one",
    ),
    "no MTL file of a mesh of a scene": (
        {"a.toml": '[[object]]\nfile = "m.obj"\n', "m.obj": f"mtllib none.mtl\n{CORNERS}{FACE}"},
        "m.obj:1: there is no file 'none.mtl'",
    ),
}


@pytest.mark.parametrize("name", LACKING)
def test_a_strict_reader_refuses_files_that_it_cannot_use(tmp_path, capsys, name):
    texts, told = LACKING[name]
    for file, text in texts.items():
        (tmp_path / file).write_text(text)
    path = tmp_path / next(iter(texts))
    if path.suffix == ".gltf":
        gltf_of_a_picture().write(path)
    noted = scenes.load(path).document.notes.lines
    assert [told in line for line in noted].count(True) == 1
    for command in (["scene", "info"], ["render", "-o", str(tmp_path / "a.png")]):
        assert cli.main([command[0], *command[1:], str(path), "--strict"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert told in line
        assert line.endswith("(an error by --strict)")


@pytest.mark.parametrize(
    ("vertices", "is_told"),
    [
        ("v 0.1 0.1 0.1\nv 0.3 0.3 0.3\nv 0.7 0.7 0.7\n", True),
        ("v 1 2 3\nv 1 2 3\nv 1 2 3\n", True),
        ("v 0 0 0\nv 1000 0 0\nv 500 1e-4 0\n", False),
        ("v 0 0 0\nv 1e-9 0 0\nv 0 1e-9 0\n", False),
    ],
)
def test_a_scene_of_triangles_without_area_alone_is_told(tmp_path, vertices, is_told):
    """However long or small those are that have one; a single sound triangle behind many others is enough."""
    note = f"{tmp_path / 'a.obj'}: there is nothing to be seen: no triangle has an area"
    (tmp_path / "a.obj").write_text(vertices + "f 1 2 3\n" * 5000)
    assert (note in scenes.load(tmp_path / "a.obj").document.notes.lines) == is_told
    (tmp_path / "a.obj").write_text(f"{vertices}v 0 0 5\nv 1 0 5\nv 0 1 5\n" + "f 1 2 3\n" * 5000 + "f 4 5 6\n")
    assert note not in scenes.load(tmp_path / "a.obj").document.notes.lines
