"""Files that show a wall two by two, in the plane z = 0, that faces +z, and what is seen of it."""

from dataclasses import dataclass, replace

import numpy as np
from driver_passes import deviation, independent_pictures, sidak_bound
from gltf_file import GltfBuilder

from scenes import load
from scenes.colors.srgb import decoded
from scenes.lights import DistantLight
from scenes.model import Camera, Environment

SIDE = 8
WALL = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
UVS = np.array([[0.0, 1], [1, 1], [1, 0], [0, 0]])
FACES = [0, 1, 2, 0, 2, 3]
#: Two rows of two texels, the first of which is at the upper left, and their linear colours.
BYTES = np.array([[[250, 60, 60], [60, 250, 60]], [[60, 60, 250], [200, 200, 60]]], np.uint8)
COLORS = decoded(BYTES)
BASE = (0.8, 0.4, 0.2)
DULL = {"KHR_materials_specular": {"specularFactor": 0}}
NEAREST = {"magFilter": 9728, "wrapS": 33071, "wrapT": 33071}

EYE = Camera(eye=(0.0, 0.0, 2.0), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=1.0, height=2.0)
#: What lights a file: a sun that white reflects as 1, a sky of 1, what the file says, or nothing but its own glow.
SUN = {"lights": (DistantLight(direction=(0.0, 0.0, -1.0), irradiance=(np.pi,) * 3),), "environment": None}
SKY = {"lights": (), "environment": Environment(radiance=np.ones((1, 1, 3), np.float32))}
OWN = {"environment": None}
DARK = {"lights": (), "environment": None}


def wall(file, corners=WALL, *, color=BASE, material=None, **attributes):
    """A mesh of the wall, of a dull colour or another material."""
    if material is None:
        material = dull(file, color)
    return file.mesh(file.primitive({"POSITION": corners, "TEXCOORD_0": UVS, **attributes}, FACES, material=material))


def dull(file, color=(1.0, 1.0, 1.0), **pbr):
    """A material that only scatters, of a colour."""
    return file.add(
        "materials",
        pbrMetallicRoughness={"baseColorFactor": [*color, 1.0], "metallicFactor": 0, **pbr},
        extensions=dict(DULL),
    )


def metal(file, color=BASE, roughness=0.5, **pbr):
    factors = {"baseColorFactor": [*color, 1.0], "metallicFactor": 1, "roughnessFactor": roughness}
    return file.add("materials", pbrMetallicRoughness={**factors, **pbr})


def made(add):
    """A file to which a function adds what its scene shows."""
    file = GltfBuilder()
    add(file)
    return file


def plain(corners=WALL, color=BASE):
    return made(lambda file: file.node(mesh=wall(file, corners, color=color)))


def quarters():
    """The wall as four squares of the colours of the texels."""
    file = GltfBuilder()
    for row in (0, 1):
        for column in (0, 1):
            corners = 0.5 * WALL + [column - 0.5, 0.5 - row, 0.0]
            file.node(mesh=wall(file, corners, color=COLORS[row, column]))
    return file


def of_material(add, **attributes):
    """The wall of a material that a function adds to a file."""
    return made(lambda file: file.node(mesh=wall(file, material=add(file), **attributes)))


def textured(pixels=BYTES, sampler=NEAREST, uvs=UVS, **info):

    def material(file):
        return dull(file, baseColorTexture={"index": file.picture(pixels, sampler), **info})

    return of_material(material, TEXCOORD_0=uvs)


@dataclass(frozen=True)
class Case:
    """A file, and what it looks like: another file, or the radiance, (3,) or (SIDE, SIDE, 3).

    light: what lights both.
    camera: that looks at both, or None for that of the file.
    time: at which the file is seen; the other one stands still.
    tolerance: share by which both may differ, beside chance.
    """

    file: GltfBuilder
    expected: object
    light: dict
    camera: Camera | None = EYE
    time: float = 0.0
    tolerance: float = 1e-4


def pictures(file, path, driver, case):
    """Some pictures of a file; where a sky lights it, which asks for luck, the mean over each. path: where it is
    written."""
    snapshot = replace(load(file.write(path)).at(case.time), background=(0.0, 0.0, 0.0), **case.light)
    snapshot = snapshot if case.camera is None else replace(snapshot, camera=case.camera)
    count = 32 if case.light is SKY else 8
    made = independent_pictures(snapshot, driver, count, width=SIDE, height=SIDE, photons=2000)
    return made.mean(axis=(1, 2), keepdims=True) if case.light is SKY else made


def half(color):
    """A picture whose left half has a colour."""
    return np.where(np.arange(SIDE)[None, :, None] < SIDE // 2, np.array(color), np.zeros((SIDE, SIDE, 3)))


def check(case, tmp_path, driver):
    """Compares the picture of a case by a driver with what it looks like."""
    seen, expected = pictures(case.file, tmp_path / "a.gltf", driver, case), case.expected
    if isinstance(expected, GltfBuilder):
        expected = pictures(expected, tmp_path / "b.gltf", driver, replace(case, time=0.0))
        assert expected.max() > 0.01
    else:
        expected = np.broadcast_to(expected, seen.shape[1:])
    if not expected.any():
        assert seen.max() < 1e-6
    else:
        assert deviation(seen, expected, case.tolerance).max() < sidak_bound(seen[0].size, 1e-3)
