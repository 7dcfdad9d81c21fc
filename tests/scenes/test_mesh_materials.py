"""Materials and colours of mesh files: what each description of them becomes."""

import io
import json

import numpy as np
import pytest
import trimesh
from PIL import Image

from scenes import Material, SceneFileError, load
from scenes.colors.palette import painted
from scenes.colors.srgb import decoded as linear
from scenes.meshes.shapes import rectangle
from shaders.textures import lookup, pack_textures

TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
BLACK, WHITE = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)


def of_mtl(tmp_path, lines):
    (tmp_path / "m.mtl").write_text("newmtl a\n" + lines.replace(", ", "\n") + "\n")
    (tmp_path / "a.obj").write_text("mtllib m.mtl\n" + TRIANGLE + "usemtl a\nf 1 2 3\n")
    (material,) = load(tmp_path / "a.obj").at(0.0).materials
    assert material.name == "a"
    return material


GREY = (0.5, 0.5, 0.5)
SHINY = Material(name="a", kind="nff", diffuse=GREY, specular=(0.2, 0.2, 0.2), exponent=30.0)
CHROME = Material(name="a", kind="mirror", diffuse=BLACK, specular=(0.9, 0.8, 0.7))


def glass_of(transmittance, ior, roughness=0.0, name="a"):
    return Material(
        name=name,
        kind="dielectric",
        diffuse=BLACK,
        specular=WHITE,
        transmittance=transmittance,
        ior=ior,
        roughness=roughness,
    )


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("Kd 0.5 0.5 0.5", Material(name="a", diffuse=GREY)),
        ("Kd 0.5 0.5 0.5, Ks 0 0 0, Ns 30", Material(name="a", diffuse=GREY)),
        ("Kd 0.5 0.5 0.5, Ks 0.2 0.2 0.2, Ns 30", SHINY),
        ("Kd 0.5 0.5 0.5, Ks 0.2 0.2 0.2, Ns 30, illum 2", SHINY),
        ("Kd 0.5 0.5 0.5, Ks 0.2 0.2 0.2, Ns 30, illum 3", SHINY),
        ("Kd 0.5 0.5 0.5, Ks 0.2 0.2 0.2, Ns 30, illum 1", Material(name="a", diffuse=GREY)),
        ("Kd 0.5 0.5 0.5, Ks 9 0.2 0.2, Ns -1", Material(name="a", kind="nff", diffuse=GREY, specular=(1, 0.2, 0.2))),
        ("Kd 0 0 0, Ks 0.9 0.8 0.7, illum 3", CHROME),
        ("Kd 0.01 0 0, Ks 0.9 0.8 0.7, illum 5", CHROME),
        ("Kd 0 0 0, Ks 0.9 0.8 0.7, Ns 1000", CHROME),
        (
            "Kd 0 0 0, Ks 0.9 0.8 0.7, Ns 999",
            Material(name="a", kind="nff", diffuse=BLACK, specular=(0.9, 0.8, 0.7), exponent=999.0),
        ),
        ("Kd 0.5 0.5 0.5, d 0.25, Ni 1.7, illum 7", glass_of(0.75, 1.7)),
        ("Kd 0.5 0.5 0.5, Tr 0.75, illum 4", glass_of(0.75, 1.5)),
        ("Kd 0.5 0.5 0.5, d 0, Tf 1 1 1, Ni 1.3", glass_of(1.0, 1.3)),
        ("Kd 0 0 0, Ni 1.5, illum 6", glass_of(1.0, 1.5)),
        ("Kd 0.5 0.5 0.5, d 0.25, illum 2", Material(name="a", diffuse=GREY)),
        ("Kd 0.5 0.5 0.5, Tf 1 1 1, illum 2", Material(name="a", diffuse=GREY)),
        ("Kd 0.5 0.5 0.5, illum 7", Material(name="a", diffuse=GREY)),
        ("Ke 3 2 1, Ks 0.9 0.8 0.7, Kd 0 0 0, illum 3", Material(**{**vars(CHROME), "emission": (3, 2, 1)})),
    ],
)
def test_mtl(tmp_path, lines, expected):
    assert of_mtl(tmp_path, lines) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("d half", "expected the number of d, got 'half'"),
        ("illum nan", "expected a number of illum of at most"),
        ("Ks 0.5 -1 0", "expected colours not below 0, got 0.5, -1, 0"),
        ("Ni inf, d 0, illum 7", "expected a number of Ni of at most 1e+09, got inf"),
    ],
)
def test_numbers_of_mtl_that_are_none(tmp_path, lines, expected):
    with pytest.raises(SceneFileError, match=r"m\.mtl:\d: ") as caught:
        of_mtl(tmp_path, lines)
    assert expected in str(caught.value)


def glb_of(tmp_path, description, pictures=()):
    """A GLB file of one triangle with texture coordinates, a described material and pictures of one colour each."""
    mesh = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], process=False)
    mesh.visual = trimesh.visual.TextureVisuals(uv=[[0, 0], [1, 0], [0, 1]])
    data = mesh.export(file_type="glb")
    length = int.from_bytes(data[12:16], "little")
    header, body = json.loads(data[20 : 20 + length]), bytearray(data[28 + length :])
    header["materials"] = [{"name": "a", **description}]
    header["textures"] = [{"source": index} for index in range(len(pictures))]
    header["images"] = []
    for color in pictures:
        file = io.BytesIO()
        Image.new("RGB", (3, 2), color).save(file, "PNG")
        header["bufferViews"].append({"buffer": 0, "byteOffset": len(body), "byteLength": file.tell()})
        header["images"].append({"bufferView": len(header["bufferViews"]) - 1, "mimeType": "image/png"})
        body += file.getvalue() + bytes(-file.tell() % 4)
    header["buffers"] = [{"byteLength": len(body)}]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 4)
    chunks = len(text).to_bytes(4, "little") + b"JSON" + text + len(body).to_bytes(4, "little") + b"BIN\0" + body
    (tmp_path / "a.glb").write_bytes(b"glTF\2\0\0\0" + (12 + len(chunks)).to_bytes(4, "little") + chunks)
    return tmp_path / "a.glb"


def pbr(**values):
    return {"pbrMetallicRoughness": values}


def principled(diffuse, metalness, roughness, **others):
    numbers = {"diffuse": diffuse, "roughness": roughness, "ior": 1.5} | others
    return Material(name="a", kind="principled", own={"metalness": metalness}, **numbers)


RED = (0.8, 0.2, 0.1)
COLOR = {"baseColorFactor": [*RED, 1.0]}


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ({}, principled(WHITE, 1.0, 1.0)),
        (pbr(**COLOR), principled(RED, 1.0, 1.0)),
        (pbr(**COLOR, metallicFactor=0), principled(RED, 0.0, 1.0)),
        (pbr(**COLOR, roughnessFactor=0), principled(RED, 1.0, 0.0)),
        (pbr(**COLOR, roughnessFactor=0.5, metallicFactor=0.25), principled(RED, 0.25, 0.5)),
        (
            {"emissiveFactor": [1, 0.5, 0], "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": 8}}},
            principled(WHITE, 1.0, 1.0, emission=(8.0, 4.0, 0.0)),
        ),
        ({"extensions": {"KHR_materials_transmission": {"transmissionFactor": 1}}}, glass_of(1.0, 1.5, 1.0)),
        ({"extensions": {"KHR_materials_transmission": {"transmissionFactor": 0}}}, principled(WHITE, 1.0, 1.0)),
        (
            {
                **pbr(baseColorFactor=[0.3, 0.6, 0.9, 1], roughnessFactor=0.25),
                "extensions": {
                    "KHR_materials_transmission": {"transmissionFactor": 0.5},
                    "KHR_materials_ior": {"ior": 2},
                },
            },
            Material(name="a", kind="nff", diffuse=(0.15, 0.3, 0.45), transmittance=0.5, ior=2.0, transmission_map=0),
        ),
        (
            {
                "extensions": {
                    "KHR_materials_pbrSpecularGlossiness": {
                        "diffuseFactor": [*RED, 1],
                        "specularFactor": [0.1, 0.1, 0.1],
                        "glossinessFactor": 0.5,
                    }
                }
            },
            # (n - 1)^2 / (n + 1)^2 = 0.1
            principled(RED, 0.0, 0.5, ior=1.92495),
        ),
    ],
)
def test_gltf(tmp_path, description, expected):
    (material,) = load(glb_of(tmp_path, description)).at(0.0).materials
    for name, value in vars(expected).items():
        found = getattr(material, name)
        assert found == (value if isinstance(value, str | dict) else pytest.approx(value)), name


def test_a_normal_map_of_gltf_with_its_scale(tmp_path):
    description = {**pbr(metallicFactor=0), "normalTexture": {"index": 0, "scale": 0.25}}
    picture = load(glb_of(tmp_path, description, [(100, 140, 250)])).at(0.0)
    (material,) = picture.materials
    assert material.normal_scale == 0.25
    texture = picture.textures[material.normal_map]
    assert (texture.is_linear, texture.wrap, texture.pixels[0, 0].tolist()) == (True, "repeat", [100, 140, 250])


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        (
            {"extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": "much"}}},
            'emissiveStrength: expected a finite number from 0 to 1e+09, got the text "much"',
        ),
        (pbr(roughnessFactor=float("nan")), "roughnessFactor: expected a finite number"),
        ({"extensions": {"KHR_materials_transmission": 3}}, "KHR_materials_transmission: expected an object, got 3"),
        (
            {"emissiveFactor": [1, 1, 1], "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": -1}}},
            "emissiveStrength: expected a finite number from 0",
        ),
    ],
)
def test_numbers_of_gltf_that_are_none(tmp_path, description, expected):
    with pytest.raises(SceneFileError, match=r"a\.glb: ") as caught:
        load(glb_of(tmp_path, description))
    assert expected in str(caught.value)


RGB = "property uchar red\nproperty uchar green\nproperty uchar blue\n"
PLY = (
    "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n{}"
    "element face 2\nproperty list uchar int vertex_indices\n{}end_header\n"
)


def test_colours_of_vertices_are_interpolated_in_linear_light(tmp_path):
    vertices = "0 0 0 255 0 0\n1 0 0 0 255 0\n1 1 0 0 188 0\n0 1 0 255 0 0\n"
    (tmp_path / "a.ply").write_text(PLY.format(RGB, "") + vertices + "3 0 1 2\n3 0 3 3\n")
    lines = ["v 0 0 0 1 0 0", "v 1 0 0 0 1 0", "v 1 1 0 0 0.7372 0", "v 0 1 0 1 0 0"]
    (tmp_path / "a.obj").write_text("\n".join([*lines, "f 1 2 3", "f 1 4 4", ""]))
    half = float(linear(np.array([188], np.uint8))[0])
    for name in ("a.ply", "a.obj"):
        picture = load(tmp_path / name).at(0.0)
        textures = pack_textures([texture.colors for texture in picture.textures])
        corners, middle = picture.uvs[0], picture.uvs[0].mean(axis=0)
        found = [lookup(textures, 0, *uv) for uv in (*corners, middle)]
        expected = [[1, 0, 0], [0, 1, 0], [0, half, 0], [1 / 3, (1 + half) / 3, 0]]
        assert np.allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 300, 5000])
def test_painted_triangles_find_their_texels(count):
    rng = np.random.default_rng(count)
    pixels = rng.integers(0, 256, (count, 3), dtype=np.uint8)
    square = rectangle((0, 0, 0), (1, 0, 0), (0, 1, 0), 0)
    triangles = np.broadcast_to(square.triangles[0], (count, 3)).astype(np.int32)
    mesh, texture = painted(
        type(square)(vertices=square.vertices, triangles=triangles, material=0), linear(pixels), "p"
    )
    textures = pack_textures([linear(texture.pixels, np.float32)])
    for k in range(0, count, max(1, count // 50)):
        u, v = mesh.uvs[mesh.uv_triangles[k, 2]].astype(np.float32)
        assert np.allclose(lookup(textures, 0, u, v), linear(pixels[k]), atol=1e-6)
    assert texture.pixels.shape[0] * texture.pixels.shape[1] <= 4 * count
