"""The last stage of a bounce: the lobe by which a path goes on, its direction, and whether it goes on at all."""

import math

import numpy as np
from numba import types

from renderer.camera_paths.paths import (
    AFTER_DIFFUSE,
    DEPTH_MASK,
    EYE_BEHIND,
    EYE_CONE,
    EYE_LOBE_ABSORBED,
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
    Long,
    bounces_of,
    limit_ray,
)
from renderer.camera_paths.sampler import draw
from renderer.camera_paths.task import EyeTask
from renderer.camera_paths.vertices import PER_PI, Vertices
from renderer.photons.batch import (
    PHOTON_LOBE_DIFFUSE,
    PHOTON_LOBE_GLASS,
    PHOTON_LOBE_MIRROR,
    PHOTON_LOBE_PHONG,
    RAY_DIRECTION,
)
from renderer.photons.chunk_views import ALL_BITS, MIRROR_BYTES, ONE_BOUNCE, TRANSMISSION_BYTES, View
from renderer.photons.scattering import at_border, list_lobe, lobe_indices, material_color
from renderer.scene.packed_scene import PackedScene
from renderer.scene.photon_scene import LISTED, MIXED, SHEET
from renderer.shading.listed import SCATTER, for_each_bsdf
from renderer.simd.columns import (
    COLUMN_BYTES,
    column,
    column_of,
    each,
    get,
    get_int,
    get_word,
    pack_columns,
    put,
    set_column,
    three,
    whole,
)
from shaders.compilation import compiled as inlined
from shaders.elementary import power
from shaders.float32 import HALF, ONE, ZERO, Float32, Int
from shaders.random import STREAM_SCATTER, unit32
from shaders.sampling import cosine_hemisphere, cosine_power
from shaders.vector import Color, Vec3, along, chosen, dot, frame, largest, multiply, scale, to_local, to_world
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address

#: Bounces after which Russian roulette may end a path of the path driver.
SURE_BOUNCES = Int(3)

#: A scattered ray stands for one of so many parts of its lobe, a tenth as wide as the lobe, so that what is blurred by
#: textures is little beside what the lobe blurs; and for a cone that gets no wider than so much over a distance of 1.
CONES, MOST_SPREAD = Float32(100.0), Float32(0.3)

#: Densities smaller than this are raised to it where something is divided by them.
LEAST_PDF = Float32(2.0**-80)

INFINITY = Float32(np.inf)

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
def scatter(scene: PackedScene, task: EyeTask, vertices: Vertices, counts: tuple[int, bool]) -> None:
    """Draw the next directions of all paths of a chunk, and decide which go on.

    counts: of the vertices, and whether some are the first of their paths.
    """
    chunk, view, (hits, has_first) = vertices.chunk, vertices.tables, counts
    flags = scene.photon_scene.flags
    draw(task, chunk, hits, has_first, (STREAM_SCATTER, 1, 0))
    if flags & MIXED:
        if not vertices.are_listed:
            scatter_plain(view, hits)
        for_each_bsdf(scene.bsdfs, SCATTER, chunk, hits, (vertices.rules, address(scene.bsdfs.tables)))
        each(decide_mixed, whole(hits), vertices)
    else:
        each(decide_diffuse, whole(hits), vertices)
    if vertices.rules.is_mapped:
        each(unmap, whole(hits), vertices)


@inlined
def scatter_plain(view: View, hits: int) -> None:
    """Draw the next directions of vertices of kind nff."""
    chunk = view.chunk
    each(choose_lobe, whole(hits), chunk)
    each(scatter_phong, list_lobe(PHOTON_LOBE_PHONG, hits, chunk), view)
    each(weigh_spread, whole(hits), chunk)
    each(scatter_mirror, list_lobe(PHOTON_LOBE_MIRROR, hits, chunk), view)
    each(scatter_glass, list_lobe(PHOTON_LOBE_GLASS, hits, chunk), view)


@inlined
def diffuse_direction(i: int, chunk: EyeChunk) -> Vec3:
    """Returns a direction by Lambert's law about the shading normal."""
    normal = column(chunk.shading, i)
    tangent, bitangent = frame(normal)
    local = cosine_hemisphere(unit32(chunk.bits[0, i]), unit32(chunk.bits[1, i]))
    return to_world(local, tangent, bitangent, normal)


@inlined
def choose_lobe(i: int, chunk: EyeChunk) -> None:
    """Choose the lobe of a vertex, and write its direction if it is the diffuse one."""
    pick, after_diffuse = unit32(chunk.bits[2, i]), chunk.shares[0, i]
    after_phong = after_diffuse + chunk.shares[1, i]
    after_mirror = after_phong + chunk.shares[2, i]
    is_none = (pick >= after_mirror) & (chunk.shares[3, i] <= ZERO)
    lobe = Int(pick >= after_diffuse) + Int(pick >= after_phong) + Int(pick >= after_mirror)
    chunk.lobe[i] = Int(EYE_LOBE_ABSORBED) if is_none else Int(lobe)
    set_column(chunk.wi, i, diffuse_direction(i, chunk))


@inlined
def scatter_phong(k: int, view: View) -> None:
    """Draw a direction about the mirrored one."""
    chunk = view.chunk
    i = get_int(lobe_indices(PHOTON_LOBE_PHONG, chunk), k)
    normal, exponent, bits = column(chunk.shading, i), get(address(chunk.exponent), i), address(chunk.bits)
    tangent, bitangent = frame(normal)
    axis = to_local(column(chunk.axis, i), tangent, bitangent, normal)
    across, beside = frame(axis)
    drawn = cosine_power(unit32(get_word(bits, i)), unit32(get_word(bits + COLUMN_BYTES, i)), exponent)
    set_column(chunk.wi, i, to_world(to_world(drawn, across, beside, axis), tangent, bitangent, normal))


@inlined
def weigh_spread(i: int, chunk: EyeChunk) -> None:
    """Write density and weight of a direction from the diffuse or the Phong lobe: both could have drawn it."""
    wi, exponent = column(chunk.wi, i), chunk.exponent[i]
    cosine, ahead = dot(wi, column(chunk.shading, i)), dot(wi, column(chunk.axis, i))
    lobe = power(max(ahead, ZERO), exponent)
    lobe = lobe if ahead > ZERO else ZERO
    pdf = chunk.shares[0, i] * cosine * PER_PI + chunk.shares[1, i] * (exponent + ONE) * (HALF * PER_PI) * lobe
    paint, phong = column(chunk.weight, i), column(chunk.phong, i)
    per_pdf = cosine / pdf if (cosine > ZERO) & (pdf > ZERO) else ZERO
    diffuse, glossy = chunk.follow[i] * PER_PI * per_pdf, lobe * per_pdf
    weight = (
        paint[0] * diffuse + phong[0] * glossy,
        paint[1] * diffuse + phong[1] * glossy,
        paint[2] * diffuse + phong[2] * glossy,
    )
    set_column(chunk.scattered, i, weight)
    chunk.next_pdf[i], chunk.gain[i] = pdf, ONE


@inlined
def scatter_mirror(k: int, view: View) -> None:
    """Reflect as a perfect mirror does."""
    chunk = view.chunk
    i = get_int(lobe_indices(PHOTON_LOBE_MIRROR, chunk), k)
    go_sharply(i, column(chunk.axis, i), (MIRROR_BYTES, Long(PHOTON_LOBE_MIRROR)), view)


@inlined
def scatter_glass(k: int, view: View) -> None:
    """Reflect with the probability that Fresnel's equations give, else refract."""
    chunk = view.chunk
    i = get_int(lobe_indices(PHOTON_LOBE_GLASS, chunk), k)
    shares, bits = address(chunk.shares), address(chunk.bits)
    before = get(shares, i) + get(shares + COLUMN_BYTES, i) + get(shares + 2 * COLUMN_BYTES, i)
    number = (unit32(get_word(bits + 2 * COLUMN_BYTES, i)) - before) / get(shares + 3 * COLUMN_BYTES, i)
    wi, eta = at_border(i, number, chunk)
    go_sharply(i, wi, (TRANSMISSION_BYTES, Long(PHOTON_LOBE_GLASS)), view)
    # Radiance changes with the square of the index as it crosses the surface: Veach, 1997, section 5.2.
    put(address(chunk.gain), i, ONE / (eta * eta))


@inlined
def go_sharply(i: int, wi: Vec3, lobe: tuple[int, int], view: View) -> None:
    """Write a direction without spread. lobe: where its colour is in a MATERIAL, and which one it is."""
    chunk, (field, number) = view.chunk, lobe
    share = get(address(chunk.shares) + COLUMN_BYTES * number, i)
    set_column(chunk.wi, i, wi)
    set_column(chunk.scattered, i, scale(material_color(i, field, view), ONE / share))
    put(address(chunk.next_pdf), i, ZERO)


@inlined
def decide_mixed(i: int, data: Vertices) -> None:
    """Decide whether a path goes on, by its direction and weight."""
    chunk, lobe = data.chunk, np.uint32(data.chunk.lobe[i])
    is_specular = (lobe == PHOTON_LOBE_MIRROR) | (lobe == PHOTON_LOBE_GLASS)
    is_none = lobe == EYE_LOBE_ABSORBED
    goes_straight = (lobe == PHOTON_LOBE_GLASS) & ((chunk.kind[i] & SHEET) != 0) & (chunk.ior[i] == ONE)
    kind = (is_specular, goes_straight, lobe == PHOTON_LOBE_DIFFUSE, is_none)
    go(i, column(chunk.wi, i), column(chunk.scattered, i), kind, data)


@inlined
def decide_diffuse(i: int, data: Vertices) -> None:
    """Draw a direction by Lambert's law, and decide whether a path goes on."""
    chunk = data.chunk
    wi = diffuse_direction(i, chunk)
    chunk.next_pdf[i], chunk.gain[i] = dot(wi, column(chunk.shading, i)) * PER_PI, ONE
    set_column(chunk.wi, i, wi)
    set_column(chunk.scattered, i, column(chunk.weight, i))
    go(i, wi, column(chunk.weight, i), (False, False, True, chunk.shares[0, i] <= ZERO), data)


@inlined
def go(i: int, wi: Vec3, weight: Color, kind: tuple[bool, bool, bool, bool], data: Vertices) -> None:
    """Play Russian roulette, and write the path that leaves a vertex.

    wi: its direction.
    weight: share of the light that is kept.
    kind: whether the lobe is without spread, whether the path goes straight through a sheet by it, whether it is the
    diffuse one, and whether there is none.
    """
    chunk, rules = data.chunk, data.rules
    is_specular, goes_straight, is_diffuse, is_none = kind
    state, normal = chunk.state[i], column(chunk.normal, i)
    depth = Int(state & DEPTH_MASK)
    ahead = state_after(state, is_specular, is_diffuse)
    through = state_through(state)
    ahead = through if goes_straight else ahead
    flat, cosine = dot(wi, normal), dot(wi, column(chunk.shading, i))
    # A mirror and glass show lights, which no shadow ray does: a path looks behind the last of them.
    most = rules.max_depth + max(Int(is_specular), rules.unlit)
    is_lost = is_none | ((flat > ZERO) != (cosine > ZERO)) | (bounces_of(ahead) >= most)
    # Of spread lobes those of a BSDF's own loops alone reach the far side: these lose what they must by themselves.
    is_behind = (cosine <= ZERO) & ((chunk.kind[i] & LISTED) == 0)
    is_lost |= (is_behind | rules.is_sharp) & (not is_specular)
    # The share of light kept decides who goes on; by the throughput, every second path would end in glass.
    is_sure = (depth < SURE_BOUNCES) & (chunk.follow[i] > ZERO)
    survival = ONE if is_sure else min(ONE, largest(weight))
    goes = (unit32(chunk.bits[3, i]) < survival) & (not is_lost)
    chunk.goes[i] = ALL_BITS if goes else np.uint32(0)
    gain = chunk.gain[i] / max(survival, LEAST_PDF)
    set_column(chunk.next_throughput, i, scale(multiply(column(chunk.throughput, i), weight), gain))
    chunk.next_state[i] = ahead
    chunk.next_pdf[i] = chunk.pdf[i] if goes_straight else chunk.next_pdf[i]
    chunk.next_behind[i] = chunk.behind[i] + chunk.distance[i] if goes_straight else ZERO
    clear = chunk.clearance[i] if flat >= ZERO else -chunk.clearance[i]
    set_column(chunk.start, i, along(column(chunk.position, i), normal, clear))
    chunk.next_cone[0, i] = chunk.cone[0, i] + chunk.cone[1, i] * chunk.distance[i]
    chunk.next_cone[1, i] = max(chunk.cone[1, i], cone_spread(chunk.next_pdf[i]))
    set_column(chunk.next_unmapped, i, chosen(is_specular, column(chunk.unmapped, i), (ONE, ONE, ONE)))


@inlined
def unmap(i: int, data: Vertices) -> None:
    """Write `paths.EYE_UNMAPPED` where the caustic map has brought the diffuse part of what is scattered."""
    chunk, pdf = data.chunk, data.chunk.next_pdf[i]
    cosine = dot(column(chunk.wi, i), column(chunk.shading, i))
    part = scale(column(chunk.weight, i), PER_PI * cosine / max(pdf, LEAST_PDF))
    part = chosen((chunk.kind[i] & LISTED) != 0, column(chunk.base, i), part)
    weight, before = column(chunk.scattered, i), column(chunk.next_unmapped, i)
    is_mapped = (chunk.is_far[i] == Int(0)) & (pdf > ZERO) & (chunk.next_behind[i] == ZERO)
    rests = (rest(part[0], weight[0]), rest(part[1], weight[1]), rest(part[2], weight[2]))
    set_column(chunk.next_unmapped, i, chosen(is_mapped, rests, before))


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
    kept = pack_columns(address(chunk.goes), (ALL_BITS, ALL_BITS), hits, sources, targets)
    each(limit_ray, whole(kept), (rays + 3 * step, rays + 7 * step, INFINITY))
    return kept
