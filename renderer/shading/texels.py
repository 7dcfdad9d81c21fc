"""This module looks at textures of decoded bytes, which multiply the first colour of a BSDF: photons at one texel that
they draw, eye paths at four."""

import numpy as np

from renderer.scene.photon_scene import HEIGHT_SHIFT, SIDE_MASK
from renderer.shading.chunks import TEXEL_MASK, Chunk, View
from renderer.simd.columns import column, column_bytes, get, get_word, set_column
from shaders.float32 import HALF, ONE, ZERO, Float32, Int
from shaders.vector import Color, multiply
from tracecore.compilation.cached import inlined
from tracecore.compilation.vector import address


@inlined
def draw_texel(k: int, chunk: Chunk) -> None:
    """Write the index of one of four texels, drawn so that the mean is the filtered texture. k: in the list `textured`.

    Fajardo, Wronski, Salvi, Pharr: Stochastic Texture Filtering, 2023.
    """
    i, draws = chunk.textured[k], address(chunk.draws)
    u, v = get(address(chunk.uv), i), get(address(chunk.uv) + column_bytes(), i)
    w = ONE - u - v
    x = w * chunk.uvs[0, k] + u * chunk.uvs[2, k] + v * chunk.uvs[4, k]
    y = w * chunk.uvs[1, k] + u * chunk.uvs[3, k] + v * chunk.uvs[5, k]
    width, height = texture_sides(chunk.sides[k])
    row = texel_step(y, get(draws + 2 * column_bytes(), i), height)
    chunk.texel[k] = Int(chunk.texels[k] + Int(Int(row * width) + texel_step(x, get(draws + column_bytes(), i), width)))


@inlined
def paint(k: int, view: View) -> None:
    """Multiply the first colour of a hit of the list `textured` with the texel's."""
    i, first = view.chunk.textured[k], view.chunk.parameters
    set_column(first, i, multiply(column(first, i), texel_color(view.chunk.texel[k], view)))


@inlined
def paint_blended(k: int, view: View) -> None:
    """Multiply the first colour of a hit of the list `textured` with the texture's, blended between four texels."""
    chunk = view.chunk
    i, first = chunk.textured[k], chunk.texels[k]
    x, y = texture_point(k, i, chunk)
    width, height = texture_sides(chunk.sides[k])
    across, down = blend_share(x, width), blend_share(y, height)
    left, right = texel_step(x, ZERO, width), texel_step(x, ONE, width)
    top, bottom = Int(texel_step(y, ZERO, height) * width), Int(texel_step(y, ONE, height) * width)
    a, b = texel_color(Int(first + top + left), view), texel_color(Int(first + top + right), view)
    c, d = texel_color(Int(first + bottom + left), view), texel_color(Int(first + bottom + right), view)
    color = (
        blended(blended(a[0], b[0], across), blended(c[0], d[0], across), down),
        blended(blended(a[1], b[1], across), blended(c[1], d[1], across), down),
        blended(blended(a[2], b[2], across), blended(c[2], d[2], across), down),
    )
    set_column(chunk.parameters, i, multiply(column(chunk.parameters, i), color))


@inlined
def texture_point(k: int, i: int, chunk: Chunk) -> tuple[float, float]:
    """Returns the texture coordinates of hit i, the k-th textured one: in float64, as they may be large."""
    u, v = np.float64(get(address(chunk.uv), i)), np.float64(get(address(chunk.uv) + column_bytes(), i))
    w = 1.0 - u - v
    x = w * chunk.uvs[0, k] + u * chunk.uvs[2, k] + v * chunk.uvs[4, k]
    y = w * chunk.uvs[1, k] + u * chunk.uvs[3, k] + v * chunk.uvs[5, k]
    return x, y


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
def blend_share(x: float, size: int) -> float:
    """Returns the share of the second one of two texels of a row or column that are blended at x."""
    position = (x - np.floor(x)) * Float32(size) - HALF
    return Float32(position - np.floor(position))


@inlined
def blended(a: float, b: float, share: float) -> float:
    """Returns a number between two."""
    return a * (ONE - share) + b * share
