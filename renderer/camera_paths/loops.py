"""Loops over eye paths, each run by one thread: batches of pixels are followed bounce by bounce to their end."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.camera_paths.bounce import advance_eye_paths, start_occlusion_rays
from renderer.camera_paths.paths import (
    Doubles,
    EyeBatch,
    EyeJob,
    EyePaths,
    ShadowRays,
    add_unshadowed,
    new_eye_paths,
    start_eye_paths,
)
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.vector import address, borrowed, fetch_add
from tracecore.dispatch.port import ANY_HIT, NO_OPTIONS, Port, next_batch, submit
from tracecore.rays import Ids
from tracecore.workers.pool import Worker, WorkerPool

#: What a batch's `rays` count.
CAMERA, SHADOW, BOUNCE, PURPOSES = range(4)

Longs = npt.NDArray[np.int64]


class EyeBatches(NamedTuple):
    """A thread's batches. Each has a slot for its paths, and `slots` - 1 behind it for their shadow rays.

    slots: how many slots a batch has.
    live: (batches,) int64, whether it has work.
    active: (batches,) int64, rays of paths that are being traced.
    shadows: (batches,) int64, shadow rays that are being traced.
    bounce: (batches,) int64, surfaces that its paths have left behind.
    paths: `EyePaths`, with a first axis over the batches.
    pixel, radiance, layer: of `ShadowRays`, with a first axis over the batches.
    prim_ids: (batches * slots, column) uint32, triangles that the rays hit.
    rays: (PURPOSES,) int64, rays traced so far.
    """

    slots: int
    live: Longs
    active: Longs
    shadows: Longs
    bounce: Longs
    paths: EyePaths
    pixel: npt.NDArray[np.int32]
    radiance: Doubles
    layer: npt.NDArray[np.uint8]
    prim_ids: Ids
    rays: Longs


def new_eye_batches(port: Port, batches: int, slots: int) -> EyeBatches:
    """Returns memory for batches of so many slots each."""
    rays = port.capacity
    return EyeBatches(
        slots=slots,
        live=np.zeros(batches, np.int64),
        active=np.zeros(batches, np.int64),
        shadows=np.zeros(batches, np.int64),
        bounce=np.zeros(batches, np.int64),
        paths=new_eye_paths(batches, rays),
        pixel=np.zeros((batches, (slots - 1) * rays), np.int32),
        radiance=np.zeros((batches, (slots - 1) * rays, 3)),
        layer=np.zeros((batches, (slots - 1) * rays), np.uint8),
        prim_ids=port.hits[: batches * slots, 3].view(np.uint32),
        rays=np.zeros(PURPOSES, np.int64),
    )


def take_eye_batches(worker: Worker, pool: WorkerPool, slots: int) -> EyeBatches:
    """Returns the worker's batches of so many slots, all with work."""
    batches: EyeBatches = worker.kept(("eye", slots), lambda: new_eye_batches(worker.port, pool.batches(slots), slots))
    worker.batches = batches
    batches.live[:] = 1
    batches.active[:] = batches.shadows[:] = 0
    return batches


@inlined
def take_pixels(job: EyeJob, count: int) -> npt.NDArray[np.int32]:
    """Returns the next pixels that no thread has taken, no more than `count`."""
    first = min(fetch_add(address(job.taken), count), len(job.pixels))
    return job.pixels[first : min(first + count, len(job.pixels))]


@inlined
def batch_paths(batches: EyeBatches, index: int) -> EyePaths:
    """Returns the paths of a batch."""
    paths = batches.paths
    return EyePaths(
        paths.pixel[index],
        paths.throughput[index],
        paths.pdf_solid_angle[index],
        paths.specular_only[index],
        paths.after_diffuse[index],
        paths.diffuse_depth[index],
        paths.unmapped[index],
        paths.cone[index],
    )


@inlined
def batch_at(port: Port, batches: EyeBatches, index: int) -> EyeBatch:
    """Returns a batch with the answers to its rays."""
    slot = index * batches.slots
    return EyeBatch(
        port.rays[slot],
        port.hits[slot],
        batches.prim_ids[slot],
        batch_paths(batches, index),
        batches.active[index],
        batches.bounce[index],
    )


@compiled
def run_eye_paths(job: EyeJob, port: Port, batches: EyeBatches) -> int:
    """Follow paths until no pixel is left. Returns as `next_batch` does."""
    job, port, batches = borrowed(job), borrowed(port), borrowed(batches)
    index = next_batch(port, batches.live, batches.slots)
    while index >= 0:
        if batches.active[index] == 0 and batches.shadows[index] == 0:
            start_batch(job, port, batches, index)
        else:
            advance_batch(job, port, batches, index)
        if batches.active[index] > 0:
            submit(port, index * batches.slots, batches.active[index], NO_OPTIONS)
        submit_shadows(port, index * batches.slots + 1, batches.shadows[index])
        index = next_batch(port, batches.live, batches.slots)
    return index


@inlined
def start_batch(job: EyeJob, port: Port, batches: EyeBatches, index: int) -> None:
    """Fill a batch with camera rays of the next pixels."""
    pixels = take_pixels(job, port.capacity)
    rays = port.rays[index * batches.slots]
    batches.active[index] = start_eye_paths(job.camera, job.task, job.size, pixels, rays, batch_paths(batches, index))
    batches.live[index] = batches.active[index]
    batches.bounce[index] = 0
    batches.rays[CAMERA] += batches.active[index]


@inlined
def advance_batch(job: EyeJob, port: Port, batches: EyeBatches, index: int) -> None:
    """Add what the shadow rays of a batch bring, then shade its hits."""
    first, slots = index * batches.slots, batches.slots
    rays, layer = port.rays[first + 1 : first + slots], batches.layer[index]
    shadows = ShadowRays(rays, batches.pixel[index], batches.radiance[index], layer, port.capacity)
    add_unshadowed(shadows, batches.prim_ids[first + 1 : first + slots], batches.shadows[index], job.image)
    batch = batch_at(port, batches, index)
    batches.active[index], batches.shadows[index] = advance_eye_paths(job, batch, shadows)
    batches.bounce[index] += 1
    batches.rays[BOUNCE] += batches.active[index]
    batches.rays[SHADOW] += batches.shadows[index]


@inlined
def submit_shadows(port: Port, first: int, count: int) -> None:
    """Have `count` shadow rays traced that fill slot after slot."""
    for slot in range(first, first + (count + port.capacity - 1) // port.capacity):
        submit(port, slot, min(count - (slot - first) * port.capacity, port.capacity), ANY_HIT)


@compiled
def run_occlusion(job: EyeJob, port: Port, batches: EyeBatches) -> int:
    """Trace camera rays, and from what each hits one ray that shows whether the sky is free.

    Returns as `next_batch` does.
    """
    job, port, batches = borrowed(job), borrowed(port), borrowed(batches)
    index = next_batch(port, batches.live, batches.slots)
    while index >= 0:
        if batches.shadows[index] > 0:
            paths = batch_paths(batches, index)
            rays, layer = port.rays[index : index + 1], paths.diffuse_depth  # all 0: direct light
            open_sky = ShadowRays(rays, paths.pixel, paths.throughput, layer, port.capacity)
            add_unshadowed(open_sky, batches.prim_ids[index : index + 1], batches.shadows[index], job.image)
            batches.shadows[index] = 0
        if batches.active[index] == 0:
            start_batch(job, port, batches, index)
            if batches.active[index] > 0:
                submit(port, index, batches.active[index], NO_OPTIONS)
        else:
            batches.shadows[index] = start_occlusion_rays(job, batch_at(port, batches, index))
            batches.active[index] = 0
            batches.rays[SHADOW] += batches.shadows[index]
            submit_shadows(port, index, batches.shadows[index])
        index = next_batch(port, batches.live, batches.slots)
    return index
