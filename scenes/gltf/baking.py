"""This module multiplies the picture of a mesh by the colours of its vertices, in a texture with a patch for each
triangle."""

import math
from dataclasses import replace

import numpy as np

from scenes.colors.palette import srgb
from scenes.colors.srgb import decoded
from scenes.gltf.pictures import Lookup, wrapped_texels
from scenes.meshes.geometry import corner_indices
from scenes.model import Doubles, Mesh, Texture

#: The most texels of all patches of a mesh, of 15 bytes each.
MAX_TEXELS = 1 << 22
#: Texels of a patch for each texel of the picture along a triangle's longest side, so that little is blurred.
FINER = 2


def patch_side(picture: Texture, uvs: Doubles) -> int | None:
    """Returns the side of a patch in texels, a power of two, or None where so many would be too large.

    uvs: (n, 3, 2), of the corners of triangles.
    """
    height, width = picture.pixels.shape[:2]
    edges = np.abs(uvs - np.roll(uvs, 1, axis=1)) * (width, height)
    longest = min(float(edges.max()), 1e6)
    side = 1 << math.ceil(math.log2(max(FINER * longest, 1.0) + 1.0))
    return side if len(uvs) * side * side <= MAX_TEXELS else None


def baked(
    mesh: Mesh, corners: tuple[Doubles, Doubles], picture: Texture, lookup: Lookup
) -> tuple[Mesh, Texture] | None:
    """Returns a mesh and its texture, a picture multiplied by colours; None where patches would be too many.

    corners: texture coordinates (n, 3, 2) of the picture and linear colours (n, 3, 3) of the corners of triangles.
    """
    uvs, colors = corners
    side = patch_side(picture, uvs)
    if side is None:
        return None
    across, down = np.meshgrid(np.arange(side) / (side - 1), np.arange(side) / (side - 1))
    weights = np.stack([1.0 - across - down, across, down], axis=-1)
    seen = bilinear(decoded(picture.pixels), np.einsum("yxc,nci->nyxi", weights, uvs), lookup.wraps)
    texels = seen * np.einsum("yxc,nci->nyxi", weights, colors)
    # Beside the longest side filters blend with texels beyond it, which go on as those inside do.
    x, y = np.arange(1, side), side - np.arange(1, side)
    texels[:, y, x] = texels[:, y, x - 1] + texels[:, y - 1, x] - texels[:, y - 1, x - 1]
    bits = math.ceil(math.log2(len(uvs)))
    columns, rows = 1 << (bits + 1) // 2, 1 << bits // 2
    patches = np.zeros((rows * columns, side, side, 3), np.float32)
    patches[: len(uvs)] = texels
    image = patches.reshape(rows, columns, side, side, 3).swapaxes(1, 2).reshape(rows * side, columns * side, 3)
    row, column = np.divmod(np.arange(len(uvs)), columns)
    first = np.stack([column, row], axis=-1)[:, None, :] * side
    ends = np.array([[0, 0], [side - 1, 0], [0, side - 1]])
    moved = (first + ends + 0.5) / (columns * side, rows * side)
    texture = Texture(name=f"{picture.name} in colours", pixels=srgb(image.astype(np.float64)), colors=image)
    return replace(mesh, uvs=moved.reshape(-1, 2), uv_triangles=corner_indices(len(uvs))), texture


def bilinear(image: Doubles, uvs: Doubles, wraps: tuple[int, int]) -> Doubles:
    """Returns what is seen of an image (height, width, 3) at texture coordinates (..., 2), as its sampler wraps it."""
    height, width = image.shape[:2]
    x, y = uvs[..., 0] * width - 0.5, uvs[..., 1] * height - 0.5
    left, top = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
    right_share, lower_share = (x - left)[..., None], (y - top)[..., None]
    columns = [wrapped_texels(left + step, width, wraps[0]) for step in range(2)]
    rows = [wrapped_texels(top + step, height, wraps[1]) for step in range(2)]
    upper, lower = ((1.0 - right_share) * image[row, columns[0]] + right_share * image[row, columns[1]] for row in rows)
    blended: Doubles = (1.0 - lower_share) * upper + lower_share * lower
    return blended
