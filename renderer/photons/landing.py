"""The second stage of shading: where photons land, what is stored of them, and the colour and normal of the surface."""

import numpy as np

from renderer.photons.batch import Chunk
from renderer.photons.chunk_views import (
    LEAST_BENT_COSINE,
    NO_FATE,
    ONE_ABSORBED,
    ONE_BOUNCE,
    ONE_STORED,
    ONE_TERMINATED,
    SHEET_SHIFT,
    START_DEPTH,
    SURFACE_MASK,
    TEXEL_MASK,
    WAITING_STEP,
    Landing,
    View,
)
from renderer.photons.photon_map import PHOTON_FLUX, SURFACES_LEFT, pack_flux
from renderer.scene.photon_scene import HEIGHT_SHIFT, SIDE_MASK, STORES
from renderer.shading.corners import corners_normal
from renderer.simd.columns import COLUMN_BYTES, column, get, get_int, get_word, put, put3, set_column
from shaders.compilation import compiled as inlined
from shaders.float32 import HALF, ONE, ZERO, Float32, Int
from shaders.octahedral import pack_unit
from shaders.random import hash4, more4, unit32
from shaders.shading_normals import shading_normal_correction
from shaders.vector import Color, Vec3, along, chosen, dot, multiply, scale
from tracecore.compilation.vector import address


@inlined
def bounce_first(i: int, data: Landing) -> None:
    """Shade a flat, diffuse hit of a photon on its first ray, where all of these carry the same flux."""
    bounce_with(i, data.flux, START_DEPTH, data)


@inlined
def bounce(i: int, data: Landing) -> None:
    """Shade a flat, diffuse hit: its photon, and what is left of the path, without leaving the registers."""
    bounce_with(i, column(data.chunk.flux, i), data.chunk.depth[i], data)


@inlined
def bounce_with(i: int, flux: Vec3, depth: np.uint32, data: Landing) -> None:
    """Shade a flat, diffuse hit of a path with this flux that has met so many surfaces."""
    chunk = data.chunk
    position, normal, is_front = hit_point(i, chunk.distance[i], chunk)
    bits = hash4(data.limits.key, chunk.photon[i], depth)
    chunk.bits[0, i], chunk.bits[1, i] = bits[0], bits[1]
    set_column(chunk.normal, i, normal)
    put_photon(i, (position, is_front), Int(depth), pack_flux(flux, unit32(bits[3])), data)
    ahead = np.uint32(depth + ONE_BOUNCE)  # without sheets, which are never flat and diffuse
    left, fate = roulette(flux, column(chunk.weight, i), unit32(bits[2]), Int(ahead) >= data.limits.max_bounces)
    chunk.depth[i] = ahead
    set_column(chunk.flux, i, left)
    chunk.counters[i] = stored(i, Int(depth), data) + fate
    set_column(chunk.position, i, along(position, normal, chunk.clearance[i]))


@inlined
def draw_numbers(i: int, data: Landing) -> None:
    """Write the random numbers of a hit.

    They are a long chain of products, each of which waits for the one before: in a loop of their own, other hits fill
    the gaps.
    """
    chunk = data.chunk
    bits = hash4(data.limits.key, chunk.photon[i], chunk.depth[i])
    chunk.bits[0, i], chunk.bits[1, i], chunk.bits[2, i], chunk.bits[3, i] = bits
    more = more4(bits)
    set_column(chunk.draws, i, (unit32(more[0]), unit32(more[1]), unit32(more[2])))


@inlined
def land(i: int, data: Landing) -> None:
    """Write hit point, normal on the side of the ray's origin, by which it is shaded until a bent one is known, and
    what a photon keeps of the hit."""
    chunk, depth = data.chunk, data.chunk.depth[i]
    position, normal, is_front = hit_point(i, chunk.distance[i], chunk)
    set_column(chunk.position, i, position)
    set_column(chunk.normal, i, normal)
    set_column(chunk.shading, i, normal)
    chunk.is_outside[i] = Int(is_front)
    flux = pack_flux(column(chunk.flux, i), unit32(chunk.bits[3, i]))
    put_photon(i, (position, is_front), bounces_of(depth), flux, data)
    chunk.counters[i] = stored(i, bounces_of(depth), data)


@inlined
def hit_point(i: int, distance: float, chunk: Chunk) -> tuple[Vec3, Vec3, bool]:
    """Returns where a ray ends, the triangle's normal on the side of its origin, and whether that is the outer one.

    distance: along the ray.
    """
    ray, normal = column(chunk.ray, i), column(chunk.normal, i)
    position = along(column(chunk.origin, i), ray, distance)
    # Along the ray rounding takes the point off the triangle; back to its plane.
    position = along(position, normal, chunk.plane[i] - dot(normal, position))
    is_front = dot(normal, ray) <= ZERO
    return position, scale(normal, ONE if is_front else -ONE), is_front


@inlined
def put_photon(i: int, place: tuple[Vec3, bool], bounces: int, flux: np.uint32, data: Landing) -> None:
    """Write the photon of a hit, whether it stays or not.

    place: its position, and whether it is on the outer side of the surface.
    bounces: surfaces that its path has met before.
    """
    chunk, word, (position, is_front) = data.chunk, data.photons + 3 * WAITING_STEP, place
    front, back = chunk.packed_front[i], chunk.packed_back[i]  # read both: a choice of reads would not vectorise
    left = min(Int(data.limits.max_bounces - bounces - Int(1)), Int(SURFACES_LEFT))
    normal = (front if is_front else back) & ~SURFACES_LEFT
    put3(data.photons, WAITING_STEP, i, position)
    put(word, i, np.uint32(pack_unit(scale(column(chunk.ray, i), -ONE))))
    put(word + WAITING_STEP, i, np.uint32(normal | np.uint32(left)))
    put(word + 2 * WAITING_STEP, i, np.uint32(flux))
    put(word + 3 * WAITING_STEP, i, chunk.photon[i])


@inlined
def bounces_of(depth: np.uint32) -> int:
    """Returns how many surfaces a path has met, but for sheets that it went straight through."""
    return Int(Int(depth & SURFACE_MASK) - Int(depth >> SHEET_SHIFT))


@inlined
def stored(i: int, bounces: int, data: Landing) -> np.uint32:
    """Returns the fate of a photon that stays, or none. bounces: of its path before."""
    stores = ((data.chunk.kind[i] & STORES) != 0) & (bounces >= data.limits.min_bounces)
    return ONE_STORED if stores else NO_FATE


@inlined
def draw_texel(i: int, chunk: Chunk) -> None:
    """Write the index of one of four texels, drawn so that the mean is the filtered texture.

    Fajardo, Wronski, Salvi, Pharr: Stochastic Texture Filtering, 2023.
    """
    u, v = chunk.uv[0, i], chunk.uv[1, i]
    w = ONE - u - v
    x = w * chunk.uvs[0, i] + u * chunk.uvs[2, i] + v * chunk.uvs[4, i]
    y = w * chunk.uvs[1, i] + u * chunk.uvs[3, i] + v * chunk.uvs[5, i]
    width, height = texture_sides(chunk.sides[i])
    index = Int(texel_step(y, chunk.draws[2, i], height) * width) + texel_step(x, chunk.draws[1, i], width)
    chunk.texel[i] = Int(chunk.texels[i] + index)


@inlined
def paint(i: int, view: View) -> None:
    """Multiply the diffuse colour with the texel's."""
    chunk = view.chunk
    color = texel_color(chunk.texel[i], view)
    set_column(chunk.weight, i, multiply(column(chunk.weight, i), color))


@inlined
def texture_sides(sides: np.uint32) -> tuple[int, int]:
    """Returns a texture's width and height, int32."""
    return Int(sides & SIDE_MASK), Int(sides >> HEIGHT_SHIFT)


@inlined
def texel_color(index: int, view: View) -> Color:
    """Returns the linear colour of a texel."""
    texel = get_word(view.texels, index)
    return (
        get(view.decoded, texel & TEXEL_MASK),
        get(view.decoded, np.uint32(texel >> np.uint32(8)) & TEXEL_MASK),
        get(view.decoded, texel >> np.uint32(16)),
    )


@inlined
def texel_step(x: float, u: float, size: int) -> int:
    """Returns one of two texels of a row or column that are blended at x, where each 1 repeats."""
    step = Int(np.floor((x - np.floor(x)) * Float32(size) - HALF + u))
    step = Int(Int(step - size) if step >= size else (Int(step + size) if step < Int(0) else step))
    return Int(min(max(step, Int(0)), Int(size - Int(1))))  # texels that are not there may hold anything


@inlined
def stay_diffuse(i: int, chunk: Chunk) -> None:
    """Have a path go on about the flat normal until something else is known."""
    set_column(chunk.wi, i, column(chunk.normal, i))
    chunk.is_directed[i] = Int(0)


@inlined
def bend_normal(k: int, view: View) -> None:
    """Write the shading normal between those of the corners, or the flat one where that is seen from behind."""
    chunk = view.chunk
    i = get_int(address(chunk.bent), k)
    flat, ray, shading = column(chunk.normal, i), column(chunk.ray, i), corners_normal(i, chunk, view.normals)
    # Some files wind a triangle against its vertex normals: those then say which side is outside.
    outside = dot(flat, shading) >= ZERO
    shading = scale(shading, ONE if outside else -ONE)
    seen = dot(shading, ray) < -LEAST_BENT_COSINE  # else from behind the bent normal: only the flat one makes sense
    put(address(chunk.is_outside), i, Int(outside))
    set_column(chunk.shading, i, chosen(seen, shading, flat))


@inlined
def power_of(flux: Vec3) -> float:
    """Returns the sum of a flux over its channels."""
    return flux[0] + flux[1] + flux[2]


@inlined
def roulette(flux: Vec3, weight: Vec3, number: float, is_cut: bool) -> tuple[Vec3, np.uint32]:
    """Play Russian roulette by the share of power that is left: a photon that survives has as much as before, and
    another colour. Only a weight that adds power, which a highlight and a bent normal may have, leaves it with more.

    Returns the flux that goes on, and the fate of a path that ends.
    """
    left = multiply(flux, weight)
    before, after = power_of(flux), power_of(left)
    survives = number * before < after
    cut = ONE_TERMINATED if is_cut else NO_FATE
    return scale(left, max(ONE, before / after)), cut if survives else ONE_ABSORBED


@inlined
def correct_photon(k: int, view: View) -> None:
    """Have the flux that is stored count about the normal between the corners' ones: nothing, from behind it."""
    chunk = view.chunk
    i = get_int(address(chunk.bent), k)
    flat, ray, shading = column(chunk.normal, i), column(chunk.ray, i), corners_normal(i, chunk, view.normals)
    cosine = dot(shading, ray)
    bent = max(-cosine if dot(flat, shading) >= ZERO else cosine, ZERO)
    flux = scale(column(chunk.flux, i), shading_normal_correction(bent, -dot(flat, ray)))
    number = unit32(get_word(address(chunk.bits) + 3 * COLUMN_BYTES, i))
    put(view.photons + PHOTON_FLUX * WAITING_STEP, i, np.uint32(pack_flux(flux, number)))
