"""Says which of two children an occlusion query had better visit first, whatever the ray.

After Nah, Manocha: SATO: Surface Area Traversal Order for Shadow Ray Tracing, 2014: the one with more surface.
"""

import numpy as np
import numpy.typing as npt

from tracecore.arrays import pieces
from tracecore.bvh.tree import BinaryTree
from tracecore.bvh.wide import leaf_ranges
from tracecore.rays import Floats


def surface_below(tree: BinaryTree, triangles: Floats) -> npt.NDArray[np.float64]:
    """Returns twice the area of all triangles below each node of a tree: (n,) float64, square world units.

    tree: built over the triangles.
    triangles: (t, 3, 3) float32, in the caller's order.
    """
    before = np.zeros(len(tree.order) + 1)
    for piece in pieces(len(tree.order)):
        corners = triangles[tree.order[piece]].astype(np.float64)
        edges = corners[:, 1:] - corners[:, :1]
        before[1:][piece] = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
    np.cumsum(before, out=before)
    ranges = leaf_ranges(tree)
    surface: npt.NDArray[np.float64] = before[ranges.first + ranges.count]
    surface -= before[ranges.first]
    return surface
