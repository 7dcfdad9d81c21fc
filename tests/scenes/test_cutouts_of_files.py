"""Materials that are cut out by a picture: what files say of them, and what is written."""

from dataclasses import replace

import numpy as np
import pytest
import trimesh
from PIL import Image

from renderer import cli
from scenes import describe, load
from scenes.colors.srgb import decoded
from scenes.export import export
from scenes.model import Material

PIXELS = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
ALPHA = np.array([[0, 100, 127, 128], [200, 255, 3, 255]], np.uint8)
CORNERS = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\n"

TOML = """\
[materials.leaf]
texture = "leaf.png"
cutout = "leaf.png"
[materials.fence]
cutout = "bars.png"
[materials.lamp]
emission = 1.0
cutout = "bars.png"
"""

OBJECT = """\
[[object]]
shape = "triangles"
material = "{}"
vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
triangles = [[0, 1, 2]]
uvs = [[0, 0], [1, 0], [0, {}]]
"""
#: Without texture coordinates.
BARE = '[[object]]\nshape = "sphere"\nmaterial = "fence"\n'
PARTS = (("leaf", 1), ("leaf", 2), ("fence", 1), ("lamp", 1))


def leaf(mode="RGBA"):
    return Image.fromarray(np.dstack([PIXELS, ALPHA])).convert(mode)


@pytest.fixture
def folder(tmp_path):
    leaf().save(tmp_path / "leaf.png")
    Image.fromarray(ALPHA).save(tmp_path / "bars.png")
    (tmp_path / "a.toml").write_text(TOML + "".join(OBJECT.format(*part) for part in PARTS) + BARE)
    return tmp_path


def assert_is_leaf(texture):
    assert np.array_equal(texture.pixels, PIXELS)
    assert np.array_equal(texture.alpha, ALPHA)


def check_toml(snapshot):
    leaves, fence, lamp = snapshot.materials
    assert leaves.texture == leaves.cutout
    assert_is_leaf(snapshot.textures[leaves.cutout])
    bars = snapshot.textures[fence.cutout]
    assert (fence.texture, lamp.texture, bars.alpha) == (-1, -1, None)
    assert np.array_equal(bars.pixels, np.dstack([ALPHA] * 3))
    assert [material.is_cut_out for material in snapshot.materials] == [True, True, False]


def test_a_scene_file_is_written_and_read_again(folder):
    files = export(load(folder / "a.toml"), folder / "copy.toml", 0.0).files
    check_toml(load(files[0]).at(0.0))


@pytest.mark.parametrize("suffix", [".obj", ".glb", ".aff"])
def test_formats_without_holes_say_so(folder, suffix):
    losses = export(load(folder / "a.toml"), folder / f"copy{suffix}", 0.0).losses
    said = [loss for loss in losses if "cut out" in loss]
    assert said == [f"material {name!r} is no longer cut out" for name in ("leaf", "fence")]


def test_a_mesh_file_in_a_scene_file_brings_its_pictures(folder):
    write_obj(folder, "map_d bars.png")
    extra = '[[object]]\nfile = "a.obj"\n'
    (folder / "b.toml").write_text(TOML + extra)
    snapshot = load(folder / "b.toml").at(0.0)
    found = snapshot.materials[snapshot.material_ids[-1]]
    assert found.name == "m"
    assert snapshot.textures[found.cutout].name == "bars.png"


def write_obj(folder, *lines):
    (folder / "a.mtl").write_text("\n".join(["newmtl m", "Kd 0.5 0.5 0.5", *lines, ""]))
    (folder / "a.obj").write_text(f"mtllib a.mtl\n{CORNERS}usemtl m\nf 1/1 2/2 3/3\n")
    return folder / "a.obj"


@pytest.mark.parametrize("line", ["map_d bars.png", "map_d -imfchan m bars.png", "map_d ./bars.png"])
def test_a_map_of_opacity_cuts_out(folder, line):
    snapshot = load(write_obj(folder, "map_Kd leaf.png", line)).at(0.0)
    (material,) = snapshot.materials
    assert snapshot.textures[material.texture].name == "leaf.png"
    assert np.array_equal(snapshot.textures[material.cutout].pixels[:, :, 0], ALPHA)


def glb_of(folder, picture, **changes):
    """One triangle with a picture, whose material is described in part."""
    kind = trimesh.visual.material.PBRMaterial(name="a", baseColorTexture=picture)
    mesh = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], process=False)
    mesh.visual = trimesh.visual.TextureVisuals(uv=[[0, 0], [1, 0], [0, 1]], material=kind)

    def changed(tree):
        (described,) = tree["materials"]
        described["pbrMetallicRoughness"].update(changes.pop("pbrMetallicRoughness", {}))
        described.update(changes)

    (folder / "a.glb").write_bytes(mesh.export(file_type="glb", tree_postprocessor=changed))
    return load(folder / "a.glb").at(0.0)


@pytest.mark.parametrize(
    ("changes", "least"),
    [
        ({"alphaMode": "MASK"}, 128),
        ({"alphaMode": "MASK", "alphaCutoff": 0.75}, 192),
        ({"alphaMode": "MASK", "pbrMetallicRoughness": {"baseColorFactor": [1, 1, 1, 0.6]}}, 213),
    ],
)
def test_a_mask_of_gltf_has_a_cutoff(folder, changes, least):
    snapshot = glb_of(folder, leaf(), **changes)
    (material,) = snapshot.materials
    mask = snapshot.textures[material.cutout]
    assert material.texture == material.cutout
    assert np.array_equal(mask.pixels, PIXELS)
    assert np.array_equal(mask.alpha, np.where(least <= ALPHA, 255, 0))


def mitsuba(folder, opacity, inner='<bsdf type="diffuse"/>'):
    shape = f'<shape type="rectangle"><bsdf type="mask">{opacity}{inner}</bsdf></shape>'
    (folder / "a.xml").write_text(f'<scene version="3.0.0">{shape}</scene>')
    return load(folder / "a.xml").at(0.0)


def bitmap(name, more=""):
    return f'<texture type="bitmap" name="{name}"><string name="filename" value="bars.png"/>{more}</texture>'


@pytest.mark.parametrize("raw", ["", '<boolean name="raw" value="true"/>'])
def test_the_picture_of_an_opacity_cuts_out(folder, raw):
    snapshot = mitsuba(folder, bitmap("opacity", raw))
    (material,) = snapshot.materials
    assert replace(material, cutout=-1) == Material(name="diffuse")
    assert np.array_equal(snapshot.textures[material.cutout].pixels[:, :, 0], ALPHA)


def test_an_opacity_and_a_colour_lie_alike(folder):
    painted = f'<bsdf type="diffuse">{bitmap("reflectance")}</bsdf>'
    (material,) = mitsuba(folder, bitmap("opacity"), painted).materials
    assert material.texture >= 0
    assert material.cutout >= 0
    unlike = bitmap("opacity", '<transform name="to_uv"><scale x="3"/></transform>')
    (material,) = mitsuba(folder, unlike, painted).materials  # of which the mean counts
    assert material.cutout < 0
    assert material.transmittance == pytest.approx(1.0 - decoded(ALPHA).mean(), abs=0.01)


def test_facts_and_what_is_printed(folder, capsys):
    scene = load(folder / "a.toml")
    assert describe(scene, scene.at(0.0)).cut_out_triangles == 3
    assert cli.main(["scene", "info", str(folder / "a.toml")]) == 0
    assert "; 3 cut out by pictures\n" in capsys.readouterr().out
    assert cli.main(["scene", "info", "cornell"]) == 0
    assert "cut out" not in capsys.readouterr().out
