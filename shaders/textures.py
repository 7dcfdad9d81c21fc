"""Image textures: repeated over the plane, filtered bilinearly, decoded from sRGB to linear."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shaders.compilation import compiled
from shaders.real import HALF
from shaders.vector import Color


class TextureArrays(NamedTuple):
    """All textures of a scene. texels: (n, 3) float32, linear, row after row. table: (textures, 3) int64: offset of the
    first texel, width, height."""

    texels: npt.NDArray[np.float32]
    table: npt.NDArray[np.int64]


def decode_srgb(encoded: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """sRGB bytes to linear float32 of the same shape (IEC 61966-2-1)."""
    value = np.arange(256) / 255.0
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    return linear.astype(np.float32)[encoded]


def pack_textures(images: Sequence[npt.NDArray[np.uint8]]) -> TextureArrays:
    """Pack images of shape (height, width, 3), uint8, sRGB."""
    texels = [decode_srgb(image).reshape(-1, 3) for image in images]
    offsets = np.cumsum([0, *(len(t) for t in texels)])[:-1]
    table = [(offset, image.shape[1], image.shape[0]) for offset, image in zip(offsets, images, strict=True)]
    return TextureArrays(
        texels=np.concatenate([*texels, np.zeros((0, 3), np.float32)]),
        table=np.array(table, np.int64).reshape(-1, 3),
    )


@compiled
def texel(textures: TextureArrays, texture: int, x: int, y: int) -> Color:
    """One texel; x and y repeat."""
    table, texels = textures.table, textures.texels
    width, height = table[texture, 1], table[texture, 2]
    place = table[texture, 0] + (y % height) * width + x % width
    return (np.float64(texels[place, 0]), np.float64(texels[place, 1]), np.float64(texels[place, 2]))


@compiled
def random_texel(textures: TextureArrays, texture: int, place: tuple[float, float], u: tuple[float, float]) -> Color:
    """One of the four texels that `lookup` blends at a place, drawn by two uniform numbers with its share."""
    table = textures.table
    width, height = table[texture, 1], table[texture, 2]
    x = (place[0] - np.floor(place[0])) * np.float32(width) - HALF + u[0]
    y = (place[1] - np.floor(place[1])) * np.float32(height) - HALF + u[1]
    column, row = int(np.floor(x)), int(np.floor(y))
    column = column - width if column >= width else (column + width if column < 0 else column)
    row = row - height if row >= height else (row + height if row < 0 else row)
    at = table[texture, 0] + row * width + column
    texels: Any = textures.texels
    return texels[at, 0], texels[at, 1], texels[at, 2]


@compiled
def lookup(textures: TextureArrays, texture: int, u: float, v: float) -> Color:
    """Linear colour at (u, v): u runs right and v down from the top left corner of the image; both repeat each 1."""
    width, height = textures.table[texture, 1], textures.table[texture, 2]
    x = (u - math.floor(u)) * width - 0.5
    y = (v - math.floor(v)) * height - 0.5
    left, top = math.floor(x), math.floor(y)
    column, row = int(left), int(top)
    right_share, lower_share = x - left, y - top
    a = texel(textures, texture, column, row)
    b = texel(textures, texture, column + 1, row)
    c = texel(textures, texture, column, row + 1)
    d = texel(textures, texture, column + 1, row + 1)
    return (
        _bilinear(a[0], b[0], c[0], d[0], right_share, lower_share),
        _bilinear(a[1], b[1], c[1], d[1], right_share, lower_share),
        _bilinear(a[2], b[2], c[2], d[2], right_share, lower_share),
    )


@compiled
def _bilinear(a: float, b: float, c: float, d: float, s: float, t: float) -> float:
    return (a * (1.0 - s) + b * s) * (1.0 - t) + (c * (1.0 - s) + d * s) * t
