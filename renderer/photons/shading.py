"""Shading photons: a batch of hits becomes stored photons and the next rays.

Rays, hits and paths are columns. Small loops read them chunk by chunk into columns of scratch, which stay in the cache
next to the core, and compile to vector instructions. What only some have is packed side by side for the next loop:
rays that hit something, hits that leave a photon, paths that go on. What few hits need (bent normals, textures, lobes
beside the diffuse one) goes through lists of indices.

Paths that go on move to the front of the batch; fresh photons follow, so that a batch stays full until no photon is
left. Their indices follow one another, nothing has happened to them yet, and where there is one light they all carry
the same flux: they need no columns of paths until they have met something. All is decided by a photon's index and
bounce: the thread, the batch and the index in it change no bit.
"""

import numpy as np
import numpy.typing as npt
from numba import types

from renderer.photons.batch import (
    Chunk,
    PhotonBatch,
    PhotonTask,
)
from renderer.photons.chunk_views import (
    MOST_BOUNCES,
    RECORD_BYTES,
    TEXTURE_BYTES,
    WAITING_STEP,
    Landing,
    Limits,
    Shading,
    Span,
    View,
)
from renderer.photons.emission import is_all_alike, launch, only_light
from renderer.photons.gathering_hits import (
    ask_for_normals,
    ask_for_rows,
    gather_records,
    gather_textures,
    pick_fresh,
    pick_hits,
)
from renderer.photons.keeping import add_fates, keep_paths, keep_photons
from renderer.photons.landing import (
    bend_normal,
    bounce,
    bounce_first,
    correct_photon,
    draw_numbers,
    draw_texel,
    land,
    paint,
    stay_diffuse,
)
from renderer.photons.media import absorb_flux, go_through_borders, keep_media, look_at_borders, weigh_absorption
from renderer.photons.photon_map import PHOTON_FLUX
from renderer.photons.scattering import bend_flux, decide, end_path, end_spread, scatter_mixed
from renderer.photons.store import (
    PHOTON_RAYS,
    PHOTONS_AIMED,
    PHOTONS_EMITTED,
    PHOTONS_ESCAPED,
    PhotonOutput,
)
from renderer.scene.media import tables_of
from renderer.scene.packed_scene import PackedScene
from renderer.scene.photon_scene import (
    BENT,
    HAS_MEDIA,
    LISTED,
    MIXED,
    TEXTURED,
    PhotonScene,
)
from renderer.shading.listed import PHOTON_AT_POINT, PHOTONS, are_listed, for_each_bsdf
from renderer.shading.look import look_at_listed, take_index
from renderer.simd.columns import (
    WORD_BYTES,
    each,
    list_indices,
    whole,
)
from shaders.float32 import ZERO
from shaders.random import STREAM_PHOTON, hash_key
from shaders.vector import Vec3
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address, fetch_add, load_acquire


def needs_uv(scene: PackedScene) -> bool:
    """Returns whether shading reads u and v of hits."""
    return bool(scene.photon_scene.flags & (TEXTURED | BENT | LISTED))


@compiled
def shade_batch(
    scene: PackedScene,
    task: PhotonTask,
    batch: PhotonBatch,
    active: int,
    supply: npt.NDArray[np.int64],
    output: PhotonOutput,
) -> int:
    """Does the same as `shade_rays`, by the same machine code, for what Python passes in."""
    scratch = borrowed(batch.scratch)
    batch = PhotonBatch(batch.rays, batch.hits, batch.paths, batch.fresh, scratch, batch.capacity)
    return shade_rays(borrowed(scene), borrowed(task), batch, active, supply, borrowed(output))


@unit(types.int64)
def shade_rays(
    scene: PackedScene,
    task: PhotonTask,
    batch: PhotonBatch,
    active: int,
    supply: npt.NDArray[np.int64],
    output: PhotonOutput,
) -> int:
    """Shade the hits of the first `active` rays, and fill the batch up with fresh photons. All named tuples but the
    batch are borrowed.

    supply: (2,) next photon to start and the end of them, shared by threads; moved on, maybe beyond the end. output:
    with room for `active` more photons. Returns how many rays there are to trace now.
    """
    limits = Limits(
        np.int32(task.min_bounces),
        np.int32(min(task.max_bounces, MOST_BOUNCES)),
        hash_key(task.seed, task.sequence, STREAM_PHOTON),
        task.only_caustics,
        task.is_corrected,
    )
    shading, flux = shading_of(scene, limits), fresh_flux(scene.photon_scene, task)
    first, kept = 0, 0
    while first < active:
        span = span_at(batch, (first, active, kept), shading.is_alike, flux)
        done, going = shade_chunk(scene, shading, batch, span, output)
        first, kept = first + done, kept + going
    photon, fresh = take(supply, batch.capacity - kept)
    output.counters[PHOTONS_AIMED] += launch(scene.photon_scene, task, batch, (kept, photon, fresh))
    rays = kept + fresh
    output.counters[PHOTONS_EMITTED] += fresh
    output.counters[PHOTON_RAYS] += rays
    return rays


@inlined
def shading_of(scene: PackedScene, limits: Limits) -> Shading:
    """Returns how a batch is shaded."""
    return Shading(
        flags=scene.photon_scene.flags,
        is_alike=is_all_alike(scene.photon_scene),
        records=address(scene.photon_scene.records),
        materials=address(scene.photon_scene.materials),
        normals=address(scene.surfaces.normals),
        textures=address(scene.photon_scene.textures),
        texels=address(scene.photon_scene.texels),
        decoded=address(scene.photon_scene.decoded),
        limits=limits,
        media=tables_of(scene.photon_scene.media),
    )


@inlined
def fresh_flux(scene: PhotonScene, task: PhotonTask) -> Vec3:
    """Returns the flux of fresh photons, where all carry the same; else nothing."""
    return only_light(scene, task).flux if is_all_alike(scene) else (ZERO, ZERO, ZERO)


@inlined
def span_at(batch: PhotonBatch, indices: tuple[int, int, int], is_alike: bool, flux: Vec3) -> Span:
    """Returns the rays to shade next: those of paths that go on, or fresh ones.

    indices: of the first one, behind the last one of all, and of the next path kept.
    is_alike: whether all fresh photons carry the same flux.
    flux: what they carry then.
    """
    first, active, kept = indices
    fresh, photon = batch.fresh[0], batch.fresh[1] + first - batch.fresh[0]
    is_fresh = first >= fresh
    count = (active if is_fresh else min(active, fresh)) - first
    return Span(first, count, kept, is_fresh, is_fresh and is_alike, photon, flux)


@inlined
def take(supply: npt.NDArray[np.int64], wanted: int) -> tuple[int, int]:
    """Take photons from what threads share. Returns the first one's index, and how many they are."""
    end = supply[1]
    if wanted == 0 or np.int64(load_acquire(address(supply))) >= end:
        return end, 0
    photon = fetch_add(address(supply), wanted)
    return photon, max(0, min(wanted, end - photon))


@compiled
def shade_chunk(
    scene: PackedScene, shading: Shading, batch: PhotonBatch, span: Span, output: PhotonOutput
) -> tuple[int, int]:
    """Shade the hits of the first rays of a span, as many as a chunk has room for. Returns how many rays these are, and
    how many paths of them go on."""
    view = View(
        rays=address(batch.rays) + 4 * span.first,
        hits=address(batch.hits) + 4 * span.first,
        paths=address(batch.paths) + 4 * span.first,
        kept_rays=address(batch.rays) + 4 * span.kept,
        kept_paths=address(batch.paths) + 4 * span.kept,
        step=4 * batch.rays.shape[1],
        photons=address(output.waiting) + 4 * output.waits[0],
        materials=shading.materials,
        normals=shading.normals,
        texels=shading.texels,
        decoded=shading.decoded,
        chunk=batch.scratch.chunk[0],
    )
    hits, rays = pick_fresh(shading.flags, view, span) if span.is_fresh else pick_hits(shading.flags, view, span.rays)
    landing = Landing(view.chunk, shading.limits, view.photons, span.flux)
    if shading.flags & HAS_MEDIA:
        absorb_flux(view, (hits, rays), shading.media)
    if shading.flags & (TEXTURED | BENT | MIXED):
        shade_all_lobes(scene, shading, view, hits, landing)
    else:
        gather_records(shading.flags, shading.records, view.chunk, hits)
        shade_flat(hits, span.is_alike, landing)
    if shading.limits.only_caustics and not shading.flags & MIXED:
        each(end_path, whole(hits), view.chunk)
    return rays, keep_chunk(shading.flags, view, (hits, rays), output)


@inlined
def shade_flat(hits: int, is_alike: bool, landing: Landing) -> None:
    """Shade hits where all surfaces are flat, diffuse and of one colour each."""
    if is_alike:
        each(bounce_first, whole(hits), landing)
    else:
        each(bounce, whole(hits), landing)


@inlined
def keep_chunk(flags: np.uint32, view: View, counts: tuple[int, int], output: PhotonOutput) -> int:
    """Keep photons and paths of a chunk, and count what became of its rays. counts: hits and rays. Returns how many
    paths go on."""
    hits, rays = counts
    output.counters[PHOTONS_ESCAPED] += rays - hits
    keep_photons(view, hits, output)
    add_fates(hits, view.chunk, output)
    if flags & HAS_MEDIA:
        keep_media(view, hits)
    return keep_paths(flags, view, hits)


@inlined
def gather_all(shading: Shading, view: View, hits: int, landing: Landing) -> int:
    """Gather what tables have of the hits, draw their random numbers and texels, and list those with bent normals.
    Returns how many these are.

    Tables are asked for what is needed next but one: in between, loops need nothing that might be far away.
    """
    flags, chunk = shading.flags, view.chunk
    ask_for_rows(shading.records, RECORD_BYTES, address(chunk.triangle), hits)
    if flags & TEXTURED:
        ask_for_rows(shading.textures, TEXTURE_BYTES, address(chunk.triangle), hits)
    each(draw_numbers, whole(hits), landing)
    gather_records(flags, shading.records, chunk, hits)
    bent = list_indices(address(chunk.kind), (BENT, BENT), hits, address(chunk.bent)) if flags & BENT else 0
    ask_for_normals(bent, view)
    if flags & TEXTURED:
        gather_textures(shading.textures, chunk, hits)
        each(draw_texel, whole(hits), chunk)
        ask_for_rows(view.texels, WORD_BYTES, address(chunk.texel), hits)
    return bent


@inlined
def look_closely(i: int, chunk: Chunk) -> None:
    """Have a photon look at the finest images of textures."""
    chunk.width[i] = ZERO


@unit(types.none)
def shade_all_lobes(scene: PackedScene, shading: Shading, view: View, hits: int, landing: Landing) -> None:
    """Shade hits where some are not on flat, diffuse surfaces of one colour each."""
    flags, chunk = shading.flags, view.chunk
    bent = gather_all(shading, view, hits, landing)
    each(land, whole(hits), landing)
    if flags & TEXTURED:
        each(paint, whole(hits), view)
    if not flags & MIXED:
        each(stay_diffuse, whole(hits), chunk)
    if flags & (BENT | MIXED):
        each(bend_normal, whole(bent), view)
        if landing.limits.is_corrected:
            each(correct_photon, whole(bent), view)
        if flags & HAS_MEDIA:
            look_at_borders(chunk, hits, shading.media)
        if flags & MIXED and not are_listed(flags, chunk, hits):
            scatter_mixed(flags, hits, view)
        if flags & LISTED:
            each(look_closely, whole(hits), chunk)
            look_at_listed(scene, PHOTON_AT_POINT, chunk, hits)
            if flags & HAS_MEDIA:
                each(take_index, whole(hits), chunk)
            fluxes = view.photons + PHOTON_FLUX * WAITING_STEP
            more = (fluxes, landing.limits.is_corrected, address(scene.bsdfs.tables))
            for_each_bsdf(scene.bsdfs, PHOTONS, chunk, hits, more)
        each(bend_flux, whole(bent), view)
    if landing.limits.only_caustics and flags & MIXED:
        each(end_spread, whole(hits), chunk)
    if flags & HAS_MEDIA:
        each(weigh_absorption, whole(hits), chunk)
        go_through_borders(chunk, hits, shading.media)
    each(decide, whole(hits), landing)
