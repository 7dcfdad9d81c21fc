"""Loops over eye paths, each run by one thread: where a path ends, that of another pixel begins, until none is left.

One of them adds what the eye meets first: colour, normal and distance of surfaces, as layers of a picture and to
denoise by.
"""

from typing import Any, NamedTuple

import numpy as np

from renderer.camera_paths.bounce import advance_eye_paths, look_around, places_of
from renderer.camera_paths.camera_rays import start_eye_paths
from renderer.camera_paths.media import absorb_shadow_rays, pass_sheets
from renderer.camera_paths.paths import (
    EYE_COLUMNS,
    EYE_MEDIA,
    EYE_PIXEL,
    EYE_WORDS,
    LOOKUP_NANOSECONDS,
    SHADOW_WORDS,
    SPARE_ROWS,
    EyeBatch,
    EyeJob,
    ShadowRays,
    add_unshadowed,
)
from renderer.camera_paths.vertices import look_at_surfaces, pick_vertices, rules_of
from renderer.film.layers import (
    LAYER_ALBEDO,
    LAYER_DEPTH,
    LAYER_LOOKED,
    LAYER_NORMAL,
    LAYER_SEEN,
    add_color,
)
from renderer.photons.searching import SEARCH_COLUMNS
from renderer.scene.photon_scene import HAS_MEDIA, SHEET, Records
from renderer.shading.chunks import HIT_ID, Long, View
from renderer.shading.queues import Queue, Walk, shade_queues
from renderer.shading.scattering import ALBEDO
from renderer.simd.bsdf_kinds import call_at
from renderer.simd.columns import WORD_BYTES, add_to, column, put
from renderer.simd.loops import each_ray
from shaders.float32 import ONE, Longs
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.vector import address, fetch_add, load_acquire
from tracecore.dispatch.port import ANY_HIT, NO_OPTIONS, Port, next_batch, submit
from tracecore.rays import Floats, Ids
from tracecore.workers.pool import Worker, Workers

#: What a batch's `counters` count, beside LOOKUP_NANOSECONDS.
CAMERA, SHADOW, BOUNCE = range(3)
EYE_COUNTERS = LOOKUP_NANOSECONDS + 1

#: A thread takes this share of its part of the pixels that are left, and no fewer than so many: what is left to the end
#: is little, so that all threads have some.
SHARE, LEAST_PIXELS = 2, 256

#: So many passes are enough: features have little noise.
FEATURE_PASSES = 16


class EyeBatches(NamedTuple):
    """A thread's batches. Each has a slot for its paths, and `slots` - 1 behind it for their shadow rays.

    slots: how many slots a batch has.
    threads: among how many the pixels are shared out.
    live: (batches,) int64, whether it has work.
    active: (batches,) int64, rays of paths that are being traced.
    fresh: (batches,) int64, from which of them on they are the camera's.
    shadows: (batches, slots - 1) int64, shadow rays that are being traced.
    paths: (batches, EYE_WORDS, column) uint32, see `EyeBatch`.
    radiance: (batches, slots - 1, 3, column) float32, of `ShadowRays`.
    shadow_paths: (batches, slots - 1, SHADOW_WORDS, column) uint32, of `ShadowRays`.
    words: (slots of the port, 4, column) uint32, the hits as words, of which the last one says what was hit.
    counters: (EYE_COUNTERS,) int64, rays traced so far, and the nanoseconds of looking up photons.
    scratch: (1,) EYE_COLUMNS.
    spare: (SPARE_ROWS, column) uint32, of `EyeBatch`.
    search: (1,) SEARCH_COLUMNS.
    """

    slots: int
    threads: int
    live: Longs
    active: Longs
    fresh: Longs
    shadows: Longs
    paths: Ids
    radiance: Floats
    shadow_paths: Ids
    words: Ids
    counters: Longs
    scratch: Records
    spare: Ids
    search: Records


def new_eye_batches(port: Port, batches: int, slots: int, threads: int) -> EyeBatches:
    """Returns memory for batches of so many slots each."""
    column = port.rays.shape[2]
    return EyeBatches(
        slots=slots,
        threads=threads,
        live=np.zeros(batches, np.int64),
        active=np.zeros(batches, np.int64),
        fresh=np.zeros(batches, np.int64),
        shadows=np.zeros((batches, slots - 1), np.int64),
        paths=np.zeros((batches, EYE_WORDS, column), np.uint32),
        radiance=np.zeros((batches, slots - 1, 3, column), np.float32),
        shadow_paths=np.zeros((batches, slots - 1, SHADOW_WORDS, column), np.uint32),
        words=port.hits.view(np.uint32),
        counters=np.zeros(EYE_COUNTERS, np.int64),
        scratch=np.zeros(1, EYE_COLUMNS),
        spare=np.zeros((SPARE_ROWS, column), np.uint32),
        search=np.zeros(1, SEARCH_COLUMNS),
    )


def take_eye_batches(worker: Worker, workers: Workers, slots: int) -> EyeBatches:
    """Returns the worker's batches of so many slots, all with work, and no ray traced yet.

    workers: among whom the pixels are shared out.
    """
    batches: EyeBatches = worker.kept(
        ("eye", slots), lambda: new_eye_batches(worker.port, workers.batches(slots), slots, 1)
    )
    worker.batches = batches
    batches.live[:] = 1
    batches.active[:] = batches.fresh[:] = 0
    batches.shadows[:] = 0
    return batches._replace(threads=workers.threads, counters=np.zeros(EYE_COUNTERS, np.int64))


@inlined
def take_pixels(job: EyeJob, room: int, threads: int) -> tuple[int, int]:
    """Take pixels that no thread has taken, no more than there is room for.

    Returns the address of the first one, and how many they are.
    """
    left: int = len(job.pixels) - Long(load_acquire(address(job.taken)))
    count: int = min(room, max(left // (SHARE * threads), LEAST_PIXELS))
    if left <= 0 or count <= 0:
        return address(job.pixels), 0
    first = fetch_add(address(job.taken), count)
    return address(job.pixels) + WORD_BYTES * first, max(0, min(count, len(job.pixels) - first))


@inlined
def batch_at(port: Port, batches: EyeBatches, index: int) -> EyeBatch:
    """Returns a batch with the answers to its rays."""
    slot = index * batches.slots
    prim_ids, paths = batches.words[slot, HIT_ID], batches.paths[index]
    rays, hits = port.rays[slot], port.hits[slot]
    return EyeBatch(rays, hits, prim_ids, paths, batches.scratch, batches.spare, batches.search, batches.counters)


@inlined
def shadows_at(port: Port, batches: EyeBatches, index: int) -> ShadowRays:
    """Returns the shadow rays of a batch."""
    first, slots = index * batches.slots, batches.slots
    return ShadowRays(
        port.rays[first + 1 : first + slots],
        batches.radiance[index],
        batches.shadow_paths[index],
        batches.shadows[index],
    )


@inlined
def start_paths(job: EyeJob, batch: EyeBatch, kept: int, room: int, threads: int) -> int:
    """Write camera rays of the next pixels behind the `kept` rays of paths that go on, and count both.

    batch: where they go.
    room: for so many.
    threads: among how many the pixels are shared out.
    Returns how many there are.
    """
    pixels = take_pixels(job, room, threads)
    start_eye_paths(job.camera, job.task, job.size, pixels, batch, kept)
    if job.scene.photon_scene.flags & HAS_MEDIA:
        media = address(batch.paths) + WORD_BYTES * (EYE_MEDIA * batch.paths.shape[1] + kept)
        each_ray(enter_medium, pixels[1], (media, job.scene.photon_scene.media.eye))
    add_to(address(batch.counters) + 8 * BOUNCE, kept)
    add_to(address(batch.counters) + 8 * CAMERA, pixels[1])
    return pixels[1]


@inlined
def enter_medium(i: int, data: tuple[int, np.uint32]) -> None:
    """Write the stack of media that a path begins in. data: address of the column, and the stack."""
    put(data[0], i, data[1])


@inlined
def fill_batch(job: EyeJob, port: Port, batches: EyeBatches, index: int, kept: int) -> None:
    """Have a batch traced: the `kept` rays of paths that go on, and behind them camera rays of the next pixels."""
    fresh = start_paths(job, batch_at(port, batches, index), kept, port.capacity - kept, batches.threads)
    batches.fresh[index], batches.active[index] = kept, kept + fresh
    batches.live[index] = batches.active[index]
    if batches.active[index] > 0:
        submit(port, index * batches.slots, batches.active[index], NO_OPTIONS)


@compiled
def run_eye_paths(job: EyeJob, port: Port, batches: EyeBatches) -> int:
    """Follow paths until no pixel is left. Returns as `next_batch` does."""
    return run_batches(advance_eye_paths, borrowed(job), borrowed(port), borrowed(batches))


@compiled
def run_occlusion(job: EyeJob, port: Port, batches: EyeBatches) -> int:
    """Look how much of the sky is free from where camera rays end. Returns as `next_batch` does."""
    return run_batches(look_around, borrowed(job), borrowed(port), borrowed(batches))


@inlined
def run_batches(advance: Any, job: EyeJob, port: Port, batches: EyeBatches) -> int:
    """Trace and shade batches until no pixel is left. Returns as `next_batch` does. advance: shades their hits."""
    index = next_batch(port, batches.live, batches.slots)
    while index >= 0:
        advance_batch(advance, job, port, batches, index)
        index = next_batch(port, batches.live, batches.slots)
    return index


@inlined
def advance_batch(advance: Any, job: EyeJob, port: Port, batches: EyeBatches, index: int) -> None:
    """Add what the shadow rays of a batch bring, shade its hits, and have the next rays traced."""
    first, batch, shadows = index * batches.slots, batch_at(port, batches, index), shadows_at(port, batches, index)
    if add_lit(job, shadows, batches.words[first + 1 : first + batches.slots]) > 0:
        submit_shadows(port, batches, index, NO_OPTIONS)  # the hits of the paths wait in their slot
        return
    kept = advance(job, batch, batches.active[index], batches.fresh[index], shadows)
    fill_batch(job, port, batches, index, kept)
    submit_shadows(port, batches, index, NO_OPTIONS if job.scene.photon_scene.flags & SHEET else ANY_HIT)


@inlined
def add_lit(job: EyeJob, shadows: ShadowRays, answers: Ids) -> int:
    """Add what shadow rays bring. Returns how many of them go on, behind sheets.

    answers: (slots, 4, column) uint32.
    """
    if job.scene.photon_scene.flags & HAS_MEDIA:
        absorb_shadow_rays(job.scene.photon_scene.media, shadows, answers)
    if job.scene.photon_scene.flags & SHEET:
        return pass_sheets(job.scene, shadows, answers, job.image)
    add_unshadowed(shadows, answers, job.image)
    return 0


@inlined
def submit_shadows(port: Port, batches: EyeBatches, index: int, options: int) -> None:
    """Have the shadow rays of a batch traced."""
    for k in range(batches.slots - 1):
        count = batches.shadows[index, k]
        if count > 0:
            submit(port, index * batches.slots + 1 + k, count, options)
            batches.counters[SHADOW] += count
            batches.live[index] = 1


@inlined
def add_features_of(queue: Queue, view: View, rays: tuple[int, int], job: EyeJob) -> tuple[int, int]:
    """Add the features of the hits of a queue among some rays, as `shade_queues` says; no path goes on."""
    chunk, image, table = view.chunk, job.image, job.scene.bsdfs
    hits, looked = pick_vertices(queue, view, rays[1])
    if hits == 0:
        return looked, 0
    look_at_surfaces(job.scene, queue, view, hits)
    shown = (chunk, hits, rules_of(job.task, 0.0), address(table.tables))
    call_at(table.loops[queue.bsdf, ALBEDO], ALBEDO, shown)
    for i in range(hits):
        pixel, color = Long(chunk.pixel[i]), column(chunk.weight, i)
        add_color(image, pixel, LAYER_ALBEDO, (min(color[0], ONE), min(color[1], ONE), min(color[2], ONE)))
        add_color(image, pixel, LAYER_NORMAL, column(chunk.shading, i))
        image[pixel, LAYER_DEPTH] += chunk.distance[i]
        image[pixel, LAYER_SEEN] += 1.0
    return looked, 0


@compiled
def run_features(job: EyeJob, port: Port, batches: EyeBatches) -> int:
    """Trace camera rays and add features until no pixel is left. Returns as `next_batch` does."""
    job, port, batches = borrowed(job), borrowed(port), borrowed(batches)
    index = next_batch(port, batches.live, batches.slots)
    while index >= 0:
        batch, active = batch_at(port, batches, index), batches.active[index]
        for i in range(active):
            job.image[Long(batch.paths[EYE_PIXEL, i]), LAYER_LOOKED] += 1.0
        shade_queues(add_features_of, job, Walk(job.scene, places_of(batch), batch.scratch[0], active, active))
        fill_batch(job, port, batches, index, 0)
        index = next_batch(port, batches.live, batches.slots)
    return index
