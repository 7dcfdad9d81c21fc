"""What the stages of shading share: which rays of a batch a chunk has, where its columns are, and constants of both."""

from typing import NamedTuple

import numpy as np

from renderer.photons.batch import Chunk
from renderer.photons.store import WAITING_COLUMN
from renderer.scene.media import MediaTables
from renderer.scene.photon_scene import MATERIAL, TRIANGLE_RECORD, TRIANGLE_TEXTURE
from renderer.simd.columns import CHUNK, WORD_BYTES
from shaders.float32 import Float32, Int
from shaders.random import Bits4
from shaders.vector import Vec3
from tracecore.rays import offset_of

#: A path's depth: how many surfaces it has met and, in the bits above, how many of them were sheets that it went
#: straight through; MOST_SHEETS stands for all that are more, and further ones count as bounces.
START_DEPTH, ONE_BOUNCE = np.uint32(0), np.uint32(1)
SURFACE_MASK, SHEET_SHIFT = np.uint32(0xFFFF), np.uint32(16)
ONE_SHEET, MOST_SHEETS = np.uint32(1 << 16), np.uint32(0xFFF)
#: Bounces that a path may have.
MOST_BOUNCES = int(SURFACE_MASK - MOST_SHEETS)
RECORD_BYTES, MATERIAL_BYTES = TRIANGLE_RECORD.itemsize, MATERIAL.itemsize
#: Where words of a triangle record and of a triangle's texture begin, by fours. Of a triangle record: what all hits
#: need, and all.
FLAT_QUADS, RECORD_QUADS, TEXTURE_QUADS = (0, 16, 32), (0, 16, 32, 48), (0, 16)
MATERIAL_STRIDE = Int(MATERIAL_BYTES // 4)
COLOR_BYTES = MATERIAL_BYTES // 3
PHONG_BYTES, MIRROR_BYTES, TRANSMISSION_BYTES = (
    offset_of(MATERIAL, name) for name in ("phong", "mirror", "transmission")
)
#: What `is_directed` holds: that the direction is known, and TINTED where a lobe's colour is still to be looked up.
DIRECTED = Int(1)
TEXTURE_BYTES, TEXEL_MASK = TRIANGLE_TEXTURE.itemsize, np.uint32(0xFF)
#: Bytes of the normals of a triangle's corners.
CORNERS_BYTES = 9 * WORD_BYTES
#: A bent normal farther from the ray than this cosine gives way to the flat one.
LEAST_BENT_COSINE = Float32(1e-6)
#: What a ray's triangle has in this bit if there is none.
MISS_BIT = np.uint32(1 << 31)
#: Fates of a hit: whether a photon was stored, and what ended the path. A byte for each, so that all are added up at
#: once for a chunk, which has less than 256 hits.
FATE_BITS, FATE_MASK = np.uint32(8), np.uint32(0xFF)
FATES = np.uint32(0xFFFFFF00)
#: Bytes from one column of photons to the next, where they wait and in a block.
WAITING_STEP, BLOCK_STEP = WORD_BYTES * WAITING_COLUMN, WORD_BYTES * CHUNK
ALL_BITS = np.uint32(0xFFFFFFFF)
ONE_STORED, ONE_ABSORBED, ONE_TERMINATED, NO_FATE = (np.uint32(t) for t in (1, 1 << 8, 1 << 16, 0))


class Span(NamedTuple):
    """Rays of a batch that are shaded together, as many as have room.

    first: index of the first one.
    rays: how many they are.
    kept: how many paths of the batch go on before them.
    is_fresh: whether they are the first ones of their photons.
    is_alike: whether all these photons carry the same flux.
    photon: index of the first photon, where they are fresh; the others follow.
    flux: what all of them carry, where they are alike.
    """

    first: int
    rays: int
    kept: int
    is_fresh: bool
    is_alike: bool
    photon: int
    flux: Vec3


class View(NamedTuple):
    """Addresses of what loops over a chunk read and write.

    rays, hits, paths: of the chunk's rays, in columns `step` bytes apart.
    kept_rays, kept_paths: where those go that go on.
    photons: where photons wait.
    materials, normals, texels, decoded: tables of the scene.
    chunk: columns of the hits.
    """

    rays: int
    hits: int
    paths: int
    kept_rays: int
    kept_paths: int
    step: int
    photons: int
    materials: int
    normals: int
    texels: int
    decoded: int
    chunk: Chunk


class Limits(NamedTuple):
    """The limits of a task, as a loop compares with them. key: of its random numbers."""

    min_bounces: np.int32
    max_bounces: np.int32
    key: Bits4
    only_caustics: bool
    is_corrected: bool


class Shading(NamedTuple):
    """How a batch is shaded.

    flags: all that triangle records have.
    is_alike: whether all fresh photons carry the same flux.
    records, materials, normals, textures, texels, decoded: addresses of the scene's tables.
    limits: of the task.
    media: tables of media, which only scenes with HAS_MEDIA have.
    """

    flags: np.uint32
    is_alike: bool
    records: int
    materials: int
    normals: int
    textures: int
    texels: int
    decoded: int
    limits: Limits
    media: MediaTables


class Landing(NamedTuple):
    """What loops over hits work on. photons: where photons wait. flux: of fresh ones, where all have the same."""

    chunk: Chunk
    limits: Limits
    photons: int
    flux: Vec3
