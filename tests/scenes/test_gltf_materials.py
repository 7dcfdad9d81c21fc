"""Materials of glTF files: pictures and how they are looked up, and what extensions become."""

import math

import numpy as np
import pytest
from gltf_file import CORNERS, GltfBuilder, notes_of

from scenes import load
from scenes.colors.srgb import decoded
from shaders.textures import Look, lookup, pack_textures

REPEAT, CLAMP, MIRROR = 10497, 33071, 33648
#: Two rows of three texels, no two alike.
PIXELS = np.array([[[0, 0, 0], [50, 0, 0], [100, 0, 0]], [[150, 0, 0], [200, 0, 0], [250, 0, 0]]], np.uint8)
PLAIN = {"metallicFactor": 0}


def snapshot_of(file, tmp_path):
    """The moment of a file, which gets a node for its mesh."""
    file.node(mesh=0)
    return load(file.write(tmp_path / "a.gltf")).at(0.0)


def material_of(tmp_path, notes=None, **description):
    """The material of a description, for a triangle with texture coordinates."""
    file = GltfBuilder()
    file.add("materials", name="a", doubleSided=True, **description)
    file.mesh(file.primitive({"TEXCOORD_0": CORNERS}, material=0))
    (material,) = snapshot_of(file, tmp_path).materials
    return material


def found(snapshot, u, v):
    """The byte of red that is seen at coordinates of the second primitive's first triangle, by nearest texels."""
    texture = snapshot.textures[snapshot.materials[0].texture]
    arrays = pack_textures([texture.pixels.astype(np.float32)], [Look(texture.wrap == "clamp", 1)])
    return lookup(arrays, 0, u, v)[0]


def wrapped(x, side, mode):
    """The texel of a coordinate, as glTF defines its modes."""
    at = math.floor(x * side)
    if mode == CLAMP:
        return min(max(at, 0), side - 1)
    if mode == MIRROR and (at // side) % 2:
        return side - 1 - at % side
    return at % side


@pytest.mark.parametrize("modes", [(s, t) for s in (REPEAT, CLAMP, MIRROR) for t in (REPEAT, CLAMP, MIRROR)])
def test_each_axis_has_its_own_end(tmp_path, modes):
    file = GltfBuilder()
    texture = file.picture(PIXELS, {"wrapS": modes[0], "wrapT": modes[1]})
    file.add("materials", pbrMetallicRoughness={"baseColorTexture": {"index": texture}, **PLAIN})
    uvs = np.array([[-1.4, -2.3], [2.6, 0.2], [0.1, 1.7]])
    file.mesh(file.primitive({"TEXCOORD_0": uvs}, material=0))
    snapshot = snapshot_of(file, tmp_path)
    for weights in ([1, 0, 0], [0, 1, 0], [0, 0, 1], [0.3, 0.3, 0.4], [0.6, 0.1, 0.3], [0.05, 0.5, 0.45]):
        u, v = weights @ uvs
        seen = found(snapshot, *(weights @ snapshot.uvs[0].astype(float)))
        assert seen == PIXELS[wrapped(v, 2, modes[1]), wrapped(u, 3, modes[0]), 0], (u, v)


@pytest.mark.parametrize("modes", [(REPEAT, CLAMP), (CLAMP, REPEAT), (MIRROR, CLAMP)])
def test_beside_the_edge_filters_blend_with_what_is_beyond(tmp_path, modes):
    file = GltfBuilder()
    texture = file.picture(PIXELS, {"wrapS": modes[0], "wrapT": modes[1]})
    file.add("materials", pbrMetallicRoughness={"baseColorTexture": {"index": texture}, **PLAIN})
    uvs = np.array([[0.02, 0.05], [0.98, 0.05], [0.02, 0.95]])
    file.mesh(file.primitive({"TEXCOORD_0": uvs}, material=0))
    snapshot = snapshot_of(file, tmp_path)
    (texture,) = snapshot.textures
    arrays = pack_textures([texture.pixels.astype(np.float32)], [Look(texture.wrap == "clamp")])
    for corner, (u, v) in zip(snapshot.uvs[0].astype(float), uvs, strict=True):
        x, y = 3 * u - 0.5, 2 * v - 0.5
        left, top = math.floor(x), math.floor(y)
        texels = [
            [PIXELS[wrapped(row / 2, 2, modes[1]), wrapped(column / 3, 3, modes[0]), 0] for column in (left, left + 1)]
            for row in (top, top + 1)
        ]
        expected = [1 - (y - top), y - top] @ np.array(texels, float) @ [1 - (x - left), x - left]
        assert lookup(arrays, 0, *corner)[0] == pytest.approx(expected, abs=1e-3)


def test_texture_transform(tmp_path):
    """Scaled, turned counter-clockwise where v runs down, and shifted: u' = c su u + s sv v + du, v' = -s su u + c sv v
    + dv."""
    file = GltfBuilder()
    angle = 0.4
    moved = {"offset": [0.25, 0.5], "rotation": angle, "scale": [2.0, 0.5], "texCoord": 1}
    info = {"index": file.picture(PIXELS), "extensions": {"KHR_texture_transform": moved}}
    file.add("materials", pbrMetallicRoughness={"baseColorTexture": info, **PLAIN})
    uvs = np.array([[0.1, 0.2], [0.9, 0.3], [0.2, 0.8]])
    file.mesh(file.primitive({"TEXCOORD_0": np.zeros((3, 2)), "TEXCOORD_1": uvs}, material=0))
    c, s = math.cos(angle), math.sin(angle)
    turn = np.array([[c * 2.0, s * 0.5], [-s * 2.0, c * 0.5]])
    expected = uvs @ turn.T + [0.25, 0.5]
    given = snapshot_of(file, tmp_path).uvs[0]
    assert np.allclose(given - given[0], expected - expected[0], atol=1e-6)
    assert np.allclose((given - expected) % 1.0 % (1.0 - 1e-6), 0.0, atol=1e-5)


def test_pictures_with_other_coordinates_give_their_mean(tmp_path):
    file = GltfBuilder()
    color, glow = file.picture(PIXELS), file.picture(np.full((1, 1, 3), 128))
    base = {"baseColorTexture": {"index": color}, **PLAIN}
    file.add(
        "materials", pbrMetallicRoughness=base, emissiveFactor=[1, 1, 1], emissiveTexture={"index": glow, "texCoord": 1}
    )
    file.mesh(file.primitive({"TEXCOORD_0": CORNERS, "TEXCOORD_1": CORNERS}, material=0))
    (material,) = snapshot_of(file, tmp_path).materials
    assert material.emission == pytest.approx(decoded(np.full(3, 128, np.uint8)))
    assert material.texture == 0
    assert "emission_map" not in material.pictures
    assert "emission_map has other texture coordinates" in notes_of(load(tmp_path / "a.gltf").document)


def test_one_picture_in_two_materials_is_one_texture(tmp_path):
    file = GltfBuilder()
    info = {"index": file.picture(PIXELS)}
    for factor in (0.5, 0.25):
        base = {"baseColorTexture": info, "baseColorFactor": [factor, 0, 0, 1], **PLAIN}
        file.add("materials", pbrMetallicRoughness=base)
    file.mesh(*(file.primitive({"TEXCOORD_0": CORNERS}, material=number) for number in (0, 1, 0)))
    snapshot = snapshot_of(file, tmp_path)
    assert (len(snapshot.textures), snapshot.material_ids.tolist()) == (1, [0, 1, 0])


def extended(**extensions):
    """Extensions of a material by their names without KHR_materials_."""
    return {"extensions": {f"KHR_materials_{name}": values for name, values in extensions.items()}}


GLASS = {"transmissionFactor": 1.0}
RED = [0.8, 0.2, 0.1]
SHINE = {"baseColorFactor": [*RED, 1], "metallicFactor": 0, "roughnessFactor": 0.5}


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        (
            extended(transmission=GLASS, volume={"attenuationDistance": 2}),
            {"kind": "dielectric", "absorption": (0, 0, 0)},
        ),
        # a colour of 2.25 makes the 4 % of index 1.5 9 %: (n - 1) / (n + 1) = 0.3
        (
            {"pbrMetallicRoughness": SHINE, **extended(specular={"specularColorFactor": [2.25, 0, 1.125]})},
            {"ior": 13 / 7, "own": {"metalness": 0.0, "specular_weight": (1.0, 0.0, 0.5)}},
        ),
        ({"pbrMetallicRoughness": SHINE, **extended(specular={"specularFactor": 0})}, {"kind": "diffuse"}),
        ({"pbrMetallicRoughness": SHINE, **extended(ior={"ior": 1})}, {"kind": "diffuse"}),
        (
            {
                "pbrMetallicRoughness": {**SHINE, "roughnessFactor": 1},
                **extended(clearcoat={"clearcoatFactor": 1, "clearcoatRoughnessFactor": 0.125}),
            },
            {"roughness": 1.0, "own": {"metalness": 0.0, "coat": 1.0, "coat_roughness": 0.125}, "diffuse": tuple(RED)},
        ),
        (
            {
                "pbrMetallicRoughness": SHINE,
                **extended(sheen={"sheenColorFactor": [0.5, 0.25, 0], "sheenRoughnessFactor": 0.75}),
            },
            {"kind": "sheen", "roughness": 0.75, "own": {"sheen": (0.5, 0.25, 0.0)}, "diffuse": tuple(RED)},
        ),
        # alpha is 0.25 across and 0.25 + 0.75 / 4 = 0.4375 along
        (
            {
                "pbrMetallicRoughness": {"baseColorFactor": [*RED, 1], "roughnessFactor": 0.5},
                **extended(anisotropy={"anisotropyStrength": 0.5, "anisotropyRotation": -0.5 * math.pi}),
            },
            {
                "kind": "anisotropic",
                "roughness": (0.25 * 0.4375) ** 0.25,
                "specular": tuple(RED),
                "own": {"anisotropy": (1 - 0.25 / 0.4375) / 0.9, "rotation": 0.75},
            },
        ),
        (
            {"pbrMetallicRoughness": {**SHINE, "baseColorFactor": [*RED, 0.25]}},
            {"kind": "principled", "diffuse": tuple(RED)},
        ),
        (
            extended(
                pbrSpecularGlossiness={
                    "diffuseFactor": [0.2, 0.2, 0.2, 1],
                    "specularFactor": RED,
                    "glossinessFactor": 0.5,
                }
            ),
            {"kind": "nff", "diffuse": (0.2, 0.2, 0.2), "specular": tuple(RED), "exponent": 7.5},
        ),
    ],
    ids=range(9),
)
def test_extensions(tmp_path, description, expected):
    material = material_of(tmp_path, **description)
    for name, value in expected.items():
        given = getattr(material, name)
        if name == "own":
            assert given.keys() == value.keys()
            assert all(given[key] == pytest.approx(number) for key, number in value.items())
            continue
        assert given == (value if isinstance(value, str) else pytest.approx(value)), name


def test_glass_has_the_colour_of_its_base(tmp_path):
    file = GltfBuilder()
    file.add("materials", pbrMetallicRoughness={"baseColorFactor": [*RED, 1]}, **extended(transmission=GLASS))
    file.mesh(file.primitive(material=0))
    snapshot = snapshot_of(file, tmp_path)
    (material,) = snapshot.materials
    tint = decoded(snapshot.textures[material.transmission_map].pixels[0, 0])
    assert tint * material.transmittance == pytest.approx(RED, abs=0.004)


def glossy(tmp_path, diffuse, shine, **factors):
    """The material of pictures of specular glossiness."""
    file = GltfBuilder()
    pictures = {
        "diffuseTexture": {"index": file.picture(diffuse)},
        "specularGlossinessTexture": {"index": file.picture(shine)},
    }
    file.add("materials", name="a", **extended(pbrSpecularGlossiness={**pictures, **factors}))
    file.mesh(file.primitive({"TEXCOORD_0": CORNERS}, material=0))
    return snapshot_of(file, tmp_path)


def test_pictures_of_specular_glossiness(tmp_path):
    """A coat of 4 % over a picture, as smooth as the mean of alpha says."""
    byte = int(np.argmin(np.abs(decoded(np.arange(256, dtype=np.uint8)) - 0.04)))
    snapshot = glossy(tmp_path, PIXELS, [[[byte] * 3 + [102], [byte] * 3 + [204]]])
    (material,) = snapshot.materials
    assert (material.kind, material.diffuse) == ("principled", (1.0, 1.0, 1.0))
    assert material.ior == pytest.approx(1.5, abs=0.01)
    assert material.roughness == pytest.approx(0.4)
    assert np.array_equal(snapshot.textures[material.texture].pixels, PIXELS)


def test_gold_by_specular_glossiness(tmp_path):
    snapshot = glossy(tmp_path, np.zeros((1, 1, 3)), [[[250, 200, 100, 128]]])
    (material,) = snapshot.materials
    assert (material.kind, material.specular) == ("metal", (1.0, 1.0, 1.0))
    assert snapshot.textures[material.specular_map].pixels[0, 0].tolist() == [250, 200, 100]


def test_what_is_blended_has_no_maps_of_its_shine(tmp_path):
    """It is a thin surface without shine; its picture of roughness and metalness would have nothing to act on."""
    file = GltfBuilder()
    picture = {"index": file.picture(PIXELS)}
    own = {"baseColorFactor": [*RED, 0.5], "baseColorTexture": picture, "metallicRoughnessTexture": picture}
    file.add("materials", alphaMode="BLEND", pbrMetallicRoughness={**PLAIN, **own})
    file.mesh(file.primitive({"TEXCOORD_0": CORNERS}, material=0))
    (material,) = snapshot_of(file, tmp_path).materials
    assert (material.kind, material.transmittance) == ("nff", 0.5)
    assert material.texture >= 0
    assert (material.specular_map, material.roughness_map, material.metalness_map) == (-1, -1, -1)


def test_far_coordinates_of_mixed_ends_do_not_fill_the_memory(tmp_path):
    file = GltfBuilder()
    texture = file.picture(PIXELS, {"wrapS": CLAMP})
    file.add("materials", pbrMetallicRoughness={"baseColorTexture": {"index": texture}, **PLAIN})
    file.mesh(file.primitive({"TEXCOORD_0": np.array(CORNERS) * 1e6}, material=0))
    (texture,) = snapshot_of(file, tmp_path).textures
    assert texture.pixels.shape == PIXELS.shape
    assert "repeats on both" in notes_of(load(tmp_path / "a.gltf").document)
