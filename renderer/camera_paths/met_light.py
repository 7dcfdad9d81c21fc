"""Light that rays of paths meet: lamps, the sky, and what the eye alone sees.

What lights outside of the scene send is found in vector loops. Few rays meet lamps, and what they take is not worth
loops of its own: it is found ray by ray, in float64.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import types

from renderer.camera_paths.lighting import power_weight, record_at
from renderer.camera_paths.media import absorb_endless_ray
from renderer.camera_paths.paths import (
    EYE_PDF,
    EYE_STATE,
    EYE_THROUGHPUT,
    EYE_UNMAPPED,
    SPECULAR_ONLY,
    SPREAD_MASK,
    SPREAD_SHIFT,
    EyeBatch,
    EyeChunk,
    EyeJob,
)
from renderer.camera_paths.vertices import EDGE, width_at
from renderer.film.layers import (
    CAUSTIC_LIGHT,
    DIRECT_LIGHT,
    INDIRECT_LIGHT,
    LAYER_END,
    NO_GROUP,
    add_radiance,
    add_to_group,
)
from renderer.scene.light_groups import LIGHT_GROUPS
from renderer.scene.light_tree import chance_at
from renderer.scene.media import tables_of
from renderer.scene.packed_scene import PackedScene
from renderer.scene.photon_scene import HAS_MEDIA
from renderer.shading.chunks import ALL_BITS, RAY_DIRECTION, Long
from renderer.simd.columns import WORD_BYTES, column, column_of, get3, get_word, set_column, three
from renderer.simd.loops import each, each_alone, whole
from renderer.simd.packing import pack_numbered
from renderer.simd.ways import Way, call_way, for_each_way
from shaders.environment import Sky, sky_of
from shaders.float32 import ONE, ZERO, Float32, Ints
from shaders.lights.kind import Light
from shaders.lights.registry import kinds_with, light_pdf
from shaders.lights.row import LIGHT_KIND
from shaders.sampling import power_heuristic
from shaders.surface import backdrop_at, emission_at
from shaders.vector import Color, along, dot, in_double, largest, multiply, scale
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import inlined
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address
from tracecore.rays import MISS

#: Lights outside of the scene are chosen with one chance at all points.
ANYWHERE = (ZERO, ZERO, ZERO)


class MetLight(NamedTuple):
    """What the light that a path meets is weighed with, and where it goes."""

    pixel: int  # whose light the path brings
    group: int  # the light's, or NO_GROUP
    state: np.uint32  # of the path, see `paths.DEPTH_MASK`
    throughput: Color  # of the path, see `paths.EYE_THROUGHPUT`
    unmapped: Color  # likewise
    pdf: float  # pdf_solid_angle of its ray, 0 where shadow rays could not have brought the light


#: Calls loop(way, number, more) for each kind of light with a `meet`, which is the way.
for_each_meeting = for_each_way([(kind.meet, int(kind.number)) for kind in kinds_with("meet")])


class Meeting(NamedTuple):
    """How rays meet a light. way: of its kind. samples: shadow rays per vertex that choose it, on the mean."""

    way: Way
    light: Light
    sky: Sky
    samples: float
    chunk: EyeChunk


@inlined
def add_met_light(job: EyeJob, met: MetLight, radiance: Color) -> None:
    """Add light that a path has met, without what the caustic map has brought of it."""
    light = brought_by(met, radiance)
    add_radiance(job.image, met.pixel, light, layer_of_met(met), met.group)


@inlined
def brought_by(met: MetLight, radiance: Color) -> Color:
    """Returns what a path brings of light that it has met."""
    light = multiply(met.throughput, radiance)
    if met.pdf <= 0.0:  # by mirrors and glass, or straight to the eye
        light = multiply(light, met.unmapped)
    return light


@inlined
def layer_of_met(met: MetLight) -> int:
    """Returns the layer of light that a path's ray meets."""
    spreads = (met.state >> SPREAD_SHIFT) & SPREAD_MASK
    if spreads == 0:
        return DIRECT_LIGHT
    if spreads > 1:
        return INDIRECT_LIGHT
    return DIRECT_LIGHT if met.pdf > 0.0 else CAUSTIC_LIGHT


@unit(types.none)
def add_light_from_outside(job: EyeJob, batch: EyeBatch, count: int) -> None:
    """Add what rays of a batch meet that leave the scene: lights far away and, for the eye alone, the background."""
    job, batch = borrowed(job), borrowed(batch)
    chunk, first = batch.scratch[0], Long(0)
    has_lights = len(job.scene.lamps.outer) > 0
    while first < count:
        leaving, looked = pick_endless(batch, chunk, first, count)
        if has_lights and leaving > 0:
            each(face_outside, whole(leaving), chunk)
            each(meet_nothing, whole(leaving), chunk)
            for_each_meeting(meet_of_kind, (job.scene, Float32(job.task.light_samples), chunk, leaving, NO_GROUP))
        each_alone(add_endless, leaving, (job, batch, chunk, has_lights))
        if has_lights and leaving > 0 and job.image.shape[1] > LAYER_END:
            add_groups_from_outside(job, batch, chunk, leaving)
        first += looked


@inlined
def pick_endless(batch: EyeBatch, chunk: EyeChunk, first: int, count: int) -> tuple[int, int]:
    """Write directions and densities of rays that meet nothing, and list them in `chunk.rare`. Returns how many they
    are, and how many rays were looked at, from the first one on."""
    step, begin = WORD_BYTES * batch.rays.shape[1], WORD_BYTES * first
    directions = three(address(batch.rays) + RAY_DIRECTION * step + begin, step)
    pdf = address(batch.paths) + EYE_PDF * WORD_BYTES * batch.paths.shape[1] + begin
    columns = ((*directions, pdf), (*column_of(chunk.ray), address(chunk.pdf)))
    wanted = (ALL_BITS, np.uint32(MISS))
    return pack_numbered(address(batch.prim_ids) + begin, wanted, count - first, (first, address(chunk.rare)), columns)


@unit(types.none, need=LIGHT_GROUPS)
def add_groups_from_outside(job: EyeJob, batch: EyeBatch, chunk: EyeChunk, leaving: int) -> None:
    """Add what listed rays meet of lights far away to the groups of these, group by group."""
    job, batch = borrowed(job), borrowed(batch)
    for group in range((job.image.shape[1] - LAYER_END) // 3):
        each(meet_nothing, whole(leaving), chunk)
        for_each_meeting(meet_of_kind, (job.scene, Float32(job.task.light_samples), chunk, leaving, group))
        each_alone(add_endless_to_group, leaving, (job, batch, chunk, group))


@inlined
def face_outside(i: int, chunk: EyeChunk) -> None:
    """Write the direction of a ray as a unit vector."""
    direction = column(chunk.ray, i)
    set_column(chunk.ray, i, scale(direction, ONE / math.sqrt(dot(direction, direction))))


@inlined
def meet_nothing(i: int, chunk: EyeChunk) -> None:
    """Write that a ray has met nothing yet."""
    set_column(chunk.radiance, i, (ZERO, ZERO, ZERO))


@inlined
def meet_of_kind(way: Way, number: int, more: tuple[PackedScene, float, EyeChunk, int, int]) -> None:
    """Add what rays meet of the lights of a kind.
    more: also has how many shadow rays a vertex has, how many rays there are, and the group of the lights, or NO_GROUP
    for all of them."""
    scene, samples, chunk, count, group = more
    lights = scene.lamps
    for light in lights.outer:
        is_asked = group == NO_GROUP or scene.groups.of_lamps[light] == group
        if is_asked and lights.rows[light, LIGHT_KIND] == number:
            record, sky = record_at(scene.light_records, light), sky_of(lights.environment)
            own_samples = samples * chance_at(scene.light_records.tree, light, ANYWHERE)
            each(meet_light, whole(count), Meeting(way, record, sky, own_samples, chunk))


@inlined
def meet_light(i: int, data: Meeting) -> None:
    """Add what a ray meets of a light, with its weight beside the shadow rays that might have brought it."""
    chunk = data.chunk
    radiance, light_pdf = call_way(data.way, (data.light, data.sky, column(chunk.ray, i)))
    weight = power_weight(chunk.pdf[i], data.samples * light_pdf)
    set_column(chunk.radiance, i, along(column(chunk.radiance, i), radiance, weight))


@inlined
def add_endless(k: int, data: tuple[EyeJob, EyeBatch, EyeChunk, bool]) -> None:
    """Add what ray k of the list meets outside of the scene. data: also says whether there are lights."""
    job, batch, chunk, has_lights = data
    row, paths, step = Long(chunk.rare[k]), address(batch.paths), WORD_BYTES * batch.paths.shape[1]
    if job.scene.photon_scene.flags & HAS_MEDIA:
        absorb_endless_ray(paths, step, row, tables_of(job.scene.photon_scene.media))
    met = met_outside(batch, row)
    if met.state & SPECULAR_ONLY:  # a backdrop for the eye, no light
        seen, group = multiply(met.throughput, job.scene.background), job.scene.groups.of_background
        add_radiance(job.image, met.pixel, seen, DIRECT_LIGHT, group)
    if has_lights:
        add_met_light(job, met, in_double(column(chunk.radiance, k)))


@inlined
def add_endless_to_group(k: int, data: tuple[EyeJob, EyeBatch, EyeChunk, int]) -> None:
    """Add what ray k of the list meets of the lights of a group, outside of the scene, to this group."""
    job, batch, chunk, group = data
    met = met_outside(batch, Long(chunk.rare[k]))
    add_to_group(job.image, met.pixel, brought_by(met, in_double(column(chunk.radiance, k))), group)


@inlined
def met_outside(batch: EyeBatch, row: int) -> MetLight:
    """Returns what light is weighed with that a ray of a batch meets outside of the scene."""
    paths, step = address(batch.paths), WORD_BYTES * batch.paths.shape[1]
    throughput = in_double(get3(paths + EYE_THROUGHPUT * step, step, row))
    unmapped = in_double(get3(paths + EYE_UNMAPPED * step, step, row))
    pdf = np.float64(np.uint32(batch.paths[EYE_PDF, row]).view(np.float32))
    return MetLight(Long(get_word(paths, row)), NO_GROUP, batch.paths[EYE_STATE, row], throughput, unmapped, pdf)


@unit(types.none)
def add_glow(job: EyeJob, chunk: EyeChunk, count: int) -> None:
    """Add what the first `count` vertices of the list `chunk.rare` emit, and what the eye alone sees of them."""
    each_alone(add_glow_of, count, (borrowed(job), chunk))


@inlined
def add_glow_of(k: int, data: tuple[EyeJob, EyeChunk]) -> None:
    """Add the light that vertex k of the list emits, and what the eye alone sees of it."""
    job, chunk = data
    i = Long(chunk.rare[k])
    triangle, direction = Long(chunk.triangle[i]), in_double(column(chunk.ray, i))
    place = off_edges(np.float64(chunk.uv[0, i]), np.float64(chunk.uv[1, i]))
    throughput = in_double(column(chunk.throughput, i))
    emission = emission_at(job.scene.surfaces, triangle, place, scale(direction, -1.0))
    if largest(emission) > 0.0:
        emitter, pdf, weight = job.scene.surfaces.emitter_ids[triangle], np.float64(chunk.pdf[i]), 1.0
        if pdf > 0.0 and job.task.light_samples > 0:  # shadow rays might have brought it too
            begin = along(column(chunk.origin, i), column(chunk.ray, i), -chunk.behind[i])
            distance = np.float64(chunk.behind[i]) + np.float64(chunk.distance[i])
            other_pdf = light_pdf(job.scene.lamps, emitter, in_double(begin), direction, distance)
            other_pdf *= np.float64(chance_at(job.scene.light_records.tree, emitter, begin))
            weight = power_heuristic(pdf, job.task.light_samples * other_pdf)
        unmapped = in_double(column(chunk.unmapped, i))
        group = group_of(job, job.scene.groups.of_materials, triangle)
        met = MetLight(Long(chunk.pixel[i]), group, chunk.state[i], throughput, unmapped, pdf)
        add_met_light(job, met, scale(emission, weight))
    if chunk.state[i] & SPECULAR_ONLY:
        cone = (np.float64(width_at(i, chunk)), -dot(direction, in_double(column(chunk.normal, i))))
        seen = multiply(throughput, backdrop_at(job.scene.surfaces, triangle, place, cone))
        group = group_of(job, job.scene.groups.of_backdrops, triangle)
        add_radiance(job.image, Long(chunk.pixel[i]), seen, DIRECT_LIGHT, group)


@inlined
def group_of(job: EyeJob, groups: Ints, triangle: int) -> int:
    """Returns the group of what comes from a triangle, or NO_GROUP where groups are not told apart. groups: of the
    materials."""
    return Long(groups[job.scene.surfaces.material_ids[triangle]]) if job.image.shape[1] > LAYER_END else NO_GROUP


@inlined
def off_edges(u: float, v: float) -> tuple[float, float]:
    """Returns barycentric coordinates that are not at an edge, see `vertices.reach`."""
    u, v = max(u, np.float64(EDGE)), max(v, np.float64(EDGE))
    beyond = max(u + v + np.float64(EDGE) - 1.0, 0.0)
    return u - 0.5 * beyond, v - 0.5 * beyond
