"""Where photons land, as fast as memory takes them, and how they come into order afterwards.

Each thread has a store. Photons wait in columns next to the core until they fill a block, which goes to memory at once:
one stream for a processor to foresee, not one for each column. Which thread traced a photon, and when, is forgotten as
soon as all are put in order of their index. A path is in one store alone, and its photons were kept there in the order
in which it left them.
"""

import contextlib
import mmap
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from renderer.photons.photon_map import PHOTON_WORDS, Words
from renderer.simd.columns import CHUNK, ELEMENTS, WORD_BYTES
from shaders.float32 import Longs
from tracecore.compilation.cached import compiled
from tracecore.workers.pool import Helpers

#: A column beside those of a photon: its index.
STORE_INDEX = PHOTON_WORDS
STORE_COLUMNS = PHOTON_WORDS + 1

PHOTON_BLOCK_BYTES = 4 * STORE_COLUMNS * CHUNK

#: From one column of photons that wait to the next, in numbers: those of a block that is not full, of a chunk, and of a
#: last vector that is not full.
WAITING_COLUMN = 2 * CHUNK + ELEMENTS

#: Bytes from one column of photons to the next, where they wait and in a block.
WAITING_STEP, BLOCK_STEP = WORD_BYTES * WAITING_COLUMN, WORD_BYTES * CHUNK

#: Memory is asked for in pieces of this size.
SEGMENT_BYTES = 16 << 20

#: What a thread counts: photons by how they left and what became of them, in the order of
#: `PhotonLongs`, and rays.
PHOTONS_EMITTED, PHOTONS_AIMED, PHOTONS_STORED, PHOTONS_ABSORBED, PHOTONS_ESCAPED, PHOTONS_TERMINATED = range(6)
PHOTON_RAYS, PHOTON_COUNTERS = range(6, 8)


class PhotonOutput(NamedTuple):
    """Memory that shading writes photons to."""

    waiting: Words  # (STORE_COLUMNS, WAITING_COLUMN) uint32, photons of a block that is not full
    waits: Longs  # (1,) int64, how many they are
    blocks: Words  # (n, STORE_COLUMNS, CHUNK) uint32
    filled: Longs  # (1,) int64, how many of the blocks are full
    counters: Longs  # (PHOTON_COUNTERS,) int64


class Piece(NamedTuple):
    """Photons of a store that lie side by side."""

    blocks: Words  # (n, STORE_COLUMNS, m) uint32
    photons: int  # how many of the m photons of a block there are


class PhotonStore:
    """The photons of one thread, in segments that are kept from run to run. counters: of all its runs since `clear`."""

    def __init__(self) -> None:
        self.counters: Longs = np.zeros(PHOTON_COUNTERS, np.int64)
        self._waiting, self._waits = np.zeros((STORE_COLUMNS, WAITING_COLUMN), np.uint32), np.zeros(1, np.int64)
        self._segments: list[PhotonOutput] = []
        self._current = 0

    def output(self, rays: int) -> PhotonOutput:
        """Returns memory with room for the hits of so many rays."""
        while self._current < len(self._segments):
            if room(self._segments[self._current]) >= rays:
                return self._segments[self._current]
            self._current += 1
        self._add_segment(rays)
        return self._segments[self._current]

    def reserve(self, photons: int) -> None:
        """Have memory for so many photons at hand, so that tracing does not wait for it."""
        while sum(map(room, self._segments)) < photons:
            self._add_segment(1)
            self._segments[-1].blocks.fill(0)  # memory is only there once it has been touched

    def clear(self) -> None:
        """Forget the photons, keep the memory."""
        self.counters[:] = 0
        self._waits[0] = self._current = 0
        for segment in self._segments:
            segment.filled[0] = 0

    def filled(self) -> Iterator[Words]:
        """Yield all photons, (n, STORE_COLUMNS, m) uint32 at a time, in the order in which they were kept."""
        for segment in self._segments:
            yield segment.blocks[: segment.filled[0]]
        yield self._waiting[None, :, : self._waits[0]]

    def pieces(self) -> list[Piece]:
        """Returns all photons in the order in which they were kept; what lies behind a block is memory as well."""
        full = [Piece(segment.blocks[: segment.filled[0]], CHUNK) for segment in self._segments]
        return [*full, Piece(self._waiting[None], int(self._waits[0]))]

    def _add_segment(self, photons: int) -> None:
        """Add a segment with room for no less than so many photons."""
        count = max(-(-photons // CHUNK) + 1, SEGMENT_BYTES // PHOTON_BLOCK_BYTES)
        filled = np.zeros(1, np.int64)
        self._segments.append(PhotonOutput(self._waiting, self._waits, new_blocks(count), filled, self.counters))


@compiled
def room(output: PhotonOutput) -> int:
    """Returns how many photons more an output can take."""
    return (len(output.blocks) - output.filled[0] - 1) * CHUNK


def new_blocks(count: int) -> Words:
    """Returns (count, STORE_COLUMNS, CHUNK) uint32 in whole pages, so that lines lie as the processor has them."""
    return new_words(count * PHOTON_BLOCK_BYTES // 4).reshape(count, STORE_COLUMNS, CHUNK)


def new_words(count: int) -> Words:
    """Returns (count,) uint32, zeros, in huge pages where the system has them: photons fill one after another."""
    size = 4 * count
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with contextlib.suppress(OSError):  # a kernel without them
            memory.madvise(mmap.MADV_HUGEPAGE)
    else:
        memory = mmap.mmap(-1, size)
    return np.frombuffer(memory, np.uint32)


def in_order(stores: list[PhotonStore], first: int, count: int, workers: Helpers) -> Words:
    """Returns all photons stored, (n, PHOTON_WORDS) uint32, in order of index, whichever store they are in.

    Those of a path keep their order; a path must be in one store alone.

    first: index of the first photon that was started.
    count: how many were started.
    workers: who does the work.
    """
    starts = np.zeros(count + 1, np.int64)
    _for_blocks(stores, workers, lambda blocks: count_photons(blocks, first, starts))
    bounds = np.linspace(0, count + 1, workers.threads + 1).astype(np.int64)
    pieces = [starts[low:high] for low, high in pairwise(bounds)]
    sums = np.cumsum([0, *workers.map(np.sum, pieces)])
    workers.map(lambda k: start_paths(pieces[k], sums[k]), range(len(pieces)))
    ordered = np.empty((int(sums[-1]), PHOTON_WORDS), np.uint32)
    _for_blocks(stores, workers, lambda blocks: put_photons(blocks, first, starts, ordered))
    return ordered


def _for_blocks(stores: list[PhotonStore], workers: Helpers, act: Callable[[Words], None]) -> None:
    """Has workers act on all blocks of photons, those of a store in their order."""

    def act_on(store: PhotonStore) -> None:
        for blocks in store.filled():
            workers.check_wanted()
            act(blocks)

    workers.map(act_on, stores)


@compiled
def count_photons(blocks: Words, first: int, counts: Longs) -> None:
    """Add to counts[p] the number of photons of path first + p."""
    for block in range(len(blocks)):
        for i in range(blocks.shape[2]):
            counts[np.uint32(blocks[block, STORE_INDEX, i] - np.uint32(first))] += 1


@compiled
def start_paths(counts: Longs, start: int) -> None:
    """Turn numbers of photons into the indices of the first ones, from `start` on."""
    for path in range(len(counts)):
        start, counts[path] = start + counts[path], start


@compiled
def put_photons(blocks: Words, first: int, starts: Longs, ordered: Words) -> None:
    """Copy each photon to where its path starts, and let the rest of the path start behind it."""
    for block in range(len(blocks)):
        for i in range(blocks.shape[2]):
            path = np.uint32(blocks[block, STORE_INDEX, i] - np.uint32(first))
            index = starts[path]
            starts[path] = index + 1
            for word in range(PHOTON_WORDS):
                ordered[index, word] = blocks[block, word, i]
