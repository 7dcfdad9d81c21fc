"""Paths from the eye: the columns in which they and their shadow rays lie, and memory for both.

There is one path per pixel and pass. What a pixel receives is added up in the order of its own path, so that no thread
and no size of batch can change a bit of it.
"""

from typing import Any, NamedTuple

import numpy as np

from renderer.camera_paths.task import EyeTask
from renderer.film.layers import DIRECT_LIGHT, INDIRECT_LIGHT, add_radiance
from renderer.photons.batch import HIT_COLUMNS
from renderer.photons.lookup import PhotonLookup
from renderer.scene.packed_scene import CameraArrays, PackedScene
from renderer.scene.photon_scene import Records
from renderer.shading.chunks import HIT_ID, Long
from renderer.shading.maps import MAP_COLUMNS, NUMBER_COLUMNS
from renderer.simd.columns import fields, overlaid, put
from renderer.simd.loops import each_alone
from shaders.float32 import ZERO, Doubles, Int, Ints, Longs
from shaders.vector import Color, Vec3
from tracecore.compilation.cached import inlined
from tracecore.rays import MISS, RAY_FLOATS, Floats, Ids

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

#: One bounce more, and all bits of a state but SPECULAR_ONLY.
ONE_BOUNCE, NOT_SPECULAR = np.uint32(1), np.uint32(0xFFFFFFFF ^ int(SPECULAR_ONLY))

#: Bounces that a path may have.
MOST_DEPTH = int(DEPTH_MASK - MOST_SHEETS)

#: Columns that paths share with photons (`renderer.photons.batch.HIT_COLUMNS`), those that are read as rows first; and
#: of these the ones that no stage reads behind that of surfaces.
SHARED = (
    ("normal", "plane", "clearance", "kind", "packed_front", "packed_back")
    + ("origin", "ray", "distance", "uv", "triangle", "position", "shading", "bits", "wi", "is_outside")
    + ("correction", "bent", "media")
)
OF_TEXTURES = ("uvs", "texels", "sides", "textured", "textured_triangle")

#: Columns of a chunk of hits, from origin to triangle and from pixel to behind in the order of a batch's rows. weight:
#: the reflectance towards the eye of what photons are stored on, where these are looked up. pixel to behind: of the
#: path that came. is_far: whether the irradiance is looked up, where a final gather ends. follow: 1 where scattered
#: rays follow diffuse reflection, else 0. lobe: by which the path goes on, which reports of paths tell. rare: a list of
#: indices. start: where the shadow ray, or the next one, starts.
#:
#: Then columns of stages, one after the other in the same memory: of surfaces; of light, from the rest of a shadow ray
#: on (pick, chance, light: of the light that is chosen, then LIGHT_RECORD; target: offset of the shadow ray's end;
#: to_light: unit direction; irradiance: of one light, per cosine; light_pdf: pdf_solid_angle; carries: whether the
#: shadow ray is to be traced); and of the path that goes on where goes is not 0.
EYE_COLUMNS = overlaid(
    [(name, HIT_COLUMNS[name]) for name in SHARED]
    + fields("<u4", "pixel state")
    + fields("<f4", "throughput:3 pdf cone:2 unmapped:3 behind")
    + fields("<i4", "is_far")
    + fields("<f4", "follow weight:3")
    + fields("<i4", "lobe rare")
    + NUMBER_COLUMNS
    + fields("<f4", "start:3"),
    [(name, HIT_COLUMNS[name]) for name in OF_TEXTURES] + MAP_COLUMNS,
    fields("<f4", "shadow_direction:3 radiance:3")
    + fields("<f4", "pick chance")
    + fields("<i4", "light")
    + fields("<f4", "light_position:3 edge_1:3 edge_2:3 light_normal:3 light_flux:3 density")
    + fields("<f4", "target:3 to_light:3 irradiance:3 light_pdf")
    + fields("<u4", "carries shadow_media"),
    fields("<u4", "next_state")
    + fields("<f4", "next_throughput:3 next_pdf next_cone:2 next_unmapped:3 next_behind")
    + fields("<u4", "goes"),
)

#: One record of `EYE_COLUMNS`.
EyeChunk = Any


class EyeJob(NamedTuple):
    """A pass over the pixels, shared by all threads."""

    scene: PackedScene  # what the rays hit
    lookup: PhotonLookup  # the photons to look at
    task: EyeTask  # what decides the paths
    camera: CameraArrays  # where the paths begin
    size: tuple[int, int]  # width and height of the picture, pixels
    pixels: Ints  # (n,) int32, row * width + column, in the order in which they are visited
    taken: Longs  # (1,) int64, how many of the pixels threads have taken
    reach: float  # length of occlusion rays, world units
    image: Doubles  # (width * height, columns) float64, added to, with the columns of `renderer.film.layers`


#: Rows of the spare memory of a thread's batches.
SPARE_ROWS = RAY_FLOATS + EYE_WORDS + 1

#: Which of a thread's counters has the nanoseconds that it looked up photons.
LOOKUP_NANOSECONDS = 3


class EyeBatch(NamedTuple):
    """A batch of paths as the tracer has it, and what its rays belong to, side by side."""

    rays: Floats  # (8, column) float32
    hits: Floats  # (4, column) float32, in the order of `tracecore.rays.HIT`
    prim_ids: Ids  # (column,) uint32, the triangles that the rays hit, or MISS
    paths: Ids  # (EYE_WORDS, column) uint32
    scratch: Records  # (1,) EYE_COLUMNS, which all batches of a thread share
    # (SPARE_ROWS, column) uint32, the same: rays and paths that go on, while others of the batch are still to be
    # shaded, and which BSDF each ray has hit
    spare: Ids
    search: Records  # (1,) SEARCH_COLUMNS, the same
    counters: Longs  # of the thread; shading adds to that of LOOKUP_NANOSECONDS


#: Rows of the paths of shadow rays. Where light groups are told apart, the state has that of the light in the bits of
#: GROUP_MASK, in place of how many surfaces the path has left behind.
SHADOW_PIXEL, SHADOW_STATE, SHADOW_MEDIA, SHADOW_WORDS = range(4)
GROUP_MASK = DEPTH_MASK


class ShadowRays(NamedTuple):
    """Shadow rays and what they carry: the first one of each vertex in the first slot, the second one in the next."""

    rays: Floats  # (slots, 8, column) float32
    radiance: Floats  # (slots, 3, column) float32, what each of them brings if nothing is in between
    # (slots, SHADOW_WORDS, column) uint32, the pixel that it lights, the state of its path and, in scenes with
    # HAS_MEDIA, the stack of media that it is in
    paths: Ids
    counts: Longs  # (slots,) int64, how many there are


@inlined
def bounces_of(state: np.uint32) -> int:
    """Returns how many surfaces a path has left behind, but for sheets that it went straight through."""
    return Int(Int(state & DEPTH_MASK) - Int(state >> SHEET_SHIFT))


@inlined
def state_after(state: np.uint32, is_specular: bool, is_diffuse: bool) -> np.uint32:
    """Returns the state of a path behind a vertex. is_specular, is_diffuse: which lobe has scattered it."""
    spreads = np.uint32(state >> SPREAD_SHIFT) & SPREAD_MASK
    more = np.uint32(0) if is_specular | (spreads == np.uint32(2)) else np.uint32(1 << 18)
    ahead = np.uint32(state + ONE_BOUNCE + more)
    ahead = ahead if is_specular else np.uint32(ahead & NOT_SPECULAR)
    return np.uint32(ahead | AFTER_DIFFUSE) if is_diffuse else ahead


@inlined
def state_through(state: np.uint32) -> np.uint32:
    """Returns the state of a path behind a sheet that it went straight through."""
    is_counted = (state >> SHEET_SHIFT) < MOST_SHEETS
    return np.uint32(state + ONE_BOUNCE + (ONE_SHEET if is_counted else np.uint32(0)))


@inlined
def limit_ray(i: int, data: tuple[int, int, float]) -> None:
    """Have a ray end at a multiple of its direction. data: addresses of t_min and t_max, and that multiple."""
    put(data[0], i, ZERO)
    put(data[1], i, data[2])


@inlined
def set_ray(rays: Floats, row: int, origin: Vec3, direction: Vec3) -> None:
    """Write a ray without limits. rays: (8, column)."""
    rays[0, row], rays[1, row], rays[2, row], rays[3, row] = origin[0], origin[1], origin[2], 0.0
    rays[4, row], rays[5, row], rays[6, row], rays[7, row] = direction[0], direction[1], direction[2], np.inf


@inlined
def add_unshadowed(shadows: ShadowRays, words: Ids, image: Doubles) -> None:
    """Add what the shadow rays that met nothing carry, and forget all of them.
    words: (slots, 4, column) uint32, answers of an any-hit query."""
    for slot in range(len(shadows.counts)):
        each_alone(add_if_free, shadows.counts[slot], (shadows, slot, words, image))
        shadows.counts[slot] = 0


@inlined
def add_if_free(i: int, data: tuple[ShadowRays, int, Ids, Doubles]) -> None:
    """Add what a shadow ray carries, if it met nothing. data: also has its slot, the answers and the image."""
    shadows, slot, words, image = data
    if words[slot, HIT_ID, i] == MISS:
        add_carried(shadows, slot, i, image)


@inlined
def add_carried(shadows: ShadowRays, slot: int, i: int, image: Doubles) -> None:
    """Add what a shadow ray carries to its pixel."""
    state = shadows.paths[slot, SHADOW_STATE, i]
    layer, group = DIRECT_LIGHT if state & SPECULAR_ONLY else INDIRECT_LIGHT, Long(state & GROUP_MASK)
    add_radiance(image, Long(shadows.paths[slot, SHADOW_PIXEL, i]), carried_by(shadows, slot, i), layer, group)


@inlined
def carried_by(shadows: ShadowRays, slot: int, i: int) -> Color:
    """Returns the radiance that a shadow ray carries."""
    radiance = shadows.radiance
    return (np.float64(radiance[slot, 0, i]), np.float64(radiance[slot, 1, i]), np.float64(radiance[slot, 2, i]))
