"""One bounce of paths from the eye: the light that their vertices send back, and their next directions.

As photons (`renderer.photons.shading`), paths are columns, which small loops read chunk by chunk into columns of
scratch. What only some have is packed side by side: rays that hit something, shadow rays that carry something, paths
that go on. What few vertices need goes through lists of their indices: bent normals, textures, lobes beside the diffuse
one, the loops of each BSDF (`listed`), and lamps (`met_light`). All is decided by a path's pixel and depth: the thread,
the batch and the index in it change no bit.
"""

from typing import Any

import numpy as np

from renderer.camera_paths.lighting import add_shadow_rays
from renderer.camera_paths.media import absorb_throughput, keep_eye_media
from renderer.camera_paths.met_light import add_glow, add_light_from_outside
from renderer.camera_paths.paths import (
    DEPTH_MASK,
    EYE_PIXEL,
    LOOKUP_NANOSECONDS,
    EyeBatch,
    EyeChunk,
    EyeJob,
    Long,
    ShadowRays,
    limit_ray,
)
from renderer.camera_paths.photon_light import add_photon_light
from renderer.camera_paths.sampler import draw
from renderer.camera_paths.scattering import diffuse_direction, keep_paths, scatter
from renderer.camera_paths.vertices import Rules, Vertices, look_at_surfaces, pick_vertices, prepare, rules_of
from renderer.film.layers import DIRECT_LIGHT, add_radiance
from renderer.photons.batch import RAY_DIRECTION
from renderer.photons.chunk_views import ALL_BITS, View
from renderer.photons.media import go_through_borders, look_at_borders
from renderer.scene.media import tables_of
from renderer.scene.packed_scene import PackedScene
from renderer.scene.photon_scene import GLOWS, HAS_MEDIA, LISTED, MIXED
from renderer.shading.listed import SHOW, are_listed, for_each_bsdf
from renderer.shading.look import take_index
from renderer.simd.columns import (
    WORD_BYTES,
    column,
    column_of,
    each,
    list_indices,
    pack_columns,
    set_column,
    three,
    whole,
)
from shaders.float32 import ZERO, Float32
from shaders.random import STREAM_SCATTER
from shaders.vector import along, dot, largest
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.clock import nanoseconds
from tracecore.compilation.vector import address
from tracecore.rays import MISS


@compiled
def advance_eye_paths(job: EyeJob, batch: EyeBatch, active: int, fresh: int, shadows: ShadowRays) -> int:
    """Shade the hits of a batch: the rendering equation, one bounce of it.

    What a vertex sends to the eye is the light that it emits, the light that shadow rays bring it, the light that
    photons bring it, and what comes from the next direction. (Kajiya: The Rendering Equation, 1986.)

    job: the pass; its image is added to.
    batch: the paths that go on lie in its first columns then, with their rays.
    active: how many rays there are.
    fresh: from which one on they are the camera's.
    shadows: added to.
    Returns how many paths go on.
    """
    job, batch, shadows = borrowed(job), borrowed(batch), borrowed(shadows)
    rules = rules_of(job.task, job.lookup.irradiance.radius)
    first, kept = Long(0), Long(0)
    ahead = min(active, whole(fresh))  # paths that go on are written by whole vectors: they must not reach behind it
    while first < active:
        span = (first, (ahead if first < ahead else active) - first, kept)
        done, going = advance_chunk(job, rules, batch, span, shadows)
        first, kept = first + done, kept + going
    return kept


@inlined
def advance_chunk(
    job: EyeJob, rules: Rules, batch: EyeBatch, span: tuple[int, int, int], shadows: ShadowRays
) -> tuple[int, int]:
    """Shade the hits of the first rays of a span, as many as a chunk has room for.

    span: index of its first ray, how many they are, and how many paths of the batch go on before them.
    Returns how many rays were looked at, and how many paths of them go on.
    """
    first, count, kept = span
    view = View(*places_of(job.scene, batch, first, kept), batch.scratch[0])  # type: ignore[call-arg]  # mypy takes a tuple for endless
    flags = job.scene.photon_scene.flags
    chunk = view.chunk
    hits, rays = pick_vertices(view, count)
    if hits < rays and (len(job.scene.lights.outer) > 0 or largest(job.scene.background) > 0.0):
        add_light_from_outside(job, batch, first, rays)
    if hits == 0:
        return rays, 0
    counts = (hits, (chunk.state[hits - 1] & DEPTH_MASK) == np.uint32(0))
    look_at_surfaces(job.scene, view, hits)
    vertices = Vertices(chunk, view, rules, are_listed(flags, chunk, hits))
    media = tables_of(job.scene.photon_scene.media)
    if flags & HAS_MEDIA:
        absorb_throughput(view, (hits, rays), media)
        look_at_borders(chunk, hits, media)
    if flags & LISTED:
        if flags & HAS_MEDIA:
            each(take_index, whole(hits), chunk)
        if rules.asks:
            for_each_bsdf(job.scene.bsdfs, SHOW, chunk, hits, (rules, address(job.scene.bsdfs.tables)))
    prepare(flags, vertices, hits)
    add_shadow_rays(job.scene, job.task, vertices, counts, shadows)
    goes_on = rules.follow > ZERO or (flags & MIXED) != 0
    if goes_on:
        scatter(job.scene, job.task, vertices, counts)
    if flags & GLOWS:
        add_glow(job, chunk, list_indices(address(chunk.kind), (GLOWS, GLOWS), hits, address(chunk.rare)))
    if rules.asks:
        start = nanoseconds()
        add_photon_light(job, chunk, batch.search[0], hits, shadows)
        batch.counters[LOOKUP_NANOSECONDS] += nanoseconds() - start
    if goes_on and flags & HAS_MEDIA:
        go_through_borders(chunk, hits, media)
        keep_eye_media(view, hits)
    return rays, keep_paths(view, hits) if goes_on else 0


@inlined
def places_of(scene: PackedScene, batch: EyeBatch, first: int, kept: int) -> Any:
    """Returns the addresses of a `View` of a chunk of a batch's rays, from the first one on. kept: how many paths go on
    before them."""
    return (
        address(batch.rays) + WORD_BYTES * first,
        address(batch.hits) + WORD_BYTES * first,
        address(batch.paths) + WORD_BYTES * first,
        address(batch.rays) + WORD_BYTES * kept,
        address(batch.paths) + WORD_BYTES * kept,
        WORD_BYTES * batch.rays.shape[1],
        0,
        address(scene.photon_scene.materials),
        address(scene.surfaces.normals),
        address(scene.photon_scene.texels),
        address(scene.photon_scene.decoded),
    )


@compiled
def start_occlusion_rays(job: EyeJob, batch: EyeBatch, active: int) -> int:
    """Turn the hits of camera rays into occlusion rays, spread by the cosine, in place; a miss is lit.

    job: the pass; its image is added to, and its reach is how far the occlusion rays go.
    batch: camera rays and what they hit.
    active: how many they are.
    Returns how many rays there are then.
    """
    job, batch = borrowed(job), borrowed(batch)
    first, kept = Long(0), Long(0)
    while first < active:
        view = View(*places_of(job.scene, batch, first, kept), batch.scratch[0])  # type: ignore[call-arg]  # mypy takes a tuple for endless
        hits, rays = pick_vertices(view, active - first)
        for row in range(first, first + rays):
            if batch.prim_ids[row] == MISS:
                pixel = Long(batch.paths[EYE_PIXEL, row])
                add_radiance(job.image, pixel, (1.0, 1.0, 1.0), DIRECT_LIGHT)
        first += rays
        if hits > 0:
            look_at_surfaces(job.scene, view, hits)
            draw(job.task, view.chunk, hits, True, (STREAM_SCATTER, 1, 0))
            each(look_about, whole(hits), view.chunk)
            kept += keep_occlusion_rays(view, hits, Float32(job.reach))
    return kept


@inlined
def look_about(i: int, chunk: EyeChunk) -> None:
    """Write the occlusion ray of a vertex, spread by the cosine about its shading normal."""
    normal, direction = column(chunk.normal, i), diffuse_direction(i, chunk)
    set_column(chunk.wi, i, direction)
    set_column(chunk.start, i, along(column(chunk.position, i), normal, chunk.clearance[i]))
    chunk.goes[i] = ALL_BITS if dot(direction, normal) > ZERO else np.uint32(0)


@inlined
def keep_occlusion_rays(view: View, hits: int, reach: float) -> int:
    """Move the occlusion rays of a chunk behind those before. Returns how many they are. reach: how far they go."""
    chunk, step, rays = view.chunk, view.step, view.kept_rays
    sources = column_of(chunk.start) + column_of(chunk.wi) + (address(chunk.pixel),)
    targets = three(rays, step) + three(rays + RAY_DIRECTION * step, step) + (view.kept_paths + EYE_PIXEL * step,)
    kept = pack_columns(address(chunk.goes), (ALL_BITS, ALL_BITS), hits, sources, targets)
    each(limit_ray, whole(kept), (rays + 3 * step, rays + 7 * step, reach))
    return kept
