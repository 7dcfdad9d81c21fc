"""Collapses a binary tree to the wide tree of least cost.

After Ylitie, Karras, Laine: Efficient Incoherent Ray Traversal on GPUs Through Compressed Wide BVHs, 2017: dynamic
programming from the leaves up finds the least cost of every subtree in every number of children.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tracecore.bvh.boxes import half_area_of
from tracecore.bvh.tree import MAX_DEPTH, BinaryTree
from tracecore.bvh.wide import (
    EMPTY,
    INNER,
    TRIANGLE_COST,
    Ints,
    OpenChildren,
    WideTree,
    fill_children,
    leaf_ranges,
)
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.vector import lowest_bit
from tracecore.threads import Piece, in_pieces

#: Subtrees of at most so many triangles are not shared out between threads.
PIECE = 1 << 12

#: How many subtrees a thread takes at a time.
TOP_PIECE = 4


def optimal_collapse(
    tree: BinaryTree,
    *,
    width: int = 8,
    max_leaf: int = 3,
    triangle_cost: float = TRIANGLE_COST,
    place: OpenChildren | None = None,
) -> WideTree:
    """Returns the wide tree of least `sah_cost` among all whose nodes and leaves are subtrees of a binary tree.

    tree: the binary tree.
    width: children of a node, 2 to 63.
    max_leaf: only subtrees of at most so many triangles may become one leaf; larger leaves of the binary tree stay, so
    build it with few.
    triangle_cost: cost of a triangle test, in visits to a wide node.
    place: gives the children of opened nodes other places, before the inner ones are numbered.
    """
    leaf_indices = leaf_ranges(tree)
    share = np.zeros((len(tree.child), width + 1), np.int8)
    subtrees = _Subtrees(tree.lower, tree.upper, tree.child, leaf_indices.count, (max_leaf, triangle_cost))
    _share_out(subtrees, share)
    open_children = partial(_open_by_share, tree.child, share)
    return fill_children(leaf_indices, width, open_children if place is None else _both(open_children, place))


def _both(one: OpenChildren, other: OpenChildren) -> OpenChildren:
    def do_both(binary: Ints, wide: Ints, piece: Piece) -> None:
        one(binary, wide, piece)
        other(binary, wide, piece)

    return do_both


class _Subtrees(NamedTuple):
    """Holds a binary tree. count: triangles below each node. rules: the arguments `max_leaf` and `triangle_cost`."""

    lower: Any
    upper: Any
    child: Any
    count: Any
    rules: Any


class _Costs(NamedTuple):
    """Holds the least costs of subtrees. least: (m, width + 1) float64, of each in at most so many of a wide node's
    children, the last without the node itself. useful: (m,) int64, how many children it can make use of.
    """

    least: Any
    useful: Any


def _costs(subtrees: int, width: int) -> _Costs:
    return _Costs(np.empty((subtrees, width + 1)), np.empty(subtrees, np.int64))


def _share_out(subtrees: _Subtrees, share: Any) -> None:
    """Finds the least costs of all subtrees, and keeps how their children are shared out: of the small ones by all
    threads, then of those above.

    share: (n, width + 1) int8, 0, written: how many of so many children go to the left child, 0 where the subtree takes
    one child. The first says whether that costs least as a leaf.
    """
    most = 2 * MAX_DEPTH * (int(subtrees.count[0]) // PIECE) + 1  # of large ones and their children, level by level
    top = np.empty((most, 2), np.int64)
    top = top[: _list_top(subtrees, top)]
    costs = _costs(len(top), share.shape[1] - 1)
    in_pieces(partial(_share_out_small, subtrees, share, top, costs), len(top), TOP_PIECE)
    _share_out_large(subtrees, share, top, costs)


@compiled
def _list_top(subtrees: Any, top: Any) -> int:
    """Writes which subtrees are large, and their children: the node of each, and where its left child is listed, 0 for
    a small one. Returns how many they are.
    """
    top[0, 0], listed = 0, 1
    at = np.int64(0)
    while at < listed:
        node = top[at, 0]
        top[at, 1] = 0
        if subtrees.child[node] > 0 and subtrees.count[node] > PIECE:
            top[at, 1] = listed
            for side in range(2):
                top[listed + side, 0] = subtrees.child[node] + side
            listed += 2
        at += 1
    return listed


@compiled
def _share_out_small(subtrees: Any, share: Any, top: Any, costs: Any, piece: Piece) -> None:
    """Finds the least costs of a piece of the listed subtrees, of the small ones."""
    width = share.shape[1] - 1
    here = _Costs(np.empty((2 * MAX_DEPTH + 3, width + 1)), np.empty(2 * MAX_DEPTH + 3, np.int64))
    stack = np.empty((2 * MAX_DEPTH + 3, 2), np.int64)  # a node, and the row of its costs; ~node once its children are
    for at in range(piece[0], piece[1]):
        if top[at, 1] == 0:
            _find_costs(subtrees, share, top[at, 0], here, stack)
            costs.useful[at] = here.useful[0]
            for node_children in range(width + 1):  # one by one: Numba compiles for seconds to set a row
                costs.least[at, node_children] = here.least[0, node_children]


@compiled
def _share_out_large(subtrees: Any, share: Any, top: Any, costs: Any) -> None:
    """Finds the least costs of the large ones of the listed subtrees."""
    for at in range(len(top) - 1, -1, -1):
        if top[at, 1] > 0:
            _join(subtrees, share, top[at, 0], costs, (at, top[at, 1]))


@inlined
def _find_costs(subtrees: Any, share: Any, root: int, costs: Any, stack: Any) -> None:
    """Finds the least costs of a subtree and of all below, children first, and keeps those that are still needed: of
    two siblings in each level. Those of the root are in row 0 in the end.
    """
    stack[0, 0], stack[0, 1] = root, 0
    waiting = 1
    while waiting > 0:
        node, row = stack[waiting - 1]
        below = row + 2 - row % 2
        if node < 0:
            _join(subtrees, share, ~node, costs, (row, below))
            waiting -= 1
        elif subtrees.child[node] > 0:
            stack[waiting - 1, 0] = ~node
            for side in range(2):
                stack[waiting + side, 0], stack[waiting + side, 1] = subtrees.child[node] + side, below + side
            waiting += 2
        else:
            costs.useful[row] = 1
            area = half_area_of(subtrees.lower, subtrees.upper, node)
            for node_children in range(1, share.shape[1]):
                costs.least[row, node_children] = subtrees.rules[1] * subtrees.count[node] * area
            waiting -= 1


@inlined
def _join(subtrees: Any, share: Any, node: int, costs: Any, rows: Any) -> None:
    """Writes the costs of an inner node, and its shares.

    rows: of its costs, and of those of its left child, which the right one's follow.
    """
    width, least = share.shape[1] - 1, costs.least
    row, below = rows
    useful = costs.useful[below] + costs.useful[below + 1]
    for node_children in range(2, width + 1):
        if node_children > useful:  # one more makes no difference
            least[row, node_children] = least[row, node_children - 1]
            share[node, node_children] = share[node, node_children - 1]
        else:
            shared = _distribute(least, below, node_children, costs.useful[below])
            least[row, node_children], share[node, node_children] = shared
    costs.useful[row] = min(useful, width)
    max_leaf, triangle_cost = subtrees.rules
    area = half_area_of(subtrees.lower, subtrees.upper, node)
    leaf_cost = triangle_cost * subtrees.count[node] * area if subtrees.count[node] <= max_leaf else np.inf
    inner_cost = area + least[row, width]
    share[node, 0] = leaf_cost <= inner_cost
    least[row, 1] = min(leaf_cost, inner_cost)
    for node_children in range(2, width):
        if least[row, 1] < least[row, node_children]:
            least[row, node_children], share[node, node_children] = least[row, 1], 0


@inlined
def _distribute(least: Any, left: int, node_children: int, useful: int) -> Any:
    """Returns the least cost of two siblings in so many children, and how many of them go to the left one, which can
    make use of some.
    """
    lowest, share = np.inf, 0
    for i in range(1, min(node_children - 1, useful) + 1):
        both = least[left, i] + least[left + 1, node_children - i]
        share = i if both < lowest else share
        lowest = both if both < lowest else lowest
    return lowest, share


@compiled
def _open_by_share(child: Any, share: Any, binary: Any, wide: Any, piece: Piece) -> None:
    """Opens children as they were shared out: an `OpenChildren`."""
    width = binary.shape[1]
    given = np.empty(width, np.int64)
    for at in range(piece[0], piece[1]):
        given[0], filled = width, 1
        to_open = np.int64(child[binary[at, 0]] > 0)  # a bit for each child
        while to_open:
            one = lowest_bit(to_open)
            node = binary[at, one]
            left, left_share = child[node], share[node, given[one]]
            binary[at, one], binary[at, filled] = left, left + 1
            given[filled], given[one] = given[one] - left_share, left_share
            to_open ^= np.int64(share[left, left_share] == 0) << one
            to_open |= np.int64(share[left + 1, given[filled]] > 0) << filled
            filled += 1
        for i in range(filled):
            is_leaf = (child[binary[at, i]] == 0) | (share[binary[at, i], 0] != 0)
            wide[at, i] = EMPTY if is_leaf else INNER
        for i in range(filled, width):
            binary[at, i] = wide[at, i] = EMPTY
