"""This module holds image textures of linear colours: repeated over the plane or clamped, and filtered.

A mip texture has coarser and coarser images of itself, each a mean over about two by two texels of the one before:
Williams: Pyramidal Parametrics, 1983. What is seen of it is blended from two of them.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shaders.compilation import called, compiled
from shaders.vector import Color, add, scale

#: Columns of the table of images: the first texel, sides, whether edges go on for ever, the filter, and the row of the
#: image that is coarser by one level, or -1.
TEXTURE_OFFSET, TEXTURE_WIDTH, TEXTURE_HEIGHT, TEXTURE_CLAMPS, TEXTURE_FILTER, TEXTURE_COARSER, TEXTURE_COLUMNS = range(
    7
)
BILINEAR, NEAREST, MIP = range(3)

Floats = npt.NDArray[np.float32]


class Look(NamedTuple):
    """Says how an image is looked up.

    clamps: it does not repeat.
    filter: BILINEAR or another.
    """

    clamps: bool = False
    filter: int = BILINEAR


class TextureArrays(NamedTuple):
    """All textures of a scene.

    texels: (n, 3) float32, linear, row after row.
    table: (images, TEXTURE_COLUMNS) int64, the textures, then the coarser images of those that have them.
    """

    texels: Floats
    table: npt.NDArray[np.int64]


def pack_textures(images: Sequence[Floats], looks: Sequence[Look] | None = None) -> TextureArrays:
    """Packs images, and the coarser ones that their filters need, into the arrays of a scene.

    images: of shape (height, width, 3) each, float32, linear.
    looks: how each is looked at; plain if None.
    """
    looks = [Look()] * len(images) if looks is None else looks
    rows = list(images)
    found = [(look.clamps, look.filter, -1) for look in looks]
    for index, look in enumerate(looks):
        finer = index
        while look.filter == MIP and max(rows[finer].shape[:2]) > 1:
            found[finer] = (look.clamps, look.filter, len(rows))
            rows.append(halved(halved(rows[finer]).swapaxes(0, 1)).swapaxes(0, 1))
            found.append((look.clamps, look.filter, -1))
            finer = len(rows) - 1
    offsets = np.cumsum([0, *(row.shape[0] * row.shape[1] for row in rows)])[:-1]
    table = [(at, row.shape[1], row.shape[0], *own) for at, row, own in zip(offsets, rows, found, strict=True)]
    return TextureArrays(
        texels=np.concatenate([*(row.reshape(-1, 3) for row in rows), np.zeros((0, 3), np.float32)]),
        table=np.array(table, np.int64).reshape(-1, TEXTURE_COLUMNS),
    )


def halved(image: Floats) -> Floats:
    """Returns an image (n, k, 3) with half as many rows, at least one, whose mean is the same.

    Each new row of an odd number of them is a mean over three: Guthe, Heckbert: Non-Power-of-Two Mipmapping, 2005.
    """
    count = len(image) // 2
    if count == 0 or len(image) == 2 * count:
        return image if count == 0 else 0.5 * (image[0::2] + image[1::2])
    step = np.arange(count, dtype=np.float32)[:, None, None]
    three = (count - step) * image[0:-1:2] + count * image[1::2] + (step + 1.0) * image[2::2]
    mean: Floats = (three / np.float32(len(image))).astype(np.float32)
    return mean


@compiled
def texel(textures: TextureArrays, texture: int, x: int, y: int) -> Color:
    """Returns one texel; x and y repeat, or are held at the edges."""
    table, texels = textures.table, textures.texels
    width, height = table[texture, TEXTURE_WIDTH], table[texture, TEXTURE_HEIGHT]
    if table[texture, TEXTURE_CLAMPS] != 0:
        x, y = min(max(x, 0), width - 1), min(max(y, 0), height - 1)
    place = table[texture, TEXTURE_OFFSET] + (y % height) * width + x % width
    return (np.float64(texels[place, 0]), np.float64(texels[place, 1]), np.float64(texels[place, 2]))


@compiled
def wrapped(x: float, clamps: bool) -> float:
    """Returns where a texture coordinate is on an image that goes from 0 to 1."""
    return min(max(x, 0.0), 1.0) if clamps else x - math.floor(x)


@compiled
def lookup(textures: TextureArrays, texture: int, u: float, v: float) -> Color:
    """Returns the linear colour at (u, v): u runs right and v down from the top left corner of the image; both repeat
    each 1, or end at the edges. Of a mip texture only the image at this index is looked up."""
    table = textures.table
    clamps = table[texture, TEXTURE_CLAMPS] != 0
    x = wrapped(u, clamps) * table[texture, TEXTURE_WIDTH] - 0.5
    y = wrapped(v, clamps) * table[texture, TEXTURE_HEIGHT] - 0.5
    if table[texture, TEXTURE_FILTER] == NEAREST:
        return texel(textures, texture, math.floor(x + 0.5), math.floor(y + 0.5))
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


@called
def filtered(textures: TextureArrays, texture: int, uv: tuple[float, float], footprint: float) -> Color:
    """Returns the linear colour at (u, v) by the texture's own filter.

    footprint: side of what is seen of it, in the unit of (u, v), of which mip textures take the mean; 0 for a point.
    """
    table = textures.table
    level = footprint * math.sqrt(table[texture, TEXTURE_WIDTH] * table[texture, TEXTURE_HEIGHT])
    if table[texture, TEXTURE_FILTER] != MIP or not level > 1.0:
        return lookup(textures, texture, uv[0], uv[1])
    level = math.log2(level)
    while level >= 1.0 and table[texture, TEXTURE_COARSER] >= 0:
        texture, level = table[texture, TEXTURE_COARSER], level - 1.0
    color = lookup(textures, texture, uv[0], uv[1])
    if table[texture, TEXTURE_COARSER] < 0:
        return color
    coarser = lookup(textures, table[texture, TEXTURE_COARSER], uv[0], uv[1])
    return add(scale(color, 1.0 - level), scale(coarser, level))
