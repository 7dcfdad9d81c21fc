"""A snapshot as the compiled loops read it: plain arrays, shaders resolved to lobes, lights by power."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import shaders.materials  # noqa: F401  (registers the built-in shaders)
from renderer.photon_scene import PhotonScene, pack_photon_scene
from scenes.model import Camera, Material, Snapshot
from shaders.lights import LightArrays, pack_lights, point_row, triangle_row
from shaders.own import shader_address
from shaders.registry import get_shader
from shaders.surface import (
    ABSORPTION,
    ALPHA,
    BACKDROP,
    COLUMNS,
    DIFFUSE,
    EMISSION,
    GLOSS,
    IOR,
    MIRROR,
    PHONG,
    SHINE,
    TEXTURE,
    TRANSMISSION,
    SurfaceArrays,
)
from shaders.textures import pack_textures
from shaders.vector import BLACK, Color


class CameraArrays(NamedTuple):
    """A pinhole. eye, right, down, forward: (3,) float64; right and down span the picture at distance 1, so that
    forward + x right + y down, x and y in -1..1, is the direction through a point of it. near: along forward."""

    eye: npt.NDArray[np.float64]
    right: npt.NDArray[np.float64]
    down: npt.NDArray[np.float64]
    forward: npt.NDArray[np.float64]
    near: float


class PackedScene(NamedTuple):
    """All that shading reads. background: radiance of a ray that leaves the scene. photon_scene: what photons read."""

    surfaces: SurfaceArrays
    lights: LightArrays
    background: Color
    photon_scene: PhotonScene


def pack_material(material: Material) -> npt.NDArray[np.float64]:
    """(COLUMNS,) float64."""
    lobes = get_shader(material.kind).mixture(material)
    row = np.zeros(COLUMNS)
    for column, color in (
        (DIFFUSE, lobes.diffuse),
        (PHONG, lobes.phong),
        (MIRROR, lobes.mirror),
        (TRANSMISSION, lobes.transmission),
        (EMISSION, material.emission),
        (BACKDROP, material.backdrop),
        (GLOSS, lobes.gloss),
        (ABSORPTION, material.absorption if max(lobes.transmission) > 0.0 else BLACK),
    ):
        row[column : column + 3] = color
    row[SHINE], row[IOR], row[ALPHA], row[TEXTURE] = lobes.shine, lobes.ior, lobes.alpha, material.texture
    return row


def shader_at_point(material: Material) -> int:
    """Address of what the material's shader does at every hit, or 0."""
    shader = get_shader(material.kind)
    return shader_address(shader.name, shader.at_point) if shader.at_point else 0


def pack_scene(snapshot: Snapshot) -> PackedScene:
    """Arrays of a snapshot. Every triangle of a glowing material is a light, and so is every point light."""
    glowing = np.array([max(m.emission) > 0.0 for m in snapshot.materials], bool)
    emitters = np.flatnonzero(glowing[snapshot.material_ids])
    rows = [point_row(light.position, light.intensity) for light in snapshot.lights]
    emitter_ids = np.full(len(snapshot.positions), -1, np.int32)
    emitter_ids[emitters] = np.arange(len(rows), len(rows) + len(emitters))
    for triangle in emitters:
        material = snapshot.materials[snapshot.material_ids[triangle]]
        rows.append(triangle_row(snapshot.positions[triangle].astype(np.float64), material.emission))
    surfaces = SurfaceArrays(
        positions=np.ascontiguousarray(snapshot.positions, np.float32),
        normals=np.ascontiguousarray(snapshot.normals, np.float32),
        uvs=np.ascontiguousarray(snapshot.uvs, np.float32),
        material_ids=np.ascontiguousarray(snapshot.material_ids, np.int32),
        materials=np.array([pack_material(m) for m in snapshot.materials]).reshape(-1, COLUMNS),
        shaders=np.array([shader_at_point(m) for m in snapshot.materials], np.int64),
        emitter_ids=emitter_ids,
        textures=pack_textures([t.pixels for t in snapshot.textures]),
    )
    background = (float(snapshot.background[0]), float(snapshot.background[1]), float(snapshot.background[2]))
    lights = pack_lights(rows)
    return PackedScene(
        surfaces=surfaces,
        lights=lights,
        background=background,
        photon_scene=pack_photon_scene(surfaces, lights),
    )


def pack_camera(camera: Camera, width: int, height: int) -> CameraArrays:
    """Arrays of a camera for a picture of this size; the vertical field of view is kept whatever the aspect."""
    forward, up = np.array(camera.forward, np.float64), np.array(camera.up, np.float64)
    half_height = math.tan(math.radians(camera.vertical_fov) / 2.0)
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    return CameraArrays(
        eye=np.array(camera.eye, np.float64),
        right=right * (half_height * width / height),
        down=-np.cross(right, forward) * half_height,
        forward=forward,
        near=float(camera.near),
    )
