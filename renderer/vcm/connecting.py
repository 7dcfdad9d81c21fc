"""Connections: from a vertex of the eye's path a ray looks whether another one is in sight, which is drawn out of all
that the paths from lamps of the pass have.

Davidovic, Krivanek, Hasan, Slusallek: Progressive Light Transport Simulation on the GPU, 2014.

The surface at the other end has a BSDF of its own. So connections are written as if they were rays that have met it,
and are shaded BSDF by BSDF as all hits are; what comes out are shadow rays.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from renderer.camera_paths.lighting import keep_shadow_media, keep_shadow_rays
from renderer.camera_paths.paths import (
    EYE_CONE,
    EYE_MEDIA,
    EYE_PDF,
    EYE_PIXEL,
    EYE_STATE,
    EYE_THROUGHPUT,
    EYE_UNMAPPED,
    EYE_WORDS,
    EyeBatch,
    EyeChunk,
    ShadowRays,
    bounces_of,
)
from renderer.camera_paths.vertices import EVEN, look_at_surfaces, pick_vertices, radiance_gain
from renderer.photons.media import look_at_borders, pick_media, stack_towards
from renderer.scene.media import MediaTables, tables_of
from renderer.scene.photon_scene import HAS_MEDIA
from renderer.shading.chunks import ALL_BITS, HIT_ID, NO_BITS, RAY_DIRECTION, Long, View
from renderer.shading.queues import Queue, Walk, places_of, shade_queues
from renderer.shading.scattering import MEET, frame_at, in_frame, next_origin, parameters_at, seen_at
from renderer.simd.bsdf_kinds import BsdfKind, call_at, evaluate
from renderer.simd.columns import WORD_BYTES, column, get, get_int, put, put3, set_column
from renderer.simd.loops import each, each_alone, whole
from renderer.vcm.job import JoinedJob, JoinRules, Vertices, own_rules
from renderer.vcm.scattering import bent_gain
from renderer.vcm.vertices import (
    BOUNCES,
    FLUX,
    POSITION,
    TOWARDS,
    TRIANGLE,
    UV,
    VertexTable,
    row_at,
    sums_of,
    table_of,
    vector_at,
)
from renderer.vcm.weights import cosine_at, others_by_connection, reverse_pdf, sums_at
from shaders.float32 import ONE, ZERO, Float32, Int, Ints
from shaders.lights.triangle import SHADOW_END
from shaders.vector import add, along, dot, largest, multiply, scale, subtract
from tracecore.compilation.cached import inlined
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address
from tracecore.rays import Floats, Ids

#: Vertices at a smaller square of a distance are not connected.
LEAST = Float32(2.0**-80)


class Connections(NamedTuple):
    """Holds the connections of a thread as rays that have met a surface.

    rays: (8, column) float32, of which rows 3 and 7 mean nothing.
    hits: (4, column) float32, in the order of `tracecore.rays.HIT`.
    paths: (EYE_WORDS, column) uint32, with what the connection brings for a throughput, without the BSDF at its end;
        for sums the densities of a direction at the eye's end per square of the distance, and of how else the eye's end
        could be found, per pdf_solid_angle at the other end; and for a pdf the number of the vertex, as bits.
    filled: (1,) int32, how many there are.
    """

    rays: Floats
    hits: Floats
    paths: Ids
    filled: Ints


def new_connections(column: int) -> Connections:
    """Returns memory for connections. column: how many rays a batch has room for."""
    rays, hits = np.zeros((8, column), np.float32), np.zeros((4, column), np.float32)
    return Connections(rays, hits, np.zeros((EYE_WORDS, column), np.uint32), np.zeros(1, np.int32))


class ConnectionTable(NamedTuple):
    """Has the addresses of what `Connections` has, with `step` bytes between rows."""

    rays: int
    hits: int
    paths: int
    filled: int
    step: int


@inlined
def places_of_connections(connections: Connections) -> ConnectionTable:
    """Returns where connections are written."""
    rays, hits, paths = connections.rays, connections.hits, connections.paths
    step = WORD_BYTES * rays.shape[1]
    return ConnectionTable(address(rays), address(hits), address(paths), address(connections.filled), step)


class Ends(NamedTuple):
    """What connections are shaded with."""

    job: JoinedJob
    shadows: ShadowRays


class ConnectRules(NamedTuple):
    """Says how connections are made. join: with what. media: of the scene. has_media: whether paths know which they are
    in."""

    join: JoinRules
    connections: ConnectionTable
    media: MediaTables
    has_media: bool


@unit(types.none)
def connect(kind: BsdfKind, chunk: EyeChunk, count: int, rules: ConnectRules, tables: int) -> None:
    """Write a connection of each of the first `count` vertices whose random bits are drawn."""
    each_alone(connect_vertex, count, (Vertices(kind, chunk, rules.join.paths, tables), rules))


@inlined
def connect_vertex(i: int, data: tuple[Vertices, ConnectRules]) -> None:
    """Write the connection of a vertex, if it may bring anything."""
    (kind, chunk, rules, tables), more = data
    vertices, count = more.join.vertices, more.join.vertices.length
    number = min(Long(np.float64(chunk.bits[0, i]) * 2.0**-32 * count), count - 1)
    vertex = row_at(vertices, number)
    between = bounces_of(chunk.state[i]) + Long(get_int(vertex, BOUNCES)) + 2
    if between > rules.max_bounces:
        return
    offset = subtract(vector_at(vertex, POSITION), column(chunk.position, i))
    square = dot(offset, offset)
    if square <= LEAST:
        return
    direction = scale(offset, ONE / np.sqrt(square))
    own, parameters = frame_at(kind, i, chunk), parameters_at(kind, i, chunk)
    seen, wi = seen_at(i, own, chunk, EVEN, ONE, tables), in_frame(direction, own)
    value = evaluate(kind, parameters, wi, seen)
    reflected = add(value.base, scale(value.rest, radiance_gain(kind, parameters, wi[2], seen)))
    brought = multiply(column(chunk.throughput, i), multiply(reflected, vector_at(vertex, FLUX)))
    carried = scale(brought, abs(wi[2]) / square * Float32(count))
    if ((dot(direction, column(chunk.normal, i)) > ZERO) != (wi[2] > ZERO)) or not largest(carried) > ZERO:
        return
    behind = others_by_connection(sums_at(i, chunk), reverse_pdf(kind, parameters, wi, seen), rules.chances.merging)
    others = (value.pdf / square, cosine_at(i, direction, chunk) / square * behind)
    start, end = next_origin(i, direction, chunk), vector_at(vertex, POSITION)
    way = subtract(end, start)
    distance = np.sqrt(dot(way, way))
    if not distance > ZERO:
        return
    rays, hits, paths, filled, step = more.connections
    k = Long(get_int(filled, 0))
    put3(rays, step, k, start)
    put3(rays + RAY_DIRECTION * step, step, k, scale(way, ONE / distance))
    put3(hits, step, k, (distance, get(vertex, UV), get(vertex, UV + 1)))
    put(hits + HIT_ID * step, k, get_int(vertex, TRIANGLE))
    put(paths + EYE_PIXEL * step, k, np.uint32(chunk.pixel[i]))
    put(paths + EYE_STATE * step, k, np.uint32(chunk.state[i]))
    put3(paths + EYE_THROUGHPUT * step, step, k, carried)
    put(paths + EYE_PDF * step, k, Int(number))
    put(paths + EYE_CONE * step, k, ZERO)
    put(paths + (EYE_CONE + 1) * step, k, ZERO)
    put3(paths + EYE_UNMAPPED * step, step, k, (others[0], others[1], ZERO))
    if more.has_media:
        put(paths + EYE_MEDIA * step, k, stack_towards(i, direction, (chunk, more.media)))
    put(filled, 0, Int(k + 1))


@inlined
def finish_connections(job: JoinedJob, batch: EyeBatch, connections: Connections, shadows: ShadowRays) -> None:
    """Write the shadow rays of connections, in the last slot."""
    count = connections.filled[0]
    if count > 0:
        rays, hits, paths = connections.rays, connections.hits, connections.paths
        ends = EyeBatch(rays, hits, batch.prim_ids, paths, batch.scratch, batch.spare, batch.search, batch.counters)
        places = places_of(ends, ends.spare, ends.scratch)
        walk = Walk(job.scene, places, ends.scratch[0], Long(count), Long(count))
        shade_queues(finish_chunk, Ends(job, shadows), walk)
    connections.filled[0] = 0


@inlined
def finish_chunk(queue: Queue, view: View, rays: tuple[int, int], ends: Ends) -> tuple[int, int]:
    """Write the shadow rays of the connections of a queue among some, as `shade_queues` says; no path goes on."""
    (job, shadows), chunk = ends, view.chunk
    hits, looked = pick_vertices(queue, view, rays[1])
    if hits == 0:
        return looked, 0
    scene, slot, media = job.scene, len(shadows.counts) - 1, tables_of(job.scene.photon_scene.media)
    look_at_surfaces(scene, queue, view, hits)
    if queue.flags & HAS_MEDIA:
        pick_media(EYE_MEDIA, queue.wanted, view, (hits, looked))
        look_at_borders(chunk, hits, media)
    rules = JoinRules(own_rules(job.rules), table_of(job.vertices))
    met = (chunk, hits, rules, address(scene.bsdfs.tables))
    call_at(scene.bsdfs.loops[queue.bsdf, MEET], MEET, met)
    if queue.flags & HAS_MEDIA:
        each(keep_stack, whole(hits), chunk)
        keep_shadow_media(chunk, hits, shadows, slot)
    keep_shadow_rays(chunk, hits, (shadows, slot), ONE, address(chunk.state))
    return looked, 0


@inlined
def keep_stack(i: int, chunk: EyeChunk) -> None:
    """Write the stack of media of a shadow ray."""
    chunk.shadow_media[i] = chunk.media[i]


@unit(types.none)
def meet(kind: BsdfKind, chunk: EyeChunk, count: int, rules: JoinRules, tables: int) -> None:
    """Write the shadow rays of the first `count` connections, whose ends are looked at."""
    each_alone(meet_vertex, count, (Vertices(kind, chunk, rules.paths, tables), rules.vertices))


@inlined
def meet_vertex(i: int, data: tuple[Vertices, VertexTable]) -> None:
    """Write the shadow ray of a connection."""
    (kind, chunk, rules, tables), vertices = data
    vertex = row_at(vertices, Long(get_int(address(chunk.pdf), i)))
    own, parameters, towards = frame_at(kind, i, chunk), parameters_at(kind, i, chunk), vector_at(vertex, TOWARDS)
    seen, wi = seen_at(i, own, chunk, EVEN, ONE, tables), in_frame(towards, own)
    value, flat, ray = evaluate(kind, parameters, wi, seen), column(chunk.normal, i), column(chunk.ray, i)
    cosine = cosine_at(i, ray, chunk)
    by_eye, eye_end = chunk.unmapped[0, i], chunk.unmapped[1, i]
    merging = rules.chances.merging if get_int(vertex, BOUNCES) > 0 else ZERO
    others = by_eye * cosine * others_by_connection(sums_of(vertex), value.pdf, merging)
    others += eye_end * reverse_pdf(kind, parameters, wi, seen)
    reflected = add(value.base, scale(value.rest, radiance_gain(kind, parameters, wi[2], seen)))
    share = cosine * bent_gain(towards, flat, own.normal) / (ONE + others)
    radiance = multiply(column(chunk.throughput, i), scale(reflected, share))
    start, end = column(chunk.origin, i), along(column(chunk.position, i), flat, chunk.clearance[i])
    is_lit = ((dot(towards, flat) > ZERO) == (wi[2] > ZERO)) & (dot(ray, flat) < ZERO) & (largest(radiance) > ZERO)
    set_column(chunk.radiance, i, radiance)
    set_column(chunk.start, i, start)
    set_column(chunk.shadow_direction, i, scale(subtract(end, start), Float32(SHADOW_END)))
    chunk.carries[i] = ALL_BITS if is_lit else NO_BITS
