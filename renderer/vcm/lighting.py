"""Light that shadow rays from the eye's paths bring, and light that these paths meet, each weighed by how else its path
could have been found."""

from typing import NamedTuple

import numpy as np
from numba import types

from renderer.camera_paths.lighting import (
    MAX_LIGHT_SAMPLES,
    enter_towards_light,
    keep_shadow_media,
    keep_shadow_rays,
    of_stratum,
    record_at,
    sample_lights,
)
from renderer.camera_paths.media import absorb_endless_ray
from renderer.camera_paths.met_light import (
    ANYWHERE,
    face_outside,
    for_each_meeting,
    meet_nothing,
    met_outside,
    off_edges,
    pick_endless,
)
from renderer.camera_paths.paths import EYE_UNMAPPED, SPECULAR_ONLY, EyeBatch, EyeChunk, ShadowRays, bounces_of
from renderer.camera_paths.sampler import draw
from renderer.camera_paths.vertices import EVEN, radiance_gain, width_at
from renderer.camera_paths.vertices import Vertices as Queued
from renderer.film.layers import DIRECT_LIGHT, NO_GROUP, add_radiance
from renderer.scene.light_tree import chance_at
from renderer.scene.media import tables_of
from renderer.scene.packed_scene import PackedScene
from renderer.scene.photon_scene import HAS_MEDIA
from renderer.shading.chunks import ALL_BITS, NO_BITS, Long
from renderer.shading.scattering import LIGHT_JOINED, frame_at, in_frame, next_origin, parameters_at, seen_at
from renderer.simd.bsdf_kinds import BsdfKind, call_at, evaluate
from renderer.simd.columns import WORD_BYTES, column, get, get3, get_int, set_column
from renderer.simd.loops import each, each_alone, whole
from renderer.simd.ways import Way, call_way
from renderer.vcm.job import JoinedJob, PathRules, own_rules
from renderer.vcm.lamps import AT_PLACE, ON_SURFACE, LampDensities, others_of_glow
from renderer.vcm.weights import cosine_at, others_by_connection, reverse_pdf, sums_at, sums_before
from shaders.environment import Sky, sky_of
from shaders.float32 import ONE, ZERO, Float32, Int
from shaders.lights.kind import Light
from shaders.lights.registry import light_pdf
from shaders.lights.row import LIGHT_KIND
from shaders.random import STREAM_LIGHT
from shaders.surface import backdrop_at, emission_at
from shaders.vector import add, along, dot, in_double, largest, multiply, scale, subtract
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import inlined
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address


class ShadowRules(NamedTuple):
    """Says how shadow rays are weighed. kinds, leaving, chosen: addresses of `LampDensities`. has_tree: whether a tree
    chooses the lamps. samples: shadow rays of a vertex."""

    paths: PathRules
    kinds: int
    leaving: int
    chosen: int
    has_tree: bool
    samples: float


class Lit(NamedTuple):
    """What the loops of a BSDF work on. tables: address of what was measured (`shaders.bsdfs.bsdf.Seen`)."""

    kind: BsdfKind
    chunk: EyeChunk
    rules: ShadowRules
    tables: int


class Meeting(NamedTuple):
    """How rays meet a light. way: of its kind. lamp: its number. chance: of the tree of lamps."""

    way: Way
    light: Light
    sky: Sky
    lamp: int
    chance: float
    densities: LampDensities
    chunk: EyeChunk


@inlined
def shadow_rules(job: JoinedJob) -> ShadowRules:
    """Returns the rules of the shadow rays of a pass."""
    lamps = job.lamps
    places = (address(lamps.kinds), address(lamps.leaving), address(lamps.chosen))
    has_tree = job.scene.light_records.tree.levels > 0
    return ShadowRules(own_rules(job.rules), places[0], places[1], places[2], has_tree, Float32(lamps.samples))


@unit(types.none)
def add_shadow_rays(job: JoinedJob, vertices: Queued, counts: tuple[int, bool], shadows: ShadowRays) -> None:
    """Add the shadow rays of all vertices of a chunk.
    counts: of the vertices, and whether some are the first of their paths."""
    job = borrowed(job)
    chunk, (hits, has_first), scene, rules = vertices.chunk, counts, job.scene, shadow_rules(job)
    for sample in range(job.task.light_samples):
        draw(job.task, chunk, hits, has_first, (STREAM_LIGHT, MAX_LIGHT_SAMPLES, sample))
        if not rules.has_tree:
            stratum = (Float32(sample), rules.samples)
            each(take_first, whole(hits), (chunk, Int(of_stratum(scene.light_records.cumulative, stratum)[0])))
        sample_lights(scene, vertices, hits, sample)
        lit = (chunk, hits, rules, address(scene.bsdfs.tables))
        call_at(scene.bsdfs.loops[vertices.bsdf, LIGHT_JOINED], LIGHT_JOINED, lit)
        if scene.photon_scene.flags & HAS_MEDIA:
            each(enter_towards_light, whole(hits), (chunk, tables_of(scene.photon_scene.media)))
            keep_shadow_media(chunk, hits, shadows, sample)
        keep_shadow_rays(chunk, hits, (shadows, sample), ONE, address(chunk.state))


@inlined
def take_first(i: int, data: tuple[EyeChunk, int]) -> None:
    """Write the light of a vertex, where a stratum has but one, and that no tree has chosen it."""
    chunk, first = data
    chunk.light[i], chunk.chance[i] = first, ONE


@unit(types.none)
def light_joined(kind: BsdfKind, chunk: EyeChunk, count: int, rules: ShadowRules, tables: int) -> None:
    """Write the shadow rays of the first `count` vertices, towards the lights that were chosen for them."""
    each(light_joined_vertex, whole(count), Lit(kind, chunk, rules, tables))


@inlined
def light_joined_vertex(i: int, data: Lit) -> None:
    """Write the shadow ray of a vertex, whether it carries something or not."""
    chunk, kind, rules = data.chunk, data.kind, data.rules
    own, parameters, direction = frame_at(kind, i, chunk), parameters_at(kind, i, chunk), column(chunk.to_light, i)
    seen = seen_at(i, own, chunk, EVEN, ONE, data.tables)
    wi = in_frame(direction, own)
    value = evaluate(kind, parameters, wi, seen)
    light_pdf = rules.samples * chunk.light_pdf[i]
    others = value.pdf / light_pdf if light_pdf > ZERO else ZERO
    behind = others_by_connection(sums_at(i, chunk), reverse_pdf(kind, parameters, wi, seen), ZERO)
    others += cosine_at(i, direction, chunk) * leaving_over_chosen(i, data) * behind
    is_dark = bounces_of(chunk.state[i]) >= rules.paths.max_bounces
    share = (ZERO if is_dark else abs(wi[2])) / (rules.samples * (ONE + others))
    reflected = add(value.base, scale(value.rest, radiance_gain(kind, parameters, wi[2], seen)))
    radiance = multiply(multiply(scale(column(chunk.throughput, i), share), reflected), column(chunk.irradiance, i))
    start, position = next_origin(i, direction, chunk), column(chunk.position, i)
    above = dot(direction, column(chunk.normal, i)) > ZERO
    is_lit = (above == (wi[2] > ZERO)) & (largest(radiance) > ZERO)
    set_column(chunk.radiance, i, radiance)
    set_column(chunk.start, i, start)
    set_column(chunk.shadow_direction, i, subtract(column(chunk.target, i), subtract(start, position)))
    chunk.carries[i] = ALL_BITS if is_lit else NO_BITS


@inlined
def leaving_over_chosen(i: int, data: Lit) -> float:
    """Returns the density with which a photon leaves the lamp of a vertex to it, per cosine there, over that with which
    its shadow rays are sent to the lamp."""
    chunk, rules = data.chunk, data.rules
    lamp = chunk.light[i]
    kind, leaving, chosen = get_int(rules.kinds, lamp), get(rules.leaving, lamp), get(rules.chosen, lamp)
    offset = column(chunk.target, i)
    square = dot(offset, offset) if kind == Int(AT_PLACE) else ONE
    by_choice = rules.samples * chosen * chunk.chance[i] * square
    over = rules.samples * chunk.light_pdf[i] if kind == Int(ON_SURFACE) else by_choice
    return leaving / over if over > ZERO else ZERO


@unit(types.none)
def add_glow(job: JoinedJob, chunk: EyeChunk, count: int) -> None:
    """Add what the first `count` vertices of the list `chunk.rare` emit, and what the eye alone sees of them."""
    each_alone(add_glow_of, count, (borrowed(job), chunk))


@inlined
def add_glow_of(k: int, data: tuple[JoinedJob, EyeChunk]) -> None:
    """Add the light that vertex k of the list emits, and what the eye alone sees of it."""
    job, chunk = data
    i = Long(chunk.rare[k])
    triangle, direction = Long(chunk.triangle[i]), in_double(column(chunk.ray, i))
    place = off_edges(np.float64(chunk.uv[0, i]), np.float64(chunk.uv[1, i]))
    throughput = in_double(column(chunk.throughput, i))
    emission = emission_at(job.scene.surfaces, triangle, place, scale(direction, -1.0))
    if largest(emission) > 0.0:
        lamp = job.scene.surfaces.emitter_ids[triangle]
        begin = along(column(chunk.origin, i), column(chunk.ray, i), -chunk.behind[i])
        distance = np.float64(chunk.behind[i]) + np.float64(chunk.distance[i])
        pdf = Float32(light_pdf(job.scene.lamps, lamp, in_double(begin), direction, distance))
        chance = chance_at(job.scene.light_records.tree, lamp, begin)
        weight = 1.0 / (1.0 + others_of_glow(job.lamps, lamp, sums_before(i, chunk), pdf, chance))
        met = scale(multiply(throughput, emission), weight)
        add_radiance(job.image, Long(chunk.pixel[i]), met, DIRECT_LIGHT, NO_GROUP)
    if chunk.state[i] & SPECULAR_ONLY:
        cone = (np.float64(width_at(i, chunk)), -dot(direction, in_double(column(chunk.normal, i))))
        seen = multiply(throughput, backdrop_at(job.scene.surfaces, triangle, place, cone))
        add_radiance(job.image, Long(chunk.pixel[i]), seen, DIRECT_LIGHT, NO_GROUP)


@unit(types.none)
def add_light_from_outside(job: JoinedJob, batch: EyeBatch, count: int) -> None:
    """Add what rays of a batch meet that leave the scene: lights far away and, for the eye alone, the background."""
    job, batch = borrowed(job), borrowed(batch)
    chunk, first = batch.scratch[0], Long(0)
    while first < count:
        leaving, looked = pick_endless(batch, chunk, first, count)
        if leaving > 0:
            each_alone(take_sums, leaving, (batch, chunk))
            each(face_outside, whole(leaving), chunk)
            each(meet_nothing, whole(leaving), chunk)
            for_each_meeting(meet_of_kind, (job.scene, job.lamps, chunk, leaving))
        each_alone(add_endless, leaving, (job, batch, chunk))
        first += looked


@inlined
def take_sums(k: int, data: tuple[EyeBatch, EyeChunk]) -> None:
    """Write the sums of the path of ray k of the list."""
    batch, chunk = data
    step = WORD_BYTES * batch.paths.shape[1]
    set_column(chunk.unmapped, k, get3(address(batch.paths) + EYE_UNMAPPED * step, step, Long(chunk.rare[k])))


@inlined
def meet_of_kind(way: Way, number: int, more: tuple[PackedScene, LampDensities, EyeChunk, int]) -> None:
    """Add what rays meet of the lights of a kind. more: also has how many rays there are."""
    scene, densities, chunk, count = more
    lights = scene.lamps
    for lamp in lights.outer:
        if lights.rows[lamp, LIGHT_KIND] == number:
            chance, record = chance_at(scene.light_records.tree, lamp, ANYWHERE), record_at(scene.light_records, lamp)
            data = Meeting(way, record, sky_of(lights.environment), lamp, chance, densities, chunk)
            each_alone(meet_light, count, data)


@inlined
def meet_light(k: int, data: Meeting) -> None:
    """Add what a ray meets of a light, with its weight."""
    chunk = data.chunk
    radiance, pdf = call_way(data.way, (data.light, data.sky, column(chunk.ray, k)))
    weight = ONE / (ONE + others_of_glow(data.densities, data.lamp, sums_before(k, chunk), pdf, data.chance))
    set_column(chunk.radiance, k, along(column(chunk.radiance, k), radiance, weight))


@inlined
def add_endless(k: int, data: tuple[JoinedJob, EyeBatch, EyeChunk]) -> None:
    """Add what ray k of the list meets outside of the scene."""
    job, batch, chunk = data
    row = Long(chunk.rare[k])
    if job.scene.photon_scene.flags & HAS_MEDIA:
        step = WORD_BYTES * batch.paths.shape[1]
        absorb_endless_ray(address(batch.paths), step, row, tables_of(job.scene.photon_scene.media))
    met = met_outside(batch, row)
    if met.state & SPECULAR_ONLY:  # a backdrop for the eye, no light
        add_radiance(job.image, met.pixel, multiply(met.throughput, job.scene.background), DIRECT_LIGHT, NO_GROUP)
    light = multiply(met.throughput, in_double(column(chunk.radiance, k)))
    add_radiance(job.image, met.pixel, light, DIRECT_LIGHT, NO_GROUP)
