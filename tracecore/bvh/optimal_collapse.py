"""Collapses a binary tree to the wide tree of least cost.

After Ylitie, Karras, Laine: Efficient Incoherent Ray Traversal on GPUs Through Compressed Wide BVHs, 2017: dynamic
programming from the leaves up finds the least cost of every subtree in every number of children.
"""

from typing import Any

import numpy as np

from tracecore.bvh.tree import MAX_DEPTH, BinaryTree
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
    leaf_cost = triangle_cost * leaf_indices.count
    leaf_cost *= area
    leaf_cost[~fits] = np.inf
    is_leaf, share = np.zeros(len(area), np.bool_), np.zeros((len(area), width + 1), np.int8)
    _find_costs(tree.child, area, leaf_cost, is_leaf, share)
    del area, leaf_cost
    child, rank = tree.child.copy(), np.zeros(len(is_leaf), np.int8)
    _choose(child, rank, is_leaf, share)
    del share
    return fill_children(leaf_indices, child, rank, width)


@compiled
def _find_costs(child: Any, area: Any, leaf_cost: Any, is_leaf: Any, share: Any) -> None:
    """Finds the least costs of all subtrees, children first, and keeps those that are still needed: of two siblings in
    each level.

    child: (n,) int32.
    area, leaf_cost: (n,) float64.
    is_leaf: (n,) bool, written: whether a subtree in one child costs least as a leaf.
    share: (n, width + 1) int8, written: how many of so many children go to the left child, 0 where the subtree takes
    one child.
    """
    # Rows are of a subtree in at most so many children, but of a wide node's children without the node in the last.
    cost = np.empty((2 * MAX_DEPTH + 3, share.shape[1]))
    stack = np.empty((2 * MAX_DEPTH + 3, 2), np.int64)  # a node, and the row of its costs; ~node once its children are
    stack[0, 0], stack[0, 1] = 0, 0
    waiting = 1
    while waiting > 0:
        node, row = stack[waiting - 1]
        if node >= 0 and child[node] > 0:
            below = row + 2 - row % 2
            stack[waiting - 1, 0] = ~node
            for side in range(2):
                stack[waiting + side, 0], stack[waiting + side, 1] = child[node] + side, below + side
            waiting += 2
            continue
        waiting -= 1
        if node >= 0:
            cost[row] = leaf_cost[node]
        else:
            _join(cost, row, leaf_cost[~node], area[~node], share[~node])
            is_leaf[~node] = leaf_cost[~node] <= area[~node] + cost[row, share.shape[1] - 1]


@inlined
def _join(cost: Any, row: int, leaf_cost: float, area: float, share: Any) -> None:
    """Writes the costs of an inner node, and its shares, from the rows of its children."""
    width, below = len(share) - 1, row + 2 - row % 2
    for node_children in range(2, width + 1):
        cost[row, node_children], share[node_children] = _distribute(cost, below, node_children)
    cost[row, 1] = min(leaf_cost, area + cost[row, width])
    for node_children in range(2, width):
        if cost[row, 1] < cost[row, node_children]:
            cost[row, node_children], share[node_children] = cost[row, 1], 0


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
    given = np.zeros(len(child), np.int8)
    given[0] = width  # the root is a wide node, even if one leaf would do
    for node in range(len(child)):
        left = child[node]
        if left == 0:
            continue
        if given[node] == 0:  # below a leaf
            child[node] = 0
            continue
        if share[node, given[node]] == 0:
            if is_leaf[node]:
                child[node] = 0
                continue
            rank[node] = CLOSED
            given[node] = width
        given[left] = share[node, given[node]]
        given[left + 1] = given[node] - given[left]
