"""The loops of eye paths over the hits of one BSDF: what photons show there, what shadow rays bring, where paths go."""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="no-untyped-call"

from typing import NamedTuple

import numba
import numpy as np
from numba import types

from renderer.camera_paths.lighting import path_weight
from renderer.camera_paths.paths import EYE_COLUMNS, EYE_LOBE_ABSORBED, EyeChunk, bounces_of
from renderer.camera_paths.task import FOLLOW, NOTHING
from renderer.camera_paths.vertices import Rules, may_go_on
from renderer.photons.batch import (
    PHOTON_LOBE_DIFFUSE,
    PHOTON_LOBE_GLASS,
    PHOTON_LOBE_MIRROR,
    PHOTON_LOBE_PHONG,
)
from renderer.photons.chunk_views import ALL_BITS
from renderer.scene.materials import BsdfTable
from renderer.shading.listed import (
    ALBEDO,
    AT_POINT,
    LIGHT,
    SCATTER,
    SHOW,
    frame_at,
    in_frame,
    listed_at,
    make_shaders_ready,
    parameters_at,
    scattered,
    seen_at,
)
from renderer.simd.bsdf_kinds import BsdfKind, albedo, eta, evaluate, make_ready, reflectance
from renderer.simd.columns import COLUMN_BYTES, column, each, get, get_word, put, set_column, whole
from shaders.bsdfs.bsdf import LOBE_BASE, LOBE_NONE, LOBE_SHARP, Seen
from shaders.compilation import compiled as inlined
from shaders.float32 import ONE, ZERO, Float32, Int
from shaders.random import unit32
from shaders.vector import Vec3, along, dot, largest, multiply, scale, subtract, to_world
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address

#: Lobes are chosen alike for all channels: what a path carries is as likely to be light of any colour.
EVEN = (ONE, ONE, ONE)


class Seeing(NamedTuple):
    """What the loops work on: the BSDF, the chunk, the rules of the pass, and what was measured (`Seen.tables`)."""

    kind: BsdfKind
    chunk: EyeChunk
    rules: Rules
    tables: int


@unit(types.none)
def show_bases(kind: BsdfKind, chunk: EyeChunk, count: int, rules: Rules, tables: int) -> None:
    """Write the reflectance towards the eye of what photons are stored on, for the first `count` hits of the list."""
    each(show_base, whole(count), Seeing(kind, chunk, rules, tables))


@inlined
def show_base(k: int, data: Seeing) -> None:
    """Write the base's reflectance of a vertex."""
    chunk, i = data.chunk, listed_at(k, data.chunk)
    wo = in_frame(scale(column(chunk.ray, i), -ONE), frame_at(data.kind, i, chunk))
    set_column(chunk.weight, i, reflectance(data.kind, parameters_at(data.kind, i, chunk), wo))


@unit(types.none)
def show_albedos(kind: BsdfKind, chunk: EyeChunk, count: int, rules: Rules, tables: int) -> None:
    """Write all that is reflected and let through towards the eye, for the first `count` hits of the list."""
    each(show_albedo, whole(count), Seeing(kind, chunk, rules, tables))


@inlined
def show_albedo(k: int, data: Seeing) -> None:
    """Write the albedo of a vertex."""
    chunk, i = data.chunk, listed_at(k, data.chunk)
    wo = in_frame(scale(column(chunk.ray, i), -ONE), frame_at(data.kind, i, chunk))
    set_column(chunk.weight, i, albedo(data.kind, parameters_at(data.kind, i, chunk), wo))


@unit(types.none)
def light_vertices(kind: BsdfKind, chunk: EyeChunk, count: int, rules: Rules, tables: int) -> None:
    """Write the shadow rays of the first `count` hits of the list, towards the lights that were chosen for them."""
    each(light_vertex, whole(count), Seeing(kind, chunk, rules, tables))


@inlined
def light_vertex(k: int, data: Seeing) -> None:
    """Write the shadow ray of a vertex, whether it carries something or not."""
    chunk, kind, rules = data.chunk, data.kind, data.rules
    i = listed_at(k, chunk)
    own, parameters = frame_at(kind, i, chunk), parameters_at(kind, i, chunk)
    follow, direction, normal = get(address(chunk.follow), i), column(chunk.to_light, i), column(chunk.normal, i)
    seen = seen_at(i, own, chunk, EVEN, follow, data.tables)
    wi = in_frame(direction, own)
    value = evaluate(kind, parameters, wi, seen)
    weight = path_weight(may_go_on(i, chunk, rules) * value.pdf, get(address(chunk.light_pdf), i), rules.samples)
    base, rest = follow * weight + rules.alone, weight * radiance_gain(kind, parameters, wi, seen)
    is_dark = bounces_of(get_word(address(chunk.state), i)) >= rules.max_depth  # see `vertices.shadow_share`
    seen_share = scale(column(chunk.throughput, i), (ZERO if is_dark else abs(wi[2])) / rules.samples)
    reflected = (
        value.base[0] * base + value.rest[0] * rest,
        value.base[1] * base + value.rest[1] * rest,
        value.base[2] * base + value.rest[2] * rest,
    )
    radiance = multiply(multiply(seen_share, reflected), column(chunk.irradiance, i))
    above = dot(direction, normal) > ZERO
    clear = scale(normal, get(address(chunk.clearance), i) * (ONE if above else -ONE))
    is_lit = (above == (wi[2] > ZERO)) & (largest(radiance) > ZERO)
    position = column(chunk.position, i)
    set_column(chunk.radiance, i, radiance)
    set_column(chunk.start, i, along(position, clear, ONE))
    # From off the surface to where the light is: along the direction alone, the ray would end behind a close light.
    set_column(chunk.shadow_direction, i, subtract(column(chunk.target, i), clear))
    put(address(chunk.carries), i, ALL_BITS if is_lit else np.uint32(0))


@inlined
def radiance_gain(kind: BsdfKind, parameters: object, wi: Vec3, seen: Seen) -> float:
    """Returns what radiance from wi changes by beside the share that is kept.

    Radiance changes with the square of the index as it crosses the surface, flux does not: Veach, Robust Monte Carlo
    Methods for Light Transport Simulation, 1997, section 5.2.
    """
    index = eta(kind, parameters, seen.is_outside)
    return ONE / (index * index) if wi[2] < ZERO else ONE


@unit(types.none)
def scatter_paths(kind: BsdfKind, chunk: EyeChunk, count: int, rules: Rules, tables: int) -> None:
    """Draw the next directions of the first `count` hits of the list."""
    each(scatter_path, whole(count), Seeing(kind, chunk, rules, tables))


@inlined
def scatter_path(k: int, data: Seeing) -> None:
    """Write the direction in which a path goes on, what it keeps, and by which lobe."""
    chunk, kind = data.chunk, data.kind
    i = listed_at(k, chunk)
    own, parameters, bits = frame_at(kind, i, chunk), parameters_at(kind, i, chunk), address(chunk.bits)
    seen = seen_at(i, own, chunk, EVEN, get(address(chunk.follow), i), data.tables)
    u = (
        unit32(get_word(bits + 2 * COLUMN_BYTES, i)),
        unit32(get_word(bits, i)),
        unit32(get_word(bits + COLUMN_BYTES, i)),
    )
    ahead = scattered(kind, parameters, seen, u)
    is_none = (ahead.lobe == LOBE_NONE) | (not (largest(ahead.weight) > ZERO))
    sharp = Int(PHOTON_LOBE_GLASS) if ahead.wi[2] < ZERO else Int(PHOTON_LOBE_MIRROR)
    spread = Int(PHOTON_LOBE_DIFFUSE) if ahead.lobe == LOBE_BASE else Int(PHOTON_LOBE_PHONG)
    lobe = sharp if ahead.lobe == LOBE_SHARP else spread
    put(address(chunk.lobe), i, Int(EYE_LOBE_ABSORBED) if is_none else lobe)
    set_column(chunk.wi, i, to_world(ahead.wi, own.tangent, own.bitangent, own.normal))
    set_column(chunk.scattered, i, ahead.weight)
    set_column(chunk.base, i, ahead.base)
    put(address(chunk.next_pdf), i, ahead.pdf)
    put(address(chunk.gain), i, radiance_gain(kind, parameters, ahead.wi, seen))


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
