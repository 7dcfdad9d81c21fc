"""The third stage of shading: the lobe by which a photon goes on, its direction, and whether it goes on at all."""

import math

import numpy as np

from renderer.photons.batch import PHOTON_LOBE_GLASS, PHOTON_LOBE_MIRROR, PHOTON_LOBE_PHONG, Chunk
from renderer.photons.chunk_views import (
    ALL_BITS,
    COLOR_BYTES,
    DIRECTED,
    FATE_MASK,
    MATERIAL_STRIDE,
    MOST_SHEETS,
    ONE_ABSORBED,
    ONE_BOUNCE,
    ONE_SHEET,
    PHONG_BYTES,
    SHEET_SHIFT,
    Landing,
    View,
)
from renderer.photons.keeping import next_direction
from renderer.photons.landing import bounces_of, power_of, roulette
from renderer.scene.photon_scene import LISTED, MATERIAL_MASK, MIXED, SHEET, TINTED
from renderer.simd.columns import (
    COLUMN_BYTES,
    column,
    each,
    get,
    get3,
    get_int,
    get_word,
    list_indices,
    put,
    set_column,
    whole,
)
from shaders.compilation import compiled as inlined
from shaders.dielectric import fresnel
from shaders.float32 import ONE, TWO, ZERO, Int
from shaders.random import unit32
from shaders.sampling import cosine_power
from shaders.shading_normals import shading_normal_correction
from shaders.vector import Vec3, add, along, chosen, dot, frame, scale, subtract, to_world
from tracecore.compilation.vector import address


@inlined
def scatter_mixed(flags: np.uint32, count: int, view: View) -> None:
    """Choose one lobe in proportion to the power that it reflects of a photon; its weight stands for all."""
    chunk = view.chunk
    if flags & TINTED:
        tinted = list_indices(address(chunk.kind), (TINTED, TINTED), count, address(chunk.lobes))
        each(weigh_colors, whole(tinted), view)
    each(choose_lobe, whole(count), chunk)
    if flags & TINTED:
        tinted = list_indices(address(chunk.is_directed), (TINTED, TINTED), count, address(chunk.lobes))
        each(tint, whole(tinted), view)
    each(scatter_phong, list_lobe(PHOTON_LOBE_PHONG, count, chunk), view)
    each(scatter_dielectric, list_lobe(PHOTON_LOBE_GLASS, count, chunk), view)


@inlined
def weigh_colors(k: int, view: View) -> None:
    """Write the share of a photon's power that each lobe beside the diffuse one reflects, where these are not grey."""
    chunk = view.chunk
    i = get_int(address(chunk.lobes), k)
    flux, means = column(chunk.flux, i), address(chunk.means)
    per_power = ONE / power_of(flux)
    for lobe in range(3):
        reflected = dot(flux, material_color(i, COLOR_BYTES * lobe, view))
        put(means + COLUMN_BYTES * lobe, i, reflected * per_power)


@inlined
def choose_lobe(i: int, chunk: Chunk) -> None:
    """Choose the lobe of a hit by the power that it reflects. Write its weight, as if the lobes but the diffuse one
    were grey, and the mirror direction for these.

    A photon thus keeps the power that all lobes together reflect, whichever it takes.
    """
    paint, flux, (phong, mirror, transmission) = column(chunk.weight, i), column(chunk.flux, i), column(chunk.means, i)
    diffuse = dot(flux, paint) / power_of(flux)
    total = diffuse + phong + mirror + transmission
    pick = chunk.draws[0, i] * total
    after_diffuse, after_phong = pick >= diffuse, pick >= diffuse + phong
    after_mirror = pick >= diffuse + phong + mirror
    share = phong if after_diffuse else diffuse
    share = mirror if after_phong else share
    share = transmission if after_mirror else share
    is_mixed = (chunk.kind[i] & (MIXED | LISTED)) == MIXED
    per_share = total / share if is_mixed else ONE
    is_directed = after_diffuse & is_mixed
    chunk.lobe[i] = Int(is_directed) + Int(after_phong & is_mixed) + Int(after_mirror & is_mixed)
    chunk.is_directed[i] = Int(DIRECTED | Int(chunk.kind[i] & TINTED)) if is_directed else Int(0)
    chunk.per_share[i] = per_share
    set_column(chunk.weight, i, scale(chosen(is_directed, (share, share, share), paint), per_share))
    set_column(chunk.wi, i, chosen(is_directed, mirrored(i, chunk), column(chunk.normal, i)))


@inlined
def list_lobe(lobe: np.uint32, count: int, chunk: Chunk) -> int:
    """List the indices where a lobe is chosen, rounded up to whole vectors."""
    return whole(list_indices(address(chunk.lobe), (ALL_BITS, lobe), count, lobe_indices(lobe, chunk)))


@inlined
def lobe_indices(lobe: np.uint32, chunk: Chunk) -> int:
    """Returns the address of the list of a lobe."""
    return address(chunk.lobes) + COLUMN_BYTES * np.int64(lobe)


@inlined
def material_color(i: int, field: int, view: View) -> Vec3:
    """Returns a colour of the material at a hit, by its offset in MATERIAL."""
    material = Int(get_word(address(view.chunk.kind), i) & MATERIAL_MASK)
    return get3(view.materials + field, 4, Int(material * MATERIAL_STRIDE))


@inlined
def mirrored(i: int, chunk: Chunk) -> Vec3:
    """Returns the mirror image of the ray, in the world."""
    ray, normal = column(chunk.ray, i), column(chunk.shading, i)
    return subtract(ray, scale(normal, TWO * dot(ray, normal)))


@inlined
def tint(k: int, view: View) -> None:
    """Write the weight of a lobe that is not grey."""
    chunk = view.chunk
    i = get_int(address(chunk.lobes), k)
    lobe = np.int64(get_int(address(chunk.lobe), i)) - np.int64(PHOTON_LOBE_PHONG)
    color = material_color(i, COLOR_BYTES * max(lobe, 0), view)  # type: ignore[operator]  # NumPy knows no type of max
    set_column(chunk.weight, i, scale(color, get(address(chunk.per_share), i)))


@inlined
def scatter_phong(k: int, view: View) -> None:
    """Scatter about the mirror direction; f cos / pdf is (n + 2) / (n + 1) cos, and nothing below the surface."""
    chunk = view.chunk
    i = get_int(lobe_indices(PHOTON_LOBE_PHONG, chunk), k)
    axis, exponent, bits = column(chunk.wi, i), get(address(chunk.exponent), i), address(chunk.bits)
    tangent, bitangent = frame(axis)
    local = cosine_power(unit32(get_word(bits, i)), unit32(get_word(bits + COLUMN_BYTES, i)), exponent)
    wi = to_world(local, tangent, bitangent, axis)
    cosine = max(ZERO, dot(wi, column(chunk.shading, i)))
    gain = get(address(chunk.per_share), i) * cosine * (exponent + TWO) / (exponent + ONE)
    set_column(chunk.wi, i, wi)
    set_column(chunk.weight, i, scale(material_color(i, PHONG_BYTES, view), gain))


@inlined
def scatter_dielectric(k: int, view: View) -> None:
    """Reflect with the probability that Fresnel's equations give, else refract."""
    chunk = view.chunk
    i = get_int(lobe_indices(PHOTON_LOBE_GLASS, chunk), k)
    set_column(chunk.wi, i, at_border(i, unit32(get_word(address(chunk.bits), i)), chunk)[0])


@inlined
def at_border(i: int, number: float, chunk: Chunk) -> tuple[Vec3, float]:
    """Returns the direction of a ray behind a clear border, and the index that it sees there over that of its own side,
    or 1 where it is reflected. A border without any change of index is straight, to the bit.

    number: uniform, by which it is reflected with the probability that Fresnel's equations give.
    """
    ray, normal, ior = column(chunk.ray, i), column(chunk.shading, i), get(address(chunk.ior), i)
    eta = ior if get_int(address(chunk.is_outside), i) != 0 else ONE / ior
    cosine = -dot(ray, normal)
    # Snell: along the surface the direction is that of the ray over eta.
    cosine_t = math.sqrt(max(ZERO, ONE - (ONE - cosine * cosine) / (eta * eta)))
    refracted = add(scale(ray, ONE / eta), scale(normal, cosine / eta - cosine_t))
    reflects = (number < fresnel(cosine, eta)) & (eta != ONE)
    through = chosen(eta == ONE, ray, refracted)
    return chosen(reflects, mirrored(i, chunk), through), ONE if reflects else eta


@inlined
def end_path(i: int, chunk: Chunk) -> None:
    """End a path as one that was absorbed."""
    chunk.counters[i] = (chunk.counters[i] & FATE_MASK) | ONE_ABSORBED


@inlined
def end_spread(i: int, chunk: Chunk) -> None:
    """Leave nothing of a path that no mirror and no glass takes on."""
    is_sharp = (chunk.lobe[i] == Int(PHOTON_LOBE_MIRROR)) | (chunk.lobe[i] == Int(PHOTON_LOBE_GLASS))
    set_column(chunk.weight, i, scale(column(chunk.weight, i), ONE if is_sharp else ZERO))


@inlined
def bend_flux(k: int, view: View) -> None:
    """Draw a diffuse direction about the bent normal, and have the flux count for the flat one.

    A bent normal is not symmetric: Veach, Robust Monte Carlo Methods for Light Transport Simulation, 1997, 5.3.
    """
    chunk = view.chunk
    i = get_int(address(chunk.bent), k)
    ray, flat, shading = column(chunk.ray, i), column(chunk.normal, i), column(chunk.shading, i)
    wi = next_direction(i, shading, chunk)
    set_column(chunk.wi, i, wi)
    put(address(chunk.is_directed), i, DIRECTED)
    leaves = (dot(wi, flat) > ZERO) == (dot(wi, shading) > ZERO)
    above, below = abs(dot(ray, shading) * dot(wi, flat)), abs(dot(ray, flat) * dot(wi, shading))
    correction = shading_normal_correction(above, below)
    set_column(chunk.weight, i, scale(column(chunk.weight, i), correction if leaves else ZERO))


@inlined
def decide(i: int, data: Landing) -> None:
    """Play Russian roulette, and write where the next ray of a path starts: clear of the surface, on the side where it
    goes."""
    chunk, depth = data.chunk, data.chunk.depth[i]
    flux, weight = column(chunk.flux, i), column(chunk.weight, i)
    goes_straight = (chunk.lobe[i] == Int(PHOTON_LOBE_GLASS)) & ((chunk.kind[i] & SHEET) != 0) & (chunk.ior[i] == ONE)
    is_counted = goes_straight & ((depth >> SHEET_SHIFT) < MOST_SHEETS)
    ahead = np.uint32(depth + ONE_BOUNCE + (ONE_SHEET if is_counted else np.uint32(0)))
    left, fate = roulette(flux, weight, unit32(chunk.bits[2, i]), Int(bounces_of(ahead)) >= data.limits.max_bounces)
    set_column(chunk.flux, i, left)
    chunk.depth[i] = ahead
    chunk.counters[i] += fate
    normal, clearance = column(chunk.normal, i), chunk.clearance[i]
    clearance = -clearance if dot(normal, column(chunk.wi, i)) < ZERO else clearance
    set_column(chunk.position, i, along(column(chunk.position, i), normal, clearance))
