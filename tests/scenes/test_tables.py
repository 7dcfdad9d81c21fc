"""Scenes of dictionaries and arrays are those of files that say the same."""

import tomllib
from typing import Any

import numpy as np
import pytest
import trimesh

import renderer
import scenes
from scenes.errors import SceneError, SceneFileError

TEXT = """
[cameras.front]
eye = [0, 1, 4]
target = [0, 0.5, 0]

[materials.chalk]
diffuse = [0.8, 0.7, 0.6]

[[light]]
kind = "point"
position = [1, 3, 2]
intensity = 20

[[object]]
shape = "triangles"
material = "chalk"
vertices = [[-2, 0, -2], [2, 0, -2], [2, 0, 2], [-2, 0, 2]]
triangles = [[0, 2, 1], [0, 3, 2]]

[[object]]
shape = "rectangle"
material = "chalk"
corner = [-0.5, 0, 0]
edges = [[1, 0, 0], [0, 1, 0]]
"""
DRAFT: dict[str, Any] = {"size": (16, 12), "passes": 2, "driver": "path", "device": "cpu", "threads": 1, "quiet": True}


def tables() -> dict[str, Any]:
    return tomllib.loads(TEXT)


def arrays() -> dict[str, Any]:
    """The same with tuples and arrays, big and small."""
    made = tables()
    made["cameras"]["front"] = {"eye": (0, 1, 4), "target": np.array([0.0, 0.5, 0.0])}
    floor, wall = made["object"]
    floor["vertices"], floor["triangles"] = np.array(floor["vertices"], np.float32), np.array(floor["triangles"])
    wall["edges"] = np.eye(3)[:2]
    made["light"] = ({"kind": "point", "position": (1, 3, 2), "intensity": np.float32(20)},)
    return made


def meshes() -> dict[str, Any]:
    made = tables()
    floor = made["object"][0]
    mesh = trimesh.Trimesh(floor["vertices"], floor["triangles"], process=False)
    made["object"][0] = {"mesh": mesh, "material": "chalk"}
    return made


@pytest.mark.parametrize("make", [tables, arrays, meshes])
def test_tables_are_seen_as_their_file_is(tmp_path, make):
    (tmp_path / "a.toml").write_text(TEXT)
    file, made = renderer.render(tmp_path / "a.toml", **DRAFT, exposure=0), renderer.render(make(), **DRAFT, exposure=0)
    assert file.image.any()
    np.testing.assert_array_equal(made.image, file.image)


def test_files_that_tables_name_are_in_their_folder(tmp_path):
    trimesh.creation.box((1.0, 1.0, 1.0)).export(tmp_path / "box.ply")
    made = tables() | {"object": [{"file": "box.ply", "material": "chalk"}]}
    read = scenes.from_tables(made, tmp_path)
    assert read.document.triangles == 12
    assert read.files == (tmp_path / "box.ply",)  # which no picture is written over
    (tmp_path / "below").mkdir()
    made["object"][0]["file"] = "../box.ply"
    with pytest.raises(SceneFileError, match="outside"):
        scenes.from_tables(made, tmp_path / "below")
    assert scenes.from_tables(made, tmp_path / "below", allow_outside=True).document.triangles == 12


def test_what_a_picture_would_lack_is_an_error_if_that_is_wanted(tmp_path):
    (tmp_path / "a.obj").write_text("mtllib none.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    made = tables() | {"object": [{"file": "a.obj"}]}
    assert scenes.from_tables(made, tmp_path).document.triangles == 1
    with pytest.raises(SceneError, match=r"none\.mtl"):
        scenes.from_tables(made, tmp_path, strict=True)


def test_texture_coordinates_of_a_mesh_are_taken():
    mesh = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], process=False)
    mesh.visual = trimesh.visual.TextureVisuals(uv=[[0.0, 0.0], [0.5, 0.0], [0.0, 0.25]])
    made = tables() | {"object": [{"mesh": mesh, "material": "chalk"}]}
    uvs = scenes.from_tables(made).at_frame(0).uvs[0]
    assert sorted(map(tuple, uvs.tolist())) == [(0.0, 0.0), (0.0, 0.25), (0.5, 0.0)]


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        (
            "vertices",
            np.zeros((4, 2)),
            r"object\[0\].vertices: expected a list of .*, got an array of 4x2 float64",
        ),
        ("vertices", np.full((4, 3), np.nan), r"object\[0\].vertices\[0\]: expected 3 of .*, got \[nan, nan, nan\]"),
        ("vertices", np.zeros((0, 3)), "got an array of 0x3 float64"),
        ("triangles", np.array([[0.0, 1.0, 2.0]]), "got an array of 1x3 float64"),
        ("triangles", np.array([[0, 1, 2], [0, 1, -1]]), r"object\[0\].triangles\[1\]: expected 3 of"),
        ("triangles", np.array([[0, 1, 9]]), "index 9, but there are 4"),
        ("vertices", "none", "expected a list of lists of 3"),
        ("colour", 1, "colour"),
    ],
)
def test_what_is_wrong_is_told_by_its_key(key, value, told):
    made = tables()
    made["object"][0][key] = value
    with pytest.raises(SceneFileError, match=told):
        scenes.from_tables(made)


def test_a_scene_without_triangles_is_refused():
    with pytest.raises(SceneFileError, match="there are no triangles"):
        renderer.render({"materials": {"a": {}}}, **DRAFT)
