"""Materials, cameras, lights and pictures of glTF files look as other files do, or as is known by hand."""

import io
import math
from dataclasses import replace

import numpy as np
import pytest
from gltf_file import GltfBuilder
from gltf_walls import (
    BASE,
    BYTES,
    COLORS,
    DARK,
    DULL,
    EYE,
    FACES,
    NEAREST,
    OWN,
    SIDE,
    SKY,
    SUN,
    UVS,
    WALL,
    Case,
    check,
    dull,
    metal,
    of_material,
    pictures,
    plain,
    quarters,
    textured,
    wall,
)
from PIL import Image

from scenes.gltf.surfaces import albedo_seen_as
from scenes.lights import DistantLight
from scenes.motion.transforms import quaternion

EXTENSION = "KHR_materials_"


def extended(extensions, *, emission=(0.0, 0.0, 0.0), **pbr):
    """The wall of a material with extensions, by their names behind KHR_materials_."""

    def material(file):
        factors = {"baseColorFactor": [*BASE, 1.0], "metallicFactor": 0, "roughnessFactor": 0.0, **pbr}
        own = {EXTENSION + name: value for name, value in extensions.items()}
        return file.add("materials", pbrMetallicRoughness=factors, emissiveFactor=emission, extensions=own)

    return of_material(material)


def glowing():

    def material(file):
        picture = {"index": file.picture(BYTES, NEAREST)}
        strength = {"KHR_materials_emissive_strength": {"emissiveStrength": 4.0}}
        black = {"baseColorFactor": [0, 0, 0, 1]}
        factor = {"emissiveFactor": [1, 0.5, 0.25], "emissiveTexture": picture}
        return file.add("materials", pbrMetallicRoughness=black, extensions=strength | DULL, **factor)

    return of_material(material)


def blended(alpha):

    def material(file):
        number = dull(file)
        described = file.header["materials"][number]
        described["pbrMetallicRoughness"]["baseColorFactor"] = [*BASE, alpha]
        described["alphaMode"] = "BLEND"
        return number

    return of_material(material)


def slab(ior, color, *, distance=0.5, **more):
    """A sheet of glass that is wide, and 0.5 thick."""
    outer, inner = 40 * WALL, [0, 0, -0.5]
    file = GltfBuilder()
    volume = {"thicknessFactor": 0.5, "attenuationColor": color, "attenuationDistance": distance}
    own = {"ior": {"ior": ior}, "transmission": {"transmissionFactor": 1.0}, "volume": volume} | more
    factors = {"roughnessFactor": 0.0, "metallicFactor": 0.0}
    extensions = {EXTENSION + name: value for name, value in own.items()}
    glass = file.add("materials", pbrMetallicRoughness=factors, extensions=extensions)
    front = file.primitive({"POSITION": outer}, FACES, material=glass)
    back = file.primitive({"POSITION": outer + inner}, FACES[::-1], material=glass)
    file.node(mesh=file.mesh(front, back))
    return file


def through(reflected, color):
    """What is seen of a sky of 1 by a sheet that reflects a share, and lets a colour pass on one way: all paths."""
    passed = np.array(color)
    return reflected + (1 - reflected) ** 2 * passed / (1 - reflected * passed)


#: Texture coordinates whose u runs half-way between +x and +y, and whose v, which runs down, away from that.
LEANING = np.stack([WALL[:, 0] + WALL[:, 1], WALL[:, 0] - WALL[:, 1]], axis=-1)


#: A sun from the right, and a little from above.
ASIDE = {"lights": (DistantLight(direction=(-0.48, -0.36, -0.8), irradiance=(np.pi,) * 3),), "environment": None}


def brushed(rotation, uvs):
    """A metal that is wider along than across."""
    own = {EXTENSION + "anisotropy": {"anisotropyStrength": 0.8, "anisotropyRotation": rotation}}

    def material(file):
        number = metal(file)
        file.header["materials"][number]["extensions"] = own
        return number

    return of_material(material, TEXCOORD_0=uvs)


def glossy(**given):
    """The wall of a diffuse and a specular reflectance."""

    def material(file):
        own = {"diffuseFactor": [*BASE, 1.0], "specularFactor": [0, 0, 0], "glossinessFactor": 0.0, **given}
        return file.add("materials", extensions={EXTENSION + "pbrSpecularGlossiness": own})

    return of_material(material)


def coloured(metallic):
    """The wall with colours of its corners, which are all alike, over a white metal or a dull white."""

    def material(file):
        return metal(file, (1, 1, 1)) if metallic else dull(file)

    return of_material(material, COLOR_0=np.tile(BASE, (4, 1)))


BLACK = {"baseColorFactor": [0, 0, 0, 1]}


def deep(albedo):
    """What comes back of light from deep inside of a medium, straight out of it under a white sky, and of all light.

    Chandrasekhar: Radiative Transfer, 1950, by his function H for particles that scatter evenly.
    """
    nodes, weights = np.polynomial.legendre.leggauss(64)
    mu, weights, left = 0.5 * (nodes + 1.0), 0.5 * weights, math.sqrt(1.0 - albedo)
    h = np.ones_like(mu)
    for _ in range(200):
        h = 1.0 / (left + 0.5 * albedo * (weights * mu * h / (mu[:, None] + mu)).sum(axis=1))
    straight = 1.0 / (left + 0.5 * albedo * (weights * mu * h / (1.0 + mu)).sum())
    return 1.0 - straight * left, 1.0 - 2.0 * left * (weights * mu * h).sum()


MILK = (0.1, 0.2, 0.4)


@pytest.mark.parametrize("color", [0.0, 0.05, 0.3, 0.6, 0.9, 1.0])
@pytest.mark.parametrize("g", [0.0, 0.6, -0.3])
def test_a_deep_medium_has_the_colour_that_is_asked_for(color, g):
    albedo = albedo_seen_as(color, g)
    even = 1.0 - (1.0 - albedo) / (1.0 - g * albedo)  # of particles that scatter evenly, by similarity
    assert deep(even)[1] == pytest.approx(color, abs=0.006)


MATERIALS = {
    "emission": Case(extended({}, emission=[0.5, 1, 0.25], **BLACK), np.array([0.5, 1, 0.25]), DARK),
    "emission by a picture, strong": Case(glowing(), np.repeat(np.repeat(COLORS * [4, 2, 1], 4, 0), 4, 1), DARK),
    "unlit": Case(extended({"unlit": {}}), np.array(BASE), DARK),
    "blend": Case(blended(0.25), 0.25 * np.array(BASE), SUN),
    "transmission, volume": Case(slab(1.5, [1, 0.5, 0.25]), through(0.04, [1, 0.5, 0.25]), SKY),
    "ior": Case(slab(2.0, [0.5] * 3), through(1 / 9, [0.5] * 3), SKY),
    "specular of glass": Case(slab(1.5, [0.5] * 3, specular={"specularFactor": 0.5}), through(0.02, [0.5] * 3), SKY),
    "scatter": Case(
        slab(1.0, [1e-6] * 3, distance=0.1, volume_scatter={"multiscatterColor": MILK}),
        np.array([deep(albedo_seen_as(color, 0.0))[0] for color in MILK]),
        SKY,
        tolerance=0.005,
    ),
    "coat": Case(extended({}, **BLACK), np.full(3, 0.04), SKY, tolerance=0.01),
    "ior of a coat": Case(extended({"ior": {"ior": 2.0}}, **BLACK), np.full(3, 1 / 9), SKY, tolerance=0.01),
    "specular": Case(extended({"specular": {"specularFactor": 0.25}}, **BLACK), np.full(3, 0.01), SKY, tolerance=0.01),
    "clear coat": Case(
        extended({"clearcoat": {"clearcoatFactor": 0.5}, "specular": {"specularFactor": 0}}, **BLACK),
        np.full(3, 0.02),
        SKY,
        tolerance=0.01,
    ),
    "metal": Case(of_material(lambda file: metal(file, roughness=0.0)), np.array(BASE), SKY, tolerance=0.01),
    "anisotropy": Case(brushed(math.pi / 4, UVS), brushed(0.0, LEANING), ASIDE, tolerance=0.01),
    "specular and glossiness": Case(glossy(), plain(), SUN),
    "gloss of gold": Case(
        glossy(diffuseFactor=[0, 0, 0, 1], specularFactor=BASE, glossinessFactor=1.0),
        np.array(BASE),
        SKY,
        tolerance=0.01,
    ),
    "colours of corners": Case(coloured(False), plain(), SUN),
    "colours of corners, metal": Case(coloured(True), of_material(metal), SUN, tolerance=0.01),
    "no sheen": Case(extended({"sheen": {"sheenColorFactor": [0, 0, 0]}}), extended({}), SUN),
}


def seen_by(kind, lens, **node):
    """A wall that glows, seen by a camera of the file."""
    file = extended({"specular": {"specularFactor": 0}}, emission=[1, 1, 1], **BLACK)
    file.add("cameras", type=kind, **{kind: {"znear": 0.1, **lens}})
    file.node(camera=0, **node)
    return file


def middle(columns, rows):
    """A picture that is 1 in the middle, in so many columns and rows."""
    across, down = (np.abs(np.arange(SIDE) - 0.5 * (SIDE - 1)) < 0.5 * number for number in (columns, rows))
    return np.where((down[:, None] & across)[..., None], np.ones(3), 0.0)


def lit(light, **node):
    file = plain(corners=0.01 * WALL)
    file.header["extensions"] = {"KHR_lights_punctual": {"lights": [light]}}
    file.node(extensions={"KHR_lights_punctual": {"light": 0}}, **node)
    return file


CLOSE = replace(EYE, height=0.02)
LENS = {"yfov": 2 * math.atan(0.5), "aspectRatio": 1.0}
VIEW = {"xmag": 2.0, "ymag": 2.0}
SPOT = {"type": "spot", "intensity": 8.0}
WHITE = np.array(BASE) / math.pi
VIEWS = {
    "perspective": Case(seen_by("perspective", LENS, translation=[0, 0, 4]), middle(4, 4), DARK, None),
    "orthographic": Case(seen_by("orthographic", VIEW, translation=[0, 0, 9]), middle(4, 4), DARK, None),
    "directional": Case(lit({"type": "directional", "intensity": 3.0}), 3 * WHITE, OWN, CLOSE),
    "directional, leaning": Case(
        lit(
            {"type": "directional", "intensity": 3.0, "color": [1, 0.5, 0]},
            rotation=quaternion(np.array([1.0, 0, 0]), 60)[[1, 2, 3, 0]].tolist(),
        ),
        1.5 * WHITE * [1, 0.5, 0],
        OWN,
        CLOSE,
    ),
    "point": Case(lit({"type": "point", "intensity": 8.0}, translation=[0, 0, 1.5]), 8 / 2.25 * WHITE, OWN, CLOSE),
    "spot": Case(lit(SPOT | {"spot": {"outerConeAngle": 0.3}}, translation=[0, 0, 1.5]), 8 / 2.25 * WHITE, OWN, CLOSE),
    "spot, aside": Case(
        lit(SPOT | {"spot": {"outerConeAngle": 0.3}}, translation=[1.5, 0, 1.5]), 0 * WHITE, OWN, CLOSE
    ),
}


def several_scenes():
    """Two scenes, of which the second is the one to show."""
    file = plain()
    other = file.add("nodes", mesh=wall(file, color=(1, 0, 0)))
    file.header["scenes"].insert(0, {"nodes": [other]})
    file.header["scene"] = 1
    return file


def doubles():
    """Positions as numbers of 64 bits."""
    file = GltfBuilder()
    view = file.view(WALL.astype("<f8").tobytes())
    positions = file.add("accessors", bufferView=view, count=4, type="VEC3", componentType=5130)
    file.node(mesh=wall(file, positions))
    return file


def hidden():
    """The wall behind another that is not visible, which it is where nothing is said of that."""
    file = plain()
    file.header["nodes"][0]["extensions"] = {"KHR_node_visibility": {}}
    file.node(
        mesh=wall(file, WALL + [0, 0, 1], color=(0, 0, 1)), extensions={"KHR_node_visibility": {"visible": False}}
    )
    return file


def second_set():
    """A picture that is looked up by the second set of coordinates."""

    def material(file):
        return dull(file, baseColorTexture={"index": file.picture(BYTES, NEAREST), "texCoord": 1})

    return of_material(material, TEXCOORD_0=0.0 * UVS, TEXCOORD_1=UVS)


def encoded_as(kind, mime):
    """A wall by a picture of one colour in a format."""

    def material(file):
        data = io.BytesIO()
        Image.new("RGB", (16, 16), (200, 100, 50)).save(data, kind, lossless=True)
        image = file.add("images", bufferView=file.view(data.getvalue()), mimeType=mime)
        source = {"extensions": {"EXT_texture_webp": {"source": image}}} if kind == "WEBP" else {"source": image}
        return dull(file, baseColorTexture={"index": file.add("textures", **source)})

    return of_material(material)


def with_pictures(both):
    """A wall whose metalness and roughness are said by numbers, or by a picture."""

    def material(file):
        if not both:
            return file.add("materials", pbrMetallicRoughness={"metallicFactor": 1.0, "roughnessFactor": 128 / 255})
        index = file.picture(np.full((2, 2, 3), (9, 128, 255)))
        return file.add("materials", pbrMetallicRoughness={"metallicRoughnessTexture": {"index": index}})

    return of_material(material)


FILES = {
    "several scenes": Case(several_scenes(), plain(), SUN),
    "numbers of 64 bits": Case(doubles(), plain(), SUN),
    "visibility": Case(hidden(), plain(), SUN),
    "webp": Case(encoded_as("WEBP", "image/webp"), encoded_as("PNG", "image/png"), SUN),
    "jpeg": Case(encoded_as("JPEG", "image/jpeg"), encoded_as("PNG", "image/png"), SUN, tolerance=0.03),
    "second set": Case(second_set(), quarters(), SUN),
    "metal and roughness by a picture": Case(with_pictures(True), with_pictures(False), SUN, tolerance=0.01),
}
CASES = MATERIALS | VIEWS | FILES


@pytest.mark.parametrize(
    ("name", "driver"), [*((name, "path") for name in CASES), *((name, "photon") for name in VIEWS)]
)
def test_materials_cameras_lights_and_files_look_as_known(tmp_path, name, driver):
    check(CASES[name], tmp_path, driver)


@pytest.mark.parametrize("suffix", [".gltf", ".glb"])
def test_a_picture_of_a_binary_file_is_the_same(tmp_path, suffix):
    seen = pictures(textured(), tmp_path / f"a{suffix}", "path", Case(textured(), None, SUN))
    assert seen.mean(axis=0) == pytest.approx(np.repeat(np.repeat(COLORS, 4, 0), 4, 1), abs=1e-3)
