"""Photons from the lights through the scene, traced by loops that shade batch after batch (`photon_shading`).

A batch is a pool of paths. Where a path ends, the next photon starts in its place, so that batches stay full until all
photons are on their way.
"""

import time
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.photons.batch import PATH_WORDS, PhotonBatch, PhotonScratch, PhotonTask, new_scratch
from renderer.photons.counts import PhotonCounts
from renderer.photons.photon_map import Words
from renderer.photons.shading import needs_uv, shade_batch
from renderer.photons.store import (
    ABSORBED,
    EMITTED,
    ESCAPED,
    RAYS,
    STORED,
    TERMINATED,
    PhotonOutput,
    PhotonStore,
    in_order,
    room,
)
from renderer.scene.packed_scene import PackedScene
from tracecore.compilation.cached import compiled
from tracecore.compilation.vector import borrowed
from tracecore.dispatch.port import ENDLESS, FULL, NO_UV, ONE_SLOT, Port, next_lane, submit
from tracecore.workers.pool import Feeder, Loop, Worker

Longs = npt.NDArray[np.int64]


class PhotonJob(NamedTuple):
    """Photons to trace, shared by all threads. supply: (2,) int64, the next one to start and the end. options: what is
    asked of their rays, see `tracecore.dispatch.port`."""

    scene: PackedScene
    task: PhotonTask
    supply: Longs
    options: np.int64


class PhotonLanes(NamedTuple):
    """A thread's lanes, one slot each. live, active: (lanes,) int64: whether it has work, and rays on their way. paths:
    (lanes, PATH_WORDS, column) uint32, and fresh: (lanes, 2) int64, of `PhotonBatch`."""

    live: Longs
    active: Longs
    paths: Words
    fresh: Longs


class TracedPhotons(NamedTuple):
    """stored: (n, WORDS) uint32, in order of photon index and bounce. counts: fates of the paths. rays: traced for
    them. order_seconds: wall time to put them in order."""

    stored: Words
    counts: PhotonCounts
    rays: int
    order_seconds: float


@compiled
def run_photons(job: PhotonJob, port: Port, lanes: PhotonLanes, scratch: PhotonScratch, output: PhotonOutput) -> int:
    """Shade what comes back and fill up with fresh photons until all paths have ended. Returns as `next_lane` does, or
    FULL where `output` has no room for a batch more."""
    job, port, lanes = borrowed(job), borrowed(port), borrowed(lanes)
    scratch, output = borrowed(scratch), borrowed(output)
    lane = next_lane(port, lanes.live, ONE_SLOT)
    while lane >= 0:
        if room(output) < port.capacity:
            return FULL
        paths, fresh = lanes.paths[lane], lanes.fresh[lane]
        batch = PhotonBatch(port.rays[lane], port.hits[lane], paths, fresh, scratch, port.capacity)
        active = shade_batch(job.scene, job.task, batch, lanes.active[lane], job.supply, output)
        lanes.live[lane] = lanes.active[lane] = active
        if active > 0:
            submit(port, lane, active, job.options)
        lane = next_lane(port, lanes.live, ONE_SLOT)
    return lane


def new_lanes(port: Port, lanes: int) -> PhotonLanes:
    """Lanes with nothing on its way."""
    return PhotonLanes(
        live=np.zeros(lanes, np.int64),
        active=np.zeros(lanes, np.int64),
        paths=np.zeros((lanes, PATH_WORDS, port.rays.shape[2]), np.uint32),
        fresh=np.zeros((lanes, 2), np.int64),
    )


def trace_photons(
    scene: PackedScene, task: PhotonTask, feeder: Feeder, photons: range, expected_rays: int = 0
) -> TracedPhotons:
    """Trace the photons of these indices. What comes out depends on no thread and no size of batch.

    expected_rays: have memory ready for so many, before tracing begins.
    """
    options = ENDLESS if needs_uv(scene) else ENDLESS | NO_UV
    job = PhotonJob(scene, task, np.array([photons.start, photons.stop]), options)
    stores: list[PhotonStore] = []

    def make_loop(worker: Worker) -> Loop:
        store: PhotonStore = worker.kept("photon store", PhotonStore)
        lanes: PhotonLanes = worker.kept("photon lanes", lambda: new_lanes(worker.port, feeder.lanes(1)))
        scratch = new_scratch()
        store.clear()
        stores.append(store)
        lanes.live[:], lanes.active[:] = 1, 0
        store.reserve(expected_rays // feeder.threads)

        def loop() -> int:
            status = FULL
            while status == FULL:
                status = int(run_photons(job, worker.port, lanes, scratch, store.output(worker.port.capacity)))
            return status

        return loop

    feeder.run(make_loop)
    started = time.perf_counter()
    stored = in_order(stores, photons.start, len(photons), feeder.threads)
    seconds = time.perf_counter() - started
    counters = np.sum([store.counters for store in stores], axis=0)
    counts = PhotonCounts(
        emitted=int(counters[EMITTED]),
        stored=int(counters[STORED]),
        absorbed=int(counters[ABSORBED]),
        escaped=int(counters[ESCAPED]),
        terminated=int(counters[TERMINATED]),
    )
    return TracedPhotons(stored, counts, int(counters[RAYS]), seconds)
