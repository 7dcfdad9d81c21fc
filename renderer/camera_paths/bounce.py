"""One bounce of paths from the eye: the light that their vertices send back, and their next directions.

As photons (`renderer.photons.shading`), paths are columns, which small loops read chunk by chunk into columns of
scratch. All vertices of a chunk have the same BSDF (`renderer.shading.queues`). What only some have is packed side by
side: rays that hit something, shadow rays that carry something, paths that go on. What few vertices need goes through
lists of their indices: bent normals, textures, maps, and lamps (`met_light`). All is decided by a path's pixel and
depth: the thread, the batch and the index in it change no bit.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="no-untyped-call"

from typing import Any, NamedTuple

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
    look_at_surfaces,
    pick_vertices,
    rules_of,
    show_albedos,
    show_bases,
)
from renderer.film.layers import DIRECT_LIGHT, add_radiance
from renderer.photons.batch import HIT_ID, RAY_DIRECTION
from renderer.photons.media import go_through_borders, look_at_borders
from renderer.scene.materials import BsdfTable
from renderer.scene.media import tables_of
from renderer.scene.packed_scene import PackedScene
from renderer.scene.photon_scene import BENT, GLOWS, HAS_MEDIA, MAPPED, MIXED
from renderer.shading.chunks import ALL_BITS, MISS_BIT, NO_BITS, Long, View
from renderer.shading.queues import Queue, has_several, move_rows, queue_of, sort_rays
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
from shaders.float32 import ZERO, Float32
from shaders.random import STREAM_SCATTER, unit32
from shaders.sampling import lambertian
from shaders.vector import along, dot, largest
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.clock import nanoseconds
from tracecore.compilation.vector import address
from tracecore.rays import MISS, RAY_FLOATS


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
    rules, table, kept = rules_of(job.task, job.lookup.irradiance.radius), job.scene.bsdfs, Long(0)
    if len(job.scene.lights.outer) > 0 or largest(job.scene.background) > 0.0:
        add_light_from_outside(job, batch, active)
    places, several = places_of(batch), has_several(table)
    sort_rays(job.scene, places.triangles, places.words, active)
    ahead = min(active, whole(fresh))  # paths that go on are written by whole vectors: they must not reach behind it
    for own in range(len(table.bsdfs)):
        queue, first = queue_of(table, own, places.triangles, places.words), Long(0)
        while first < active:
            count = (ahead if first < ahead else active) - first
            view = View(*columns_of(job.scene, batch, queue, (first, kept)), batch.scratch[0])  # type: ignore[call-arg]  # mypy takes a tuple for endless
            done, going = advance_chunk(job, rules, queue, batch, (view, count), shadows)
            first, kept = first + done, kept + going
    if several:
        move_rows(places.spare_rays, address(batch.rays), places.step, RAY_FLOATS, kept)
        move_rows(places.spare_paths, address(batch.paths), places.step, EYE_WORDS, kept)
    return kept


@inlined
def advance_chunk(
    job: EyeJob, rules: Rules, queue: Queue, batch: EyeBatch, rays: tuple[View, int], shadows: ShadowRays
) -> tuple[int, int]:
    """Shade the hits of some rays that are in a queue, as many as a chunk has room for.

    rays: where the first one is, and how many they are.
    Returns how many rays were looked at, and how many paths of them go on.
    """
    view, count = rays
    flags, chunk, scene = queue.flags, view.chunk, job.scene
    hits, looked = pick_vertices(queue, view, count)
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
    if rules.asks:
        call_at(scene.bsdfs.loops[queue.bsdf, SHOW], (chunk, hits, rules, tables))
    add_shadow_rays(scene, job.task, vertices, (hits, has_first), shadows)
    goes_on = rules.follow > ZERO or (flags & MIXED) != 0
    if goes_on:
        draw(job.task, chunk, hits, has_first, (STREAM_SCATTER, 1, 0))
        call_at(scene.bsdfs.loops[queue.bsdf, SCATTER], (chunk, hits, rules, tables))
    if flags & GLOWS:
        add_glow(job, chunk, list_indices(address(chunk.kind), (GLOWS, GLOWS), hits, address(chunk.rare)))
    if rules.asks:
        start = nanoseconds()
        add_photon_light(job, chunk, batch.search[0], hits, shadows)
        batch.counters[LOOKUP_NANOSECONDS] += nanoseconds() - start
    if goes_on and flags & HAS_MEDIA:
        go_through_borders(chunk, hits, media)
        keep_eye_media(view, hits)
    return looked, keep_paths(view, hits) if goes_on else 0


class Places(NamedTuple):
    """Addresses of a batch's columns, `step` bytes apart: the triangles that were hit, and of the spare memory of the
    thread which BSDF each ray has hit, rays, and paths."""

    triangles: int
    words: int
    spare_rays: int
    spare_paths: int
    step: int


@inlined
def places_of(batch: EyeBatch) -> Places:
    """Returns the addresses of a batch."""
    step, spare = WORD_BYTES * batch.rays.shape[1], address(batch.spare)
    paths = spare + RAY_FLOATS * step
    return Places(address(batch.hits) + HIT_ID * step, paths + EYE_WORDS * step, spare, paths, step)


@inlined
def columns_of(scene: PackedScene, batch: EyeBatch, queue: Queue, indices: tuple[int, int]) -> Any:
    """Returns the addresses of the `View` of a chunk. indices: of its first ray, and of the next path that goes on."""
    (first, kept), places = indices, places_of(batch)
    several = queue.words != places.triangles
    return (
        address(batch.rays) + WORD_BYTES * first,
        address(batch.hits) + WORD_BYTES * first,
        address(batch.paths) + WORD_BYTES * first,
        queue.words + WORD_BYTES * first,
        (places.spare_rays if several else address(batch.rays)) + WORD_BYTES * kept,
        (places.spare_paths if several else address(batch.paths)) + WORD_BYTES * kept,
        places.step,
        0,
        address(scene.surfaces.normals),
        address(scene.photon_scene.texels),
        address(scene.photon_scene.decoded),
    )


@inlined
def all_hits(batch: EyeBatch, flags: np.uint32) -> Queue:
    """Returns all rays of a batch that hit something, to look at no numbers of their BSDFs. flags: of the scene."""
    return Queue(places_of(batch).triangles, (MISS_BIT, NO_BITS), np.uint32(flags & (BENT | MAPPED)), 0, 0)


@compiled
def start_occlusion_rays(job: EyeJob, batch: EyeBatch, active: int) -> int:
    """Turn the hits of camera rays into occlusion rays, spread by the cosine, in place; a miss is lit.

    job: the pass; its image is added to, and its reach is how far the occlusion rays go.
    batch: camera rays and what they hit.
    active: how many they are.
    Returns how many rays there are then.
    """
    job, batch = borrowed(job), borrowed(batch)
    first, kept, queue = Long(0), Long(0), all_hits(batch, job.scene.photon_scene.flags)
    while first < active:
        view = View(*columns_of(job.scene, batch, queue, (first, kept)), batch.scratch[0])  # type: ignore[call-arg]  # mypy takes a tuple for endless
        hits, rays = pick_vertices(queue, view, active - first)
        for row in range(first, first + rays):
            if batch.prim_ids[row] == MISS:
                pixel = Long(batch.paths[EYE_PIXEL, row])
                add_radiance(job.image, pixel, (1.0, 1.0, 1.0), DIRECT_LIGHT)
        first += rays
        if hits > 0:
            look_at_surfaces(job.scene, queue, view, hits)
            draw(job.task, view.chunk, hits, True, (STREAM_SCATTER, 1, 0))
            each(look_about, whole(hits), view.chunk)
            kept += keep_occlusion_rays(view, hits, Float32(job.reach))
    return kept


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
    rules = Rules(Float32(1.0), np.int32(1), ZERO, ZERO, np.int32(0), False, False, False, ZERO, False)
    chunk = numba.from_dtype(EYE_COLUMNS)
    arguments = (chunk, types.int64, numba.typeof(rules), types.int64)
    loops = {LIGHT: light_vertices, SCATTER: scatter_paths}
    loops |= {} if diffuse in (FOLLOW, NOTHING) else {SHOW: show_bases}
    loops |= {ALBEDO: show_albedos} if has_features else {}
    make_ready(table.bsdfs, {which: (loop, arguments) for which, loop in loops.items()})
    make_shaders_ready(table, AT_POINT, chunk)
