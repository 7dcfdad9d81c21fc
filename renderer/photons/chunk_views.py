"""What the stages of shading photons share: what becomes of hits, and what loops over them work on."""

from typing import NamedTuple

import numpy as np

from renderer.photons.store import WAITING_COLUMN
from renderer.simd.columns import CHUNK, WORD_BYTES
from shaders.random import Bits4

#: A path's depth: how many surfaces it has met and, in the bits above, how many of them were sheets that it went
#: straight through; MOST_SHEETS stands for all that are more, and further ones count as bounces.
START_DEPTH, ONE_BOUNCE = np.uint32(0), np.uint32(1)
SURFACE_MASK, SHEET_SHIFT = np.uint32(0xFFFF), np.uint32(16)
ONE_SHEET, MOST_SHEETS = np.uint32(1 << 16), np.uint32(0xFFF)
#: Bounces that a path may have.
MOST_BOUNCES = int(SURFACE_MASK - MOST_SHEETS)
#: Fates of a hit: whether a photon was stored, and what ended the path. A byte for each, so that all are added up at
#: once for a chunk, which has less than 256 hits.
FATE_BITS, FATE_MASK = np.uint32(8), np.uint32(0xFF)
FATES = np.uint32(0xFFFFFF00)
#: Bytes from one column of photons to the next, where they wait and in a block.
WAITING_STEP, BLOCK_STEP = WORD_BYTES * WAITING_COLUMN, WORD_BYTES * CHUNK
ONE_STORED, ONE_ABSORBED, ONE_TERMINATED, NO_FATE = (np.uint32(t) for t in (1, 1 << 8, 1 << 16, 0))


class Limits(NamedTuple):
    """The limits of a task, as a loop compares with them. key: of its random numbers."""

    min_bounces: np.int32
    max_bounces: np.int32
    key: Bits4
    only_caustics: bool
    is_corrected: bool


class Landing(NamedTuple):
    """What loops over hits work on.

    limits: of the task.
    photons: where photons wait.
    before: address of the flux that paths had before their rays.
    tables: address of what was measured of BSDFs (`shaders.bsdfs.bsdf.Seen`).
    """

    limits: Limits
    photons: int
    before: int
    tables: int
