"""Paths from lamps, followed by loops like those of the eye's paths: at each surface that spreads light they leave a
vertex."""

from typing import NamedTuple

import numpy as np

from renderer.camera_paths.bounce import batch_ahead, keep_paths
from renderer.camera_paths.loops import EyeBatches, batch_at, take_pixels
from renderer.camera_paths.media import absorb_throughput
from renderer.camera_paths.paths import (
    EYE_BEHIND,
    EYE_CONE,
    EYE_MEDIA,
    EYE_PDF,
    EYE_PIXEL,
    EYE_STATE,
    EYE_THROUGHPUT,
    EYE_UNMAPPED,
    EyeBatch,
    EyeChunk,
    bounces_of,
    limit_ray,
)
from renderer.camera_paths.sampler import draw
from renderer.camera_paths.vertices import look_at_surfaces, pick_vertices
from renderer.photons.emission import EMITTER_BYTES, GOLDEN, bits_of
from renderer.photons.media import go_through_borders, keep_media, look_at_borders
from renderer.scene.media import tables_of
from renderer.scene.photon_scene import HAS_MEDIA
from renderer.shading.chunks import ALL_BITS, RAY_DIRECTION, Long, View
from renderer.shading.queues import Queue, Walk, count_hits, places_of, shade_queues, triangles_of
from renderer.shading.scattering import GO_ON
from renderer.simd.bsdf_kinds import call_at
from renderer.simd.columns import WORD_BYTES, column, get, get3, get_word, put, put3, set_column
from renderer.simd.loops import each_alone, each_ray, whole
from renderer.vcm.job import LightJob, own_rules
from renderer.vcm.lamps import sums_of_first
from renderer.vcm.vertices import ABSORBED, COUNT, CUT, ESCAPED, RAYS, ROW_BYTES, VertexBlock, put_vertex
from renderer.vcm.weights import arrive, cosine_at, sums_before
from shaders.environment import sky_of
from shaders.float32 import INFINITY, ONE, ZERO, Float32
from shaders.lights.kind import Emission, Emitter
from shaders.lights.registry import by_kind, emit_from, is_outside
from shaders.lights.row import LIGHT_KIND
from shaders.random import STREAM_EMISSION, STREAM_SCATTER, Bits4, hash4, hash_key, unit32
from shaders.sampling import interval
from shaders.vector import in_single, scale
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.vector import address
from tracecore.dispatch.port import ENDLESS, FULL, ONE_SLOT, Port, next_batch, submit

#: The functions of lights outside of the scene by which photons leave them.
leave_of_kind = by_kind("leave")


class LightBounce(NamedTuple):
    """What a bounce of paths from lamps needs, and what it adds to."""

    job: LightJob
    block: VertexBlock


@compiled
def run_light_paths(job: LightJob, port: Port, batches: EyeBatches, block: VertexBlock) -> int:
    """Follow paths from lamps until none is left. Returns as `next_batch` does, or FULL where the block has no room for
    a batch more."""
    job, port, batches, block = borrowed(job), borrowed(port), borrowed(batches), borrowed(block)
    index = next_batch(port, batches.live, ONE_SLOT)
    while index >= 0:
        if len(block.rows) - block.counts[COUNT] < port.capacity:
            return FULL
        batch = batch_at(port, batches, index)
        kept = advance_light_paths(job, batch, batches.active[index], block)
        fresh = start_light_paths(job, batch, kept, port.capacity - kept, batches.threads)
        batches.active[index] = batches.live[index] = kept + fresh
        block.counts[RAYS] += kept + fresh
        if kept + fresh > 0:
            submit(port, index, kept + fresh, ENDLESS)
        index = next_batch(port, batches.live, ONE_SLOT)
    return index


@inlined
def advance_light_paths(job: LightJob, batch: EyeBatch, active: int, block: VertexBlock) -> int:
    """Shade the hits of a batch. Returns how many paths go on."""
    places = places_of(batch, batch.spare, batch.scratch)
    block.counts[ESCAPED] += active - count_hits(triangles_of(places), active)
    walk = Walk(job.scene, places, batch.scratch[0], active, active)
    kept = shade_queues(advance_chunk, LightBounce(job, block), walk)
    rays = batch_ahead(batch).rays
    each_ray(limit_ray, whole(kept), (address(rays[3]), address(rays[7]), INFINITY))
    return kept


@inlined
def advance_chunk(queue: Queue, view: View, rays: tuple[int, int], bounce: LightBounce) -> tuple[int, int]:
    """Shade the hits of a queue among some rays, as `shade_queues` says."""
    (job, block), chunk = bounce, view.chunk
    hits, looked = pick_vertices(queue, view, rays[1])
    if hits == 0:
        return looked, 0
    scene, media = job.scene, tables_of(job.scene.photon_scene.media)
    look_at_surfaces(scene, queue, view, hits)
    if queue.flags & HAS_MEDIA:
        absorb_throughput(queue.wanted, view, (hits, looked), media)
        look_at_borders(chunk, hits, media)
    each_alone(arrive_from_lamp, hits, (job, chunk))
    draw(job.task, chunk, hits, False, (STREAM_SCATTER, 1, 0))
    rules = own_rules(job.rules)
    call_at(scene.bsdfs.loops[queue.bsdf, GO_ON], GO_ON, (chunk, hits, rules, address(scene.bsdfs.tables)))
    each_alone(leave_vertex, hits, (job, chunk, block))
    if queue.flags & HAS_MEDIA:
        go_through_borders(chunk, hits, media)
        keep_media(EYE_MEDIA, address(chunk.goes), (ALL_BITS, ALL_BITS), view, hits)
    return looked, keep_paths(view, hits)


@inlined
def arrive_from_lamp(i: int, data: tuple[LightJob, EyeChunk]) -> None:
    """Write the sums of a path at its vertex: of the first one by the lamp that it comes from."""
    job, chunk = data
    if bounces_of(chunk.state[i]) > 0:
        arrive(i, sums_before(i, chunk), job.rules.chances.merging, chunk)
        return
    lamp, ray, cosine = Long(chunk.unmapped[0, i]), column(chunk.ray, i), cosine_at(i, column(chunk.ray, i), chunk)
    towards = (column(chunk.position, i), scale(ray, -ONE), chunk.behind[i] + chunk.distance[i])
    first = sums_of_first(job.scene, (job.lamps, lamp), towards, cosine)
    set_column(chunk.weight, i, (first.vcm, first.vc, first.last))


@inlined
def leave_vertex(i: int, data: tuple[LightJob, EyeChunk, VertexBlock]) -> None:
    """Keep the vertex of a path, if other paths may be joined there, and count a path that ends."""
    job, chunk, block = data
    if chunk.is_far[i] != 0:
        put_vertex(address(block.rows) + ROW_BYTES * block.counts[COUNT], i, chunk)
        block.counts[COUNT] += 1
    if chunk.goes[i] == np.uint32(0):
        is_cut = bounces_of(chunk.next_state[i]) >= job.rules.max_bounces
        block.counts[CUT if is_cut else ABSORBED] += 1


@inlined
def start_light_paths(job: LightJob, batch: EyeBatch, kept: int, room: int, threads: int) -> int:
    """Let the next paths leave lamps, behind the `kept` rays of those that go on. Returns how many there are."""
    numbers, count = take_pixels(job, room, threads)
    key = hash_key(job.task.seed, job.task.sequence, STREAM_EMISSION)
    shift = (hash4(key, np.uint32(0), np.uint32(0)), hash4(key, np.uint32(0), np.uint32(1))[0])
    for k in range(count):
        start_light_path(job, batch, kept + k, get_word(numbers, k), shift)
    return count


@inlined
def start_light_path(job: LightJob, batch: EyeBatch, i: int, number: np.uint32, shift: tuple[Bits4, np.uint32]) -> None:
    """Let a path leave a lamp. i: where it goes in the batch. number: of the path. shift: of all random numbers."""
    lights, step = job.scene.lights, WORD_BYTES * batch.rays.shape[1]
    rays, paths = address(batch.rays), address(batch.paths)
    spread = np.uint32(np.uint32(number * GOLDEN) + shift[1])
    row = interval(lights.cumulative, np.float64(spread) * 2.0**-32)
    photon = leave(job, row, bits_of(number, shift[0]))
    put3(rays, step, i, photon.origin)
    put(rays + 3 * step, i, ZERO)
    put3(rays + RAY_DIRECTION * step, step, i, photon.direction)
    put(rays + 7 * step, i, INFINITY)
    put(paths + EYE_PIXEL * step, i, number)
    put(paths + EYE_STATE * step, i, np.uint32(0))
    put3(paths + EYE_THROUGHPUT * step, step, i, scale(photon.flux, Float32(job.per_path)))
    put(paths + EYE_PDF * step, i, ZERO)
    put(paths + EYE_CONE * step, i, ZERO)
    put(paths + (EYE_CONE + 1) * step, i, ZERO)
    put3(paths + EYE_UNMAPPED * step, step, i, (Float32(job.lamps.of_lights[row]), ZERO, ZERO))
    put(paths + EYE_BEHIND * step, i, ZERO)
    stacks = job.scene.photon_scene.media.lamps
    if len(stacks) > 0:
        put(paths + EYE_MEDIA * step, i, stacks[job.lamps.emitters[row]])


@inlined
def leave(job: LightJob, row: int, bits: Bits4) -> Emission:
    """Returns a photon that leaves a light, float32. row: of the light."""
    lights, kind = job.scene.lights, job.scene.lights.rows[row, LIGHT_KIND]
    if is_outside(kind):
        return leave_of_kind(kind, emitter_at(job, job.lamps.emitters[row]), sky_of(lights.environment), bits)
    u = (unit32(bits[0]), unit32(bits[1]), unit32(bits[2]), unit32(bits[3]))
    photon = emit_from(lights, row, (np.float64(u[0]), np.float64(u[1]), np.float64(u[2]), np.float64(u[3])))
    return Emission(in_single(photon.origin), in_single(photon.direction), in_single(photon.flux))


@inlined
def emitter_at(job: LightJob, index: int) -> Emitter:
    """Returns an emitter of the scene."""
    row = address(job.scene.photon_scene.emitters) + EMITTER_BYTES * index
    corner, flux, normal = get3(row, WORD_BYTES, 0), get3(row, WORD_BYTES, 3), get3(row, WORD_BYTES, 6)
    return Emitter(corner, get3(row, WORD_BYTES, 9), get3(row, WORD_BYTES, 12), normal, flux, get(row, 15))
