"""The third stage of shading: the lobe by which a photon goes on, its direction, and whether it goes on at all."""

import math

import numpy as np

from renderer.photons.batch import PHOTON_LOBE_GLASS, PHOTON_LOBE_MIRROR, PHOTON_LOBE_PHONG, Chunk
from renderer.photons.chunk_views import (
    ALL_BITS,
    FATE_MASK,
    MATERIAL_STRIDE,
    MIRROR_BYTES,
    MOST_SHEETS,
    ONE_ABSORBED,
    ONE_BOUNCE,
    ONE_SHEET,
    PHONG_BYTES,
    SHEET_SHIFT,
    TRANSMISSION_BYTES,
    Landing,
    View,
)
from renderer.photons.keeping import next_direction
from renderer.photons.landing import bounces_of, chosen, more_numbers, roulette
from renderer.scene.photon_scene import MIXED, SHEET
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
from shaders.vector import Vec3, add, along, dot, frame, mean, scale, subtract, to_world
from tracecore.compilation.vector import address


@inlined
def scatter_mixed(count: int, view: View) -> None:
    """Choose one lobe in proportion to reflectance; its weight stands for all."""
    chunk = view.chunk
    each(choose_lobe, whole(count), chunk)
    each(scatter_phong, list_lobe(PHOTON_LOBE_PHONG, count, chunk), view)
    each(scatter_mirror, list_lobe(PHOTON_LOBE_MIRROR, count, chunk), view)
    each(scatter_dielectric, list_lobe(PHOTON_LOBE_GLASS, count, chunk), view)


@inlined
def choose_lobe(i: int, chunk: Chunk) -> None:
    """Choose the lobe of a hit, and write the weight of those that stay diffuse."""
    paint, (phong, mirror, transmission) = column(chunk.weight, i), column(chunk.means, i)
    diffuse = mean(paint)
    total = diffuse + phong + mirror + transmission
    number, _, _, _ = more_numbers(i, chunk)
    pick = number * total
    after_diffuse, after_phong = pick >= diffuse, pick >= diffuse + phong
    after_mirror = pick >= diffuse + phong + mirror
    share = phong if after_diffuse else diffuse
    share = mirror if after_phong else share
    share = transmission if after_mirror else share
    is_mixed = (chunk.kind[i] & MIXED) != 0
    per_share = total / share if is_mixed else ONE
    chunk.lobe[i] = Int(after_diffuse & is_mixed) + Int(after_phong & is_mixed) + Int(after_mirror & is_mixed)
    chunk.per_share[i] = per_share
    set_column(chunk.weight, i, scale(paint, per_share))


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
    return get3(view.materials + field, 4, Int(get_int(address(view.chunk.material), i) * MATERIAL_STRIDE))


@inlined
def mirrored(i: int, view: View) -> Vec3:
    """Returns the mirror image of the ray, in the world."""
    ray, normal = column(view.chunk.ray, i), column(view.chunk.shading, i)
    return subtract(ray, scale(normal, TWO * dot(ray, normal)))


@inlined
def direct(i: int, wi: Vec3, chunk: Chunk) -> None:
    """Write the direction of the next ray."""
    set_column(chunk.wi, i, wi)
    put(address(chunk.is_directed), i, Int(1))


@inlined
def scatter_phong(k: int, view: View) -> None:
    """Scatter about the mirror direction; f cos / pdf is (n + 2) / (n + 1) cos, and nothing below the surface."""
    chunk = view.chunk
    i = get_int(lobe_indices(PHOTON_LOBE_PHONG, chunk), k)
    axis, exponent, bits = mirrored(i, view), get(address(chunk.exponent), i), address(chunk.bits)
    tangent, bitangent = frame(axis)
    local = cosine_power(unit32(get_word(bits, i)), unit32(get_word(bits + COLUMN_BYTES, i)), exponent)
    wi = to_world(local, tangent, bitangent, axis)
    cosine = max(ZERO, dot(wi, column(chunk.shading, i)))
    gain = get(address(chunk.per_share), i) * cosine * (exponent + TWO) / (exponent + ONE)
    direct(i, wi, chunk)
    set_column(chunk.weight, i, scale(material_color(i, PHONG_BYTES, view), gain))


@inlined
def scatter_mirror(k: int, view: View) -> None:
    """Reflect as a perfect mirror does."""
    chunk = view.chunk
    i = get_int(lobe_indices(PHOTON_LOBE_MIRROR, chunk), k)
    direct(i, mirrored(i, view), chunk)
    set_column(chunk.weight, i, scale(material_color(i, MIRROR_BYTES, view), get(address(chunk.per_share), i)))


@inlined
def scatter_dielectric(k: int, view: View) -> None:
    """Reflect with the probability that Fresnel's equations give, else refract."""
    chunk = view.chunk
    i = get_int(lobe_indices(PHOTON_LOBE_GLASS, chunk), k)
    direct(i, at_border(i, unit32(get_word(address(chunk.bits), i)), view)[0], chunk)
    set_column(chunk.weight, i, scale(material_color(i, TRANSMISSION_BYTES, view), get(address(chunk.per_share), i)))


@inlined
def at_border(i: int, number: float, view: View) -> tuple[Vec3, float]:
    """Returns the direction of a ray behind a clear border, and the index that it sees there over that of its own side,
    or 1 where it is reflected. A border without any change of index is straight, to the bit.

    number: uniform, by which it is reflected with the probability that Fresnel's equations give.
    """
    chunk = view.chunk
    ray, normal, ior = column(chunk.ray, i), column(chunk.shading, i), get(address(chunk.ior), i)
    eta = ior if get_int(address(chunk.is_outside), i) != 0 else ONE / ior
    cosine = -dot(ray, normal)
    # Snell: along the surface the direction is that of the ray over eta.
    cosine_t = math.sqrt(max(ZERO, ONE - (ONE - cosine * cosine) / (eta * eta)))
    refracted = add(scale(ray, ONE / eta), scale(normal, cosine / eta - cosine_t))
    reflects = (number < fresnel(cosine, eta)) & (eta != ONE)
    through = chosen(eta == ONE, ray, refracted)
    return chosen(reflects, mirrored(i, view), through), ONE if reflects else eta


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
    wi = next_direction(i, chunk)
    direct(i, wi, chunk)
    leaves = (dot(wi, flat) > ZERO) == (dot(wi, shading) > ZERO)
    above, below = abs(dot(ray, shading) * dot(wi, flat)), abs(dot(ray, flat) * dot(wi, shading))
    correction = shading_normal_correction(above, below)
    set_column(chunk.weight, i, scale(column(chunk.weight, i), correction if leaves else ZERO))


@inlined
def choose_side(i: int, chunk: Chunk) -> None:
    """Have the next ray start where it goes: clear of the surface on this side, or on the other one."""
    through = dot(column(chunk.normal, i), column(chunk.wi, i)) < ZERO
    chunk.clearance[i] = -chunk.clearance[i] if through else chunk.clearance[i]


@inlined
def decide(i: int, data: Landing) -> None:
    """Play Russian roulette, and write where the next ray of a path starts."""
    chunk, depth = data.chunk, data.chunk.depth[i]
    flux, weight = column(chunk.flux, i), column(chunk.weight, i)
    goes_straight = (chunk.lobe[i] == Int(PHOTON_LOBE_GLASS)) & ((chunk.kind[i] & SHEET) != 0)
    is_counted = goes_straight & ((depth >> SHEET_SHIFT) < MOST_SHEETS)
    ahead = np.uint32(depth + ONE_BOUNCE + (ONE_SHEET if is_counted else np.uint32(0)))
    left, fate = roulette(flux, weight, unit32(chunk.bits[2, i]), Int(bounces_of(ahead)) >= data.limits.max_bounces)
    set_column(chunk.flux, i, left)
    chunk.depth[i] = ahead
    chunk.counters[i] += fate
    set_column(chunk.position, i, along(column(chunk.position, i), column(chunk.normal, i), chunk.clearance[i]))
