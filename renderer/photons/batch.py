"""Batches of photons on their way: what belongs to them, and memory to work on them."""

from typing import Any, NamedTuple

import numpy as np

from renderer.photons.photon_map import Words
from renderer.scene.photon_scene import Records
from renderer.scene.projection import GUIDE_COLUMNS, Guides
from renderer.shading.maps import MAP_COLUMNS, NUMBER_COLUMNS
from renderer.simd.columns import fields
from shaders.float32 import Int, Longs
from tracecore.compilation.cached import inlined
from tracecore.rays import RAY_FLOATS, Floats

#: Rows of paths.
PATH_PHOTON, PATH_DEPTH, PATH_FLUX, PATH_MEDIA, PATH_WORDS = 0, 1, 2, 5, 6

#: Columns of a chunk of hits. The first ones are TRIANGLE_RECORD, of which `normal` is brought to the side of the ray's
#: origin, and packed_front becomes that. origin, ray, distance, uv, triangle, photon, depth, flux: of the ray, hit and
#: path, of which depth and flux become those that the path goes on with. position: of the hit, later where the next ray
#: starts. shading: flat or bent normal on the side of the ray's origin. correction: of flux that is counted about the
#: flat normal. bits: random numbers for direction (2), roulette and rounding. draws: uniform numbers for the lobe, and
#: for column and row of a texel. wi: direction of the next ray. counters: fates of the hit. bent, textured: lists of
#: indices in the chunk; of textured hits, side by side: textured_triangle, then uvs, texels and sides, which are
#: TRIANGLE_TEXTURE, and texel: index of the one drawn. media: the stack of the path's media, in scenes with HAS_MEDIA;
#: unabsorbed: the flux that it had before the ray.
HIT_COLUMNS = np.dtype(
    fields("<f4", "normal:3 plane clearance")
    + fields("<u4", "kind packed_front packed_back")
    + fields("<f4", "origin:3 ray:3 distance uv:2")
    + fields("<i4", "triangle")
    + fields("<u4", "photon depth")
    + fields("<f4", "flux:3 position:3 shading:3")
    + fields("<u4", "bits:4")
    + fields("<f4", "draws:3 wi:3")
    + fields("<i4", "is_outside")
    + fields("<f4", "correction")
    + fields("<u4", "counters")
    + fields("<f4", "uvs:6")
    + fields("<i4", "texels")
    + fields("<u4", "sides")
    + fields("<i4", "textured textured_triangle texel bent")
    + fields("<u4", "media")
    + fields("<f4", "unabsorbed:3")
    + NUMBER_COLUMNS
    + MAP_COLUMNS
)

#: Columns of a chunk of photons that leave lights: EMITTER, and for each photon the index of its own and how photons
#: leave it (`PhotonScene.kinds`). listed: indices in the chunk of photons that do so in one way; owner: their emitters,
#: whose numbers then come first in the columns of EMITTER. low and all below are `renderer.scene.projection.AIM`.
LAUNCH_COLUMNS = np.dtype(
    fields("<f4", "corner:3 emitted:3 normal:3 edge_1:3 edge_2:3 size")
    + fields("<i4", "light kind listed owner")
    + fields("<f4", "low:3 sides:3 middle:3 radius")
    + fields("<i4", "way unused")
)

#: One record of `HIT_COLUMNS` or of `LAUNCH_COLUMNS`.
Chunk = Any


class PhotonTask(NamedTuple):
    """What decides the photons of a pass: what its driver says, and settings by their names."""

    seed: np.uint64  # of all random numbers
    sequence: int  # number of the pass
    min_bounces: int  # surfaces a path has met before it stores photons; 1 leaves out photons straight from a light
    # a path is cut after this many surfaces, 65535 at most. Those count as well that lie between a photon and the eye
    max_bounces: int
    flux_unit: float  # watts of a stored flux of 1
    only_caustics: bool  # whether a path ends where anything but a mirror or glass would scatter it
    # whether stored flux counts about the shading normal of where it landed (`shaders.shading_normals`), for those who
    # look it up without knowing one; else it counts on the flat triangle, as `renderer.photons.photon_map.find` takes
    # it
    is_corrected: bool
    # the share of photons that is stored where particles of media scatter them; more than 0, and none is on a surface
    volume_share: float = 0.0

    @property
    def watts(self) -> float:
        """Returns the watts of all photons that are sent out, of a stored flux of 1."""
        return self.flux_unit / self.volume_share if self.volume_share > 0.0 else self.flux_unit


#: Fields that a driver says; all others are settings.
OF_DRIVER = ("seed", "sequence", "min_bounces", "flux_unit", "only_caustics", "is_corrected", "volume_share")
PHOTON_SETTINGS = tuple(name for name in PhotonTask._fields if name not in OF_DRIVER)


class PhotonScratch(NamedTuple):
    """Memory to work with."""

    chunk: Records  # (1,) HIT_COLUMNS
    launch: Records  # (1,) LAUNCH_COLUMNS
    # (RAY_FLOATS + PATH_WORDS + 1, column) uint32: rays and paths that go on, while others of the batch are still to be
    # shaded, and which BSDF each ray has hit
    spare: Words
    guides: Guides  # of lanes, see `renderer.scene.projection`


class PhotonBatch(NamedTuple):
    """A batch as the tracer has it, and the paths that its rays belong to, side by side."""

    rays: Floats  # (8, column) float32, of which rows 3 and 7, t_min and t_max, are the caller's
    hits: Floats  # (4, column) float32, in the order of `tracecore.rays.HIT`
    # (PATH_WORDS, column) uint32: photon index, depth, the flux (float32 bits) in units of the task's and, in scenes
    # with HAS_MEDIA, the stack of media
    paths: Words
    # (2,) int64: from which index on, a multiple of ELEMENTS, no ray has met anything yet, and the photon of this ray;
    # the next ones are of the next photons, so that their index and depth are not in `paths`, nor is their flux where
    # all come from one lamp and are sent nowhere in particular
    fresh: Longs
    scratch: PhotonScratch
    capacity: int  # rays that it may have; columns have 2 * ELEMENTS places more


#: A path's depth: how many surfaces it has met and, in the bits above, how many of them were sheets that it went
#: straight through; MOST_SHEETS stands for all that are more, and further ones count as bounces.
ONE_BOUNCE, SURFACE_MASK, SHEET_SHIFT = np.uint32(1), np.uint32(0xFFFF), np.uint32(16)
ONE_SHEET, MOST_SHEETS = np.uint32(1 << 16), np.uint32(0xFFF)
#: Bounces that a path may have.
MOST_BOUNCES = int(SURFACE_MASK - MOST_SHEETS)


@inlined
def bounces_of(depth: np.uint32) -> int:
    """Returns how many surfaces a path has met, but for sheets that it went straight through."""
    return Int(Int(depth & SURFACE_MASK) - Int(depth >> SHEET_SHIFT))


@inlined
def depth_after(depth: np.uint32, is_straight: bool) -> np.uint32:
    """Returns the depth of a path behind a surface. is_straight: whether that is a sheet that bends nothing."""
    is_counted = is_straight & ((depth >> SHEET_SHIFT) < MOST_SHEETS)
    return np.uint32(depth + ONE_BOUNCE + (ONE_SHEET if is_counted else np.uint32(0)))


def new_scratch(columns: int) -> PhotonScratch:
    """Returns memory to work with, which all batches of a thread share. columns: as long as theirs."""
    spare = np.zeros((RAY_FLOATS + PATH_WORDS + 1, columns), np.uint32)
    guides = np.zeros((1, 0, GUIDE_COLUMNS))
    return PhotonScratch(np.zeros(1, HIT_COLUMNS), np.zeros(1, LAUNCH_COLUMNS), spare, guides)


def new_batch(rays: Floats, hits: Floats, capacity: int) -> PhotonBatch:
    """Returns a batch over columns of a tracer, with memory for its paths."""
    paths = np.zeros((PATH_WORDS, rays.shape[1]), np.uint32)
    return PhotonBatch(rays, hits, paths, np.zeros(2, np.int64), new_scratch(rays.shape[1]), capacity)
