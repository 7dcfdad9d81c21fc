"""Geometry, animations and pictures of glTF files look as other files of the same look, or as is known by hand."""

import io
import math

import numpy as np
import pytest
from gltf_file import GltfBuilder
from gltf_walls import (
    BASE,
    BYTES,
    COLORS,
    DARK,
    FACES,
    MIRROR,
    MIRRORED,
    NEAREST,
    SIDE,
    SUN,
    UVS,
    WALL,
    Case,
    check,
    dull,
    half,
    made,
    of_material,
    pictures,
    plain,
    quarters,
    textured,
    wall,
)
from PIL import Image

from scenes.motion.transforms import quaternion


def several_scenes():
    """Two scenes, of which the second is the one to show."""
    file = plain()
    other = file.add("nodes", mesh=wall(file, color=(1, 0, 0)))
    file.header["scenes"].insert(0, {"nodes": [other]})
    file.header["scene"] = 1
    return file


def quantised():
    """Positions as bytes, in a node that scales them back, in a view with a stride."""
    file = GltfBuilder()
    rows = np.zeros((4, 4), np.int8)
    rows[:, :3] = 100 * WALL
    view = file.view(rows.tobytes(), byteStride=4)
    positions = file.add("accessors", bufferView=view, count=4, type="VEC3", componentType=5120)
    file.header["extensionsRequired"] = ["KHR_mesh_quantization"]
    file.node(mesh=wall(file, positions), scale=[0.01] * 3)
    return file


def sparse():
    """Positions of which one is replaced by another."""
    file = GltfBuilder()
    wrong = WALL.copy()
    wrong[2] = 0.0
    at = {"bufferView": file.view(np.uint16([2]).tobytes()), "componentType": 5123}
    own = {"bufferView": file.view(WALL[2].astype("<f4").tobytes())}
    positions = file.accessor(wrong, sparse={"count": 1, "indices": at, "values": own})
    file.node(mesh=wall(file, positions))
    return file


def doubles():
    """Positions as numbers of 64 bits."""
    file = GltfBuilder()
    view = file.view(WALL.astype("<f8").tobytes())
    positions = file.add("accessors", bufferView=view, count=4, type="VEC3", componentType=5130)
    file.node(mesh=wall(file, positions))
    return file


def listed(mode, indices):
    """The wall as strips or fans, which glow from their fronts alone."""
    file = GltfBuilder()
    file.node(mesh=file.mesh(file.primitive({"POSITION": WALL}, indices, material=glow(file), mode=mode)))
    return file


def tilted(degrees, **extras):
    """The wall with normals that lean to the right."""
    angle = math.radians(degrees)
    normals = np.tile([math.sin(angle), 0.0, math.cos(angle)], (4, 1))
    return made(lambda file: file.node(mesh=wall(file, NORMAL=normals, **extras)))


#: The middles of two quarters of the wall.
QUARTERS = 0.5 * np.array([[-1.0, -1, 0], [1, 1, 0]])


def instances():
    """Two quarters of the wall, which glow from their fronts alone, one of which is turned and the other mirrored."""
    file = GltfBuilder()
    rows = {"TRANSLATION": QUARTERS, "SCALE": [[0.5, 0.5, 1], [-0.5, 0.5, 1]], "ROTATION": [turned(90), turned(0)]}
    places = {"attributes": {name: file.accessor(row) for name, row in rows.items()}}
    file.node(mesh=wall(file, material=glow(file)), extensions={"EXT_mesh_gpu_instancing": places})
    return file


def two_quarters():
    """What is seen of them: the quarters at the lower left and the upper right."""
    picture = np.zeros((SIDE, SIDE, 3))
    picture[SIDE // 2 :, : SIDE // 2] = picture[: SIDE // 2, SIDE // 2 :] = BASE
    return picture


def glow(file):
    """A material that glows from the front, and is black."""
    return file.add("materials", pbrMetallicRoughness={"baseColorFactor": [0, 0, 0, 1]}, emissiveFactor=BASE)


def turned(degrees):
    return quaternion(np.array([0.0, 0.0, 1.0]), degrees)[[1, 2, 3, 0]].tolist()


def morphed():
    """A wall that is as wide as high by a target of half weight."""
    file = GltfBuilder()
    target = {"POSITION": file.accessor(WALL * [1.0, 0, 0])}
    corners = {"POSITION": WALL * [0.5, 1, 1]}
    file.node(
        mesh=file.mesh(file.primitive(corners, FACES, material=dull(file, BASE), targets=[target]), weights=[0.5])
    )
    return file


def skinned():
    """A narrow wall whose right corners follow a joint that has moved right."""
    file = GltfBuilder()
    bones = {
        "JOINTS_0": file.accessor([[0, 1, 0, 0]] * 4, "u1"),
        "WEIGHTS_0": file.accessor([[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0]]),
    }
    corners = np.minimum(WALL, [0, 9, 9])
    joints = [file.node(), file.node(translation=[1, 0, 0])]
    file.add("skins", joints=joints)
    file.node(mesh=wall(file, corners, **bones), skin=0)
    return file


def hidden():
    """The wall behind another that is not visible."""
    file = plain()
    file.node(
        mesh=wall(file, WALL + [0, 0, 1], color=(0, 0, 1)), extensions={"KHR_node_visibility": {"visible": False}}
    )
    return file


def moving(path, start, end):
    """The wall that gets to its place half-way between two values."""
    file = GltfBuilder()
    node = file.node(mesh=wall(file))
    file.animate(node, path, [0.0, 2.0], [start, end])
    return file


def bending():
    file = morphed()
    del file.header["meshes"][0]["weights"]
    file.animate(0, "weights", [0.0, 2.0], [0.0, 1.0])
    return file


GEOMETRY = {
    "several scenes": Case(several_scenes(), plain(), SUN),
    "quantised": Case(quantised(), plain(), SUN),
    "sparse": Case(sparse(), plain(), SUN),
    "doubles": Case(doubles(), plain(), SUN),
    "strips": Case(listed(5, [0, 1, 3, 2]), np.array(BASE), DARK),
    "strips that begin again": Case(listed(5, [0, 1, 2, 65535, 0, 2, 3]), np.array(BASE), DARK),
    "fans": Case(listed(6, [0, 1, 2, 3]), np.array(BASE), DARK),
    "normals": Case(tilted(60), 0.5 * np.array(BASE), SUN),
    "instances": Case(instances(), two_quarters(), DARK),
    "morph targets": Case(morphed(), plain(), SUN),
    "skins": Case(skinned(), plain(), SUN),
    "visibility": Case(hidden(), plain(), SUN),
    "translation": Case(moving("translation", [-1, 0, 0], [1, 0, 0]), plain(), SUN, time=1.0),
    "rotation": Case(moving("rotation", turned(-30), turned(30)), plain(), SUN, time=1.0),
    "scale": Case(moving("scale", [0.5, 1, 1], [1.5, 1, 1]), plain(), SUN, time=1.0),
    "weights": Case(bending(), plain(), SUN, time=1.0),
}


def transformed():
    """A picture that is mirrored by its transform: u' = 1 - u, and half of it along v."""
    moved = {"offset": [1.0, 0.25], "scale": [-1.0, 0.5]}
    return textured(extensions={"KHR_texture_transform": moved})


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


def bumpy(scale):
    """A wall whose picture of normals leans by 45 degrees to the right at a scale of 1."""

    def material(file):
        number = dull(file, BASE)
        pixels = np.full((2, 2, 3), (218, 128, 218))
        file.header["materials"][number]["normalTexture"] = {"index": file.picture(pixels), "scale": scale}
        return number

    return of_material(material)


def holes(mode, alpha):
    """The wall whose right half has an alpha in its picture."""

    def material(file):
        pixels = np.full((2, 2, 4), 255)
        pixels[:, 1, 3] = alpha
        number = dull(file, BASE, baseColorTexture={"index": file.picture(pixels, NEAREST)})
        file.header["materials"][number] |= {"alphaMode": mode, "alphaCutoff": 0.3}
        return number

    return of_material(material)


PICTURES = {
    "colours": Case(textured(), quarters(), SUN),
    "colours, webp": Case(encoded_as("WEBP", "image/webp"), encoded_as("PNG", "image/png"), SUN),
    "colours, jpeg": Case(encoded_as("JPEG", "image/jpeg"), encoded_as("PNG", "image/png"), SUN, tolerance=0.03),
    "transform": Case(transformed(), textured(uvs=UVS * [-1, 0.5] + [1, 0.25]), SUN),
    "second set": Case(second_set(), quarters(), SUN),
    "repeat": Case(textured(uvs=2 * UVS, sampler={"magFilter": 9728}), textured(np.tile(BYTES, (2, 2, 1))), SUN),
    "mirror": Case(
        textured(uvs=2 * UVS, sampler=NEAREST | {"wrapS": MIRROR, "wrapT": MIRROR}),
        textured(np.concatenate([MIRRORED, MIRRORED[::-1]])),
        SUN,
    ),
    "clamp": Case(textured(uvs=2 * UVS - 0.5), quarters(), SUN),
    "metal and roughness": Case(with_pictures(True), with_pictures(False), SUN, tolerance=0.01),
    "normal map": Case(bumpy(1.0), np.array(BASE) / math.sqrt(2.0), SUN),
    "normal map with its scale": Case(bumpy(0.5), np.array(BASE) / math.sqrt(1.25), SUN),
    "mask": Case(holes("MASK", 60), half(BASE), SUN),
    "mask above its cutoff": Case(holes("MASK", 90), plain(), SUN),
    "blend by a picture": Case(holes("BLEND", 60), half(BASE), SUN),
}

CASES = GEOMETRY | {f"picture: {name}": case for name, case in PICTURES.items()}


@pytest.mark.parametrize("driver", ["path", "photon"])
@pytest.mark.parametrize("name", CASES)
def test_geometry_and_pictures_look_as_known(tmp_path, name, driver):
    check(CASES[name], tmp_path, driver)


@pytest.mark.parametrize("suffix", [".gltf", ".glb"])
def test_a_picture_of_a_binary_file_is_the_same(tmp_path, suffix):
    seen = pictures(textured(), tmp_path / f"a{suffix}", "path", Case(textured(), None, SUN))
    assert seen.mean(axis=0) == pytest.approx(np.repeat(np.repeat(COLORS, 4, 0), 4, 1), abs=1e-3)
