"""Fits a tree to triangles that have moved: every box anew, from the leaves up.

Lauterbach, Yoon, Tuft, Manocha: RT-DEFORM: Interactive Ray Tracing of Dynamic Scenes using BVHs, 2006.
"""

import time
from dataclasses import replace
from typing import Any

import numpy as np

from tracecore.bvh.tree import BinaryTree
from tracecore.compilation.cached import compiled
from tracecore.errors import TriangleError
from tracecore.rays import Floats
from tracecore.triangles import check_finite


def refit(tree: BinaryTree, triangles: Floats) -> BinaryTree:
    """Returns the tree with its boxes around other triangles; nodes and order stay. Its `sah_cost` says how good it
    still is.

    tree: the tree to fit.
    triangles: (t, 3, 3) float32, checked, as many as the tree has.
    Raises `TriangleError` for another number of triangles, and for a corner that is not finite.
    """
    if len(triangles) != len(tree.order):
        raise TriangleError(f"a tree of {len(tree.order)} triangles cannot be refitted to {len(triangles)}")
    start = time.perf_counter()
    check_finite(triangles)
    lower, upper = tree.lower.copy(), tree.upper.copy()
    if len(triangles):
        _refit(tree.child, tree.first, tree.count, tree.order, triangles, lower, upper)
    return replace(tree, lower=lower, upper=upper, build_seconds=time.perf_counter() - start, read_seconds=None)


@compiled
def _refit(child: Any, first: Any, count: Any, order: Any, triangles: Any, lower: Any, upper: Any) -> None:
    """Writes the boxes. Children come after their parents, so that their boxes are there before they are needed."""
    for node in range(len(child) - 1, -1, -1):
        left = child[node]
        for axis in range(3):
            if left > 0:
                low, high = min(lower[left, axis], lower[left + 1, axis]), max(upper[left, axis], upper[left + 1, axis])
            else:
                low, high = np.float32(np.inf), np.float32(-np.inf)
                for leaf_index in range(first[node], first[node] + count[node]):
                    for corner in range(3):
                        value = triangles[order[leaf_index], corner, axis]
                        low, high = min(low, value), max(high, value)
            lower[node, axis], upper[node, axis] = low, high
