"""This module measures what shading a photon costs, in nanoseconds per ray.

Hits are traced once by the CPU tracer. Then each thread shades eight batches, which no other thread has, one after the
other, again and again in compiled code; that is as much memory as a thread has under way. Putting rays and hits back in
their first state is timed alone and taken off. One thread is timed by the clock of the thread, several by that of the
wall.
"""

import threading
import time
from typing import NamedTuple

import numpy as np

import tracecore
from renderer.drivers.driver import RenderSettings
from renderer.drivers.pass_photons import photon_task
from renderer.photons.batch import PATH_WORDS, PhotonBatch, PhotonScratch, PhotonTask, new_batch
from renderer.photons.photon_map import Words
from renderer.photons.scattering import make_photons_ready
from renderer.photons.shading import shade_batch, shade_rays
from renderer.photons.store import PhotonOutput, PhotonStore
from renderer.scene.packed_scene import PackedScene, pack_scene
from scenes.model import Snapshot
from shaders.compilation import compiled
from shaders.float32 import Longs
from tracecore.compilation.borrowing import borrowed
from tracecore.kernels.ring_records import COLUMN_PAD
from tracecore.rays import BATCH_RAYS, HIT_FLOATS, RAY_FLOATS, Floats

#: Batches before the first that counts, so that paths of all lengths are under way; and batches that count.
WARM_BATCHES, BATCHES = 12, 8
REPETITIONS, ROUNDS = 5, 40

COLUMN = BATCH_RAYS + COLUMN_PAD


class Columns(NamedTuple):
    """Holds batches as shading finds them, or works on them.

    rays, hits: (batches, 8 or 4, COLUMN) float32.
    paths: (batches, PATH_WORDS, COLUMN) uint32.
    fresh: (batches, 2) int64.
    """

    rays: Floats
    hits: Floats
    paths: Words
    fresh: Longs


class ThreadMemory(NamedTuple):
    """This is the memory that a thread works on."""

    recorded: Columns
    columns: Columns
    scratch: PhotonScratch
    output: PhotonOutput


def new_columns() -> Columns:
    """Returns empty columns for all batches."""
    return Columns(
        np.zeros((BATCHES, RAY_FLOATS, COLUMN), np.float32),
        np.zeros((BATCHES, HIT_FLOATS, COLUMN), np.float32),
        np.zeros((BATCHES, PATH_WORDS, COLUMN), np.uint32),
        np.zeros((BATCHES, 2), np.int64),
    )


def new_thread_memory(scene: PackedScene, recorded: Columns) -> ThreadMemory:
    """Returns the memory of one thread, with room for the photons of all batches."""
    batch = new_batch(recorded.rays[0], recorded.hits[0], BATCH_RAYS)
    mine = Columns(recorded.rays.copy(), recorded.hits.copy(), recorded.paths.copy(), recorded.fresh.copy())
    return ThreadMemory(mine, new_columns(), batch.scratch, PhotonStore().output(BATCHES * BATCH_RAYS))


def record(snapshot: Snapshot, scene: PackedScene, task: PhotonTask) -> Columns:
    """Traces full batches of photons, and returns their rays and hits."""
    recorded, supply, active, store = new_columns(), np.array([0, 1 << 31]), 0, PhotonStore()
    rays, hits = np.zeros((RAY_FLOATS, COLUMN), np.float32), np.zeros((HIT_FLOATS, COLUMN), np.float32)
    batch = new_batch(rays, hits, BATCH_RAYS)
    batch.rays[7] = np.inf
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=1) as tracer:
        for k in range(-WARM_BATCHES, BATCHES):
            active = shade_batch(scene, task, batch, active, supply, store.output(active))
            batch.hits[:, :active] = tracer.closest_hit(np.ascontiguousarray(batch.rays[:, :active].T)).T
            if k >= 0:
                recorded.rays[k], recorded.hits[k], recorded.paths[k] = batch.rays, batch.hits, batch.paths
                recorded.fresh[k] = batch.fresh
    return recorded


@compiled
def shade_all(scene: PackedScene, task: PhotonTask, work: ThreadMemory, only_copy: bool) -> None:
    """Shades every batch, as often as there are repetitions."""
    scene, task, work = borrowed(scene), borrowed(task), borrowed(work)
    supply, columns = np.array([0, 1 << 31]), work.columns
    capacity: int = columns.rays.shape[2] - COLUMN_PAD
    for _ in range(REPETITIONS):
        work.output.filled[0] = 0
        columns.rays[:], columns.hits[:], columns.paths[:] = work.recorded.rays, work.recorded.hits, work.recorded.paths
        columns.fresh[:] = work.recorded.fresh
        for k in range(0 if only_copy else BATCHES):
            paths, fresh = columns.paths[k], columns.fresh[k]
            batch = PhotonBatch(columns.rays[k], columns.hits[k], paths, fresh, work.scratch, capacity)
            shade_rays(scene, task, batch, capacity, supply, work.output)


def seconds_of_one(scene: PackedScene, task: PhotonTask, work: ThreadMemory) -> float:
    """Returns the seconds to shade all batches, by the clock of the thread: the least of some rounds."""
    least = []
    for only_copy in (False, True):
        seconds = []
        for _ in range(ROUNDS + 1):
            started = time.thread_time()
            shade_all(scene, task, work, only_copy)
            seconds.append(time.thread_time() - started)
        least.append(min(seconds[1:]))
    return least[0] - least[1]


def seconds_of_many(scene: PackedScene, task: PhotonTask, works: list[ThreadMemory]) -> float:
    """Returns the seconds to shade all batches on each of several threads at a time, by the clock of the wall: the
    median of some rounds.
    """
    meeting = threading.Barrier(len(works))
    seconds: dict[bool, list[float]] = {False: [], True: []}

    def run(work: ThreadMemory) -> None:
        for only_copy in (False, True):
            shade_all(scene, task, work, only_copy)
            for _ in range(ROUNDS):
                meeting.wait()
                started = time.perf_counter()
                shade_all(scene, task, work, only_copy)
                seconds[only_copy].append(time.perf_counter() - started)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return float(np.median(seconds[False]) - np.median(seconds[True]))


def nanoseconds_per_ray(snapshot: Snapshot, threads: int) -> float:
    """Returns the nanoseconds per ray to shade a hit, store its photon, and put the next ray or a fresh photon in its
    place.
    """
    scene = pack_scene(snapshot)
    make_photons_ready(scene.bsdfs)
    task = photon_task(scene, RenderSettings(width=1, height=1), 0, min_bounces=0)
    recorded = record(snapshot, scene, task)
    works = [new_thread_memory(scene, recorded) for _ in range(threads)]
    seconds = seconds_of_one(scene, task, works[0]) if threads == 1 else seconds_of_many(scene, task, works)
    return seconds / (REPETITIONS * BATCHES * BATCH_RAYS) * 1e9
