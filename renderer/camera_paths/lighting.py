"""The second stage of a bounce: shadow rays from the vertices to points of lights, sample after sample."""

import math
from typing import NamedTuple

import numpy as np
from numba import types

from renderer.camera_paths.paths import (
    SHADOW_MEDIA,
    SHADOW_WORDS,
    SPECULAR_ONLY,
    EyeChunk,
    ShadowRays,
    bounces_of,
    limit_ray,
)
from renderer.camera_paths.sampler import draw
from renderer.camera_paths.task import EyeTask
from renderer.camera_paths.vertices import EVEN, Rules, Seeing, Vertices, may_go_on, radiance_gain
from renderer.photons.media import Inside, stack_towards
from renderer.scene.light_records import LAMPS_ONE_BY_ONE, LIGHT_RECORD, ONE_BY_ONE, LightRecords
from renderer.scene.light_tree import BELOW_ONE, LIGHTS_BY_TREE, LightTree, first_chance, half_of
from renderer.scene.media import tables_of
from renderer.scene.packed_scene import PackedScene
from renderer.scene.photon_scene import HAS_MEDIA
from renderer.shading.chunks import ALL_BITS, NO_BITS, Long, ray_columns
from renderer.shading.scattering import LIGHT, frame_at, in_frame, next_origin, parameters_at, seen_at
from renderer.simd.bsdf_kinds import BsdfKind, call_at, evaluate
from renderer.simd.columns import (
    WORD_BYTES,
    column,
    column_bytes,
    get,
    get3,
    get_int,
    get_word,
    in_chunk,
    rows,
    set_column,
    three,
)
from renderer.simd.loops import each, each_alone, whole
from renderer.simd.packing import list_indices, pack_columns
from renderer.simd.rows import gather_columns
from renderer.simd.ways import Way, call_way, for_each_way
from shaders.compilation import called
from shaders.environment import EnvironmentArrays, Sky, sky_of
from shaders.float32 import ONE, ZERO, Float32, Floats, Int
from shaders.lights.kind import Light, LightArrays, LightSample
from shaders.lights.registry import kinds_with, sample_one
from shaders.lights.triangle import SHADOW_END
from shaders.random import STREAM_LIGHT, unit32
from shaders.sampling import interval, uniform_triangle
from shaders.vector import Vec3, add, along, chosen, dot, in_double, in_single, largest, multiply, scale, subtract
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import inlined
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address

#: Shadow rays per vertex: one for each light up to this many, then as many spread over all.
MAX_LIGHT_SAMPLES = 8

#: Levels of the tree after which a new number chooses: each level takes what it tells from the number.
NUMBER_LASTS = 8

#: Which sample of a vertex, of how many.
Stratum = tuple[float, float]

#: Smaller squares of distances, and cosines, than this are raised to it where something is divided by them.
LEAST = Float32(2.0**-80)

END = Float32(SHADOW_END)

LIGHT_BYTES, LIGHT_QUADS = LIGHT_RECORD.itemsize, tuple(range(0, LIGHT_RECORD.itemsize, 16))

#: The bits of ONE_BY_ONE.
ONE_BY_ONE_BITS = ONE_BY_ONE.view(np.uint32)

#: Calls loop(way, number, more) for each kind of light with an `arrive`, which is the way.
for_each_arriving = for_each_way([(kind.arrive, int(kind.number)) for kind in kinds_with("arrive")])


class Arriving(NamedTuple):
    """How light arrives at vertices. way, density: of a kind of light, see LIGHT_RECORD."""

    way: Way
    density: float
    sky: Sky
    chunk: EyeChunk


@unit(types.none)
def add_shadow_rays(
    scene: PackedScene, task: EyeTask, vertices: Vertices, counts: tuple[int, bool], shadows: ShadowRays
) -> None:
    """Add the shadow rays of all vertices of a chunk.
    counts: of the vertices, and whether some are the first of their paths."""
    chunk, (hits, has_first) = vertices.chunk, counts
    for sample in range(task.light_samples):
        draw(task, chunk, hits, has_first, (STREAM_LIGHT, MAX_LIGHT_SAMPLES, sample))
        sample_lights(scene, vertices, hits, sample)
        lit = (chunk, hits, vertices.rules, address(scene.bsdfs.tables))
        call_at(scene.bsdfs.loops[vertices.bsdf, LIGHT], LIGHT, lit)
        if scene.photon_scene.flags & HAS_MEDIA:
            each(enter_towards_light, whole(hits), (chunk, tables_of(scene.photon_scene.media)))
            keep_shadow_media(chunk, hits, shadows, sample)
        states = address(chunk.state)
        if len(scene.groups.of_lamps) > 0:
            each_alone(tell_group, hits, (chunk, address(scene.groups.of_lamps)))
            states = address(chunk.light)
        keep_shadow_rays(chunk, hits, (shadows, sample), ONE, states)


@inlined
def sample_lights(scene: PackedScene, vertices: Vertices, hits: int, sample: int) -> None:
    """Choose a light for each vertex, and write what comes from a point of it if nothing is in between."""
    chunk, lights = vertices.chunk, scene.light_records
    stratum = (Float32(sample), vertices.rules.samples)
    is_plain = not lights.has_others and lights.kinds == 0 and len(scene.groups.of_lamps) == 0
    if lights.tree.levels > 0:
        choose_by_tree(lights.tree, stratum, chunk, hits)
    else:
        first, count = of_stratum(lights.cumulative, stratum)
        if count == 1 and is_plain:  # as for each half of a square lamp
            each(arrive_from, whole(hits), (chunk, record_at(lights, first)))
            return
        choose_by_power(lights.cumulative, (first, count), stratum, (chunk, hits))
    columns = (LIGHT_QUADS, address(chunk.light_position))
    gather_columns(address(lights.records), LIGHT_BYTES, address(chunk.light), whole(hits), columns)
    if lights.has_plain:
        each(arrive, whole(hits), chunk)
    if lights.kinds != 0:
        for_each_arriving(arrive_at_vertices, (scene.lamps.environment, lights.kinds, chunk, hits))
    if lights.has_others:
        others = list_indices(address(chunk.density), (ALL_BITS, ONE_BY_ONE_BITS), hits, address(chunk.rare))
        sample_others(scene.lamps, chunk, others)
    if lights.tree.levels > 0:
        each(weigh_choice, whole(hits), chunk)


@inlined
def of_stratum(cumulative: Floats, stratum: Stratum) -> tuple[int, int]:
    """Returns the first light that a sample may choose by power, and how many they are.

    cumulative: (n,) float32, running sums of the lights' probabilities.
    stratum: which sample, of how many.
    """
    first = interval(cumulative, stratum_point(stratum, ZERO))
    return first, interval(cumulative, stratum_point(stratum, BELOW_ONE)) + 1 - first


@inlined
def choose_by_power(
    cumulative: Floats, lights: tuple[int, int], stratum: Stratum, vertices: tuple[EyeChunk, int]
) -> None:
    """Choose a light for each vertex. lights: of the stratum, see `of_stratum`. vertices: a chunk, and how many."""
    (first, left), (chunk, hits) = lights, vertices
    each(pick_stratum, whole(hits), (chunk, stratum, np.int32(first)))
    while left > 1:
        each(halve, whole(hits), (chunk, address(cumulative), np.int32(left >> 1)))
        left -= left >> 1


@unit(types.none, need=LIGHTS_BY_TREE)
def choose_by_tree(tree: LightTree, stratum: Stratum, chunk: EyeChunk, hits: int) -> None:
    """Choose a light for each of the first `hits` vertices, and write with which chance."""
    tree = borrowed(tree)
    each(pick_stratum, whole(hits), (chunk, stratum, np.int32(1)))
    each(begin_choice, whole(hits), chunk)
    for level in range(tree.levels):
        if level == NUMBER_LASTS:
            each(pick_anew, whole(hits), chunk)
        each(descend, whole(hits), (chunk, address(tree.nodes)))
    each(take_light, whole(hits), (chunk, address(tree.lights), Int(len(tree.lights))))


@inlined
def stratum_point(stratum: Stratum, u: float) -> float:
    """Returns a number that chooses a light: each sample has a stratum of its own.
    stratum: which sample, of how many. u: 0..1, where in the stratum."""
    return min((stratum[0] + u) / stratum[1], BELOW_ONE)


@inlined
def pick_stratum(i: int, data: tuple[EyeChunk, Stratum, np.int32]) -> None:
    """Write the number that chooses a light, and the first light that it may be, or the node of all lights.
    data: also has the stratum."""
    chunk, stratum, first = data
    chunk.pick[i] = stratum_point(stratum, unit32(chunk.bits[2, i]))
    chunk.light[i] = first


@inlined
def halve(i: int, data: tuple[EyeChunk, int, np.int32]) -> None:
    """Go on to the upper half of the lights that are left, where the number is not below the sums of the lower one.
    data: also has the address of the running sums of the lights' probabilities, and how many lights a half has."""
    chunk, cumulative, half = data
    light = chunk.light[i]
    above = chunk.pick[i] >= get(cumulative, Int(light + half - Int(1)))
    chunk.light[i] = Int(light + half) if above else light


@inlined
def begin_choice(i: int, chunk: EyeChunk) -> None:
    """Write that the chance of what is chosen so far is 1."""
    chunk.chance[i] = ONE


@inlined
def pick_anew(i: int, chunk: EyeChunk) -> None:
    """Write a new number, as that of the stratum has been used up."""
    chunk.pick[i] = unit32(chunk.bits[3, i])


@inlined
def descend(i: int, data: tuple[EyeChunk, int]) -> None:
    """Go on to a half of a node. data: also has the address of the nodes."""
    chunk, nodes = data
    node, pick = chunk.light[i], chunk.pick[i]
    first = first_chance(nodes, node, column(chunk.position, i))
    is_first = pick < first
    chance, rest = (first if is_first else ONE - first), (pick if is_first else pick - first)
    chunk.light[i] = half_of(node, is_first)
    chunk.pick[i] = min(rest / chance, BELOW_ONE)
    chunk.chance[i] = chunk.chance[i] * chance


@inlined
def take_light(i: int, data: tuple[EyeChunk, int, np.int32]) -> None:
    """Write the light of a leaf. data: also has the address of the leaves' lights, and the number of leaves, which is
    that of the first leaf's node."""
    chunk, lights, leaves = data
    chunk.light[i] = Int(get_word(lights, Int(chunk.light[i] - leaves)))


@inlined
def weigh_choice(i: int, chunk: EyeChunk) -> None:
    """Have what a light brings stand for all lights, and its density be that of all."""
    chance = chunk.chance[i]
    set_column(chunk.irradiance, i, scale(column(chunk.irradiance, i), ONE / chance))
    chunk.light_pdf[i] = chunk.light_pdf[i] * chance


@inlined
def record_at(lights: LightRecords, index: int) -> Light:
    """Returns the record of a light."""
    record = address(lights.records) + LIGHT_BYTES * index
    vectors = (get3(record, 4, 0), get3(record, 4, 3), get3(record, 4, 6), get3(record, 4, 9), get3(record, 4, 12))
    return Light(*vectors, get(record, 15))


@inlined
def arrive(i: int, chunk: EyeChunk) -> None:
    """Write what comes from the light of a vertex, a triangle or a point."""
    bring(i, chunk, light_of(i, chunk))


@inlined
def light_of(i: int, chunk: EyeChunk) -> Light:
    """Returns the light of a vertex."""
    edges = (column(chunk.edge_1, i), column(chunk.edge_2, i))
    normal, flux = column(chunk.light_normal, i), column(chunk.light_flux, i)
    return Light(column(chunk.light_position, i), edges[0], edges[1], normal, flux, chunk.density[i])


@inlined
def arrive_from(i: int, data: tuple[EyeChunk, Light]) -> None:
    """Do as `arrive` where all vertices have the same light."""
    bring(i, data[0], data[1])


@inlined
def bring(i: int, chunk: EyeChunk, light: Light) -> None:
    """Write direction, irradiance and density of a light at a vertex."""
    s, t = uniform_triangle(unit32(chunk.bits[0, i]), unit32(chunk.bits[1, i]))
    on_light = along(along(light.position, light.edge_1, s), light.edge_2, t)
    offset = subtract(on_light, column(chunk.position, i))
    square = max(dot(offset, offset), LEAST)
    direction = scale(offset, ONE / math.sqrt(square))
    is_point = light.density == ZERO
    ahead = -dot(direction, light.normal)
    cosine = ONE if is_point else max(ahead, ZERO)
    per_square = cosine / square if square > LEAST else ZERO
    set_column(chunk.irradiance, i, scale(light.flux, per_square))
    chunk.light_pdf[i] = light.density * square / max(cosine, LEAST)
    set_column(chunk.to_light, i, direction)
    set_column(chunk.target, i, scale(offset, ONE if is_point else END))


@inlined
def arrive_at_vertices(way: Way, number: int, more: tuple[EnvironmentArrays, int, EyeChunk, int]) -> None:
    """Write what comes from the lights of a kind. more: also has the bits of kinds in use, and how many vertices."""
    environment, kinds, chunk, hits = more
    if (kinds >> number) & 1 != 0:
        each(arrive_by_kind, whole(hits), Arriving(way, Float32(-number), sky_of(environment), chunk))


@inlined
def arrive_by_kind(i: int, data: Arriving) -> None:
    """Write direction, irradiance and density of a light at a vertex whose light is of a kind."""
    chunk = data.chunk
    is_own, bits = chunk.density[i] == data.density, (chunk.bits[0, i], chunk.bits[1, i])
    light = call_way(data.way, (light_of(i, chunk), data.sky, column(chunk.position, i), bits))
    set_column(chunk.irradiance, i, chosen(is_own, light.irradiance, column(chunk.irradiance, i)))
    chunk.light_pdf[i] = light.pdf_solid_angle if is_own else chunk.light_pdf[i]
    set_column(chunk.to_light, i, chosen(is_own, light.direction, column(chunk.to_light, i)))
    target = scale(light.direction, light.distance)
    set_column(chunk.target, i, chosen(is_own, target, column(chunk.target, i)))


@called
def light_at(lights: LightArrays, index: int, point: Vec3, u: tuple[float, float]) -> LightSample:
    """Does what `sample_one` does, which is long: its code is there once."""
    return sample_one(lights, index, point, u)


@unit(types.none, need=LAMPS_ONE_BY_ONE)
def sample_others(lights: LightArrays, chunk: EyeChunk, count: int) -> None:
    """Write direction, irradiance and density of lights of other kinds, of the first `count` vertices of a list."""
    each_alone(sample_other, count, (borrowed(lights), chunk))


@inlined
def sample_other(k: int, data: tuple[LightArrays, EyeChunk]) -> None:
    """Write direction, irradiance and density of a light at vertex k of the list."""
    lights, chunk = data
    i = chunk.rare[k]
    u = (np.float64(unit32(chunk.bits[0, i])), np.float64(unit32(chunk.bits[1, i])))
    light = light_at(lights, Long(chunk.light[i]), in_double(column(chunk.position, i)), u)
    set_column(chunk.to_light, i, in_single(light.direction))
    set_column(chunk.target, i, in_single(scale(light.direction, light.distance)))
    set_column(chunk.irradiance, i, in_single(light.irradiance))
    chunk.light_pdf[i] = light.pdf_solid_angle


@inlined
def power_weight(pdf: float, other_pdf: float) -> float:
    """Returns what `shaders.sampling.power_heuristic` does, for vector loops; 1 of light without a density.

    pdf: with which the light was found, of all samples together.
    other_pdf: with which the path that goes on, or shadow rays, would have found it.
    """
    ratio = other_pdf / max(pdf, LEAST)
    return ONE / (ONE + ratio * ratio) if pdf > ZERO else ONE


@unit(types.none)
def light_vertices(kind: BsdfKind, chunk: EyeChunk, count: int, rules: Rules, tables: int) -> None:
    """Write the shadow rays of the first `count` vertices, towards the lights that were chosen for them."""
    each(light_vertex, whole(count), Seeing(kind, chunk, rules, tables))


@inlined
def light_vertex(i: int, data: Seeing) -> None:
    """Write the shadow ray of a vertex, whether it carries something or not."""
    chunk, kind, rules = data.chunk, data.kind, data.rules
    own, parameters, direction = frame_at(kind, i, chunk), parameters_at(kind, i, chunk), column(chunk.to_light, i)
    seen = seen_at(i, own, chunk, EVEN, chunk.follow[i], data.tables)
    wi = in_frame(direction, own)
    value = evaluate(kind, parameters, wi, seen)
    weight = power_weight(rules.samples * chunk.light_pdf[i], may_go_on(i, chunk, rules) * value.pdf)
    base = chunk.follow[i] * weight + (ONE - chunk.follow[i]) * rules.alone
    rest = weight * radiance_gain(kind, parameters, wi[2], seen)
    is_dark = bounces_of(chunk.state[i]) >= rules.max_depth  # behind the last surface a path meets light alone
    seen_share = scale(column(chunk.throughput, i), (ZERO if is_dark else abs(wi[2])) / rules.samples)
    reflected = add(scale(value.base, base), scale(value.rest, rest))
    radiance = multiply(multiply(seen_share, reflected), column(chunk.irradiance, i))
    start, position = next_origin(i, direction, chunk), column(chunk.position, i)
    above = dot(direction, column(chunk.normal, i)) > ZERO
    is_lit = (above == (wi[2] > ZERO)) & (largest(radiance) > ZERO)
    set_column(chunk.radiance, i, radiance)
    set_column(chunk.start, i, start)
    # From off the surface to where the light is: along the direction alone, the ray would end behind a close light.
    set_column(chunk.shadow_direction, i, subtract(column(chunk.target, i), subtract(start, position)))
    chunk.carries[i] = ALL_BITS if is_lit else NO_BITS


@inlined
def tell_group(i: int, data: tuple[EyeChunk, int]) -> None:
    """Write, in place of a vertex's light, the state of its shadow ray with the group of that light.
    data: also has the address of the groups of the lamps."""
    chunk, groups = data
    chunk.light[i] = Int(chunk.state[i] & SPECULAR_ONLY) | get_int(groups, chunk.light[i])


@inlined
def keep_shadow_rays(chunk: EyeChunk, hits: int, slot: tuple[ShadowRays, int], end: float, states: int) -> None:
    """Move the shadow rays that carry something behind those that there are of their sample.

    slot: all shadow rays, and which sample these are of.
    end: at which multiple of their directions they end.
    states: address of the column of their states.
    """
    shadows, sample = slot
    step, before = WORD_BYTES * shadows.rays.shape[2], shadows.counts[sample]
    first = WORD_BYTES * before
    rays = address(shadows.rays) + 8 * step * sample + first
    radiance = address(shadows.radiance) + 3 * step * sample + first
    paths = address(shadows.paths) + SHADOW_WORDS * step * sample + first
    sources = rows(address(chunk.start), column_bytes(), 9) + (address(chunk.pixel), states)
    targets = ray_columns(rays, step) + three(radiance, step) + (paths, paths + step)
    kept = pack_columns(address(chunk.carries), (ALL_BITS, ALL_BITS), in_chunk(hits), sources, targets)
    each(limit_ray, whole(kept), (rays + 3 * step, rays + 7 * step, end))
    shadows.counts[sample] = before + kept


@inlined
def enter_towards_light(i: int, data: Inside) -> None:
    """Write the stack of media of a shadow ray: that of the path, or what is behind the border of rough glass."""
    chunk, _ = data
    chunk.shadow_media[i] = stack_towards(i, column(chunk.to_light, i), data)


@inlined
def keep_shadow_media(chunk: EyeChunk, hits: int, shadows: ShadowRays, sample: int) -> None:
    """Do as `keep_shadow_rays`, of the stacks of media that they are in."""
    step, first = WORD_BYTES * shadows.rays.shape[2], WORD_BYTES * shadows.counts[sample]
    kept = (address(shadows.paths) + (SHADOW_WORDS * sample + SHADOW_MEDIA) * step + first,)
    pack_columns(address(chunk.carries), (ALL_BITS, ALL_BITS), in_chunk(hits), (address(chunk.shadow_media),), kept)
