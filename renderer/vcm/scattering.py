"""How paths go on behind a vertex, from lamps and from the eye alike."""

from numba import types

from renderer.camera_paths.bounce import SURE_BOUNCES, cone_spread
from renderer.camera_paths.paths import DEPTH_MASK, EyeChunk, bounces_of, state_after, state_through
from renderer.camera_paths.vertices import EVEN, radiance_gain, width_at
from renderer.scene.photon_scene import SHEET
from renderer.shading.chunks import ALL_BITS, NO_BITS
from renderer.shading.scattering import (
    Frame,
    Scattered,
    frame_at,
    in_frame,
    next_origin,
    parameters_at,
    roulette,
    scattered,
    seen_at,
)
from renderer.simd.bsdf_kinds import BsdfKind, evaluate, has_bent_normals
from renderer.simd.columns import column, set_column
from renderer.simd.loops import each, whole
from renderer.vcm.job import PathRules, Vertices
from renderer.vcm.weights import Sums, cosine_at, reverse_pdf, sums_at, sums_before, sums_behind
from shaders.bsdfs.bsdf import LOBE_BASE, LOBE_NONE, LOBE_SHARP
from shaders.float32 import ONE, ZERO, Int
from shaders.random import unit32
from shaders.shading_normals import shading_normal_correction
from shaders.vector import Vec3, dot, largest, multiply, scale
from tracecore.compilation.cached import inlined
from tracecore.compilation.units import unit

#: The direction along the normal, in the frame of a surface.
UP = (ZERO, ZERO, ONE)


@unit(types.none)
def go_on(kind: BsdfKind, chunk: EyeChunk, count: int, rules: PathRules, tables: int) -> None:
    """Draw the next directions of the first `count` vertices, and decide which paths go on. In `is_far` stands whether
    a vertex has lobes that spread light, so that paths may be joined there."""
    each(go_on_from, whole(count), Vertices(kind, chunk, rules, tables))


@inlined
def go_on_from(i: int, data: Vertices) -> None:
    """Write the direction in which a path goes on, and what it keeps."""
    chunk, kind, rules = data.chunk, data.kind, data.rules
    own, parameters = frame_at(kind, i, chunk), parameters_at(kind, i, chunk)
    seen = seen_at(i, own, chunk, EVEN, ONE, data.tables)
    u = (unit32(chunk.bits[2, i]), unit32(chunk.bits[0, i]), unit32(chunk.bits[1, i]))
    ahead = scattered(kind, parameters, seen, own, column(chunk.ray, i), u)
    chunk.is_far[i] = Int(evaluate(kind, parameters, UP, seen).pdf > ZERO)
    state, is_sharp = chunk.state[i], ahead.lobe == LOBE_SHARP
    goes_straight = ahead.is_straight & ((chunk.kind[i] & SHEET) != 0)
    ahead_state = state_after(state, is_sharp, ahead.lobe == LOBE_BASE)
    next_state = state_through(state) if goes_straight else ahead_state
    # Behind the last surface a path of the eye still meets lamps, as others are weighed with that.
    most = rules.max_bounces if rules.is_of_lamps else rules.max_bounces + Int(1)
    is_lost = (ahead.lobe == LOBE_NONE) | (not (largest(ahead.weight) > ZERO)) | (bounces_of(next_state) >= most)
    is_lost |= (dot(ahead.wi, column(chunk.normal, i)) > ZERO) != (ahead.cosine > ZERO)
    is_sure = (Int(state & DEPTH_MASK) < SURE_BOUNCES) & (not rules.is_of_lamps)
    survives, more = roulette(ONE if is_sure else largest(ahead.weight), ONE, unit32(chunk.bits[3, i]))
    gain = flux_gain(i, ahead, own, data) if rules.is_of_lamps else radiance_gain(kind, parameters, ahead.cosine, seen)
    goes = survives & (not is_lost)
    chunk.goes[i], chunk.lobe[i], chunk.next_state[i] = ALL_BITS if goes else NO_BITS, ahead.lobe, next_state
    chunk.next_pdf[i] = chunk.pdf[i] if goes_straight else ahead.pdf
    set_column(chunk.next_throughput, i, multiply(column(chunk.throughput, i), scale(ahead.weight, gain * more)))
    chunk.next_behind[i] = chunk.behind[i] + chunk.distance[i] if goes_straight else ZERO
    chunk.next_cone[0, i] = width_at(i, chunk)
    chunk.next_cone[1, i] = max(chunk.cone[1, i], cone_spread(ahead.pdf))
    set_column(chunk.wi, i, ahead.wi)
    set_column(chunk.start, i, next_origin(i, ahead.wi, chunk))
    reverse = reverse_pdf(kind, parameters, in_frame(ahead.wi, own), seen)
    behind = sums_behind(sums_at(i, chunk), cosine_at(i, ahead.wi, chunk), ahead.pdf, reverse)
    last = ZERO if rules.is_of_lamps & (bounces_of(state) == 0) else behind.last
    kept = sums_before(i, chunk) if goes_straight else Sums(behind.vcm, behind.vc, last)
    set_column(chunk.next_unmapped, i, (kept.vcm, kept.vc, kept.last))


@inlined
def flux_gain(i: int, ahead: Scattered, own: Frame, data: Vertices) -> float:
    """Returns what flux changes by beside the share that is kept: a bent normal is not symmetric (Veach: Robust Monte
    Carlo Methods for Light Transport Simulation, 1997, section 5.3)."""
    if not has_bent_normals(data.kind):
        return ONE
    chunk = data.chunk
    ray, flat = column(chunk.ray, i), column(chunk.normal, i)
    above = abs(dot(ray, own.normal) * dot(ahead.wi, flat))
    return shading_normal_correction(above, abs(dot(ray, flat) * dot(ahead.wi, own.normal)))


@inlined
def bent_gain(towards: Vec3, flat: Vec3, bent: Vec3) -> float:
    """Returns what turns flux that has come to a flat triangle into flux about its shading normal. towards: unit, to
    where the flux comes from."""
    return shading_normal_correction(abs(dot(towards, bent)), abs(dot(towards, flat)))
