"""The last stage of a bounce: the lobe by which a path goes on, its direction, and whether it goes on at all."""

import math

import numpy as np
from numba import types

from renderer.camera_paths.paths import (
    AFTER_DIFFUSE,
    DEPTH_MASK,
    EYE_BEHIND,
    EYE_CONE,
    EYE_PDF,
    EYE_THROUGHPUT,
    EYE_UNMAPPED,
    MOST_SHEETS,
    ONE_SHEET,
    SHEET_SHIFT,
    SPECULAR_ONLY,
    SPREAD_MASK,
    SPREAD_SHIFT,
    EyeChunk,
    bounces_of,
)
from renderer.camera_paths.vertices import EVEN, Rules, Seeing, radiance_gain, width_at
from renderer.photons.chunk_views import ONE_BOUNCE
from renderer.scene.photon_scene import SHEET
from renderer.shading.chunks import ALL_BITS, NO_BITS, RAY_DIRECTION, View
from renderer.shading.scattering import (
    Scattered,
    frame_at,
    next_origin,
    parameters_at,
    roulette,
    scattered,
    seen_at,
)
from renderer.simd.bsdf_kinds import BsdfKind
from renderer.simd.columns import COLUMN_BYTES, column, column_of, each, pack_columns, set_column, three, whole
from shaders.bsdfs.bsdf import LOBE_BASE, LOBE_NONE, LOBE_SHARP
from shaders.compilation import compiled as inlined
from shaders.float32 import ONE, ZERO, Float32, Int
from shaders.random import unit32
from shaders.vector import Color, chosen, dot, largest, multiply, scale
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address

#: Bounces after which Russian roulette may end a path of the path driver.
SURE_BOUNCES = Int(3)

#: A scattered ray stands for one of so many parts of its lobe, a tenth as wide as the lobe, so that what is blurred by
#: textures is little beside what the lobe blurs; and for a cone that gets no wider than so much over a distance of 1.
CONES, MOST_SPREAD = Float32(100.0), Float32(0.3)

#: Densities smaller than this are raised to it where something is divided by them.
LEAST_PDF = Float32(2.0**-80)

#: All bits of a state but SPECULAR_ONLY.
NOT_SPECULAR = np.uint32(0xFFFFFFFF ^ int(SPECULAR_ONLY))


@inlined
def cone_spread(pdf: float) -> float:
    """Returns how much wider the cone of a scattered ray gets over a distance of 1; pdf is 0 for one without spread."""
    spread = min(math.sqrt(ONE / (CONES * max(pdf, LEAST_PDF))), MOST_SPREAD)
    return spread if pdf > ZERO else ZERO


@inlined
def state_after(state: np.uint32, is_specular: bool, is_diffuse: bool) -> np.uint32:
    """Returns the state of a path behind a vertex. is_specular, is_diffuse: which lobe has scattered it."""
    spreads = np.uint32(state >> SPREAD_SHIFT) & SPREAD_MASK
    more = np.uint32(0) if is_specular | (spreads == np.uint32(2)) else np.uint32(1 << 18)
    ahead = np.uint32(state + ONE_BOUNCE + more)
    ahead = ahead if is_specular else np.uint32(ahead & NOT_SPECULAR)
    return np.uint32(ahead | AFTER_DIFFUSE) if is_diffuse else ahead


@inlined
def state_through(state: np.uint32) -> np.uint32:
    """Returns the state of a path behind a sheet that it went straight through."""
    is_counted = (state >> SHEET_SHIFT) < MOST_SHEETS
    return np.uint32(state + ONE_BOUNCE + (ONE_SHEET if is_counted else np.uint32(0)))


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
    next_state = state_after(state, is_specular, ahead.lobe == LOBE_BASE)
    through = state_through(state)
    next_state = through if goes_straight else next_state
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
    """Move the paths that go on behind those before. Returns how many they are.

    A whole vector ends no later than the rays looked at, so that none is lost that is still to be shaded.
    """
    chunk, step, rays, paths = view.chunk, view.step, view.kept_rays, view.kept_paths
    sources = (
        column_of(chunk.start)
        + column_of(chunk.wi)
        + (address(chunk.pixel), address(chunk.next_state), address(chunk.next_pdf))
        + column_of(chunk.next_throughput)
        + (address(chunk.next_cone), address(chunk.next_cone) + COLUMN_BYTES)
        + column_of(chunk.next_unmapped)
        + (address(chunk.next_behind),)
    )
    targets = (
        three(rays, step)
        + three(rays + RAY_DIRECTION * step, step)
        + (paths, paths + step, paths + EYE_PDF * step)
        + three(paths + EYE_THROUGHPUT * step, step)
        + (paths + EYE_CONE * step, paths + (EYE_CONE + 1) * step)
        + three(paths + EYE_UNMAPPED * step, step)
        + (paths + EYE_BEHIND * step,)
    )
    return pack_columns(address(chunk.goes), (ALL_BITS, ALL_BITS), hits, sources, targets)
