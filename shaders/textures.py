"""This module holds image textures of linear colours: repeated over the plane or clamped, and filtered.

Loops read them by address, and all is worked out in the precision of the coordinates, without branches.

A mip texture has coarser and coarser images of itself, each a mean over about two by two texels of the one before:
Williams: Pyramidal Parametrics, 1983. What is seen of it is blended from two of them.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shaders.compilation import address, called, compiled, get, get_int
from shaders.elementary import floor, log2
from shaders.float32 import HALF, ONE, ZERO, Float32, Floats, Int, Ints
from shaders.vector import Color

#: Columns of the table of images: the first texel, sides, whether edges go on for ever, the filter, the row of the
#: image that is coarser by one level, or -1, and how many coarser ones there are, whose rows follow one another.
TEXTURE_OFFSET, TEXTURE_WIDTH, TEXTURE_HEIGHT, TEXTURE_CLAMPS = range(4)
TEXTURE_FILTER, TEXTURE_COARSER, TEXTURE_LEVELS, TEXTURE_COLUMNS = range(4, 8)
BILINEAR, NEAREST, MIP = range(3)


class Look(NamedTuple):
    """Says how an image is looked up.

    clamps: it does not repeat.
    filter: BILINEAR or another.
    """

    clamps: bool = False
    filter: int = BILINEAR


class TextureArrays(NamedTuple):
    """All textures of a scene."""

    texels: Floats  # (n, 3) float32, linear, row after row
    table: Ints  # (images, TEXTURE_COLUMNS) int32, the textures, then the coarser images of those that have them


class Images(NamedTuple):
    """Says where all textures of a scene are: the addresses of what `TextureArrays` holds."""

    texels: int
    table: int


class Corners(NamedTuple):
    """Says which four texels are blended around a point, by their indices in all texels, and the shares of the right
    and of the lower ones."""

    upper_left: int
    upper_right: int
    lower_left: int
    lower_right: int
    across: float
    down: float


class Coordinates(NamedTuple):
    """Is a point in the plane of textures.

    u runs right and v down from the top left corner of an image, whose sides are 1. tile_u, tile_v: whole numbers that
    are to be added to both, apart so that small differences keep their digits.
    """

    u: float
    v: float
    tile_u: float
    tile_v: float


def pack_textures(images: Sequence[Floats], looks: Sequence[Look] | None = None) -> TextureArrays:
    """Packs images, and the coarser ones that their filters need, into the arrays of a scene.
    images: of shape (height, width, 3) each, float32, linear. looks: how each is looked at; plain if None."""
    looks = [Look()] * len(images) if looks is None else looks
    rows = list(images)
    found = [(look.clamps, look.filter, -1, 0) for look in looks]
    for index, look in enumerate(looks):
        levels = int(math.log2(max(rows[index].shape[:2]))) if look.filter == MIP else 0
        finer = index
        for level in range(levels):
            found[finer] = (look.clamps, look.filter, len(rows), levels - level)
            rows.append(halved(halved(rows[finer]).swapaxes(0, 1)).swapaxes(0, 1))
            found.append((look.clamps, look.filter, -1, 0))
            finer = len(rows) - 1
    offsets = np.cumsum([0, *(row.shape[0] * row.shape[1] for row in rows)])[:-1]
    table = [(at, row.shape[1], row.shape[0], *own) for at, row, own in zip(offsets, rows, found, strict=True)]
    return TextureArrays(
        texels=np.concatenate([*(row.reshape(-1, 3) for row in rows), np.zeros((0, 3), np.float32)]),
        table=np.array(table, np.int32).reshape(-1, TEXTURE_COLUMNS),
    )


#: The arrays of a scene without textures.
NO_TEXTURES = pack_textures([])


def halved(image: Floats) -> Floats:
    """Returns an image (n, k, 3) with half as many rows, at least one, whose mean is the same. Each new row of an odd
    number of them is a mean over three: Guthe, Heckbert: Non-Power-of-Two Mipmapping, 2005."""
    count = len(image) // 2
    if count == 0 or len(image) == 2 * count:
        return image if count == 0 else 0.5 * (image[0::2] + image[1::2])
    step = np.arange(count, dtype=np.float32)[:, None, None]
    three = (count - step) * image[0:-1:2] + count * image[1::2] + (step + 1.0) * image[2::2]
    mean: Floats = (three / np.float32(len(image))).astype(np.float32)
    return mean


@compiled
def images_of(textures: TextureArrays) -> Images:
    """Returns where textures are."""
    return Images(address(textures.texels), address(textures.table))


@compiled
def entry(images: Images, image: int, column: int) -> int:
    """Returns a number of the table of images, int32."""
    return get_int(images.table, Int(image * TEXTURE_COLUMNS + column))


@compiled
def texel(images: Images, place: int) -> Color:
    """Returns the colour of a texel, float32."""
    first = np.int64(place) * 3
    return (get(images.texels, first), get(images.texels, first + 1), get(images.texels, first + 2))


@compiled
def wrapped(x: float, tile: float, clamps: bool) -> float:
    """Returns where the texture coordinate x + tile is on an image that goes from 0 to 1."""
    held = min(max(x + tile, ZERO), ONE)
    return held if clamps else floor(x)[1]


@compiled
def texel_at(step: int, size: int, clamps: bool) -> int:
    """Returns the index of a texel of a row or column, from one before the first to one behind the last."""
    again = Int(step + size) if step < Int(0) else (Int(step - size) if step >= size else step)
    return Int(min(max(step if clamps else again, Int(0)), Int(size - Int(1))))


@compiled
def texel_pair(x: float, size: int, clamps: bool, is_nearest: bool) -> tuple[int, int, float]:
    """Returns the indices of two texels of a row or column that are blended at x, 0..1, and the share of the second."""
    step, share = floor(x * Float32(size) - (ZERO if is_nearest else HALF))
    return texel_at(step, size, clamps), texel_at(Int(step + Int(1)), size, clamps), ZERO if is_nearest else share


@compiled
def corners_at(images: Images, image: int, at: Coordinates) -> Corners:
    """Returns the texels of one image around a point: the nearest one alone, with a share of 1, or four."""
    clamps = entry(images, image, TEXTURE_CLAMPS) != 0
    is_nearest = entry(images, image, TEXTURE_FILTER) == NEAREST
    width, height = entry(images, image, TEXTURE_WIDTH), entry(images, image, TEXTURE_HEIGHT)
    left, right, across = texel_pair(wrapped(at.u, at.tile_u, clamps), width, clamps, is_nearest)
    top, bottom, down = texel_pair(wrapped(at.v, at.tile_v, clamps), height, clamps, is_nearest)
    first = entry(images, image, TEXTURE_OFFSET)
    upper, lower = Int(first + top * width), Int(first + bottom * width)
    return Corners(Int(upper + left), Int(upper + right), Int(lower + left), Int(lower + right), across, down)


@compiled
def look_up(images: Images, image: int, at: Coordinates) -> Color:
    """Returns the linear colour of one image at a point."""
    corners = corners_at(images, image, at)
    a, b = texel(images, corners.upper_left), texel(images, corners.upper_right)
    c, d = texel(images, corners.lower_left), texel(images, corners.lower_right)
    return (
        _bilinear(a[0], b[0], c[0], d[0], corners.across, corners.down),
        _bilinear(a[1], b[1], c[1], d[1], corners.across, corners.down),
        _bilinear(a[2], b[2], c[2], d[2], corners.across, corners.down),
    )


@compiled
def look_up_number(images: Images, numbers: int, image: int, at: Coordinates) -> float:
    """Returns what one image has at a point of which each texel has a number.
    numbers: address of those of all texels, float32."""
    corners = corners_at(images, image, at)
    a, b = get(numbers, corners.upper_left), get(numbers, corners.upper_right)
    c, d = get(numbers, corners.lower_left), get(numbers, corners.lower_right)
    return _bilinear(a, b, c, d, corners.across, corners.down)


@compiled
def _bilinear(a: float, b: float, c: float, d: float, s: float, t: float) -> float:
    return (a * (ONE - s) + b * s) * (ONE - t) + (c * (ONE - s) + d * s) * t


@compiled
def level_of(images: Images, texture: int, footprint: float) -> tuple[int, float]:
    """Returns the finer one of two images of a texture that are blended, and the share of the coarser one, float32: 0
    where one alone is looked at.

    footprint: side of what is seen of the texture, in the unit of its coordinates; 0 for a point.
    """
    sides = Float32(entry(images, texture, TEXTURE_WIDTH)) * Float32(entry(images, texture, TEXTURE_HEIGHT))
    texels = Float32(footprint) * math.sqrt(sides)
    most = Float32(entry(images, texture, TEXTURE_LEVELS))
    level, share = floor(min(log2(texels if texels > ONE else ONE), most))
    coarser = Int(entry(images, texture, TEXTURE_COARSER) + level - 1)
    return coarser if level > 0 else Int(texture), share


@compiled
def blended(a: Color, b: Color, share: float) -> Color:
    """Returns a colour between two."""
    rest = ONE - share
    return (a[0] * rest + b[0] * share, a[1] * rest + b[1] * share, a[2] * rest + b[2] * share)


@compiled
def lookup(textures: TextureArrays, texture: int, u: float, v: float) -> Color:
    """Returns the linear colour at (u, v), see `Coordinates`, of this image alone, also of a mip texture."""
    return look_up(images_of(textures), texture, Coordinates(u, v, ZERO, ZERO))


@called
def filtered(textures: TextureArrays, texture: int, uv: tuple[float, float], footprint: float) -> Color:
    """Returns the linear colour at (u, v) by the texture's own filter.
    footprint: see `level_of`, of which mip textures take the mean."""
    images, at = images_of(textures), Coordinates(uv[0], uv[1], ZERO, ZERO)
    image, share = level_of(images, texture, footprint)
    color = look_up(images, image, at)
    if share <= ZERO:
        return color
    return blended(color, look_up(images, entry(images, image, TEXTURE_COARSER), at), share)
