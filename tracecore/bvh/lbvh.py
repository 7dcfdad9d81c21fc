"""Builds a tree by the bits of a space-filling curve alone, in the least time: `lbvh`, a linear tree.

Lauterbach, Garland, Sengupta, Luebke, Manocha: Fast BVH Construction on GPUs, 2009: triangles in the order of the curve
(`morton`) are split where the highest bit differs in which any of them do. Those at the same place are told apart by
the bits of their places in the row, after Karras: Maximizing Parallelism in the Construction of BVHs, Octrees, and k-d
Trees, 2012. The same tree is made here from the triangles up in one pass, by the bits to both sides of a subtree, after
Apetrei: Fast and Simple Agglomerative LBVH Construction, 2014.
"""

from typing import Any

import numpy as np

from tracecore.bvh.bottom_up import JoinedNodes, Leaves, grown
from tracecore.bvh.morton import CODE_BITS, Codes
from tracecore.bvh.tree import BinaryTree
from tracecore.compilation.cached import compiled, inlined
from tracecore.rays import Floats

#: Bits of a place in the row.
PLACE_BITS = 32

#: What no two neighbours differ by: more than all of them do.
MOST_DIFFERENCE = np.int64(np.iinfo(np.int64).max)


def build(triangles: Floats, *, max_leaf: int = 4, triangle_block: int = 1) -> BinaryTree:
    """Returns a tree whose leaves hold at most `max_leaf` triangles and whose depth is at most `MAX_DEPTH`; one that
    would be deeper is made by `binned_sah`.

    The same triangles give the same tree.

    triangles: (t, 3, 3) float32, finite, corners of each; t may be 0.
    max_leaf: triangles that a leaf may hold.
    triangle_block: how many triangles the traversal tests at once, at least 1.

    Raises `TriangleError` for a corner that is not finite.
    """
    return grown(triangles, Leaves(max_leaf, triangle_block), _join_all)


def _join_all(nodes: JoinedNodes, codes: Codes) -> None:
    """Joins subtrees until there is one: a `bottom_up.Join`."""
    _join(codes, nodes.children)


@compiled
def _join(codes: Any, children: Any) -> None:
    """Takes triangle after triangle, and joins the subtree that it ends with those before it, as long as they differ
    less from it than what follows does. What waits differs by ever lower bits, so that there is room for all.

    codes: (t,) uint64, ascending, t > 0.
    children: (n, 2) int32, as in `JoinedNodes`; written.
    """
    stack = np.zeros((CODE_BITS + PLACE_BITS + 1, 2), np.int64)  # a subtree, and its difference from what follows
    waiting, made = 0, len(codes)
    for place in range(len(codes)):
        node, after = place, _difference(codes, place)
        while waiting > 0 and stack[waiting - 1, 1] <= after:
            waiting -= 1
            children[made, 0], children[made, 1] = stack[waiting, 0], node
            node = made
            made += 1
        stack[waiting, 0], stack[waiting, 1] = node, after
        waiting += 1


@inlined
def _difference(codes: Any, place: int) -> Any:
    """Returns the bits in which a triangle differs from the next one: positive where they are at different places, or
    else negative, and more than all that is at different places for the last one.
    """
    if place + 1 == len(codes):
        return MOST_DIFFERENCE
    bits = np.int64(codes[place] ^ codes[place + 1])
    return bits if bits > 0 else np.int64(place ^ (place + 1)) - (1 << PLACE_BITS)
