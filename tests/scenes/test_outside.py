"""A scene reads files of its own folder alone, unless it is allowed to read others; and ordinary files alone."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from gltf_file import CORNERS, GltfBuilder
from hostile.toml import OBJECT, RED
from PIL import Image

from scenes import SceneFileError, load

TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
UVS = "vt 0 0\nvt 1 0\nvt 0 1\n"
PBRT = 'WorldBegin\nShape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0]\n'
MESH = '<shape type="obj"><string name="filename" value="../other/a.obj"/></shape>'
RECTANGLE = '<shape type="rectangle"/>'


def gltf(**item):
    """The text of a glTF file with a texture that is elsewhere, or a buffer."""
    file = GltfBuilder()
    base = {"baseColorTexture": {"index": file.add("textures", source=file.add("images", uri="../other/t.png"))}}
    material = file.add("materials", pbrMetallicRoughness=base)
    file.node(mesh=file.mesh(file.primitive({"TEXCOORD_0": CORNERS}, material=material)))
    file.write(Path("a.gltf"))
    return Path("a.gltf").read_text()


#: Scenes that name a file of another folder.
SCENES = {
    "a.obj": f"mtllib ../other/m.mtl\n{TRIANGLE}f 1 2 3\n",
    "b.obj": f"mtllib b.mtl\n{TRIANGLE}{UVS}usemtl a\nf 1/1 2/2 3/3\n",
    "a.toml": RED + '[[object]]\nmaterial = "red"\nfile = "../other/a.obj"\n',
    "b.toml": RED + 'texture = "../other/t.png"\n' + OBJECT,
    "c.toml": RED + OBJECT + '[environment]\nimage = "../other/sky.npy"\n',
    "d.toml": RED + '[[object]]\nmaterial = "red"\nfile = "../other/m.npz"\n',
    "a.xml": f'<scene version="3.0.0">{RECTANGLE}<include filename="../other/a.xml"/></scene>',
    "b.xml": f'<scene version="3.0.0">{MESH}</scene>',
    "a.pbrt": f'{PBRT}Include "../other/a.pbrt"\n',
    "a.aff": "p 3 0 0 0 1 0 0 0 1 0\ni 0 ../other/a.aff\n",
    "b.aff": "tt ../other/t.ppm 0 0 0 0 0 1 0 0 1 0 0 1 0 0 1\n",
    "a.gltf": "",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of a scene, beside one of other files."""
    for name in ("scene", "other"):
        (tmp_path / name).mkdir()
    other = tmp_path / "other"
    pixels = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    for name in ("t.png", "t.ppm"):
        Image.fromarray(pixels).save(other / name)
    np.save(other / "sky.npy", np.ones((2, 4, 3), np.float32))
    corners = {"vertices": np.eye(3), "triangles": np.array([[0, 1, 2]], np.int32)}
    np.savez(other / "m.npz", **corners)  # type: ignore[arg-type]
    (other / "m.mtl").write_text("newmtl a\nKd 1 0 0\n")
    (other / "a.obj").write_text(f"{TRIANGLE}f 1 2 3\n")
    (other / "a.xml").write_text(f'<scene version="3.0.0">{RECTANGLE}</scene>')
    (other / "a.pbrt").write_text("# nothing\n")
    (other / "a.aff").write_text("p 3 0 0 0 1 0 0 0 1 0\n")
    monkeypatch.chdir(tmp_path / "scene")
    return tmp_path / "scene"


def written(folder, name):
    (folder / "b.mtl").write_text("newmtl a\nmap_Kd ../other/t.png\n")
    (folder / name).write_text(SCENES[name] or gltf())
    return folder / name


@pytest.mark.parametrize("name", SCENES)
def test_files_of_other_folders_are_read_only_when_that_is_allowed(folder, name):
    path = written(folder, name)
    with pytest.raises(
        SceneFileError, match="outside of the folder of the scene; --allow-outside has it read"
    ) as caught:
        load(path)
    assert "\n" not in str(caught.value)
    assert load(path, allow_outside=True).document.triangles > 0
    path.write_text(path.read_text().replace("../other/", ""))
    (folder / "b.mtl").write_text("newmtl a\nmap_Kd t.png\n")
    shutil.copytree(folder.parent / "other", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(name))
    if name not in ("a.obj", "a.xml", "a.pbrt", "a.aff"):  # which would name themselves
        assert load(path).document.triangles > 0


#: A scene of Mitsuba that has a folder of its own naming, and what it reads there.
NAMED = '<scene version="3.0.0"><path value="{}"/>' + RECTANGLE + "{}</scene>"
PLY = '<shape type="ply"><string name="filename" value="{}"/></shape>'
SPECTRUM = '<shape type="disk"><bsdf type="diffuse"><spectrum name="reflectance" filename="{}"/></bsdf></shape>'
LOOKS = (
    '<shape type="disk"><bsdf type="diffuse"><texture type="bitmap" name="reflectance">'
    '<string name="filename" value="{}"/></texture></bsdf></shape>'
)


def test_of_a_folder_that_a_scene_of_mitsuba_names_pictures_and_meshes_are_read(folder):
    path = folder / "a.xml"
    path.write_text(NAMED.format("../other", MESH.replace("../other/", "") + LOOKS.format("t.png")))
    scene = load(path)
    assert scene.document.triangles > 3
    assert [texture.name for texture in scene.document.textures] == ["t.png"]
    (folder.parent / "other" / "sub").mkdir()
    shutil.copy(folder.parent / "other" / "t.png", folder.parent / "other" / "sub")
    path.write_text(NAMED.format("../other", LOOKS.format("sub/t.png")))
    assert len(load(path).document.textures) == 1


@pytest.mark.parametrize(
    "inside",
    [
        '<include filename="more.xml"/>',
        SPECTRUM.format("m.mtl"),
        '<emitter type="envmap"><string name="filename" value="sky.npy"/></emitter>',
        LOOKS.format("secret.png"),  # a link to what is none
        LOOKS.format("far.png"),  # a link to a picture that is elsewhere
        LOOKS.format("../third/t.png"),
    ],
)
def test_of_a_folder_that_a_scene_of_mitsuba_names_nothing_else_is_read(folder, inside):
    (folder.parent / "third").mkdir()
    shutil.copy(folder.parent / "other" / "t.png", folder.parent / "third")
    shutil.copy(folder.parent / "other" / "a.xml", folder.parent / "other" / "more.xml")
    (folder.parent / "other" / "secret.png").symlink_to(folder.parent / "other" / "m.mtl")
    (folder.parent / "other" / "far.png").symlink_to(folder.parent / "third" / "t.png")
    (folder / "a.xml").write_text(NAMED.format("../other", inside))
    with pytest.raises(SceneFileError, match="lies outside of the folder of the scene; --allow-outside") as caught:
        load(folder / "a.xml")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["/", "../../../../../../../../..", "{other}", "link"])
def test_folders_that_hold_everything_are_asked_for_once(folder, name, monkeypatch):
    monkeypatch.setenv("HOME", str(folder.parent / "home"))
    (folder / "link").symlink_to(folder.parent)
    path, other = folder / "a.xml", folder.parent / "other"
    path.write_text(NAMED.format(name.format(other=other), PLY.format("b.ply") + LOOKS.format("t2.png")))
    with pytest.raises(
        SceneFileError, match=r"a\.xml:1: <path> .* lies outside .*; --allow-outside has it read"
    ) as caught:
        load(path)
    assert "\n" not in str(caught.value)  # what is not there is no news
    with pytest.raises(SceneFileError, match=r"no such file: 'b\.ply'"):
        load(path, allow_outside=True)


def test_links_are_followed_to_where_files_are(folder):
    (folder / "a.toml").write_text(RED + 'texture = "link.png"\n' + OBJECT)
    (folder / "link.png").symlink_to(folder.parent / "other" / "t.png")
    with pytest.raises(SceneFileError, match=r'texture: "link.png" lies outside'):
        load(folder / "a.toml")
    (folder / "link.png").unlink()
    shutil.copy(folder.parent / "other" / "t.png", folder / "t.png")
    (folder / "link.png").symlink_to("t.png")
    assert load(folder / "a.toml").document.triangles == 1
    (folder.parent / "scene.toml").symlink_to(folder / "a.toml")  # a scene itself may be a link
    shutil.copy(folder / "t.png", folder.parent / "link.png")
    assert load(folder.parent / "scene.toml").document.triangles == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
@pytest.mark.parametrize("name", ["a.toml", "b.toml", "c.toml", "b.xml", "a.pbrt", "a.aff", "a.gltf"])
def test_pipes_are_refused_and_not_waited_for(folder, name):
    for file in (folder.parent / "other").iterdir():
        file.unlink()
        os.mkfifo(file)
    path = written(folder, name)
    if name == "a.gltf":  # a picture that is not there is left out
        assert load(path, allow_outside=True).document.triangles == 1
        return
    with pytest.raises(SceneFileError, match=r"expected an ordinary file|no file|expected the name of a file"):
        load(path, allow_outside=True)
