"""The kernel that shades eye paths: each warp has a batch of a pass, and shades it as a CPU's thread shades one."""

from typing import Any, NamedTuple

import numpy as np

from renderer.camera_paths.bounce import advance_eye_paths, batch_ahead, look_around
from renderer.camera_paths.loops import SHADOW, add_lit, start_paths
from renderer.camera_paths.paths import (
    EYE_COLUMNS,
    EYE_WORDS,
    EyeBatch,
    EyeJob,
    ShadowRays,
)
from renderer.camera_paths.task import EyeTask
from renderer.gpu.ray_rows import CAPACITY, PAD, hand_over, take_answers
from renderer.photons.irradiance import CHANNELS, IrradianceMap
from renderer.photons.lookup import PhotonLookup, PhotonParts
from renderer.photons.photon_map import Grid, PhotonMap
from renderer.photons.volume import VolumeMap
from renderer.scene.photon_scene import Records
from renderer.shading.chunks import HIT_ID
from renderer.simd.columns import WORD_BYTES, add_to, array_at, as_floats, for_lanes
from shaders.float32 import Doubles, Ints, Longs
from tracecore.compilation.cached import inlined
from tracecore.compilation.gpu_code import beside_core, warp_index
from tracecore.compilation.vector import address
from tracecore.rays import RAY_FLOATS, Floats, Ids

#: Scratch of a warp, with a word of each ray behind it by which they are sorted.
WARP_PATHS = for_lanes(EYE_COLUMNS)
SCRATCH_BYTES = WARP_PATHS.itemsize + WORD_BYTES * (CAPACITY + PAD)

#: Rows of a batch of a warp: rays and paths.
BATCH_ROWS = RAY_FLOATS + EYE_WORDS

#: Where rays begin whose hits are known already.
NOT_TRACED = -1

#: A photon map of a pass: what `PhotonMap` has, with the addresses of its arrays on the GPU, how many words lie from
#: one of its columns to the next, and the address of the irradiance that is known at its photons.
MAP = np.dtype(
    [
        ("low", "<f4", 3),
        ("shape", "<i4", 3),
        ("per_cell", "<f4"),
        ("step", "<i4"),
        ("columns", "<i8"),
        ("starts", "<i8"),
        ("cell", "<f8"),
        ("photons", "<i8"),
        ("scale", "<f8"),
        ("values", "<i8"),
    ]
)

#: The maps of a pass: of all photons, of caustics, of those straight from a light and, for a final gather, of those at
#: which irradiance is known and those that it comes from; and of those in media.
WHOLE_MAP, CAUSTIC_MAP, DIRECT_MAP, SAMPLE_MAP, OTHER_MAP, VOLUME_MAP, PASS_MAPS = range(7)


class EyeWave(NamedTuple):
    """Batches of eye paths in a GPU's memory, one for each warp. Warps are dealt out to passes.

    job: of all passes; each has a number, an image and pixels that are taken of its own, and photons.
    sequences: (passes,) int64, their numbers.
    reaches, far_reaches, beam_reaches: (passes,) float64, radii of their searches for photons, of that behind known
        irradiance (`IrradianceMap`), and of that around rays (`VolumeMap`), world units.
    maps: (passes, PASS_MAPS) MAP.
    radii, found: (passes, pixels or 0) float64 and int64, of `PhotonLookup`.
    images: (passes, width * height, columns) float64, see `EyeJob`.
    taken: (passes, 1) int64, how many of the pixels are taken.
    pixels: (n,) int32, of which passes take some.
    active, fresh: (warps,) int64, rays of each batch, and from which of them on they are the camera's.
    turns: (warps,) int64, which of two batches has the rays.
    starts: (warps, 1 + slots) int64, where those of each batch begin among all that are traced, or NOT_TRACED, and
        those of each slot.
    batches: (warps, 2, BATCH_ROWS, column) uint32, two batches: rays and paths.
    words: (warps, 4, column) uint32, hits.
    shadows: (warps, slots) int64, shadow rays of each slot.
    shadow_rays: (warps, slots, 8, column) float32.
    radiance: (warps, slots, 3, column) float32, of `ShadowRays`.
    shadow_paths: (warps, slots, SHADOW_WORDS, column) uint32, the same.
    shadow_words: (warps, slots, 4, column) uint32, what they hit.
    chunk: (1,) `WARP_PATHS`: what scratch is like, which each warp has beside its core.
    search: (warps,) WARP_SEARCH, of `EyeBatch`.
    counters: (warps, EYE_COUNTERS) int64.
    traced, answers: (warps * CAPACITY, 8) and (.., 4) float32, the rays as a launch of a kernel takes them, and their
        hits.
    shadows_traced, shadow_answers: (warps * slots * CAPACITY, 8) and (.., 4) float32, the same of shadow rays.
    to_trace: (2,) int64, how many rays there are to trace, and how many shadow rays.
    """

    job: EyeJob
    sequences: Longs
    reaches: Doubles
    far_reaches: Doubles
    beam_reaches: Doubles
    maps: Records
    radii: Doubles
    found: Longs
    images: Doubles
    taken: Longs
    pixels: Ints
    active: Longs
    fresh: Longs
    turns: Longs
    starts: Longs
    batches: Ids
    words: Ids
    shadows: Longs
    shadow_rays: Floats
    radiance: Floats
    shadow_paths: Ids
    shadow_words: Ids
    chunk: Records
    search: Records
    counters: Longs
    traced: Floats
    answers: Floats
    shadows_traced: Floats
    shadow_answers: Floats
    to_trace: Longs


def shade_eye_wave(wave: EyeWave) -> None:
    """Shade the hits of a warp's batch, and fill it up with the next pixels of its pass."""
    shade_batch(advance_eye_paths, wave)


def shade_occlusion_wave(wave: EyeWave) -> None:
    """Do the same where paths look how much of the sky is free."""
    shade_batch(look_around, wave)


@inlined
def shade_batch(advance: Any, wave: EyeWave) -> None:
    """Do what the kernels do. advance: shades the hits of a batch."""
    own, warps = warp_index(), len(wave.active)
    if own >= warps:
        return
    turn, active, counts, passes = wave.turns[own], wave.active[own], wave.shadows[own], len(wave.sequences)
    job, starts, slots = job_of(wave, own % passes), wave.starts[own], len(counts)
    here, words = wave.batches[own, turn], wave.words[own]
    rays, paths = as_floats(here[:RAY_FLOATS]), here[RAY_FLOATS : RAY_FLOATS + EYE_WORDS]
    scratch, ahead = beside_core(wave.chunk), wave.batches[own, 1 - turn]
    hits = as_floats(words)
    batch = EyeBatch(rays, hits, words[HIT_ID], paths, scratch, ahead, wave.search[own : own + 1], wave.counters[own])
    shadows = ShadowRays(wave.shadow_rays[own], wave.radiance[own], wave.shadow_paths[own], counts)
    if starts[0] != NOT_TRACED:
        take_answers(wave.answers, starts[0], active, hits)
    answers = wave.shadow_words[own]
    for slot in range(slots):
        take_answers(wave.shadow_answers, starts[1 + slot], counts[slot], as_floats(answers[slot]))
    if add_lit(job, shadows, answers) > 0:
        hand_over_shadows(wave, own, shadows, batch)  # what the paths have hit is known, and waits
        starts[0] = NOT_TRACED
        return
    kept = advance(job, batch, active, wave.fresh[own], shadows)
    fresh = start_paths(job, batch_ahead(batch), kept, CAPACITY - kept, warps // passes)
    starts[0] = hand_over(as_floats(ahead[:RAY_FLOATS]), kept + fresh, wave.traced, wave.to_trace[:1], False)
    hand_over_shadows(wave, own, shadows, batch)
    wave.active[own], wave.fresh[own], wave.turns[own] = kept + fresh, kept, 1 - turn


@inlined
def hand_over_shadows(wave: EyeWave, own: int, shadows: ShadowRays, batch: EyeBatch) -> None:
    """Have the shadow rays of a warp traced, and count them."""
    counts, starts = shadows.counts, wave.starts[own]
    for slot in range(len(counts)):
        first = hand_over(shadows.rays[slot], counts[slot], wave.shadows_traced, wave.to_trace[1:], False)
        add_to(address(batch.counters) + 8 * SHADOW, counts[slot])
        starts[1 + slot] = first


@inlined
def job_of(wave: EyeWave, own: int) -> EyeJob:
    """Returns the job of a pass."""
    job, task = wave.job, wave.job.task
    of_pass = EyeTask(
        task.seed,
        wave.sequences[own],
        task.diffuse,
        task.max_bounces,
        task.light_samples,
        wave.reaches[own],
        task.sampler,
    )
    no_groups = job.lookup.parts.groups
    parts = PhotonParts(map_of(wave, own, CAUSTIC_MAP), map_of(wave, own, DIRECT_MAP), no_groups, no_groups)
    like, samples = job.lookup.irradiance.values, map_of(wave, own, SAMPLE_MAP)
    values = like if samples.photons == 0 else array_at(like, wave.maps[own, SAMPLE_MAP].values, CHANNELS)
    known = IrradianceMap(samples, map_of(wave, own, OTHER_MAP), values, wave.far_reaches[own])
    volume = VolumeMap(map_of(wave, own, VOLUME_MAP), wave.beam_reaches[own], no_groups)
    return EyeJob(
        job.scene,
        PhotonLookup(map_of(wave, own, WHOLE_MAP), known, parts, wave.radii[own], wave.found[own], volume),
        of_pass,
        job.camera,
        job.size,
        wave.pixels,
        wave.taken[own],
        job.reach,
        wave.images[own],
    )


@inlined
def map_of(wave: EyeWave, own: int, which: int) -> PhotonMap:
    """Returns a photon map of a pass."""
    made = wave.maps[own, which]
    low, shape = made.low, made.shape
    grid = Grid((low[0], low[1], low[2]), (shape[0], shape[1], shape[2]), made.cell, made.per_cell)
    like, is_empty = wave.job.lookup.photon_map, made.photons == 0
    step = like.columns.shape[1] if is_empty else made.step
    columns = array_at(like.columns, address(like.columns) if is_empty else made.columns, step)
    starts = array_at(like.starts, address(like.starts) if is_empty else made.starts, 0)
    return PhotonMap(columns, starts, grid, made.photons, made.scale)
