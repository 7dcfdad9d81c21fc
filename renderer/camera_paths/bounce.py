"""One bounce of paths from the eye: the light that their vertices send back, and their next directions.

As photons (`renderer.photons.shading`), paths are columns, which small loops read chunk by chunk into columns of
scratch. All vertices of a chunk have the same BSDF (`renderer.shading.queues`). What only some have is packed side by
side: rays that hit something, shadow rays that carry something, paths that go on. What few vertices need goes through
lists of their indices: bent normals, textures, maps, and lamps (`met_light`). All is decided by a path's pixel and
depth: the thread, the batch and the index in it change no bit.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="no-untyped-call"

from typing import NamedTuple

import numba
import numpy as np
from numba import types

from renderer.camera_paths.lighting import add_shadow_rays, light_vertices
from renderer.camera_paths.media import absorb_throughput, keep_eye_media
from renderer.camera_paths.met_light import add_glow, add_light_from_outside
from renderer.camera_paths.paths import (
    DEPTH_MASK,
    EYE_COLUMNS,
    EYE_PIXEL,
    EYE_WORDS,
    LOOKUP_NANOSECONDS,
    EyeBatch,
    EyeChunk,
    EyeJob,
    ShadowRays,
    limit_ray,
)
from renderer.camera_paths.photon_light import add_photon_light
from renderer.camera_paths.sampler import draw
from renderer.camera_paths.scattering import keep_paths, scatter_paths
from renderer.camera_paths.task import FOLLOW, NOTHING
from renderer.camera_paths.vertices import (
    Rules,
    Vertices,
    follow_bases,
    follow_first_bases,
    look_at_surfaces,
    pick_vertices,
    rules_of,
    show_albedos,
    show_bases,
)
from renderer.film.layers import DIRECT_LIGHT, add_radiance
from renderer.photons.media import go_through_borders, look_at_borders
from renderer.scene.materials import BsdfTable
from renderer.scene.media import tables_of
from renderer.scene.photon_scene import BENT, GLOWS, HAS_MEDIA, MAPPED, MIXED
from renderer.shading.chunks import ALL_BITS, MISS_BIT, NO_BITS, RAY_DIRECTION, Long, View
from renderer.shading.queues import Places, Queue, Walk, shade_queue, shade_queues, triangles_of
from renderer.shading.scattering import ALBEDO, AT_POINT, LIGHT, SCATTER, SHOW, make_shaders_ready
from renderer.simd.bsdf_kinds import call_at, make_ready
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
from shaders.float32 import INFINITY, ZERO, Float32
from shaders.random import STREAM_SCATTER, unit32
from shaders.sampling import lambertian
from shaders.vector import along, dot, largest
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.clock import nanoseconds
from tracecore.compilation.vector import address
from tracecore.rays import MISS


class Bounce(NamedTuple):
    """What a bounce of eye paths needs, and what it adds to: the image of the job, the counters of the batch's thread,
    and shadow rays to trace.
    """

    job: EyeJob
    rules: Rules
    batch: EyeBatch
    shadows: ShadowRays


@compiled
def advance_eye_paths(job: EyeJob, batch: EyeBatch, active: int, fresh: int, shadows: ShadowRays) -> int:
    """Shade the hits of a batch, BSDF by BSDF: the rendering equation, one bounce of it.

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
    bounce = Bounce(job, rules_of(job.task, job.lookup.irradiance.radius), batch, shadows)
    if len(job.scene.lights.outer) > 0 or largest(job.scene.background) > 0.0:
        add_light_from_outside(job, batch, active)
    border = min(active, whole(fresh))  # paths that go on are written by whole vectors: they must not reach behind it
    kept = shade_queues(advance_chunk, bounce, Walk(job.scene, places_of(batch), batch.scratch[0], active, border))
    each(limit_ray, whole(kept), (address(batch.rays[3]), address(batch.rays[7]), INFINITY))
    return kept


@inlined
def advance_chunk(queue: Queue, view: View, rays: tuple[int, int], bounce: Bounce) -> tuple[int, int]:
    """Shade the hits of a queue among some rays, as `shade_queues` says."""
    job, rules, flags, chunk = bounce.job, bounce.rules, queue.flags, view.chunk
    scene = job.scene
    hits, looked = pick_vertices(queue, view, rays[1])
    if hits == 0:
        return looked, 0
    has_first = (chunk.state[hits - 1] & DEPTH_MASK) == np.uint32(0)
    vertices, tables = Vertices(chunk, rules, queue.bsdf), address(scene.bsdfs.tables)
    media = tables_of(scene.photon_scene.media)
    look_at_surfaces(scene, queue, view, hits)
    if flags & HAS_MEDIA:
        absorb_throughput(queue.wanted, view, (hits, looked), media)
        look_at_borders(chunk, hits, media)
    each(follow_bases, whole(hits), (chunk, rules))
    if rules.is_partial:
        follow_first_bases(chunk, hits, job.lookup.radii)
    if rules.asks:
        call_at(scene.bsdfs.loops[queue.bsdf, SHOW], (chunk, hits, rules, tables))
    add_shadow_rays(scene, job.task, vertices, (hits, has_first), bounce.shadows)
    goes_on = rules.follow > ZERO or rules.is_partial or (flags & MIXED) != 0
    if goes_on:
        draw(job.task, chunk, hits, has_first, (STREAM_SCATTER, 1, 0))
        call_at(scene.bsdfs.loops[queue.bsdf, SCATTER], (chunk, hits, rules, tables))
    if flags & GLOWS:
        add_glow(job, chunk, list_indices(address(chunk.kind), (GLOWS, GLOWS), hits, address(chunk.rare)))
    if rules.asks:
        start = nanoseconds()
        add_photon_light(job, chunk, bounce.batch.search[0], hits, bounce.shadows)
        bounce.batch.counters[LOOKUP_NANOSECONDS] += nanoseconds() - start
    if goes_on and flags & HAS_MEDIA:
        go_through_borders(chunk, hits, media)
        keep_eye_media(view, hits)
    return looked, keep_paths(view, hits) if goes_on else 0


@inlined
def places_of(batch: EyeBatch) -> Places:
    """Returns where a batch lies."""
    rays, hits, paths, step = batch.rays, batch.hits, batch.paths, WORD_BYTES * batch.rays.shape[1]
    return Places(address(rays), address(hits), address(paths), EYE_WORDS, address(batch.spare), step)


@inlined
def all_hits(places: Places, flags: np.uint32) -> Queue:
    """Returns all rays of a batch that hit something, to look at no numbers of their BSDFs. flags: of the scene."""
    return Queue(triangles_of(places), (MISS_BIT, NO_BITS), np.uint32(flags & (BENT | MAPPED)), 0, 0)


@compiled
def start_occlusion_rays(job: EyeJob, batch: EyeBatch, active: int) -> int:
    """Turn the hits of camera rays into occlusion rays, spread by the cosine, in place; a miss is lit.

    job: the pass; its image is added to, and its reach is how far the occlusion rays go.
    batch: camera rays and what they hit.
    active: how many they are.
    Returns how many rays there are then.
    """
    job, batch = borrowed(job), borrowed(batch)
    places = places_of(batch)
    queue = all_hits(places, job.scene.photon_scene.flags)
    walk = Walk(job.scene, places, batch.scratch[0], active, active)
    return shade_queue(occlude, (job, batch), walk, queue, (0, True))


@inlined
def occlude(queue: Queue, view: View, rays: tuple[int, int], data: tuple[EyeJob, EyeBatch]) -> tuple[int, int]:
    """Write the occlusion rays of some hits, as `shade_queue` says. data: also has the batch."""
    (job, batch), (first, count) = data, rays
    hits, looked = pick_vertices(queue, view, count)
    for row in range(first, first + looked):
        if batch.prim_ids[row] == MISS:
            pixel = Long(batch.paths[EYE_PIXEL, row])
            add_radiance(job.image, pixel, (1.0, 1.0, 1.0), DIRECT_LIGHT)
    if hits == 0:
        return looked, 0
    look_at_surfaces(job.scene, queue, view, hits)
    draw(job.task, view.chunk, hits, True, (STREAM_SCATTER, 1, 0))
    each(look_about, whole(hits), view.chunk)
    return looked, keep_occlusion_rays(view, hits, Float32(job.reach))


@inlined
def look_about(i: int, chunk: EyeChunk) -> None:
    """Write the occlusion ray of a vertex, spread by the cosine about its shading normal."""
    normal = column(chunk.normal, i)
    direction = lambertian(column(chunk.shading, i), unit32(chunk.bits[0, i]), unit32(chunk.bits[1, i]))
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


def make_eye_paths_ready(table: BsdfTable, diffuse: int, has_features: bool = False) -> None:
    """Has the loops of the BSDFs of a scene be there, before eye paths call them.

    diffuse: what paths do with diffuse reflection (`renderer.camera_paths.task`).
    has_features: whether features are looked at too (`renderer.camera_paths.features`).
    """
    rules = Rules(Float32(1.0), np.int32(1), ZERO, ZERO, np.int32(0), False, False, False, False, ZERO, False)
    chunk = numba.from_dtype(EYE_COLUMNS)
    arguments = (chunk, types.int64, numba.typeof(rules), types.int64)
    loops = {LIGHT: light_vertices, SCATTER: scatter_paths}
    loops |= {} if diffuse in (FOLLOW, NOTHING) else {SHOW: show_bases}
    loops |= {ALBEDO: show_albedos} if has_features else {}
    make_ready(table.bsdfs, {which: (loop, arguments) for which, loop in loops.items()})
    make_shaders_ready(table, AT_POINT, chunk)
