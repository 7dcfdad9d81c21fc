"""The second stage of a bounce: shadow rays from the vertices to points of lights, sample after sample."""

import math
from typing import NamedTuple

import numpy as np
from numba import types

from renderer.camera_paths.paths import SHADOW_MEDIA, SHADOW_WORDS, EyeChunk, ShadowRays, limit_ray
from renderer.camera_paths.sampler import draw
from renderer.camera_paths.task import EyeTask
from renderer.camera_paths.vertices import Vertices
from renderer.photons.batch import RAY_DIRECTION
from renderer.photons.chunk_views import ALL_BITS
from renderer.photons.media import Inside, border_at
from renderer.scene.light_records import LIGHT_RECORD
from renderer.scene.media import NOTHING, tables_of
from renderer.scene.packed_scene import PackedScene
from renderer.scene.photon_scene import HAS_MEDIA, MIXED
from renderer.shading.listed import LIGHT, for_each_bsdf
from renderer.simd.columns import (
    WORD_BYTES,
    column,
    column_of,
    each,
    get,
    get3,
    list_indices,
    pack_columns,
    set_column,
    three,
    whole,
)
from renderer.simd.rows import gather_columns
from shaders.compilation import called
from shaders.compilation import compiled as inlined
from shaders.elementary import power
from shaders.float32 import ONE, ZERO, Float32, Int
from shaders.lights import SHADOW_END, LightArrays, LightSample, sample_light
from shaders.random import STREAM_LIGHT, unit32
from shaders.sampling import interval, uniform_triangle
from shaders.vector import Vec3, along, dot, largest, multiply, scale, subtract
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import compiled
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address

#: Shadow rays per vertex: one for each light up to this many, then as many spread over all.
MAX_LIGHT_SAMPLES = 8

#: The greatest number below 1, which is also the greatest uniform number.
BELOW_ONE = Float32(1.0 - 2.0**-24)

#: Smaller squares of distances, and cosines, than this are raised to it where something is divided by them.
LEAST = Float32(2.0**-80)

END = Float32(SHADOW_END)

LIGHT_BYTES, LIGHT_QUADS = LIGHT_RECORD.itemsize, tuple(range(0, LIGHT_RECORD.itemsize, 16))

#: The sign of a float32.
SIGN_BIT = np.uint32(1 << 31)


class Light(NamedTuple):
    """A light as LIGHT_RECORD has it, float32."""

    position: Vec3
    edge_1: Vec3
    edge_2: Vec3
    normal: Vec3
    flux: Vec3
    density: float


@unit(types.none)
def add_shadow_rays(
    scene: PackedScene, task: EyeTask, vertices: Vertices, counts: tuple[int, bool], shadows: ShadowRays
) -> None:
    """Add the shadow rays of all vertices of a chunk.

    counts: of the vertices, and whether some are the first of their paths.
    """
    chunk, (hits, has_first) = vertices.chunk, counts
    for sample in range(task.light_samples):
        draw(task, chunk, hits, has_first, (STREAM_LIGHT, MAX_LIGHT_SAMPLES, sample))
        sample_lights(scene, vertices, hits, sample)
        if scene.photon_scene.flags & MIXED:
            if not vertices.are_listed:
                each(cast_mixed, whole(hits), vertices)
            for_each_bsdf(scene.bsdfs, LIGHT, chunk, hits, (vertices.rules, address(scene.bsdfs.tables)))
        else:
            each(cast_diffuse, whole(hits), vertices)
        if scene.photon_scene.flags & HAS_MEDIA:
            each(enter_towards_light, whole(hits), (chunk, tables_of(scene.photon_scene.media)))
            keep_shadow_media(chunk, hits, shadows, sample)
        keep_shadow_rays(chunk, hits, shadows, sample)


@inlined
def sample_lights(scene: PackedScene, vertices: Vertices, hits: int, sample: int) -> None:
    """Choose a light for each vertex, and write what comes from a point of it if nothing is in between."""
    chunk, lights = vertices.chunk, scene.light_records
    stratum = (Float32(sample), vertices.rules.samples)
    first = interval(lights.cumulative, stratum_point(stratum, ZERO))
    left = interval(lights.cumulative, stratum_point(stratum, BELOW_ONE)) + 1 - first
    if left == 1 and not lights.has_others:  # as for each half of a square lamp
        each(arrive_from, whole(hits), (chunk, only_light(address(lights.records) + LIGHT_BYTES * first)))
        return
    each(pick_stratum, whole(hits), (chunk, stratum, np.int32(first)))
    while left > 1:
        each(halve, whole(hits), (chunk, address(lights.cumulative), np.int32(left >> 1)))
        left -= left >> 1
    columns = (LIGHT_QUADS, address(chunk.light_position))
    gather_columns(address(lights.records), LIGHT_BYTES, address(chunk.light), whole(hits), columns)
    each(arrive, whole(hits), chunk)
    if lights.has_others:
        others = list_indices(address(chunk.density), (SIGN_BIT, SIGN_BIT), hits, address(chunk.rare))
        sample_others(scene.lights, chunk, others)


@inlined
def stratum_point(stratum: tuple[float, float], u: float) -> float:
    """Returns a number that chooses a light: each sample has a stratum of its own.

    stratum: which sample, of how many.
    u: 0..1, where in the stratum.
    """
    return min((stratum[0] + u) / stratum[1], BELOW_ONE)


@inlined
def pick_stratum(i: int, data: tuple[EyeChunk, tuple[float, float], np.int32]) -> None:
    """Write the number that chooses a light, and the first light that it may be. data: also has the stratum."""
    chunk, stratum, first = data
    chunk.pick[i] = stratum_point(stratum, unit32(chunk.bits[2, i]))
    chunk.light[i] = first


@inlined
def halve(i: int, data: tuple[EyeChunk, int, np.int32]) -> None:
    """Go on to the upper half of the lights that are left, where the number is not below the sums of the lower one.

    data: also has the address of the running sums of the lights' probabilities, and how many lights a half has.
    """
    chunk, cumulative, half = data
    light = chunk.light[i]
    above = chunk.pick[i] >= get(cumulative, Int(light + half - Int(1)))
    chunk.light[i] = Int(light + half) if above else light


@inlined
def only_light(record: int) -> Light:
    """Returns a light. record: its address, of LIGHT_RECORD."""
    vectors = (get3(record, 4, 0), get3(record, 4, 3), get3(record, 4, 6), get3(record, 4, 9), get3(record, 4, 12))
    return Light(*vectors, get(record, 15))


@inlined
def arrive(i: int, chunk: EyeChunk) -> None:
    """Write what comes from the light of a vertex, a triangle or a point."""
    edges = (column(chunk.edge_1, i), column(chunk.edge_2, i))
    normal, flux = column(chunk.light_normal, i), column(chunk.light_flux, i)
    bring(i, chunk, Light(column(chunk.light_position, i), edges[0], edges[1], normal, flux, chunk.density[i]))


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


@called
def light_at(lights: LightArrays, point: Vec3, u: tuple[float, float, float]) -> LightSample:
    """Does what `sample_light` does, which is long: its code is there once."""
    return sample_light(lights, point, u)


@compiled
def sample_others(lights: LightArrays, chunk: EyeChunk, count: int) -> None:
    """Write direction, irradiance and density of lights of other kinds, of the first `count` vertices of a list."""
    lights = borrowed(lights)
    for k in range(count):
        i = chunk.rare[k]
        point = (np.float64(chunk.position[0, i]), np.float64(chunk.position[1, i]), np.float64(chunk.position[2, i]))
        u = (np.float64(unit32(chunk.bits[0, i])), np.float64(unit32(chunk.bits[1, i])))
        light = light_at(lights, point, (np.float64(chunk.pick[i]), u[0], u[1]))
        for axis in range(3):
            chunk.to_light[axis, i] = light.direction[axis]
            chunk.target[axis, i] = light.direction[axis] * light.distance
            chunk.irradiance[axis, i] = light.irradiance[axis]
        chunk.light_pdf[i] = light.pdf_solid_angle


@inlined
def path_weight(own: float, light_pdf: float, samples: float) -> float:
    """Returns the weight of a shadow ray beside the path that goes on and may meet the light as well.

    It is the power heuristic, see `shaders.sampling.power_heuristic`.

    own: pdf_solid_angle of the path in the light's direction.
    light_pdf: that of the light.
    samples: shadow rays per vertex.
    """
    ratio = own / (samples * max(light_pdf, LEAST))
    return ONE / (ONE + ratio * ratio) if light_pdf > ZERO else ONE


@inlined
def cast_diffuse(i: int, data: Vertices) -> None:
    """Write the shadow ray of a vertex whose lobe is diffuse."""
    chunk = data.chunk
    cosine = dot(column(chunk.to_light, i), column(chunk.shading, i))
    weight = path_weight(chunk.diffuse_pdf[i] * cosine, chunk.light_pdf[i], data.rules.samples)
    reflected = column(chunk.diffuse_light, i)
    cast(i, scale(reflected, chunk.follow[i] * weight + data.rules.alone), cosine, data)


@inlined
def cast_mixed(i: int, data: Vertices) -> None:
    """Write the shadow ray of a vertex that may have other lobes than the diffuse one."""
    chunk, direction = data.chunk, column(data.chunk.to_light, i)
    cosine = dot(direction, column(chunk.shading, i))
    lobe = power(max(dot(direction, column(chunk.axis, i)), ZERO), chunk.exponent[i])
    lobe = lobe if dot(direction, column(chunk.axis, i)) > ZERO else ZERO
    pdf = chunk.diffuse_pdf[i] * cosine + chunk.phong_pdf[i] * lobe
    weight = path_weight(pdf, chunk.light_pdf[i], data.rules.samples)
    diffuse, phong = column(chunk.diffuse_light, i), column(chunk.phong_light, i)
    diffuse_weight, phong_weight = chunk.follow[i] * weight + data.rules.alone, lobe * weight
    reflected = (
        diffuse[0] * diffuse_weight + phong[0] * phong_weight,
        diffuse[1] * diffuse_weight + phong[1] * phong_weight,
        diffuse[2] * diffuse_weight + phong[2] * phong_weight,
    )
    cast(i, reflected, cosine, data)


@inlined
def cast(i: int, reflected: tuple[float, float, float], cosine: float, data: Vertices) -> None:
    """Write a shadow ray, whether it carries something or not.

    reflected: share of the irradiance that reaches the eye.
    cosine: of the light's direction and the shading normal.
    """
    chunk = data.chunk
    normal = column(chunk.normal, i)
    radiance = scale(multiply(reflected, column(chunk.irradiance, i)), cosine)
    above = dot(column(chunk.to_light, i), normal) > ZERO
    is_lit = (cosine > ZERO) & above & (largest(radiance) > ZERO)
    clear = scale(normal, chunk.clearance[i])
    set_column(chunk.radiance, i, radiance)
    set_column(chunk.start, i, along(column(chunk.position, i), normal, chunk.clearance[i]))
    # From off the surface to where the light is: along the direction alone, the ray would end behind a close light.
    set_column(chunk.shadow_direction, i, subtract(column(chunk.target, i), clear))
    chunk.carries[i] = ALL_BITS if is_lit else np.uint32(0)


@inlined
def keep_shadow_rays(chunk: EyeChunk, hits: int, shadows: ShadowRays, sample: int) -> None:
    """Move the shadow rays that carry something behind those that there are of their sample."""
    step, first = WORD_BYTES * shadows.rays.shape[2], WORD_BYTES * shadows.counts[sample]
    rays = address(shadows.rays) + 8 * step * sample + first
    radiance = address(shadows.radiance) + 3 * step * sample + first
    paths = address(shadows.paths) + SHADOW_WORDS * step * sample + first
    sources = (
        column_of(chunk.start)
        + column_of(chunk.shadow_direction)
        + column_of(chunk.radiance)
        + (address(chunk.pixel), address(chunk.state))
    )
    targets = (
        three(rays, step) + three(rays + RAY_DIRECTION * step, step) + three(radiance, step) + (paths, paths + step)
    )
    kept = pack_columns(address(chunk.carries), (ALL_BITS, ALL_BITS), hits, sources, targets)
    each(limit_ray, whole(kept), (rays + 3 * step, rays + 7 * step, ONE))
    shadows.counts[sample] += kept


@inlined
def enter_towards_light(i: int, data: Inside) -> None:
    """Write the stack of media of a shadow ray: that of the path, or what is behind the border of rough glass."""
    chunk, _ = data
    medium, is_outside, (inner, outer) = border_at(i, data)
    is_through = dot(column(chunk.to_light, i), column(chunk.normal, i)) < ZERO
    stack = chunk.media[i]
    chunk.shadow_media[i] = (inner if is_outside else outer) if is_through & (medium != NOTHING) else stack


@inlined
def keep_shadow_media(chunk: EyeChunk, hits: int, shadows: ShadowRays, sample: int) -> None:
    """Do as `keep_shadow_rays`, of the stacks of media that they are in."""
    step, first = WORD_BYTES * shadows.rays.shape[2], WORD_BYTES * shadows.counts[sample]
    kept = (address(shadows.paths) + (SHADOW_WORDS * sample + SHADOW_MEDIA) * step + first,)
    pack_columns(address(chunk.carries), (ALL_BITS, ALL_BITS), hits, (address(chunk.shadow_media),), kept)
