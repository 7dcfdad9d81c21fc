"""Photons from the lights through the scene, traced by loops that shade batch after batch (`renderer.photons.shading`).

A batch is a pool of paths. Where a path ends, the next photon starts in its place, so that batches stay full until all
photons are on their way.
"""

import time
from typing import NamedTuple

import numpy as np

from renderer.photons.batch import PATH_WORDS, PhotonBatch, PhotonScratch, PhotonTask, new_scratch
from renderer.photons.counts import PhotonCounts
from renderer.photons.photon_map import Words
from renderer.photons.ranges import in_sequence
from renderer.photons.scattering import make_photons_ready
from renderer.photons.shading import needs_uv, shade_rays
from renderer.photons.store import PHOTON_RAYS, PhotonOutput, PhotonStore, in_order, room
from renderer.scene.packed_scene import PackedScene
from shaders.float32 import Longs
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import compiled
from tracecore.dispatch.port import ENDLESS, FULL, NO_UV, ONE_SLOT, Port, next_batch, submit
from tracecore.workers.pool import Loop, Worker, Workers


class PhotonJob(NamedTuple):
    """Photons to trace, shared by all threads."""

    scene: PackedScene
    task: PhotonTask
    supply: Longs  # (2,) int64, the next one to start and the end
    options: np.int64  # what is asked of their rays, see `tracecore.dispatch.port`


class PhotonBatches(NamedTuple):
    """A thread's batches, one slot each."""

    live: Longs  # (batches,) int64, whether it has work
    active: Longs  # (batches,) int64, rays that are being traced
    paths: Words  # (batches, PATH_WORDS, column) uint32, of `PhotonBatch`
    fresh: Longs  # (batches, 2) int64, of `PhotonBatch`


class TracedPhotons(NamedTuple):
    """Photons that have been traced."""

    stored: Words  # (n, PHOTON_WORDS) uint32, in order of photon index and bounce
    counts: PhotonCounts  # fates of the paths
    rays: int  # how many were traced for them
    order_seconds: float  # wall time to put them in order


@compiled
def run_photons(
    job: PhotonJob, port: Port, batches: PhotonBatches, scratch: PhotonScratch, output: PhotonOutput
) -> int:
    """Shade what comes back and fill up with fresh photons until all paths have ended. Returns as `next_batch` does, or
    FULL where `output` has no room for a batch more."""
    job, port, batches = borrowed(job), borrowed(port), borrowed(batches)
    scratch, output = borrowed(scratch), borrowed(output)
    index = next_batch(port, batches.live, ONE_SLOT)
    while index >= 0:
        if room(output) < port.capacity:
            return FULL
        paths, fresh = batches.paths[index], batches.fresh[index]
        batch = PhotonBatch(port.rays[index], port.hits[index], paths, fresh, scratch, port.capacity)
        active = shade_rays(job.scene, job.task, batch, batches.active[index], job.supply, output)
        batches.live[index] = batches.active[index] = active
        if active > 0:
            submit(port, index, active, job.options)
        index = next_batch(port, batches.live, ONE_SLOT)
    return index


#: The machine code of a run of photons.
PHOTON_CODE = (run_photons, room)


def new_batches(port: Port, batches: int) -> PhotonBatches:
    """Returns batches without rays."""
    return PhotonBatches(
        live=np.zeros(batches, np.int64),
        active=np.zeros(batches, np.int64),
        paths=np.zeros((batches, PATH_WORDS, port.rays.shape[2]), np.uint32),
        fresh=np.zeros((batches, 2), np.int64),
    )


def trace_photons(
    scene: PackedScene, task: PhotonTask, workers: Workers, photons: range, expected_rays: int = 0
) -> TracedPhotons:
    """Trace the photons of these indices. What comes out depends on no thread and no size of batch.

    photons: of one sequence, as `renderer.photons.ranges.in_sequence` says.
    expected_rays: have memory ready for so many, before tracing begins.
    """
    task, photons = in_sequence(task, photons)
    stores = trace_to_stores(scene, task, workers, photons, expected_rays)
    started = time.perf_counter()
    stored = in_order(stores, photons.start, len(photons), workers)
    traced = TracedPhotons(stored, *counted(stores), time.perf_counter() - started)
    leave_stores(stores, workers)
    return traced


def trace_to_stores(
    scene: PackedScene, task: PhotonTask, workers: Workers, photons: range, expected_rays: int = 0
) -> list[PhotonStore]:
    """Trace the photons of these indices. Returns the stores that they are in, to be left by `leave_stores`."""
    make_photons_ready(scene.bsdfs)
    options = ENDLESS if needs_uv(scene) else ENDLESS | NO_UV
    job = PhotonJob(scene, task, np.array([photons.start, photons.stop]), options)
    stores: list[PhotonStore] = []

    def make_loop(worker: Worker) -> Loop:
        store = workers.take("photon store", PhotonStore)
        batches: PhotonBatches = worker.kept("photon batches", lambda: new_batches(worker.port, workers.batches(1)))
        scratch: PhotonScratch = worker.kept("photon scratch", lambda: new_scratch(worker.port.rays.shape[2]))
        store.clear()
        stores.append(store)
        batches.live[:], batches.active[:] = 1, 0
        store.reserve(expected_rays // workers.threads)

        def loop() -> int:
            status = FULL
            while status == FULL:
                status = int(run_photons(job, worker.port, batches, scratch, store.output(worker.port.capacity)))
            return status

        return loop

    workers.run(make_loop)
    return stores


def leave_stores(stores: list[PhotonStore], workers: Workers) -> None:
    """Leaves stores whose photons are not needed any more to those that are traced next."""
    for store in stores:
        workers.leave("photon store", store)


def counted(stores: list[PhotonStore]) -> tuple[PhotonCounts, int]:
    """Returns the fates of the paths in some stores, and how many rays were traced for them."""
    counters = np.sum([store.counters for store in stores], axis=0)
    return PhotonCounts(*counters[:PHOTON_RAYS].tolist()), int(counters[PHOTON_RAYS])
