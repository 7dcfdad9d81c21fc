"""Photons from the lights through the scene: emission, scattering, Russian roulette, storing. All by the photon's
index.

A batch is a pool of paths. Where a path ends, the next photon of the range starts in its place, so that batches stay
full until the range is used up.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.driver import PhotonCounts
from renderer.feeding import Feeder, Lane, Request, Wave
from renderer.packed_scene import PackedScene
from renderer.photon_map import WORDS, Words
from renderer.photon_shading import (
    ABSORBED,
    COUNTERS,
    EMITTED,
    ESCAPED,
    RANK_BITS,
    RAYS,
    STORED,
    TERMINATED,
    PhotonOutput,
    PhotonPaths,
    PhotonTask,
    RayBatch,
    advance_photons,
    new_paths,
)
from tracecore.compiled import compiled
from tracecore.rays import BATCH_RAYS

#: Photons handed to a pool of paths at a time.
RANGE_PHOTONS = 4 * BATCH_RAYS


class PhotonStore:
    """Photons as they land, growing. `keys` says which path and how many of it before, so that order can be made."""

    def __init__(self) -> None:
        self.photons: Words = np.empty((1 << 16, WORDS), np.uint32)
        self.keys = np.empty(1 << 16, np.uint64)
        self.counters = np.zeros(COUNTERS, np.int64)

    def reserve(self, count: int) -> None:
        """Make room for `count` more."""
        stored = int(self.counters[STORED])
        if stored + count > len(self.keys):
            capacity = 2 * len(self.keys) + count
            photons, keys = np.empty((capacity, WORDS), np.uint32), np.empty(capacity, np.uint64)
            photons[:stored], keys[:stored] = self.photons[:stored], self.keys[:stored]
            self.photons, self.keys = photons, keys


def photon_wave(scene: PackedScene, task: PhotonTask, lane: Lane, ranges: Iterator[range], store: PhotonStore) -> Wave:
    """Trace photons of one range after the other into a store."""
    batch = lane.batch("photons")
    paths: PhotonPaths = lane.kept("photon paths", lambda: new_paths(batch.capacity))
    arrays = RayBatch(batch.rays, batch.hits)
    photon_range = np.zeros(2, np.int64)
    active = 0
    while True:
        if photon_range[0] == photon_range[1]:
            fresh = next(ranges, None)
            if fresh is not None:
                photon_range[:] = fresh.start, fresh.stop
            elif active == 0:
                return
        store.reserve(active)
        output = PhotonOutput(store.photons, store.keys, store.counters)
        active = advance_photons(scene, task, arrays, paths, active, photon_range, output)
        if active > 0:
            yield [Request(batch, active)]


class TracedPhotons(NamedTuple):
    """stored: (n, WORDS) uint32, in order of photon index and bounce. counts: fates of the paths. rays: traced for
    them."""

    stored: Words
    counts: PhotonCounts
    rays: int


def trace_photons(scene: PackedScene, task: PhotonTask, feeder: Feeder, photons: range) -> TracedPhotons:
    """Trace the photons of these indices. What comes out depends on no thread and no size of batch."""
    stores: list[PhotonStore] = []
    # A step of a list's iterator is atomic, so that threads may share it.
    ranges = iter([photons[i : i + RANGE_PHOTONS] for i in range(0, len(photons), RANGE_PHOTONS)])

    def make_wave(lane: Lane) -> Wave:
        store = PhotonStore()
        stores.append(store)
        return photon_wave(scene, task, lane, ranges, store)

    feeder.run(make_wave)
    counters = np.sum([s.counters for s in stores], axis=0)
    counts = PhotonCounts(
        emitted=int(counters[EMITTED]),
        stored=int(counters[STORED]),
        absorbed=int(counters[ABSORBED]),
        escaped=int(counters[ESCAPED]),
        terminated=int(counters[TERMINATED]),
    )
    return TracedPhotons(in_order(stores, photons), counts, int(counters[RAYS]))


def in_order(stores: list[PhotonStore], photons: range) -> Words:
    """All photons stored, (n, WORDS), in order of path and bounce, whichever store they are in."""
    ends = np.zeros(len(photons) + 1, np.int64)
    for store in stores:
        count_paths(store.keys[: store.counters[STORED]], photons.start, ends)
    starts = np.concatenate([[0], np.cumsum(ends)[:-1]])
    ordered = np.empty((int(ends.sum()), WORDS), np.uint32)
    for store in stores:
        place_photons(store.photons, store.keys[: store.counters[STORED]], photons.start, starts, ordered)
    return ordered


@compiled
def count_paths(keys: npt.NDArray[np.uint64], first: int, counts: npt.NDArray[np.int64]) -> None:
    """Add to counts[p] the number of photons of path first + p."""
    for key in keys:
        counts[np.int64(key >> np.uint64(RANK_BITS)) - first] += 1


@compiled
def place_photons(
    photons: Words, keys: npt.NDArray[np.uint64], first: int, starts: npt.NDArray[np.int64], ordered: Words
) -> None:
    """Copy each photon to where its path starts, plus its rank in the path."""
    for i in range(len(keys)):
        rank = np.int64(keys[i] & ((np.uint64(1) << np.uint64(RANK_BITS)) - np.uint64(1)))
        place = starts[np.int64(keys[i] >> np.uint64(RANK_BITS)) - first] + rank
        for word in range(WORDS):
            ordered[place, word] = photons[i, word]
