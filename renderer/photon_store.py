"""Where photons land, as fast as memory takes them, and how they come into order afterwards.

Each thread has a store, to whose columns shading appends. Which thread traced a photon, and when, is forgotten as soon
as all are put in order of their index and rank.
"""

import contextlib
import mmap
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.columns import LANES
from renderer.photon_map import WORDS, Words
from tracecore.compiled import compiled

#: Columns beside those of a photon: index of the photon, and how often its path was stored before.
INDEX, RANK = WORDS, WORDS + 1
COLUMNS = WORDS + 2

#: Photons that memory is asked for at a time, 16 MiB. A column is a little longer: loops write whole vectors, and
#: addresses that are equal in their lower twelve bits get in each other's way.
SEGMENT_PHOTONS = 1 << 19
SPARE = 2 * LANES

EMITTED, STORED, ABSORBED, ESCAPED, TERMINATED, RAYS, COUNTERS = range(7)

Counts = npt.NDArray[np.int64]


class PhotonOutput(NamedTuple):
    """Where shading writes. columns: (COLUMNS, capacity + SPARE) uint32. filled: (1,) int64, photons in them. counters:
    (COUNTERS,) int64."""

    columns: Words
    filled: Counts
    counters: Counts


class PhotonStore:
    """The photons of one thread, in segments that are kept from run to run. counters: of all its runs since `clear`."""

    def __init__(self) -> None:
        self.counters: Counts = np.zeros(COUNTERS, np.int64)
        self._segments: list[PhotonOutput] = []
        self._current = 0

    def output(self, rays: int) -> PhotonOutput:
        """Where the hits of so many rays go, with room for all of them."""
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
            self._segments[-1].columns.fill(0)  # memory is only there once it has been touched

    def clear(self) -> None:
        """Forget the photons, keep the memory."""
        self.counters[:] = 0
        self._current = 0
        for segment in self._segments:
            segment.filled[0] = 0

    def filled(self) -> Iterator[Words]:
        """All photons, (COLUMNS, n) uint32 at a time."""
        for segment in self._segments:
            yield segment.columns[:, : segment.filled[0]]

    def _add_segment(self, photons: int) -> None:
        """A segment for no less than so many photons."""
        columns = new_columns(max(photons, SEGMENT_PHOTONS) + SPARE)
        self._segments.append(PhotonOutput(columns, np.zeros(1, np.int64), self.counters))


@compiled
def room(output: PhotonOutput) -> int:
    """How many photons more it can take."""
    return output.columns.shape[1] - SPARE - output.filled[0]


def new_columns(length: int) -> Words:
    """(COLUMNS, length) uint32, in huge pages where the system has them: photons fill one after another."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.empty((COLUMNS, length), np.uint32)
    memory = mmap.mmap(-1, 4 * COLUMNS * length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(OSError):  # a kernel without them
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint32).reshape(COLUMNS, length)


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
    for columns in store.filled():
        count_photons(columns, first, counts)


def _place_store(store: PhotonStore, first: int, starts: Counts, ordered: Words) -> None:
    for columns in store.filled():
        place_photons(columns, first, starts, ordered)


@compiled
def count_photons(columns: Words, first: int, counts: Counts) -> None:
    """Add to counts[p] the number of photons of path first + p."""
    for index in columns[INDEX]:
        counts[np.uint32(index - np.uint32(first))] += 1


@compiled
def start_paths(counts: Counts, start: int) -> None:
    """Numbers of photons become places of the first ones, from `start` on."""
    for path in range(len(counts)):
        start, counts[path] = start + counts[path], start


@compiled
def place_photons(columns: Words, first: int, starts: Counts, ordered: Words) -> None:
    """Copy each photon to where its path starts, plus its rank in the path."""
    for i in range(columns.shape[1]):
        place = starts[np.uint32(columns[INDEX, i] - np.uint32(first))] + np.int64(columns[RANK, i])
        for word in range(WORDS):
            ordered[place, word] = columns[word, i]
