"""One bounce of paths from the eye: the light that their vertices send back, and their next directions.

As photons (`renderer.photons.shading`), paths are columns, which small loops read chunk by chunk into columns of
scratch. All vertices of a chunk have the same BSDF (`renderer.shading.queues`). What only some have is packed side by
side: rays that hit something, shadow rays that carry something, paths that go on. What few vertices need goes through
lists of their indices: bent normals, textures, maps, and lamps (`met_light`). All is decided by a path's pixel and
depth: the thread, the batch and the index in it change no bit.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="no-untyped-call"

import math
from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types

from renderer.camera_paths.lighting import add_shadow_rays, keep_shadow_rays, light_vertices
from renderer.camera_paths.media import IN_SCATTERED, absorb_throughput, collide_eye_paths, gather_in_media
from renderer.camera_paths.met_light import add_glow, add_light_from_outside
from renderer.camera_paths.paths import (
    DEPTH_MASK,
    EYE_COLUMNS,
    EYE_MEDIA,
    EYE_PIXEL,
    EYE_WORDS,
    LOOKUP_NANOSECONDS,
    EyeBatch,
    EyeChunk,
    EyeJob,
    ShadowRays,
    bounces_of,
    limit_ray,
    state_after,
    state_through,
)
from renderer.camera_paths.photon_light import (
    KNOWN_IRRADIANCE,
    PHOTON_GROUPS,
    PHOTON_LAYERS,
    PHOTON_LIGHT,
    add_known_lights,
    add_photon_light,
)
from renderer.camera_paths.sampler import draw
from renderer.camera_paths.task import ASKING, GATHER, OCCLUDE
from renderer.camera_paths.vertices import (
    EVEN,
    Rules,
    Seeing,
    Vertices,
    follow_bases,
    follow_first_base,
    look_at_surfaces,
    pick_vertices,
    radiance_gain,
    rules_of,
    rules_type,
    show_albedos,
    show_bases,
    width_at,
)
from renderer.film.layers import DIRECT_LIGHT, LAYER_BIAS, LAYER_END, NO_GROUP, add_radiance
from renderer.photons.media import go_through_borders, keep_media, look_at_borders
from renderer.scene.light_groups import LIGHT_GROUPS
from renderer.scene.materials import BsdfTable
from renderer.scene.media import tables_of
from renderer.scene.photon_scene import BENT, GLOWS, HAS_MEDIA, IN_MEDIUM, MAPPED, MIXED, SHEET
from renderer.shading.chunks import ALL_BITS, MISS_BIT, NO_BITS, Long, View, ray_columns
from renderer.shading.queues import Queue, Walk, places_of, shade_queue, shade_queues, triangles_of
from renderer.shading.scattering import (
    ALBEDO,
    AT_POINT,
    LIGHT,
    SCATTER,
    SHOW,
    Scattered,
    frame_at,
    make_shaders_ready,
    next_origin,
    parameters_at,
    roulette,
    scattered,
    seen_at,
)
from renderer.simd.bsdf_kinds import BsdfKind, call_at, make_ready
from renderer.simd.columns import as_floats, column, column_bytes, column_of, in_chunk, is_in_place, rows, set_column
from renderer.simd.loops import each, each_alone, each_ray, whole
from renderer.simd.packing import list_indices, pack_columns
from shaders.bsdfs.bsdf import LOBE_BASE, LOBE_NONE, LOBE_SHARP
from shaders.float32 import INFINITY, ONE, ZERO, Float32, Int
from shaders.random import STREAM_SCATTER, unit32
from shaders.sampling import lambertian
from shaders.vector import Color, along, chosen, dot, largest, multiply, scale
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.clock import nanoseconds
from tracecore.compilation.unit_calls import need
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address
from tracecore.rays import MISS, RAY_FLOATS

#: Bounces after which Russian roulette may end a path of the path driver.
SURE_BOUNCES = Int(3)

#: A scattered ray stands for one of so many parts of its lobe, a tenth as wide as the lobe, so that what is blurred by
#: textures is little beside what the lobe blurs; and for a cone that gets no wider than so much over a distance of 1.
CONES, MOST_SPREAD = Float32(100.0), Float32(0.3)

#: Densities smaller than this are raised to it where something is divided by them.
LEAST_PDF = Float32(2.0**-80)

#: Columns of the path that goes on, all that a path has but its pixel.
NEXT_COLUMNS = EYE_MEDIA - 1


class Bounce(NamedTuple):
    """What a bounce of eye paths needs, and what it adds to: the job's image, the batch's counters, and shadow rays."""

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
    if job.scene.photon_scene.flags & IN_MEDIUM:
        if bounce.rules.asks:
            gather_in_media(job, batch, active)
        else:
            collide_eye_paths(job, batch, active)
    if len(job.scene.lamps.outer) > 0 or largest(job.scene.background) > 0.0:
        add_light_from_outside(job, batch, active)
    border = min(active, whole(fresh))  # paths that go on are written by whole vectors: they must not reach behind it
    places = places_of(batch, batch.spare, batch.scratch)
    kept = shade_queues(advance_chunk, bounce, Walk(job.scene, places, batch.scratch[0], active, border))
    rays = batch_ahead(batch).rays
    each_ray(limit_ray, whole(kept), (address(rays[3]), address(rays[7]), INFINITY))
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
        each_alone(follow_first_base, hits, (chunk, job.lookup.radii))
    if rules.asks:
        call_at(scene.bsdfs.loops[queue.bsdf, SHOW], SHOW, (chunk, hits, rules, tables))
    add_shadow_rays(scene, job.task, vertices, (hits, has_first), bounce.shadows)
    goes_on = rules.follow > ZERO or rules.is_partial or (flags & MIXED) != 0
    if goes_on:
        draw(job.task, chunk, hits, has_first, (STREAM_SCATTER, 1, 0))
        call_at(scene.bsdfs.loops[queue.bsdf, SCATTER], SCATTER, (chunk, hits, rules, tables))
    if flags & GLOWS:
        add_glow(job, chunk, list_indices(address(chunk.kind), (GLOWS, GLOWS), hits, address(chunk.rare)))
    if rules.asks:
        ask_photons(bounce, chunk, hits)
    if goes_on and flags & HAS_MEDIA:
        go_through_borders(chunk, hits, media)
        keep_media(EYE_MEDIA, address(chunk.goes), (ALL_BITS, ALL_BITS), view, hits)
    kept = keep_paths(view, hits) if goes_on else 0
    if rules.is_gather:
        ask_irradiance(bounce, chunk, hits)
    return looked, kept


@inlined
def ask_photons(bounce: Bounce, chunk: EyeChunk, hits: int) -> None:
    """Add the light that photons bring the vertices of a chunk, and the time that it takes."""
    start = nanoseconds()
    add_photon_light(bounce.job, chunk, bounce.batch.search[0], hits)
    bounce.batch.counters[LOOKUP_NANOSECONDS] += nanoseconds() - start


@inlined
def ask_irradiance(bounce: Bounce, chunk: EyeChunk, hits: int) -> None:
    """Add the light that is known near the vertices of a chunk, and the time that it takes."""
    start = nanoseconds()
    add_known_lights(bounce.job, chunk, hits, bounce.shadows)
    bounce.batch.counters[LOOKUP_NANOSECONDS] += nanoseconds() - start


@inlined
def batch_ahead(batch: EyeBatch) -> EyeBatch:
    """Returns where the paths are that go on: in the batch, or in its spare memory."""
    spare = batch.spare
    rays = batch.rays if is_in_place() else as_floats(spare[:RAY_FLOATS])
    paths = batch.paths if is_in_place() else spare[RAY_FLOATS : RAY_FLOATS + EYE_WORDS]
    return EyeBatch(rays, batch.hits, batch.prim_ids, paths, batch.scratch, spare, batch.search, batch.counters)


@compiled
def look_around(job: EyeJob, batch: EyeBatch, active: int, fresh: int, shadows: ShadowRays) -> int:
    """Have a shadow ray leave each hit of camera rays, spread by the cosine, that lights its pixel if it meets nothing
    within the job's reach; a miss is lit. Takes what `advance_eye_paths` does, and returns 0: no path goes on."""
    job, batch, shadows = borrowed(job), borrowed(batch), borrowed(shadows)
    places = places_of(batch, batch.spare, batch.scratch)
    flags = np.uint32(job.scene.photon_scene.flags & (BENT | MAPPED))
    queue = Queue(triangles_of(places), (MISS_BIT, NO_BITS), flags, 0, 0)  # all hits, no numbers of their BSDFs
    each_alone(light_missed, active, (job, batch))
    walk = Walk(job.scene, places, batch.scratch[0], active, active)
    return shade_queue(occlude, (job, shadows), walk, queue, (0, True))


@inlined
def light_missed(i: int, data: tuple[EyeJob, EyeBatch]) -> None:
    """Light the pixel of a camera ray that met nothing."""
    job, batch = data
    if batch.prim_ids[i] == MISS:
        add_radiance(job.image, Long(batch.paths[EYE_PIXEL, i]), (1.0, 1.0, 1.0), DIRECT_LIGHT, NO_GROUP)


@inlined
def occlude(queue: Queue, view: View, rays: tuple[int, int], data: tuple[EyeJob, ShadowRays]) -> tuple[int, int]:
    """Write the shadow rays of some hits, as `shade_queue` says."""
    job, shadows = data
    hits, looked = pick_vertices(queue, view, rays[1])
    if hits > 0:
        look_at_surfaces(job.scene, queue, view, hits)
        draw(job.task, view.chunk, hits, True, (STREAM_SCATTER, 1, 0))
        each(look_about, whole(hits), view.chunk)
        keep_shadow_rays(view.chunk, hits, (shadows, 0), Float32(job.reach), address(view.chunk.state))
    return looked, 0


@inlined
def look_about(i: int, chunk: EyeChunk) -> None:
    """Write the shadow ray of a vertex, spread by the cosine about its shading normal."""
    normal = column(chunk.normal, i)
    direction = lambertian(column(chunk.shading, i), unit32(chunk.bits[0, i]), unit32(chunk.bits[1, i]))
    set_column(chunk.shadow_direction, i, direction)
    set_column(chunk.start, i, along(column(chunk.position, i), normal, chunk.clearance[i]))
    set_column(chunk.radiance, i, (ONE, ONE, ONE))
    chunk.carries[i] = ALL_BITS if dot(direction, normal) > ZERO else NO_BITS


def eye_needs(diffuse: int, columns: int, has_fog: bool = False) -> frozenset[str]:
    """Returns for what eye paths have units (`Unit.need`). diffuse: what paths do with diffuse reflection
    (`renderer.camera_paths.task`). columns: of the image (`renderer.film.layers`). has_fog: whether media scatter."""
    is_there = {
        PHOTON_LIGHT: diffuse in ASKING,
        PHOTON_LAYERS: diffuse in ASKING and columns > LAYER_BIAS,
        KNOWN_IRRADIANCE: diffuse == GATHER,
        PHOTON_GROUPS: diffuse in ASKING and columns > LAYER_END,
        LIGHT_GROUPS: columns > LAYER_END,
        IN_SCATTERED: diffuse in ASKING and has_fog,
    }
    return frozenset(name for name, there in is_there.items() if there)


def make_eye_paths_ready(table: BsdfTable, diffuse: int, columns: int = 0) -> None:
    """Has the units and the loops of the BSDFs of a scene be there, before eye paths call them.
    diffuse, columns: see `eye_needs`."""
    has_fog = bool((table.flags & IN_MEDIUM).any())
    for name in sorted(eye_needs(diffuse, columns, has_fog)):
        need(name)
    arguments = loop_arguments(EYE_COLUMNS)
    loops = {LIGHT: light_vertices, SCATTER: scatter_paths} if diffuse != OCCLUDE else {}
    loops |= {SHOW: show_bases} if diffuse in ASKING else {}
    loops |= {ALBEDO: show_albedos} if columns > LAYER_BIAS + 1 else {}
    make_ready(table.bsdfs, {which: (loop, arguments) for which, loop in loops.items()})
    make_shaders_ready(table, AT_POINT, arguments[0])


@cache
def loop_arguments(columns: np.dtype[Any]) -> tuple[Any, ...]:
    """Returns Numba's types of the arguments of loops over vertices but for the kind, which it takes milliseconds to
    find. columns: of a chunk."""
    return numba.from_dtype(columns), types.int64, rules_type(), types.int64


@inlined
def cone_spread(pdf: float) -> float:
    """Returns how much wider the cone of a scattered ray gets over a distance of 1; pdf is 0 for one without spread."""
    spread = min(math.sqrt(ONE / (CONES * max(pdf, LEAST_PDF))), MOST_SPREAD)
    return spread if pdf > ZERO else ZERO


@unit(types.none)
def scatter_paths(kind: BsdfKind, chunk: EyeChunk, count: int, rules: Rules, tables: int) -> None:
    """Draw the next directions of the first `count` vertices, and decide which paths go on."""
    each(scatter_path, whole(count), Seeing(kind, chunk, rules, tables))


@inlined
def scatter_path(i: int, data: Seeing) -> None:
    """Write the direction in which a path goes on, by which lobe, and what it keeps."""
    chunk, kind = data.chunk, data.kind
    own, parameters = frame_at(kind, i, chunk), parameters_at(kind, i, chunk)
    seen = seen_at(i, own, chunk, EVEN, chunk.follow[i], data.tables)
    u = (unit32(chunk.bits[2, i]), unit32(chunk.bits[0, i]), unit32(chunk.bits[1, i]))
    ahead = scattered(kind, parameters, seen, own, column(chunk.ray, i), u)
    go(i, ahead, radiance_gain(kind, parameters, ahead.cosine, seen), data)


@inlined
def go(i: int, ahead: Scattered, gain: float, data: Seeing) -> None:
    """Play Russian roulette, and write the path that leaves a vertex. gain: see `radiance_gain`."""
    chunk, rules, wi = data.chunk, data.rules, ahead.wi
    is_specular, state = ahead.lobe == LOBE_SHARP, chunk.state[i]
    goes_straight = ahead.is_straight & ((chunk.kind[i] & SHEET) != 0)
    through, spread = state_through(state), state_after(state, is_specular, ahead.lobe == LOBE_BASE)
    next_state = through if goes_straight else spread
    # A mirror and glass show lights, which no shadow ray does: a path looks behind the last of them.
    most = rules.max_depth + max(Int(is_specular), rules.unlit)
    is_lost = (ahead.lobe == LOBE_NONE) | (not (largest(ahead.weight) > ZERO)) | (bounces_of(next_state) >= most)
    is_lost |= (dot(wi, column(chunk.normal, i)) > ZERO) != (ahead.cosine > ZERO)
    is_lost |= rules.is_sharp & (not is_specular)
    # The share of light kept decides who goes on; by the throughput, every second path would end in glass.
    is_sure = (Int(state & DEPTH_MASK) < SURE_BOUNCES) & (chunk.follow[i] > ZERO)
    survives, more = roulette(ONE if is_sure else largest(ahead.weight), ONE, unit32(chunk.bits[3, i]))
    goes = survives & (not is_lost)
    kept = scale(ahead.weight, gain * more)
    pdf = chunk.pdf[i] if goes_straight else ahead.pdf
    chunk.goes[i] = ALL_BITS if goes else NO_BITS
    chunk.lobe[i], chunk.next_state[i], chunk.next_pdf[i] = ahead.lobe, next_state, pdf
    set_column(chunk.next_throughput, i, multiply(column(chunk.throughput, i), kept))
    chunk.next_behind[i] = chunk.behind[i] + chunk.distance[i] if goes_straight else ZERO
    chunk.next_cone[0, i] = width_at(i, chunk)
    chunk.next_cone[1, i] = max(chunk.cone[1, i], cone_spread(pdf))
    set_column(chunk.wi, i, wi)
    set_column(chunk.start, i, next_origin(i, wi, chunk))
    unmapped = chosen(is_specular, column(chunk.unmapped, i), (ONE, ONE, ONE))
    # What of the light ahead the caustic map has brought is what the base would scatter.
    is_mapped = rules.is_mapped & (chunk.is_far[i] == Int(0)) & (ahead.pdf > ZERO)
    set_column(chunk.next_unmapped, i, chosen(is_mapped, unmapped_by(ahead), unmapped))


@inlined
def unmapped_by(ahead: Scattered) -> Color:
    """Returns the shares of what is scattered that are not the base's."""
    base, weight = ahead.base, ahead.weight
    return (rest(base[0], weight[0]), rest(base[1], weight[1]), rest(base[2], weight[2]))


@inlined
def rest(part: float, whole: float) -> float:
    """Returns the share of the whole that is not in the part."""
    share = max(ZERO, ONE - part / max(whole, LEAST_PDF))
    return share if whole > ZERO else ZERO


@inlined
def keep_paths(view: View, hits: int) -> int:
    """Move the paths that go on behind those before. Returns how many they are. A whole vector ends no later than the
    rays looked at, so that none is lost that is still to be shaded."""
    chunk, step = view.chunk, view.step
    path = (address(chunk.pixel),) + rows(address(chunk.next_state), column_bytes(), NEXT_COLUMNS)
    sources = column_of(chunk.start) + column_of(chunk.wi) + path
    targets = ray_columns(view.kept_rays, step) + rows(view.kept_paths, step, EYE_MEDIA)
    return pack_columns(address(chunk.goes), (ALL_BITS, ALL_BITS), in_chunk(hits), sources, targets)
