"""This module packs a snapshot for compiled loops: plain arrays, shaders resolved to lobes, lights by power."""

import math
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.scene.light_groups import NO_GROUPS, LightGroups
from renderer.scene.light_records import LightRecords, join_spheres, pack_light_records
from renderer.scene.light_tree import pack_light_tree
from renderer.scene.materials import (
    BsdfTable,
    Dressed,
    MapRecords,
    dressed,
    flags_of,
    pack_all_maps,
    pack_bsdfs,
    pack_surface_materials,
    phase_of,
    with_bent,
)
from renderer.scene.media import fogs_of, pack_media
from renderer.scene.photon_scene import HAS_MEDIA, PhotonScene, pack_photon_scene
from renderer.scene.pixel_filters import FILTERS, PixelFilter
from scenes.colors.srgb import decoded
from scenes.meshes.geometry import areas
from scenes.model import Camera, Snapshot, Texture
from shaders.float32 import Doubles, Ints
from shaders.lights.kind import LightArrays
from shaders.lights.picture import picture_rows
from shaders.lights.registry import NO_SKY, light_row, pack_lights
from shaders.lights.row import LIGHT_COLUMNS, Sphere
from shaders.lights.sky import sky_row
from shaders.lights.triangle import triangle_rows
from shaders.surface import SurfaceArrays
from shaders.textures import BILINEAR, MIP, NEAREST, NO_TEXTURES, Look, TextureArrays, pack_textures
from shaders.vector import Color
from tracecore.arrays import pieces
from tracecore.layout.ahead import Ahead
from tracecore.rays import Floats

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

    area: of all surfaces, square world units.
    bsdfs, maps: of materials.
    are_sharp: (m,) bool, whether materials turn light without spreading it, as mirrors, polished coats and clear glass
        do, and all that have a shader of their own, which may do so. A sheet that bends nothing is none of them: what
        comes through it comes straight from a light.
    background: radiance of a ray that leaves the scene.
    photon_scene: what photons read.
    lamps: the lights as eye paths know them: all triangles of a ball are one (`renderer.scene.light_records`). Where
        there is a tree each has the probability 1, as the tree has that of the choice.
    light_records: what shadow rays read of the lamps.
    groups: of the lamps, where these are told apart (`renderer.scene.light_groups`).
    """

    surfaces: SurfaceArrays
    area: float
    lights: LightArrays
    bsdfs: BsdfTable
    maps: MapRecords
    are_sharp: npt.NDArray[np.bool_]
    background: Color
    photon_scene: PhotonScene
    lamps: LightArrays
    light_records: LightRecords
    groups: LightGroups = NO_GROUPS


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


#: Snapshots packed ahead.
_ahead: Ahead[PackedScene] = Ahead()


def pack_scene(snapshot: Snapshot) -> PackedScene:
    """Returns the arrays of a snapshot, as `pack_ahead` has made them if it has."""
    return _ahead.take(snapshot) or pack_after(snapshot, None)


def pack_ahead(snapshot: Snapshot, before: PackedScene | None) -> PackedScene:
    """Packs a snapshot for the next `pack_scene` of it, and returns the arrays; for arguments see `pack_after`."""
    packed = pack_after(snapshot, before)
    leave_packed(snapshot, packed)
    return packed


def leave_packed(snapshot: Snapshot, packed: PackedScene) -> None:
    """Leaves the arrays of a snapshot, or of one that has another camera alone, for the next `pack_scene`."""
    _ahead.leave(snapshot, packed)


def pack_after(snapshot: Snapshot, before: PackedScene | None) -> PackedScene:
    """Returns the arrays of a snapshot.

    Every triangle of a glowing material is a light, and so is the environment.

    before: of the same scene at another time, of which parts that are the same are taken over; None for none.
    """
    materials, phases = all_dressed(snapshot)
    glowing = np.array([max(m.emission) > 0.0 for m in snapshot.materials], bool)
    emitters = np.flatnonzero(glowing[snapshot.material_ids])
    textures = textures_of(snapshot) if before is None else before.surfaces.textures
    lights = lights_of(snapshot, emitters, textures)
    lamps, emitter_ids = lamps_of(snapshot, emitters, lights)
    tree = pack_light_tree(lamps, snapshot.positions)
    if tree.levels > 0:  # which has the probabilities of the choice
        lamps = lamps._replace(probability=(lamps.probability > 0.0).astype(np.float64))
    surfaces = SurfaceArrays(
        positions=np.ascontiguousarray(snapshot.positions, np.float32),
        normals=np.ascontiguousarray(snapshot.normals, np.float32),
        uvs=np.ascontiguousarray(snapshot.uvs, np.float32),
        material_ids=np.ascontiguousarray(snapshot.material_ids, np.int32),
        materials=pack_surface_materials(materials),
        flags=np.array([flags_of(one) for one in materials], np.uint32),
        emitter_ids=emitter_ids,
        textures=textures,
    )
    background = (float(snapshot.background[0]), float(snapshot.background[1]), float(snapshot.background[2]))
    insides = [one.ior_inside for one in materials]
    media_of = partial(pack_media, snapshot, surfaces, insides)
    last = None if before is None else (before.surfaces, before.photon_scene)
    photon_scene = pack_photon_scene(surfaces, lights, media_of, phases, last)
    flags = with_bent(surfaces.flags, photon_scene.records["kind"]) | photon_scene.flags & HAS_MEDIA
    return PackedScene(
        surfaces=surfaces,
        area=surface_area(snapshot.positions),
        lights=lights,
        bsdfs=pack_bsdfs(materials, flags, np.append(surfaces.material_ids, np.array(phases, np.int32))),
        maps=pack_all_maps(materials, textures),
        are_sharp=np.array([one.is_sharp for one in materials], np.bool_),
        background=background,
        photon_scene=photon_scene,
        lamps=lamps,
        light_records=pack_light_records(lamps, tree),
    )


def all_dressed(snapshot: Snapshot) -> tuple[list[Dressed], range]:
    """Returns the materials of a snapshot with their BSDFs and, behind them, those that stand for media which scatter.
    Returns the indices of these too."""
    materials = [dressed(material, snapshot.textures) for material in snapshot.materials]
    fogs = fogs_of(snapshot, [one.ior_inside for one in materials])
    return [*materials, *map(phase_of, fogs)], range(len(materials), len(materials) + len(fogs))


def textures_of(snapshot: Snapshot) -> TextureArrays:
    """Returns the textures of a snapshot."""
    if not snapshot.textures:
        return NO_TEXTURES
    images = [texture_colors(texture) for texture in snapshot.textures]
    return pack_textures(images, [texture_look(texture) for texture in snapshot.textures])


def lights_of(snapshot: Snapshot, emitters: npt.NDArray[np.intp], textures: TextureArrays) -> LightArrays:
    """Returns the lights of a snapshot: those that it lists, the triangles that glow, and the environment."""
    sphere = sphere_around(snapshot)
    rows = [light_row(light, sphere)[None] for light in snapshot.lights]
    rows.append(glowing_rows(snapshot, emitters, textures))
    sky = NO_SKY
    if snapshot.environment is not None:
        sky = snapshot.environment.radiance
        rows.append(sky_row(sky, snapshot.environment.axes, sphere)[None])
    return pack_lights(np.concatenate(rows) if len(rows) > 1 else rows[0], sky, textures)


def lamps_of(snapshot: Snapshot, emitters: npt.NDArray[np.intp], lights: LightArrays) -> tuple[LightArrays, Ints]:
    """Returns the lights of which each ball is one, and which of them each triangle of the snapshot is, or -1."""
    objects, emitter_ids = np.full(len(lights.rows), -1, np.int32), np.full(len(snapshot.positions), -1, np.int32)
    glowing = slice(len(snapshot.lights), len(snapshot.lights) + len(emitters))
    objects[glowing] = snapshot.object_ids[emitters]
    lamps, lamp_of = join_spheres(lights, objects)
    emitter_ids[emitters] = lamp_of[glowing]
    return lamps, emitter_ids


def glowing_rows(snapshot: Snapshot, emitters: npt.NDArray[np.intp], textures: TextureArrays) -> Doubles:
    """Returns the rows of triangles that glow, (n, LIGHT_COLUMNS)."""
    materials, ids = snapshot.materials, snapshot.material_ids[emitters]
    radiance = np.array([material.emission for material in materials], np.float64).reshape(-1, 3)
    maps = np.array([material.emission_map for material in materials], np.int64)[ids]
    rows = np.empty((len(emitters), LIGHT_COLUMNS))
    for piece in pieces(len(rows)):
        rows[piece] = triangle_rows(snapshot.positions[emitters[piece]], radiance[ids[piece]])
    painted = np.flatnonzero(maps >= 0)
    if len(painted):
        rows[painted] = picture_rows(rows[painted], textures, maps[painted], snapshot.uvs[emitters[painted]])
    return rows


def surface_area(positions: Floats) -> float:
    """Returns the area of all triangles (n, 3, 3)."""
    found = np.empty(len(positions))
    for piece in pieces(len(positions)):
        found[piece] = areas(positions[piece])
    return float(found.sum())


def sphere_around(snapshot: Snapshot) -> Sphere:
    """Returns the sphere around the box around all triangles; it has no size where there are none."""
    if len(snapshot.positions) == 0:
        return Sphere((0.0, 0.0, 0.0), 0.0)
    boxes = [[corners.min(axis=1), corners.max(axis=1)] for corners in corner_columns(snapshot.positions)]
    lower, upper = np.min(boxes, axis=(0, 1)), np.max(boxes, axis=(0, 1))
    middle = 0.5 * (lower.astype(np.float64) + upper)
    largest = 0.0
    for corners in corner_columns(snapshot.positions):
        squares = np.square(corners - middle.astype(np.float32)[:, None])
        largest = max(largest, float((squares[0] + squares[1] + squares[2]).max()))
    x, y, z = middle.tolist()
    return Sphere((x, y, z), SPHERE_MARGIN * math.sqrt(largest))


def corner_columns(positions: Floats) -> Iterator[Floats]:
    """Yields the corners of triangles (n, 3, 3), some at a time, as columns (3, k), over which NumPy is fast."""
    for piece in pieces(len(positions)):
        yield np.ascontiguousarray(positions[piece].reshape(-1, 3).T)


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
