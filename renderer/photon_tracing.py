"""Photons from the lights through the scene: emission, scattering, Russian roulette, storing. All by the photon's
index.

A batch is a pool of paths. Where a path ends, the next photon of the range starts in its place, so that batches stay
full until the range is used up.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.driver import PhotonCounts
from renderer.feeding import Feeder, Loop, Worker
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
from tracecore.port import ENDLESS, FULL, ONE_SLOT, Port, next_lane, submit
from tracecore.vector import address, fetch_add


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


class PhotonLanes(NamedTuple):
    """A thread's lanes, one slot each. live, active: (lanes,) int64: whether it has work, rays on their way."""

    live: npt.NDArray[np.int64]
    active: npt.NDArray[np.int64]
    rays: npt.NDArray[np.float32]
    hits: npt.NDArray[np.float32]
    rows: npt.NDArray[np.float32]
    paths: PhotonPaths
    ranges: npt.NDArray[np.int64]


def new_photon_lanes(port: Port, lanes: int) -> PhotonLanes:
    """Lanes with nothing on its way."""
    n = port.capacity
    return PhotonLanes(
        np.zeros(lanes, np.int64),
        np.zeros(lanes, np.int64),
        np.zeros((lanes, n, 8), np.float32),
        np.zeros((n, 4), np.float32),
        np.zeros((lanes, n, 8), np.float32),
        new_paths(n),
        np.zeros((lanes, 2), np.int64),
    )


@compiled
def run_photons(
    scene: PackedScene,
    task: PhotonTask,
    port: Port,
    lanes: PhotonLanes,
    supply: npt.NDArray[np.int64],
    output: PhotonOutput,
) -> int:
    """Shade and send photons until none is left."""
    lane = next_lane(port, lanes.live, ONE_SLOT)
    while lane >= 0:
        active = lanes.active[lane]
        if output.counters[STORED] + active > len(output.keys):
            return FULL
        for i in range(active):
            for k in range(4):
                lanes.hits[i, k] = port.hits[lane, k, i]
        if lanes.ranges[lane, 0] == lanes.ranges[lane, 1]:
            first = min(fetch_add(address(supply), port.capacity), supply[1])
            lanes.ranges[lane, 0], lanes.ranges[lane, 1] = first, min(first + port.capacity, supply[1])
        photon_range = lanes.ranges[lane]
        batch = RayBatch(lanes.rays[lane], lanes.hits)
        paths = PhotonPaths(lanes.rows[lane], lanes.paths.chunk, lanes.paths.launch)
        active = advance_photons(scene, task, batch, paths, active, photon_range, output)
        for i in range(active):
            for k in range(8):
                port.rays[lane, k, i] = lanes.rays[lane, i, k]
        lanes.active[lane] = active
        lanes.live[lane] = active
        if active > 0:
            submit(port, lane, active, ENDLESS)
        lane = next_lane(port, lanes.live, ONE_SLOT)
    return lane


class TracedPhotons(NamedTuple):
    """stored: (n, WORDS) uint32, in order of photon index and bounce. counts: fates of the paths. rays: traced for
    them."""

    stored: Words
    counts: PhotonCounts
    rays: int


def trace_photons(scene: PackedScene, task: PhotonTask, feeder: Feeder, photons: range) -> TracedPhotons:
    """Trace the photons of these indices. What comes out depends on no thread and no size of batch."""
    stores: list[PhotonStore] = []
    supply = np.array([photons.start, photons.stop])

    def make_loop(worker: Worker) -> Loop:
        store = PhotonStore()
        stores.append(store)
        lanes: PhotonLanes = worker.kept("photons", lambda: new_photon_lanes(worker.port, feeder.lanes(1)))
        lanes.live[:], lanes.active[:] = 1, 0

        def loop() -> int:
            while True:
                store.reserve(worker.port.capacity)
                output = PhotonOutput(store.photons, store.keys, store.counters)
                status = int(run_photons(scene, task, worker.port, lanes, supply, output))
                if status != FULL:
                    return status

        return loop

    feeder.run(make_loop)
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
