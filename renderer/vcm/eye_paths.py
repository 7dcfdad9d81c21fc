"""Paths of the eye that are joined with those from lamps: the loop over them, and a bounce of it."""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="no-untyped-call"

from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import typeof, types

from renderer.camera_paths.bounce import batch_ahead, keep_paths
from renderer.camera_paths.loops import EyeBatches, add_lit, batch_at, shadows_at, start_paths, submit_shadows
from renderer.camera_paths.media import absorb_throughput
from renderer.camera_paths.paths import (
    DEPTH_MASK,
    EYE_COLUMNS,
    EYE_MEDIA,
    EYE_UNMAPPED,
    EyeBatch,
    EyeChunk,
    ShadowRays,
    limit_ray,
)
from renderer.camera_paths.sampler import draw
from renderer.camera_paths.vertices import Vertices, look_at_surfaces, pick_vertices, rules_of
from renderer.photons.media import go_through_borders, keep_media, look_at_borders
from renderer.photons.photon_map import Grid
from renderer.scene.materials import BsdfTable
from renderer.scene.media import MediaTables, tables_of
from renderer.scene.photon_scene import GLOWS, HAS_MEDIA, SHEET
from renderer.shading.chunks import ALL_BITS, View
from renderer.shading.queues import Queue, Walk, places_of, shade_queues
from renderer.shading.scattering import (
    AT_POINT,
    CONNECT,
    GO_ON,
    LIGHT_JOINED,
    MEET,
    MERGE,
    make_shaders_ready,
)
from renderer.simd.bsdf_kinds import call_at, make_ready
from renderer.simd.columns import WORD_BYTES, put3
from renderer.simd.loops import each, each_alone, each_ray, whole
from renderer.simd.packing import list_indices
from renderer.vcm.connecting import (
    Connections,
    ConnectionTable,
    ConnectRules,
    connect,
    finish_connections,
    meet,
    places_of_connections,
)
from renderer.vcm.job import JoinedJob, JoinRules, PathRules, own_rules
from renderer.vcm.lighting import ShadowRules, add_glow, add_light_from_outside, add_shadow_rays, light_joined
from renderer.vcm.merging import add_merged, merge
from renderer.vcm.scattering import go_on
from renderer.vcm.vertices import VertexTable, table_of
from renderer.vcm.weights import Chances, arrive, sums_before
from shaders.float32 import INFINITY, ONE, ZERO, Int
from shaders.random import STREAM_CONNECTION, STREAM_SCATTER
from shaders.vector import largest
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.vector import address
from tracecore.dispatch.port import ANY_HIT, NO_OPTIONS, Port, next_batch, submit


class Bounce(NamedTuple):
    """What a bounce of eye paths needs, and what it adds to."""

    job: JoinedJob
    shadows: ShadowRays
    connections: Connections


@compiled
def run_joined_paths(job: JoinedJob, port: Port, batches: EyeBatches, connections: Connections) -> int:
    """Follow paths until no pixel is left. Returns as `next_batch` does."""
    job, port, batches, connections = borrowed(job), borrowed(port), borrowed(batches), borrowed(connections)
    index = next_batch(port, batches.live, batches.slots)
    while index >= 0:
        first, batch, shadows = index * batches.slots, batch_at(port, batches, index), shadows_at(port, batches, index)
        if add_lit(job, shadows, batches.words[first + 1 : first + batches.slots]) > 0:
            submit_shadows(port, batches, index, NO_OPTIONS)  # the hits of the paths wait in their slot
        else:
            kept = advance_joined_paths(job, batch, (batches.active[index], batches.fresh[index]), shadows, connections)
            fresh = start_paths(job, batch, kept, port.capacity - kept, batches.threads)
            each_ray(begin_sums, fresh, (address(batch.paths), WORD_BYTES * batch.paths.shape[1], kept))
            batches.fresh[index], batches.active[index] = kept, kept + fresh
            batches.live[index] = batches.active[index]
            if batches.active[index] > 0:
                submit(port, first, batches.active[index], NO_OPTIONS)
            submit_shadows(port, batches, index, NO_OPTIONS if job.scene.photon_scene.flags & SHEET else ANY_HIT)
        index = next_batch(port, batches.live, batches.slots)
    return index


@inlined
def begin_sums(i: int, data: tuple[int, int, int]) -> None:
    """Write the sums of a path that leaves the eye: nothing else finds its first vertex.
    data: address of the rows of paths, bytes from one to the next, and the first such path."""
    paths, step, first = data
    put3(paths + EYE_UNMAPPED * step + WORD_BYTES * first, step, i, (ZERO, ZERO, ZERO))


@inlined
def advance_joined_paths(
    job: JoinedJob, batch: EyeBatch, rays: tuple[int, int], shadows: ShadowRays, connections: Connections
) -> int:
    """Shade the hits of a batch. Returns how many paths go on.
    rays: how many there are, and from which one on they are the camera's."""
    active, fresh = rays
    if len(job.scene.lamps.outer) > 0 or largest(job.scene.background) > 0.0:
        add_light_from_outside(job, batch, active)
    places, border = places_of(batch, batch.spare, batch.scratch), min(active, whole(fresh))
    walk = Walk(job.scene, places, batch.scratch[0], active, border)
    kept = shade_queues(advance_chunk, Bounce(job, shadows, connections), walk)
    ahead = batch_ahead(batch).rays
    each_ray(limit_ray, whole(kept), (address(ahead[3]), address(ahead[7]), INFINITY))
    finish_connections(job, batch, connections, shadows)
    return kept


@inlined
def advance_chunk(queue: Queue, view: View, rays: tuple[int, int], bounce: Bounce) -> tuple[int, int]:
    """Shade the hits of a queue among some rays, as `shade_queues` says."""
    job, flags, chunk = bounce.job, queue.flags, view.chunk
    scene, vertices, rules = job.scene, job.vertices, own_rules(job.rules)
    hits, looked = pick_vertices(queue, view, rays[1])
    if hits == 0:
        return looked, 0
    has_first = (chunk.state[hits - 1] & DEPTH_MASK) == np.uint32(0)
    tables, media, loops = address(scene.bsdfs.tables), tables_of(scene.photon_scene.media), scene.bsdfs.loops
    look_at_surfaces(scene, queue, view, hits)
    if flags & HAS_MEDIA:
        absorb_throughput(queue.wanted, view, (hits, looked), media)
        look_at_borders(chunk, hits, media)
    each(arrive_from_eye, whole(hits), (chunk, rules.chances.merging))
    queued = Vertices(chunk, rules_of(job.task, 0.0), queue.bsdf)
    add_shadow_rays(job, queued, (hits, has_first), bounce.shadows)
    if len(vertices.rows) > 0:
        join = JoinRules(rules, table_of(vertices))
        if rules.chances.connecting > ZERO:
            draw(job.task, chunk, hits, False, (STREAM_CONNECTION, 1, 0))
            connecting = ConnectRules(join, places_of_connections(bounce.connections), media, (flags & HAS_MEDIA) != 0)
            call_at(loops[queue.bsdf, CONNECT], CONNECT, (chunk, hits, connecting, tables))
        if rules.chances.merging > ZERO:
            call_at(loops[queue.bsdf, MERGE], MERGE, (chunk, hits, join, tables))
            each_alone(add_merged, hits, (job.image, chunk))
    draw(job.task, chunk, hits, has_first, (STREAM_SCATTER, 1, 0))
    call_at(loops[queue.bsdf, GO_ON], GO_ON, (chunk, hits, rules, tables))
    if flags & GLOWS:
        add_glow(job, chunk, list_indices(address(chunk.kind), (GLOWS, GLOWS), hits, address(chunk.rare)))
    if flags & HAS_MEDIA:
        go_through_borders(chunk, hits, media)
        keep_media(EYE_MEDIA, address(chunk.goes), (ALL_BITS, ALL_BITS), view, hits)
    return looked, keep_paths(view, hits)


@inlined
def arrive_from_eye(i: int, data: tuple[EyeChunk, float]) -> None:
    """Write the sums of a path at its vertex, and that its lobes are all followed. data: also has `Chances.merging`."""
    chunk, merging = data
    arrive(i, sums_before(i, chunk), merging, chunk)
    chunk.follow[i] = ONE


def make_joined_paths_ready(table: BsdfTable) -> None:
    """Has the loops of the BSDFs of a scene be there, before paths call them."""
    types_of = loop_arguments(EYE_COLUMNS)
    make_ready(table.bsdfs, {which: (loop, types_of[which]) for which, loop in LOOPS.items()})
    make_shaders_ready(table, AT_POINT, types_of[GO_ON][0])


#: The loops of a BSDF.
LOOPS = {GO_ON: go_on, LIGHT_JOINED: light_joined, CONNECT: connect, MEET: meet, MERGE: merge}


@cache
def loop_arguments(columns: np.dtype[Any]) -> dict[int, tuple[Any, ...]]:
    """Returns Numba's types of the arguments of loops but for the kind. columns: of a chunk."""
    low, shape = (ZERO, ZERO, ZERO), (Int(0), Int(0), Int(0))
    table = VertexTable(0, 0, 0, Grid(low, shape, 0.0, ZERO), ZERO)
    paths = PathRules(np.int32(0), False, Chances(ZERO, ZERO))
    of_shadows = ShadowRules(paths, 0, 0, 0, False, ZERO)
    join = JoinRules(paths, table)
    connecting = ConnectRules(join, ConnectionTable(0, 0, 0, 0, 0), MediaTables(0, 0, 0), False)

    def arguments(rules: Any) -> tuple[Any, ...]:
        return numba.from_dtype(columns), types.int64, typeof(rules), types.int64

    return {
        GO_ON: arguments(paths),
        LIGHT_JOINED: arguments(of_shadows),
        CONNECT: arguments(connecting),
        MEET: arguments(join),
        MERGE: arguments(join),
    }
