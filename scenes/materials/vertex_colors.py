"""This module gives triangles the colours of their corners, interpolated over them, by a texture that filters do not
change.

Each triangle has a patch of two by two texels. Its corners lie on the centres of three of them, c0, c1 to the right and
c2 below, and the fourth is c1 + c2 - c0: between such texels bilinear filtering is linear.
"""

import math
from dataclasses import replace

import numpy as np

from scenes.colors.palette import painted, srgb
from scenes.meshes.geometry import corner_indices
from scenes.model import Doubles, Mesh, Texture

#: Triangles of a mesh up to which each has a patch, of 60 bytes; those of a larger one have the mean of their corners.
MAX_PATCHES = 1 << 22


def with_vertex_colors(mesh: Mesh, colors: Doubles, name: str = "colours") -> tuple[Mesh, Texture]:
    """Returns a mesh whose texture coordinates give each triangle the colours of its corners in the texture.

    colors: (n, 3, 3) float64, linear, of the corners of each triangle.

    The texture is a palette of 8 bits where no triangle has two colours, or where there are over MAX_PATCHES.
    """
    if (colors == colors[:, :1]).all():
        return painted(mesh, colors[:, 0], name)
    if len(colors) > MAX_PATCHES:
        return painted(mesh, colors.mean(axis=1), name)
    bits = math.ceil(math.log2(len(colors)))
    columns, rows = 1 << (bits + 1) // 2, 1 << bits // 2
    row, column = np.divmod(np.arange(len(colors)), columns)
    texels = np.zeros((rows, 2, columns, 2, 3), dtype=np.float32)
    texels[row, 0, column, 0] = colors[:, 0]
    texels[row, 0, column, 1] = colors[:, 1]
    texels[row, 1, column, 0] = colors[:, 2]
    texels[row, 1, column, 1] = colors[:, 1] + colors[:, 2] - colors[:, 0]
    # Sides are powers of two, so that float32 holds the centres of texels exactly.
    first = 2 * np.stack([column, row], axis=-1)[:, None, :] + np.array([[0, 0], [1, 0], [0, 1]])
    uvs = (first + 0.5) / (2 * columns, 2 * rows)
    image = texels.reshape(2 * rows, 2 * columns, 3)
    texture = Texture(name=name, pixels=srgb(image.astype(np.float64)), colors=image)
    return replace(mesh, uvs=uvs.reshape(-1, 2), uv_triangles=corner_indices(len(colors))), texture
