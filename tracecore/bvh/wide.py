"""Collapses a binary tree to a wide one: a node takes its children's children in place of its children.

Ways of collapse differ in which small subtrees become leaves and in the order in which a node's children are opened.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracecore.bvh.tree import BinaryTree
from tracecore.compilation.cached import compiled, inlined

EMPTY = -1

#: Rank of a child that is never opened.
CLOSED = -1.0

#: Cost of a triangle test in visits to a wide node, of Ylitie, Karras, Laine: Efficient Incoherent Ray Traversal on
#: GPUs Through Compressed Wide BVHs, 2017.
TRIANGLE_COST = 0.3

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, kw_only=True, eq=False)
class WideTree:
    """Says which nodes of a binary tree are the children of each wide node; wide node 0 is the root, parents come
    first.

    binary: (n, width) int32, the binary node that is each child, `EMPTY` for spare children, which come last.
    wide: (n, width) int32, the wide node that stands for an inner one, `EMPTY` for leaves.
    first, count: (n, width) int32, range of leaf indices below; a leaf is a node with `wide` of `EMPTY`.
    depth: levels of wide nodes.
    """

    binary: Ints
    wide: Ints
    first: Ints
    count: Ints
    depth: int


def collapse(tree: BinaryTree, *, width: int = 8, max_leaf: int = 4) -> WideTree:
    """Returns the wide tree of a binary one; subtrees of at most `max_leaf` triangles become one leaf.

    After Wald, Benthin, Boulos: Getting Rid of Packets, 2008: the child of the largest surface is opened first, until
    the node is full.
    """
    leaf_indices = leaf_ranges(tree)
    return fill_children(leaf_indices, _merged(tree, leaf_indices, max_leaf), tree.half_area, width)


def sah_cost(tree: BinaryTree, wide: WideTree, *, triangle_cost: float = TRIANGLE_COST) -> float:
    """Returns the expected cost of a ray that hits the root's box, in visits to a wide node.

    tree: the binary tree.
    wide: the same tree, collapsed.
    triangle_cost: cost of a triangle test, in visits to a wide node.
    """
    area = tree.half_area
    if area[0] == 0.0:
        area[:] = 1.0
    is_inner = wide.wide != EMPTY
    visits = area[0] + area[wide.binary[is_inner]].sum()
    tests = area[wide.binary[~is_inner]] @ wide.count[~is_inner]  # spare children hold no triangles
    return float((visits + triangle_cost * tests) / area[0])


def stack_need(wide: WideTree) -> int:
    """Returns the most entries on a stack at once, whatever the order in which a ray visits the children.

    The root is the first entry. A visit takes one, of a node or a leaf, and pushes up to all children of the node.
    """
    return int(_stack_need(wide.binary, wide.wide))


@dataclass(frozen=True, kw_only=True, eq=False)
class LeafRanges:
    """Holds the range of leaf indices below every node of a binary tree. first, count: (n,) int32."""

    first: Ints
    count: Ints


def leaf_ranges(tree: BinaryTree) -> LeafRanges:
    """Returns the leaf indices below every node: those of a subtree are contiguous."""
    first, count = tree.first.copy(), tree.count.copy()
    _sum_ranges(tree.child, first, count)
    return LeafRanges(first=first, count=count)


def fill_children(leaf_indices: LeafRanges, child: Ints, rank: npt.NDArray[Any], width: int) -> WideTree:
    """Returns the wide tree whose children are opened by rank.

    leaf_indices: the range below every binary node.
    child: (n,) int32, left child of every binary node, 0 in what becomes a leaf.
    rank: (n,) numbers, `CLOSED` or more: of a node's children the one of the highest rank gives way to its children,
    until the node is full or all are closed.
    width: children of a wide node.
    """
    capacity = np.count_nonzero(child) + 1  # one for each inner node at most, or the root alone
    binary, wide = np.empty((2, capacity, width), np.int32)  # most of it is never touched
    level = np.empty(capacity, np.int32)
    nodes = _fill_all(child, rank, binary, wide, level)
    if leaf_indices.count[0] == 0:
        binary[0, 0] = EMPTY
    binary = binary[:nodes]
    return WideTree(
        binary=binary,
        wide=wide[:nodes],
        first=np.where(binary == EMPTY, 0, leaf_indices.first[binary]),
        count=np.where(binary == EMPTY, 0, leaf_indices.count[binary]),
        depth=int(level[:nodes].max()),
    )


def _merged(tree: BinaryTree, leaf_indices: LeafRanges, max_leaf: int) -> Ints:
    """Returns the left children, (n,) int32, 0 in subtrees of at most `max_leaf` triangles."""
    return np.where(leaf_indices.count > max_leaf, tree.child, 0)


@compiled
def _sum_ranges(child: Any, first: Any, count: Any) -> None:
    """Gives inner nodes the first leaf index and the number of leaf indices below.

    Children have higher indices than their parent.
    """
    for node in range(len(child) - 1, -1, -1):
        if child[node] > 0:
            first[node] = first[child[node]]
            count[node] = count[child[node]] + count[child[node] + 1]


@compiled
def _fill_all(child: Any, rank: Any, binary: Any, wide: Any, level: Any) -> int:
    """Fills the wide nodes, breadth first. Returns how many there are."""
    _begin(binary, wide, 0, 0)
    level[0] = nodes = 1
    at = np.int64(0)
    while at < nodes:  # the nodes are their own queue
        filled = _open_children(child, rank, binary, at)
        for i in range(filled):
            if child[binary[at, i]] > 0:
                wide[at, i] = nodes
                _begin(binary, wide, nodes, binary[at, i])
                level[nodes] = level[at] + 1
                nodes += 1
        at += 1
    return nodes


@inlined
def _begin(binary: Any, wide: Any, at: int, node: int) -> None:
    """Makes a wide node of one child."""
    for i in range(binary.shape[1]):
        binary[at, i] = wide[at, i] = EMPTY
    binary[at, 0] = node


@inlined
def _open_children(child: Any, rank: Any, binary: Any, at: int) -> int:
    """Fills the children of a wide node from the one binary node in the first. Returns how many are filled."""
    highest = 0 if child[binary[at, 0]] > 0 else EMPTY
    for filled in range(1, binary.shape[1]):
        if highest == EMPTY:
            return filled
        left = child[binary[at, highest]]
        binary[at, highest] = left
        binary[at, filled] = left + 1
        highest = _highest(child, rank, binary, at, filled + 1)
    return binary.shape[1]


@inlined
def _highest(child: Any, rank: Any, binary: Any, at: int, filled: int) -> int:
    """Returns the child to open next, the first of several; EMPTY if there is none."""
    highest, most = EMPTY, CLOSED
    for i in range(filled):
        node = binary[at, i]
        if child[node] > 0 and rank[node] > most:
            highest, most = i, rank[node]
    return highest


@compiled
def _stack_need(binary: Any, wide: Any) -> int:
    """Returns the most entries at once. The last child pushed may be the one that needs the most, with its siblings
    below it.
    """
    need = np.ones(len(binary), np.int64)
    for node in range(len(binary) - 1, -1, -1):
        filled, below = 0, 1
        for i in range(binary.shape[1]):
            if binary[node, i] != EMPTY:
                filled += 1
            if wide[node, i] != EMPTY:
                below = max(below, need[wide[node, i]])
        need[node] = max(filled - 1, 0) + below
    return need[0]
