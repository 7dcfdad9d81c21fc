"""Collapses a binary tree to the wide tree of least cost.

After Ylitie, Karras, Laine: Efficient Incoherent Ray Traversal on GPUs Through Compressed Wide BVHs, 2017: dynamic
programming from the leaves up finds the least cost of every subtree in every number of children.
"""

from typing import Any

import numpy as np

from tracecore.bvh.tree import BinaryTree
from tracecore.bvh.wide import CLOSED, TRIANGLE_COST, WideTree, fill_children, leaf_ranges
from tracecore.compilation.cached import compiled, inlined


def optimal_collapse(
    tree: BinaryTree, *, width: int = 8, max_leaf: int = 3, triangle_cost: float = TRIANGLE_COST
) -> WideTree:
    """Returns the wide tree of least `sah_cost` among all whose nodes and leaves are subtrees of a binary tree.

    tree: the binary tree.
    width: children of a node, 2 to 127.
    max_leaf: only subtrees of at most so many triangles may become one leaf; larger leaves of the binary tree stay, so
    build it with few.
    triangle_cost: cost of a triangle test, in visits to a wide node.
    """
    leaf_indices = leaf_ranges(tree)
    area = tree.half_area
    fits = tree.is_leaf | (leaf_indices.count <= max_leaf)
    leaf_cost = np.where(fits, triangle_cost * leaf_indices.count * area, np.inf)
    cost = np.empty((len(area), width + 1))
    share = np.zeros((len(area), width + 1), np.int8)
    _find_costs(tree.child, area, leaf_cost, cost, share)
    child, rank = tree.child.copy(), np.zeros(len(area))
    _choose(child, rank, leaf_cost <= area + cost[:, width], share)
    return fill_children(leaf_indices, child, rank, width)


@compiled
def _find_costs(child: Any, area: Any, leaf_cost: Any, cost: Any, share: Any) -> None:
    """Finds the least costs of all subtrees, children first.

    child: (n,) int32.
    area, leaf_cost: (n,) float64.
    cost: (n, width + 1) float64, written: of a subtree in at most so many children, but of a wide node's children
    without the node in the last column.
    share: (n, width + 1) int8, written: how many of so many children go to the left child, 0 where the subtree takes
    one child.
    """
    width = share.shape[1] - 1
    for node in range(len(child) - 1, -1, -1):
        if child[node] == 0:
            cost[node] = leaf_cost[node]
            continue
        for node_children in range(2, width + 1):
            cost[node, node_children], share[node, node_children] = _distribute(cost, child[node], node_children)
        cost[node, 1] = min(leaf_cost[node], area[node] + cost[node, width])
        for node_children in range(2, width):
            if cost[node, 1] < cost[node, node_children]:
                cost[node, node_children], share[node, node_children] = cost[node, 1], 0


@inlined
def _distribute(cost: Any, left: int, node_children: int) -> Any:
    """Returns the least cost of two siblings in so many children, and how many of them go to the left one."""
    least, share = np.inf, 0
    for i in range(1, node_children):
        both = cost[left, i] + cost[left + 1, node_children - i]
        if both < least:
            least, share = both, i
    return least, share


@compiled
def _choose(child: Any, rank: Any, is_leaf: Any, share: Any) -> None:
    """Makes the shares into leaves, a `child` of 0, and wide nodes, a `rank` of `CLOSED`; parents first."""
    width = share.shape[1] - 1
    given = np.zeros(len(child), np.int64)
    given[0] = width  # the root is a wide node, even if one leaf would do
    for node in range(len(child)):
        left = child[node]
        if left == 0 or given[node] == 0:
            continue
        if share[node, given[node]] == 0:
            if is_leaf[node]:
                child[node] = 0
                continue
            rank[node] = CLOSED
            given[node] = width
        given[left] = share[node, given[node]]
        given[left + 1] = given[node] - given[left]
