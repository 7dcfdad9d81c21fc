"""Where photons land, as fast as memory takes them, and how they come into order afterwards.

Each thread has a store. Shading appends blocks of photons, also with places where none was kept. Which thread traced a
photon, and when, is forgotten as soon as all are put in order of their index and rank.
"""

import contextlib
import mmap
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.columns import CHUNK
from renderer.photon_map import WORDS, Words
from tracecore.compiled import compiled

#: Columns of a block beside those of a photon: index of the photon, and how often its path was stored before.
INDEX, RANK = WORDS, WORDS + 1
BLOCK_WORDS = WORDS + 2
BLOCK_BYTES = 4 * BLOCK_WORDS * CHUNK

#: Rank of a place where no photon was kept.
NOT_STORED = np.uint32(0xFFFFFFFF)

#: Memory is asked for in pieces of this size.
SEGMENT_BYTES = 16 << 20

EMITTED, STORED, ABSORBED, ESCAPED, TERMINATED, RAYS, COUNTERS = range(7)

Counts = npt.NDArray[np.int64]


class PhotonOutput(NamedTuple):
    """Where shading writes. blocks: (n, BLOCK_WORDS, CHUNK) uint32. filled: (1,) int64, how many of them are. counters:
    (COUNTERS,) int64."""

    blocks: Words
    filled: Counts
    counters: Counts


class PhotonStore:
    """The photons of one thread, in segments of blocks that are kept from run to run. counters: of all its runs since
    `clear`."""

    def __init__(self) -> None:
        self.counters: Counts = np.zeros(COUNTERS, np.int64)
        self._segments: list[PhotonOutput] = []
        self._current = 0

    def output(self, rays: int) -> PhotonOutput:
        """Where the hits of so many rays go: blocks enough for them."""
        blocks = -(-rays // CHUNK)
        while self._current < len(self._segments):
            segment = self._segments[self._current]
            if len(segment.blocks) - segment.filled[0] >= blocks:
                return segment
            self._current += 1
        self._add_segment(blocks)
        return self._segments[self._current]

    def reserve(self, photons: int) -> None:
        """Have memory for so many photons at hand, so that tracing does not wait for it."""
        blocks = -(-photons // CHUNK)
        while sum(len(segment.blocks) for segment in self._segments) < blocks:
            self._add_segment(1)
            self._segments[-1].blocks.fill(0)  # memory is only there once it has been touched

    def clear(self) -> None:
        """Forget the photons, keep the memory."""
        self.counters[:] = 0
        self._current = 0
        for segment in self._segments:
            segment.filled[0] = 0

    def blocks(self) -> Iterator[Words]:
        """All blocks that are filled, (n, BLOCK_WORDS, CHUNK) uint32 at a time."""
        for segment in self._segments:
            yield segment.blocks[: segment.filled[0]]

    def _add_segment(self, blocks: int) -> None:
        """A segment of no less than so many blocks."""
        count = max(blocks, SEGMENT_BYTES // BLOCK_BYTES)
        self._segments.append(PhotonOutput(new_blocks(count), np.zeros(1, np.int64), self.counters))


def new_blocks(count: int) -> Words:
    """(count, BLOCK_WORDS, CHUNK) uint32, in huge pages where the system has them: photons fill one after another."""
    words = count * BLOCK_BYTES // 4
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.empty((count, BLOCK_WORDS, CHUNK), np.uint32)
    memory = mmap.mmap(-1, count * BLOCK_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(OSError):  # a kernel without them
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint32, words).reshape(count, BLOCK_WORDS, CHUNK)


def in_order(stores: list[PhotonStore], first: int, count: int, threads: int) -> Words:
    """All photons stored, (n, WORDS) uint32, in order of index and rank, whichever store they are in.

    first, count: the photons that were started. A path must be in one store alone.
    """
    with ThreadPoolExecutor(threads) as pool:

        def spread(function: Callable[..., object], *arguments: object) -> list[object]:
            return list(pool.map(lambda piece: function(piece, *arguments), stores))

        starts = np.zeros(count + 1, np.int64)
        spread(_count_store, first, starts)
        bounds = np.linspace(0, count + 1, threads + 1).astype(np.int64)
        pieces = [starts[low:high] for low, high in pairwise(bounds)]
        sums = np.cumsum([0, *pool.map(np.sum, pieces)])
        list(pool.map(start_paths, pieces, sums[:-1]))
        ordered = np.empty((int(sums[-1]), WORDS), np.uint32)
        spread(_place_store, first, starts, ordered)
    return ordered


def _count_store(store: PhotonStore, first: int, counts: Counts) -> None:
    for blocks in store.blocks():
        count_photons(blocks, first, counts)


def _place_store(store: PhotonStore, first: int, starts: Counts, ordered: Words) -> None:
    for blocks in store.blocks():
        place_photons(blocks, first, starts, ordered)


@compiled
def count_photons(blocks: Words, first: int, counts: Counts) -> None:
    """Add to counts[p] the number of photons of path first + p."""
    for block in range(len(blocks)):
        for i in range(CHUNK):
            if blocks[block, RANK, i] != NOT_STORED:
                counts[np.uint32(blocks[block, INDEX, i] - np.uint32(first))] += 1


@compiled
def start_paths(counts: Counts, start: int) -> None:
    """Numbers of photons become places of the first ones, from `start` on."""
    for path in range(len(counts)):
        start, counts[path] = start + counts[path], start


@compiled
def place_photons(blocks: Words, first: int, starts: Counts, ordered: Words) -> None:
    """Copy each photon to where its path starts, plus its rank in the path."""
    for block in range(len(blocks)):
        for i in range(CHUNK):
            rank = blocks[block, RANK, i]
            if rank != NOT_STORED:
                place = starts[np.uint32(blocks[block, INDEX, i] - np.uint32(first))] + np.int64(rank)
                for word in range(WORDS):
                    ordered[place, word] = blocks[block, word, i]
