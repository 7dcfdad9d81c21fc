"""Paths from the eye: the columns in which they and their shadow rays lie, and memory for both.

There is one path per pixel and pass. What a pixel receives is added up in the order of its own path, so that no thread
and no size of batch can change a bit of it.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.camera_paths.task import EyeTask
from renderer.film.layers import DIRECT_LIGHT, INDIRECT_LIGHT, add_radiance
from renderer.photons.batch import HIT_COLUMNS
from renderer.photons.lookup import PhotonLookup
from renderer.scene.packed_scene import CameraArrays, PackedScene
from renderer.scene.photon_scene import Records
from renderer.shading.chunks import HIT_ID, Long
from renderer.shading.maps import MAP_COLUMNS
from renderer.simd.columns import COLUMN, put
from shaders.compilation import compiled as inlined
from shaders.float32 import ZERO, Int
from shaders.vector import Color, Vec3, subtract
from tracecore.rays import MISS, RAY_FLOATS, Floats, Ids

Doubles = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]

#: Rows of a batch's paths. pixel: whose light the path brings. state: see below. throughput: share of the light met
#: that reaches the eye. pdf: pdf_solid_angle of the ray's direction; 0 for one without spread (the camera's, a
#: mirror's). cone: of what the path stands for: its width where the ray starts, world units, and how much wider it gets
#: over a distance of 1. unmapped: the share of light met by mirrors and glass alone, since the last bounce that spread
#: light, that no caustic map has brought. behind: how far its line was followed before, through sheets that bend
#: nothing, world units; pdf is that of the surface where it began. media: in scenes with HAS_MEDIA, the stack of those
#: that it is in (`renderer.scene.media`).
EYE_PIXEL, EYE_STATE, EYE_THROUGHPUT, EYE_PDF, EYE_CONE, EYE_UNMAPPED, EYE_BEHIND = 0, 1, 2, 5, 6, 8, 11
EYE_MEDIA, EYE_WORDS = 12, 13

#: What a path's state has in its bits: how many surfaces it has left behind; whether mirrors and glass alone lie
#: between its ray and the eye; whether a diffuse bounce lies between them; bounces that spread light, of which 2
#: stand for all that are more; and how many of the surfaces were sheets that it went straight through, of which
#: MOST_SHEETS stand for all that are more: further ones count as bounces.
DEPTH_MASK, SPECULAR_ONLY, AFTER_DIFFUSE = np.uint32(0xFFFF), np.uint32(1 << 16), np.uint32(1 << 17)
SPREAD_SHIFT, SPREAD_MASK = np.uint32(18), np.uint32(3)
SHEET_SHIFT, ONE_SHEET, MOST_SHEETS = np.uint32(20), np.uint32(1 << 20), np.uint32(0xFFF)

#: Bounces that a path may have.
MOST_DEPTH = int(DEPTH_MASK - MOST_SHEETS)

#: Columns that paths share with photons (`renderer.photons.batch.HIT_COLUMNS`), those that are read as rows first.
SHARED = (
    ("normal", "plane", "clearance", "kind", "packed_front", "packed_back", "uvs", "texels", "sides")
    + ("origin", "ray", "distance", "uv", "triangle", "position", "shading", "bits", "wi", "is_outside")
    + ("correction", "bent", "textured", "textured_triangle", "media")
)

_SCALAR, _VECTOR = (COLUMN,), (3, COLUMN)

#: Columns of a chunk of hits. weight: the reflectance towards the eye of what photons are stored on, where these are
#: looked up. pixel to behind: of the path that came; next_*: of the one that goes on where goes is not 0, and lobe is
#: what it goes on by. is_far: whether the irradiance is looked up, where a final gather ends. follow: 1 where scattered
#: rays follow diffuse reflection, else 0. pick, light: of the light that is chosen, then LIGHT_RECORD. target: offset
#: of the shadow ray's end. to_light: unit direction. irradiance: of one light, per cosine. light_pdf: pdf_solid_angle.
#: start: where the shadow ray, or the next one, starts. carries: whether the shadow ray is to be traced. rare: a list
#: of indices.
EYE_COLUMNS = np.dtype(
    [(name, HIT_COLUMNS[name]) for name in SHARED]
    + [
        ("pixel", "<u4", _SCALAR),
        ("state", "<u4", _SCALAR),
        ("throughput", "<f4", _VECTOR),
        ("pdf", "<f4", _SCALAR),
        ("cone", "<f4", (2, COLUMN)),
        ("unmapped", "<f4", _VECTOR),
        ("behind", "<f4", _SCALAR),
        ("next_state", "<u4", _SCALAR),
        ("next_throughput", "<f4", _VECTOR),
        ("next_pdf", "<f4", _SCALAR),
        ("next_cone", "<f4", (2, COLUMN)),
        ("next_unmapped", "<f4", _VECTOR),
        ("next_behind", "<f4", _SCALAR),
        ("goes", "<u4", _SCALAR),
        ("is_far", "<i4", _SCALAR),
        ("follow", "<f4", _SCALAR),
        ("weight", "<f4", _VECTOR),
        ("lobe", "<i4", _SCALAR),
        ("pick", "<f4", _SCALAR),
        ("light", "<i4", _SCALAR),
        ("light_position", "<f4", _VECTOR),
        ("edge_1", "<f4", _VECTOR),
        ("edge_2", "<f4", _VECTOR),
        ("light_normal", "<f4", _VECTOR),
        ("light_flux", "<f4", _VECTOR),
        ("density", "<f4", _SCALAR),
        ("target", "<f4", _VECTOR),
        ("to_light", "<f4", _VECTOR),
        ("irradiance", "<f4", _VECTOR),
        ("light_pdf", "<f4", _SCALAR),
        ("start", "<f4", _VECTOR),
        ("shadow_direction", "<f4", _VECTOR),
        ("radiance", "<f4", _VECTOR),
        ("carries", "<u4", _SCALAR),
        ("shadow_media", "<u4", _SCALAR),
        ("rare", "<i4", _SCALAR),
    ]
    + MAP_COLUMNS
)

#: One record of `EYE_COLUMNS`.
EyeChunk = Any


class EyeJob(NamedTuple):
    """A pass over the pixels, shared by all threads.

    scene: what the rays hit.
    lookup: the photons to look at.
    task: what decides the paths.
    camera: where the paths begin.
    size: width and height of the picture, pixels.
    pixels: (n,) int32, row * width + column, in the order in which they are visited.
    taken: (1,) int64, how many of the pixels threads have taken.
    reach: length of occlusion rays, world units.
    image: (width * height, columns) float64, added to, with the columns of `renderer.film.layers`.
    """

    scene: PackedScene
    lookup: PhotonLookup
    task: EyeTask
    camera: CameraArrays
    size: tuple[int, int]
    pixels: npt.NDArray[np.int32]
    taken: npt.NDArray[np.int64]
    reach: float
    image: Doubles


#: Rows of the spare memory of a thread's batches.
SPARE_ROWS = RAY_FLOATS + EYE_WORDS + 1

#: Which of a thread's counters has the nanoseconds that it looked up photons.
LOOKUP_NANOSECONDS = 3


class EyeBatch(NamedTuple):
    """A batch of paths as the tracer has it, and what its rays belong to, side by side.

    rays: (8, column) float32.
    hits: (4, column) float32, in the order of `tracecore.rays.HIT`.
    prim_ids: (column,) uint32, the triangles that the rays hit, or MISS.
    paths: (EYE_WORDS, column) uint32.
    scratch: (1,) EYE_COLUMNS, which all batches of a thread share.
    spare: (SPARE_ROWS, column) uint32, the same: rays and paths that go on, while others of the batch are still to be
        shaded, and which BSDF each ray has hit.
    search: (1,) SEARCH_COLUMNS, the same.
    counters: of the thread; shading adds to that of LOOKUP_NANOSECONDS.
    """

    rays: Floats
    hits: Floats
    prim_ids: Ids
    paths: Ids
    scratch: Records
    spare: Ids
    search: Records
    counters: Longs


#: Rows of the paths of shadow rays.
SHADOW_PIXEL, SHADOW_STATE, SHADOW_MEDIA, SHADOW_WORDS = range(4)


class ShadowRays(NamedTuple):
    """Shadow rays and what they carry: the first one of each vertex in the first slot, the second one in the next.

    rays: (slots, 8, column) float32.
    radiance: (slots, 3, column) float32, what each of them brings if nothing is in between.
    paths: (slots, SHADOW_WORDS, column) uint32, the pixel that it lights, the state of its path and, in scenes with
        HAS_MEDIA, the stack of media that it is in.
    counts: (slots,) int64, how many there are.
    """

    rays: Floats
    radiance: Floats
    paths: Ids
    counts: Longs


@inlined
def bounces_of(state: np.uint32) -> int:
    """Returns how many surfaces a path has left behind, but for sheets that it went straight through."""
    return Int(Int(state & DEPTH_MASK) - Int(state >> SHEET_SHIFT))


@inlined
def limit_ray(i: int, data: tuple[int, int, float]) -> None:
    """Have a ray begin where it starts and end at a multiple of its direction. data: addresses of t_min and t_max, and
    that multiple."""
    put(data[0], i, ZERO)
    put(data[1], i, data[2])


@inlined
def set_ray(rays: Floats, row: int, origin: Vec3, direction: Vec3) -> None:
    """Write a ray without limits. rays: (8, column)."""
    rays[0, row], rays[1, row], rays[2, row], rays[3, row] = origin[0], origin[1], origin[2], 0.0
    rays[4, row], rays[5, row], rays[6, row], rays[7, row] = direction[0], direction[1], direction[2], np.inf


@inlined
def put_shadow_ray(
    shadows: ShadowRays,
    slot: int,
    path: tuple[np.uint32, np.uint32, np.uint32],
    ends: tuple[Vec3, Vec3],
    radiance: Color,
) -> None:
    """Write a shadow ray behind those of a slot.

    path: the pixel that it lights, the state of its path, and the stack of media that it is in.
    ends: where it starts and ends, world units.
    radiance: what the eye receives if nothing is in between.
    """
    index = shadows.counts[slot]
    set_ray(shadows.rays[slot], index, ends[0], subtract(ends[1], ends[0]))
    shadows.rays[slot, 7, index] = 1.0
    for word in range(SHADOW_WORDS):
        shadows.paths[slot, word, index] = path[word]
    for channel in range(3):
        shadows.radiance[slot, channel, index] = radiance[channel]
    shadows.counts[slot] = index + 1


@inlined
def add_unshadowed(shadows: ShadowRays, words: Ids, image: Doubles) -> None:
    """Add what the shadow rays that met nothing carry, and forget all of them.

    words: (slots, 4, column) uint32, answers of an any-hit query.
    """
    for slot in range(len(shadows.counts)):
        for i in range(shadows.counts[slot]):
            if words[slot, HIT_ID, i] == MISS:
                add_carried(shadows, slot, i, image)
        shadows.counts[slot] = 0


@inlined
def add_carried(shadows: ShadowRays, slot: int, i: int, image: Doubles) -> None:
    """Add what a shadow ray carries to its pixel."""
    layer = DIRECT_LIGHT if shadows.paths[slot, SHADOW_STATE, i] & SPECULAR_ONLY else INDIRECT_LIGHT
    add_radiance(image, Long(shadows.paths[slot, SHADOW_PIXEL, i]), carried_by(shadows, slot, i), layer)


@inlined
def carried_by(shadows: ShadowRays, slot: int, i: int) -> Color:
    """Returns the radiance that a shadow ray carries."""
    radiance = shadows.radiance
    return (np.float64(radiance[slot, 0, i]), np.float64(radiance[slot, 1, i]), np.float64(radiance[slot, 2, i]))
