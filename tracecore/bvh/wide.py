"""Collapse of a binary tree to a wide one.

After Wald, Benthin, Boulos: Getting Rid of Packets, 2008: a node takes its children's children in place of its
children, the largest surface first, until it is full.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracecore.bvh.tree import BinaryTree
from tracecore.compiled import compiled, inlined

EMPTY = -1

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, kw_only=True, eq=False)
class WideTree:
    """Which nodes of a binary tree are the children of each wide node; wide node 0 is the root, parents come first.

    binary: (n, width) int32, the binary node in every lane, `EMPTY` in lanes to spare, which come last. wide: (n,
    width) int32, the wide node that stands for an inner one, `EMPTY` for leaves. first, count: (n, width) int32, range
    of slots below; a leaf is a node with `wide` of `EMPTY`. depth: levels of wide nodes.
    """

    binary: Ints
    wide: Ints
    first: Ints
    count: Ints
    depth: int


def collapse(tree: BinaryTree, *, width: int = 8, max_leaf: int = 4) -> WideTree:
    """The wide tree of a binary one; subtrees of at most `max_leaf` triangles become one leaf."""
    first, count = tree.first.copy(), tree.count.copy()
    _sum_ranges(tree.child, first, count)
    opened = np.where((tree.child > 0) & (count > max_leaf), tree.child, 0)
    capacity = len(tree.child) // 2 + 1  # one for each inner node at most, or the root alone
    binary = np.full((capacity, width), EMPTY, np.int32)
    wide = np.full((capacity, width), EMPTY, np.int32)
    level = np.ones(capacity, np.int32)
    nodes = _collapse(opened, tree.half_area, binary, wide, level)
    if len(tree.order) == 0:
        binary[0, 0] = EMPTY
    binary = binary[:nodes]
    return WideTree(
        binary=binary,
        wide=wide[:nodes],
        first=np.where(binary == EMPTY, 0, first[binary]),
        count=np.where(binary == EMPTY, 0, count[binary]),
        depth=int(level[:nodes].max()),
    )


@compiled
def _sum_ranges(child: Any, first: Any, count: Any) -> None:
    """Give inner nodes the first slot and the number of slots below; children have higher indices than their parent."""
    for node in range(len(child) - 1, -1, -1):
        if child[node] > 0:
            first[node] = first[child[node]]
            count[node] = count[child[node]] + count[child[node] + 1]


@compiled
def _collapse(child: Any, area: Any, binary: Any, wide: Any, level: Any) -> int:
    """Fill the wide nodes, breadth first. child: left child, 0 in what becomes a leaf. Returns how many there are."""
    binary[0, 0] = 0
    nodes = 1
    at = np.int64(0)
    while at < nodes:  # the nodes are their own queue
        filled = _open_largest(child, area, binary, at)
        for i in range(filled):
            if child[binary[at, i]] > 0:
                wide[at, i] = nodes
                binary[nodes, 0] = binary[at, i]
                level[nodes] = level[at] + 1
                nodes += 1
        at += 1
    return nodes


@inlined
def _open_largest(child: Any, area: Any, binary: Any, at: int) -> int:
    """Fill the lanes of a wide node from the one binary node in the first. Returns how many are filled."""
    for filled in range(1, binary.shape[1]):
        largest = EMPTY
        for i in range(filled):
            if child[binary[at, i]] > 0 and (largest == EMPTY or area[binary[at, i]] > area[binary[at, largest]]):
                largest = i
        if largest == EMPTY:
            return filled
        left = child[binary[at, largest]]
        binary[at, largest] = left
        binary[at, filled] = left + 1
    return binary.shape[1]
