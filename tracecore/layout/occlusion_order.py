"""Says which of two children an occlusion query had better visit first, whatever the ray.

After Nah, Manocha: SATO: Surface Area Traversal Order for Shadow Ray Tracing, 2014: the one with more surface. Surfaces
are whole numbers here, so that all ways to add them up agree, also that of a GPU (`kernels/lbvh.cu`).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from tracecore.bvh.tree import BinaryTree
from tracecore.bvh.wide import leaf_ranges
from tracecore.compilation.cached import compiled, inlined
from tracecore.rays import Floats

#: The unit of a surface is 2^-30 of a square that is as wide as the scene's largest coordinate, or up to twice as wide.
#: So a triangle has less than 2^34 of them, and 2^27 triangles have less than 2^61.
UNIT_BITS = 30


def surface_below(tree: BinaryTree, triangles: Floats, extent: float) -> npt.NDArray[np.int64]:
    """Returns twice the area of all triangles below each node of a tree: (n,) int64, in units that suit the scene.

    tree: built over the triangles.
    triangles: (t, 3, 3) float32, in the caller's order.
    extent: their largest coordinate by magnitude.
    """
    before = np.zeros(len(tree.order) + 1, np.int64)
    _add_up(triangles, tree.order, np.ldexp(1.0, UNIT_BITS - 2 * int(np.frexp(extent)[1])), before)
    ranges = leaf_ranges(tree)
    surface: npt.NDArray[np.int64] = before[ranges.first + ranges.count]
    surface -= before[ranges.first]
    return surface


@compiled
def _add_up(triangles: Any, order: Any, scale: float, before: Any) -> None:
    """Writes the surface of all triangles that come before each leaf index. before: (t + 1,) int64, 0."""
    for leaf_index in range(len(order)):
        prim_id, squares = order[leaf_index], 0.0
        for axis in range(3):
            left, right = (axis + 1) % 3, (axis + 2) % 3
            normal = _edge(triangles, prim_id, 1, left) * _edge(triangles, prim_id, 2, right)
            normal -= _edge(triangles, prim_id, 1, right) * _edge(triangles, prim_id, 2, left)
            squares += normal * normal
        before[leaf_index + 1] = before[leaf_index] + np.int64(np.sqrt(squares) * scale)


@inlined
def _edge(triangles: Any, prim_id: int, corner: int, axis: int) -> Any:
    """Returns a component of the way from a triangle's first corner to another one, in float64."""
    return np.float64(triangles[prim_id, corner, axis]) - np.float64(triangles[prim_id, 0, axis])
