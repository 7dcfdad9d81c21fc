"""This module packs a snapshot for compiled loops: plain arrays, shaders resolved to lobes, lights by power."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.scene.light_records import LightRecords, pack_light_records
from renderer.scene.media import pack_media
from renderer.scene.photon_scene import SIDE_MASK, PhotonScene, are_sheets, pack_photon_scene
from renderer.scene.pixel_filters import FILTERS, PixelFilter
from scenes.model import Camera, Material, Snapshot, Texture
from scenes.srgb import decoded
from shaders.custom import shader_address
from shaders.ggx import LEAST_ALPHA
from shaders.lights import (
    NO_SKY,
    LightArrays,
    Row,
    Sphere,
    light_row,
    pack_lights,
    picture_row,
    sky_row,
    triangle_row,
)
from shaders.registry import get_shader
from shaders.surface import (
    LOOK_FILTERED,
    LOOK_MAPPED,
    LOOK_PLAIN,
    MATERIAL_ALPHA,
    MATERIAL_BACKDROP,
    MATERIAL_BUMP_MAP,
    MATERIAL_BUMP_SCALE,
    MATERIAL_COLUMNS,
    MATERIAL_DIFFUSE,
    MATERIAL_EMISSION,
    MATERIAL_EMISSION_MAP,
    MATERIAL_ETA,
    MATERIAL_EXPONENT,
    MATERIAL_EXTINCTION,
    MATERIAL_IOR,
    MATERIAL_LOOK,
    MATERIAL_MIRROR,
    MATERIAL_NORMAL_MAP,
    MATERIAL_NORMAL_SCALE,
    MATERIAL_PHONG,
    MATERIAL_ROUGHNESS_MAP,
    MATERIAL_SPECULAR_LOBE,
    MATERIAL_SPECULAR_MAP,
    MATERIAL_TEXTURE,
    MATERIAL_TRANSMISSION,
    MATERIAL_TRANSMISSION_MAP,
    SurfaceArrays,
)
from shaders.textures import BILINEAR, MIP, NEAREST, Look, TextureArrays, pack_textures
from shaders.vector import Color

#: Filters by the names that textures have for them.
TEXTURE_FILTERS = {"nearest": NEAREST, "bilinear": BILINEAR, "mip": MIP}

#: The sphere around the scene is this much larger than it must be, for what rounding takes.
SPHERE_MARGIN = 1.0001


class CameraArrays(NamedTuple):
    """This is a camera for a picture of a size.

    eye, right, down, forward: (3,) float64. right and down span the picture at distance 1, so that forward + x right +
    y down, x and y in -1..1, is the direction through a point of it; of parallel rays, eye + x right + y down is the
    origin.
    near, focus: distances along forward, world units; focus is 0 of a pinhole.
    lens: (2, 3) float64, its radii to the right and down.
    """

    eye: npt.NDArray[np.float64]
    right: npt.NDArray[np.float64]
    down: npt.NDArray[np.float64]
    forward: npt.NDArray[np.float64]
    near: float
    is_parallel: bool
    focus: float
    lens: npt.NDArray[np.float64]
    pixel_filter: PixelFilter


class PackedScene(NamedTuple):
    """Holds all that shading reads.

    background: radiance of a ray that leaves the scene.
    photon_scene: what photons read.
    light_records: what shadow rays read of the lights.
    """

    surfaces: SurfaceArrays
    lights: LightArrays
    background: Color
    photon_scene: PhotonScene
    light_records: LightRecords


def pack_material(material: Material) -> npt.NDArray[np.float64]:
    """(MATERIAL_COLUMNS,) float64."""
    lobes = get_shader(material.kind).mixture(material)
    row = np.zeros(MATERIAL_COLUMNS)
    for column, color in (
        (MATERIAL_DIFFUSE, lobes.diffuse),
        (MATERIAL_PHONG, lobes.phong),
        (MATERIAL_MIRROR, lobes.mirror),
        (MATERIAL_TRANSMISSION, lobes.transmission),
        (MATERIAL_EMISSION, material.emission),
        (MATERIAL_BACKDROP, material.backdrop),
        (MATERIAL_SPECULAR_LOBE, lobes.specular_lobe),
        (MATERIAL_ETA, lobes.eta),
        (MATERIAL_EXTINCTION, lobes.k),
    ):
        row[column : column + 3] = color
    row[MATERIAL_EXPONENT], row[MATERIAL_IOR], row[MATERIAL_ALPHA], row[MATERIAL_TEXTURE] = (
        lobes.exponent,
        lobes.ior,
        lobes.alpha,
        material.texture,
    )
    row[MATERIAL_SPECULAR_MAP], row[MATERIAL_ROUGHNESS_MAP] = material.specular_map, material.roughness_map
    row[MATERIAL_TRANSMISSION_MAP], row[MATERIAL_EMISSION_MAP] = material.transmission_map, material.emission_map
    row[MATERIAL_NORMAL_MAP], row[MATERIAL_NORMAL_SCALE] = material.normal_map, material.normal_scale
    row[MATERIAL_BUMP_MAP], row[MATERIAL_BUMP_SCALE] = material.bump_map, material.bump_scale
    return row


def look_of(material: Material, textures: Sequence[Texture]) -> float:
    """LOOK_PLAIN, LOOK_FILTERED or LOOK_MAPPED: what shading has to look at."""
    others = material.pictures.keys() - {"texture", "cutout"}
    if others or (material.texture >= 0 and not is_known_to_columns(textures[material.texture])):
        return LOOK_MAPPED
    return LOOK_FILTERED if material.texture >= 0 and textures[material.texture].filter == "mip" else LOOK_PLAIN


def is_known_to_columns(texture: Texture) -> bool:
    """Returns whether loops over columns know how a texture is looked at, its colours are decoded bytes, and its sides
    fit where they read them."""
    return texture.is_plain and texture.colors is None and max(texture.pixels.shape[:2]) <= SIDE_MASK


def texture_look(texture: Texture) -> Look:
    """Returns how a texture is looked at."""
    return Look(texture.wrap == "clamp", TEXTURE_FILTERS[texture.filter])


def texture_colors(texture: Texture) -> npt.NDArray[np.float32]:
    """Returns the linear colours of a texture, (height, width, 3) float32."""
    if texture.colors is not None:
        return texture.colors
    if texture.is_linear:
        return (texture.pixels / 255.0).astype(np.float32)
    return decoded(texture.pixels, np.float32)


def are_sharp(materials: npt.NDArray[np.float64], shaders: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Returns whether materials turn light without spreading it: (m,) bool.

    These are mirrors, polished coats and clear glass, and all that have a shader of their own, which may do so. A sheet
    that bends nothing is none of them: what comes through it comes straight from a light.

    materials: (m, MATERIAL_COLUMNS) float64.
    shaders: (m,) int64, addresses of shaders, or 0.
    """
    lobes = {
        column: materials[:, column : column + 3].max(axis=1) > 0.0
        for column in (MATERIAL_MIRROR, MATERIAL_TRANSMISSION, MATERIAL_SPECULAR_LOBE)
    }
    is_smooth = (materials[:, MATERIAL_ALPHA] < LEAST_ALPHA) | (materials[:, MATERIAL_ROUGHNESS_MAP] >= 0.0)
    return (
        lobes[MATERIAL_MIRROR]
        | (lobes[MATERIAL_TRANSMISSION] & is_smooth & ~are_sheets(materials, shaders))
        | (lobes[MATERIAL_SPECULAR_LOBE] & is_smooth)
        | (shaders != 0)
    )


def shader_at_point(material: Material) -> int:
    """Returns the address of what the material's shader does at every hit, or 0."""
    shader = get_shader(material.kind)
    return shader_address(shader.name, shader.at_point) if shader.at_point else 0


def pack_scene(snapshot: Snapshot) -> PackedScene:
    """Returns the arrays of a snapshot.

    Every triangle of a glowing material is a light, and so is the environment.
    """
    glowing = np.array([max(m.emission) > 0.0 for m in snapshot.materials], bool)
    emitters = np.flatnonzero(glowing[snapshot.material_ids])
    sphere = sphere_around(snapshot)
    rows = [light_row(light, sphere) for light in snapshot.lights]
    emitter_ids = np.full(len(snapshot.positions), -1, np.int32)
    emitter_ids[emitters] = np.arange(len(rows), len(rows) + len(emitters))
    images = [texture_colors(texture) for texture in snapshot.textures]
    textures = pack_textures(images, [texture_look(texture) for texture in snapshot.textures])
    rows += [glowing_row(snapshot, triangle, textures) for triangle in emitters.tolist()]
    surfaces = SurfaceArrays(
        positions=np.ascontiguousarray(snapshot.positions, np.float32),
        normals=np.ascontiguousarray(snapshot.normals, np.float32),
        uvs=np.ascontiguousarray(snapshot.uvs, np.float32),
        material_ids=np.ascontiguousarray(snapshot.material_ids, np.int32),
        materials=np.array([pack_material(m) for m in snapshot.materials]).reshape(-1, MATERIAL_COLUMNS),
        shaders=np.array([shader_at_point(m) for m in snapshot.materials], np.int64),
        emitter_ids=emitter_ids,
        textures=textures,
    )
    surfaces.materials[:, MATERIAL_LOOK] = [look_of(material, snapshot.textures) for material in snapshot.materials]
    background = (float(snapshot.background[0]), float(snapshot.background[1]), float(snapshot.background[2]))
    sky = NO_SKY
    if snapshot.environment is not None:
        sky = snapshot.environment.radiance
        rows.append(sky_row(sky, snapshot.environment.axes, sphere))
    lights = pack_lights(rows, sky, textures)
    return PackedScene(
        surfaces=surfaces,
        lights=lights,
        background=background,
        photon_scene=pack_photon_scene(surfaces, lights, lambda rows: pack_media(snapshot, surfaces, rows)),
        light_records=pack_light_records(lights),
    )


def glowing_row(snapshot: Snapshot, triangle: int, textures: TextureArrays) -> Row:
    """Returns the row of a triangle that glows."""
    material = snapshot.materials[snapshot.material_ids[triangle]]
    row = triangle_row(snapshot.positions[triangle].astype(np.float64), material.emission)
    if material.emission_map < 0:
        return row
    return picture_row(row, textures, material.emission_map, snapshot.uvs[triangle])


def sphere_around(snapshot: Snapshot) -> Sphere:
    """Returns the sphere around the box around all triangles; it has no size where there are none."""
    corners = snapshot.positions.reshape(-1, 3)
    if len(corners) == 0:
        return Sphere((0.0, 0.0, 0.0), 0.0)
    middle = 0.5 * (corners.min(axis=0).astype(np.float64) + corners.max(axis=0))
    offsets = corners - middle.astype(np.float32)
    radius = SPHERE_MARGIN * math.sqrt(float(np.einsum("ij,ij->i", offsets, offsets).max()))
    x, y, z = middle.tolist()
    return Sphere((x, y, z), radius)


def pack_camera(camera: Camera, width: int, height: int, pixel_filter: str = "box") -> CameraArrays:
    """Returns the arrays of a camera for a picture of this size; what is seen along the camera's `fov_axis` is kept
    whatever the aspect.
    """
    forward, up = np.array(camera.forward, np.float64), np.array(camera.up, np.float64)
    half_height = math.tan(math.radians(camera.vertical_fov) / 2.0) if camera.height is None else camera.height / 2.0
    half_height *= camera.height_factor(width / height)
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    down = -np.cross(right, forward)
    return CameraArrays(
        eye=np.array(camera.eye, np.float64),
        right=right * (half_height * width / height),
        down=down * half_height,
        forward=forward,
        near=float(camera.near),
        is_parallel=camera.height is not None,
        focus=float(camera.focus) if camera.aperture > 0.0 else 0.0,
        lens=camera.aperture * np.array([right, down]),
        pixel_filter=FILTERS[pixel_filter],
    )
