"""Says which of two children an occlusion query had better visit first, whatever the ray.

After Nah, Manocha: SATO: Surface Area Traversal Order for Shadow Ray Tracing, 2014: the one with more surface. Surfaces
are whole numbers here, so that all ways to add them up agree, also that of a GPU (`kernels/ploc.cu`).
"""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tracecore.bvh.tree import BinaryTree
from tracecore.compilation.cached import compiled, inlined
from tracecore.rays import Floats
from tracecore.threads import Piece, in_pieces

#: The unit of a surface is 2^-30 of a square that is as wide as the scene's largest coordinate, or up to twice as wide.
#: So a triangle has less than 2^34 of them, and 2^27 triangles have less than 2^61.
UNIT_BITS = 30


def surface_before(tree: BinaryTree, triangles: Floats, extent: float) -> npt.NDArray[np.int64]:
    """Returns twice the area of all triangles that come before each leaf index: (t + 1,) int64, in units that suit the
    scene. The differences of two are what lies below a node.

    tree: built over the triangles.
    triangles: (t, 3, 3) float32, in the caller's order.
    extent: their largest coordinate by magnitude.
    """
    before = np.zeros(len(tree.order) + 1, np.int64)
    scale = np.ldexp(1.0, UNIT_BITS - 2 * int(np.frexp(extent)[1]))
    in_pieces(partial(_write_surfaces, triangles, tree.order, scale, before[1:]), len(tree.order))
    return np.cumsum(before, out=before)


@compiled
def _write_surfaces(triangles: Any, order: Any, scale: float, surface: Any, piece: Piece) -> None:
    """Writes the surfaces of a piece of the triangles. surface: (t,) int64, by leaf index."""
    for leaf_index in range(piece[0], piece[1]):
        prim_id, squares = order[leaf_index], 0.0
        for axis in range(3):
            left, right = (axis + 1) % 3, (axis + 2) % 3
            normal = _edge(triangles, prim_id, 1, left) * _edge(triangles, prim_id, 2, right)
            normal -= _edge(triangles, prim_id, 1, right) * _edge(triangles, prim_id, 2, left)
            squares += normal * normal
        surface[leaf_index] = np.int64(np.sqrt(squares) * scale)


@inlined
def _edge(triangles: Any, prim_id: int, corner: int, axis: int) -> Any:
    """Returns a component of the way from a triangle's first corner to another one, in float64."""
    return np.float64(triangles[prim_id, corner, axis]) - np.float64(triangles[prim_id, 0, axis])


@inlined
def sort_children(key: Any, child_of_place: Any) -> None:
    """Writes which child comes at each place, by ascending keys; those of equal keys stay in order."""
    for child_index in range(len(key)):
        place = child_index
        while place > 0 and key[child_of_place[place - 1]] > key[child_index]:
            child_of_place[place] = child_of_place[place - 1]
            place -= 1
        child_of_place[place] = child_index
