"""Says which of two children an occlusion query had better visit first, whatever the ray.

After Nah, Manocha: SATO: Surface Area Traversal Order for Shadow Ray Tracing, 2014: the one with more surface. Surfaces
are whole numbers here, so that all ways to add them up agree, also that of a GPU (`kernels/lbvh.cu`).
"""

import numpy as np
import numpy.typing as npt

from tracecore.arrays import pieces
from tracecore.bvh.tree import BinaryTree
from tracecore.bvh.wide import leaf_ranges
from tracecore.rays import Floats
from tracecore.triangles import extent_of

#: The unit of a surface is 2^-30 of a square that is as wide as the scene's largest coordinate, or up to twice as wide.
#: So a triangle has less than 2^34 of them, and 2^27 triangles have less than 2^61.
UNIT_BITS = 30


def surface_below(tree: BinaryTree, triangles: Floats) -> npt.NDArray[np.int64]:
    """Returns twice the area of all triangles below each node of a tree: (n,) int64, in units that suit the scene.

    tree: built over the triangles.
    triangles: (t, 3, 3) float32, in the caller's order.
    """
    scale = np.ldexp(1.0, UNIT_BITS - 2 * int(np.frexp(np.float64(extent_of(triangles)))[1]))
    before = np.zeros(len(tree.order) + 1, np.int64)
    for piece in pieces(len(tree.order)):
        corners = triangles[tree.order[piece]].astype(np.float64)
        x, y, z = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]).T
        before[1:][piece] = np.sqrt(x * x + y * y + z * z) * scale
    np.cumsum(before, out=before)
    ranges = leaf_ranges(tree)
    surface: npt.NDArray[np.int64] = before[ranges.first + ranges.count]
    surface -= before[ranges.first]
    return surface
