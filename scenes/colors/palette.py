"""This module makes a texture that has one texel for each colour of a face."""

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from scenes.colors.srgb import decoded, encoded
from scenes.model import Color, Doubles, Mesh, Texture

Bytes = npt.NDArray[np.uint8]


def mean_color(pixels: Bytes) -> Color:
    """Returns the linear mean of sRGB pixels (height, width, 3)."""
    from PIL import Image  # a scene without pictures does not wait for it

    values = decoded(np.arange(256, dtype=np.uint8))
    counts = np.array(Image.fromarray(pixels).histogram()).reshape(3, 256)
    red, green, blue = (float(count @ values / count.sum()) for count in counts)
    return (red, green, blue)


def srgb(colors: Doubles) -> Bytes:
    """Returns linear colours in 0..1 as sRGB bytes."""
    return np.rint(255.0 * encoded(colors)).astype(np.uint8)


def painted(mesh: Mesh, colors: Doubles, name: str) -> tuple[Mesh, Texture]:
    """Returns a mesh whose texture coordinates give each triangle its colour in the texture.

    colors: (n, 3) linear, in 0..1.

    All corners of a triangle lie on the centre of a texel, where filtering blends nothing. Sides of the texture are
    powers of two, so that float32 holds the centres exactly.
    """
    distinct, texels = np.unique(srgb(colors), axis=0, return_inverse=True)
    side = 1 << math.ceil(math.log2(math.sqrt(len(distinct))))
    pixels = np.zeros((side * side, 3), dtype=np.uint8)
    pixels[: len(distinct)] = distinct
    rows, columns = np.divmod(np.arange(len(distinct)), side)
    corners = np.repeat(texels.reshape(-1, 1), 3, axis=1).astype(np.int32)
    uvs = (np.stack([columns, rows], axis=-1) + 0.5) / side
    return replace(mesh, uvs=uvs, uv_triangles=corners), Texture(name=name, pixels=pixels.reshape(side, side, 3))
