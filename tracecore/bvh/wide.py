"""Collapses a binary tree to a wide one: a node takes its children's children in place of its children.

Ways of collapse differ in which small subtrees become leaves and in the order in which a node's children are opened.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tracecore.bvh.boxes import half_area_of
from tracecore.bvh.tree import BinaryTree
from tracecore.compilation.cached import compiled, inlined
from tracecore.threads import Piece, in_pieces

EMPTY = -1

#: `wide` of an inner child that has no number yet: the root is nobody's child.
INNER = 0

#: Rank of a child that is not opened.
CLOSED = -1.0

#: Nodes of a level that a thread opens at a time.
LEVEL_PIECE = 1 << 10

#: Cost of a triangle test in visits to a wide node, of Ylitie, Karras, Laine: Efficient Incoherent Ray Traversal on
#: GPUs Through Compressed Wide BVHs, 2017.
TRIANGLE_COST = 0.3

Ints = npt.NDArray[np.int32]

#: Opens a piece of the wide nodes of a level: `binary`, of which the first child is the
#: binary node that each stands for, and `wide`, each (m, width) int32; writes both, `INNER` for inner children.
OpenChildren = Callable[[Ints, Ints, Piece], object]


@dataclass(frozen=True, kw_only=True, eq=False)
class WideTree:
    """Says which nodes of a binary tree are the children of each wide node; wide node 0 is the root, parents come
    first.

    binary: (n, width) int32, the binary node that is each child, `EMPTY` for spare children, which come last unless the
    children have been given places.
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
    subtrees = _Subtrees(tree.lower, tree.upper, tree.child, leaf_indices.count, max_leaf)
    return fill_children(leaf_indices, width, partial(_open_by_area, subtrees))


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


def fill_children(leaf_indices: LeafRanges, width: int, open_children: OpenChildren) -> WideTree:
    """Returns the wide tree whose nodes are opened in some way, breadth first. All threads open nodes of a level.

    leaf_indices: the range below every binary node.
    width: children of a wide node.
    open_children: see `OpenChildren`.
    """
    levels, nodes = [], 1
    level = np.zeros((1, width), np.int32)
    while len(level) > 0:
        wide = np.empty_like(level)
        in_pieces(partial(open_children, level, wide), len(level), LEVEL_PIECE)
        levels.append((level, wide))
        level = np.empty((np.count_nonzero(wide == INNER), width), np.int32)
        _number_inner(*levels[-1], nodes, level)
        nodes += len(level)
    binary, wide = (np.concatenate(arrays) for arrays in zip(*levels, strict=True))
    if leaf_indices.count[0] == 0:
        binary[0, 0] = EMPTY
    first, count = np.empty((2, *binary.shape), np.int32)
    in_pieces(partial(_write_ranges, (leaf_indices.first, leaf_indices.count), binary, (first, count)), nodes)
    return WideTree(binary=binary, wide=wide, first=first, count=count, depth=len(levels))


class _Subtrees(NamedTuple):
    """Holds a binary tree. count: triangles below each node. max_leaf: subtrees of at most so many are leaves."""

    lower: Any
    upper: Any
    child: Any
    count: Any
    max_leaf: Any


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
def _open_by_area(subtrees: Any, binary: Any, wide: Any, piece: Piece) -> None:
    """Opens the children of the largest surface: an `OpenChildren`."""
    width = binary.shape[1]
    area = np.empty(width)
    for at in range(piece[0], piece[1]):
        highest, filled = 0, 1
        area[0] = _area_to_open(subtrees, binary[at, 0])
        if area[0] == CLOSED:
            highest = EMPTY
        while highest != EMPTY and filled < width:
            left = subtrees.child[binary[at, highest]]
            binary[at, highest], binary[at, filled] = left, left + 1
            area[highest], area[filled] = _area_to_open(subtrees, left), _area_to_open(subtrees, left + 1)
            filled += 1
            highest = first_of_most(area, filled)
        for i in range(width):
            wide[at, i] = INNER if i < filled and area[i] != CLOSED else EMPTY
            if i >= filled:
                binary[at, i] = EMPTY


@inlined
def _area_to_open(subtrees: Any, node: int) -> float:
    """Returns half of the surface of a node that may be opened, else `CLOSED`."""
    if subtrees.child[node] == 0 or subtrees.count[node] <= subtrees.max_leaf:
        return CLOSED
    return half_area_of(subtrees.lower, subtrees.upper, node)


@inlined
def first_of_most(rank: Any, filled: int) -> int:
    """Returns the first child of the highest rank; EMPTY if all are `CLOSED`."""
    highest, most = EMPTY, CLOSED
    for i in range(filled):
        if rank[i] > most:
            highest, most = i, rank[i]
    return highest


@compiled
def _number_inner(binary: Any, wide: Any, first: int, below: Any) -> None:
    """Numbers the inner children of a level from `first` on, and begins their nodes. below: (m, width), written."""
    made = 0
    for node in range(len(binary)):
        for i in range(binary.shape[1]):
            if wide[node, i] == INNER:
                wide[node, i] = first + made
                below[made, 0] = binary[node, i]
                made += 1


@compiled
def _write_ranges(of: Any, binary: Any, ranges: Any, piece: Piece) -> None:
    """Writes the ranges of leaf indices below the children of a piece of the nodes. of, ranges: `first` and `count`, of
    binary nodes and of the children.
    """
    for node in range(piece[0], piece[1]):
        for i in range(binary.shape[1]):
            own = binary[node, i]
            ranges[0][node, i] = 0 if own == EMPTY else of[0][own]
            ranges[1][node, i] = 0 if own == EMPTY else of[1][own]


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
