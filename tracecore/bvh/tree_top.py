"""Cuts the top off a tree, where its nodes are large, and puts what hangs below it under another top.

Most of what a tree costs, and of what can be gained, is in few large nodes. Whoever changes these alone need not touch
the others: a subtree is moved as a whole, node by node and triangle by triangle in the same order.
"""

import math
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tracecore.bvh.boxes import half_area_of
from tracecore.bvh.tree import MAX_DEPTH, BinaryTree
from tracecore.compilation.cached import compiled, inlined

Ints = npt.NDArray[np.int32]


class Top(NamedTuple):
    """Holds the top of a tree. Node 0 is the root, and the next two are its children.

    box: (m, 8) float32, as in `boxes`.
    area: (m,) float64, half of the surface of each.
    children: (m, 2) int32; ~node and 0 of a hanging subtree, whose root that was in the tree.
    parent: (m,) int32.
    height: (m,) uint8, how many levels are below, those below the top too.
    """

    box: Any
    area: Any
    children: Any
    parent: Any
    height: Any

    @classmethod
    def empty(cls, nodes: int) -> Self:
        """Returns room for so many nodes."""
        box, children = np.zeros((nodes, 8), np.float32), np.zeros((nodes, 2), np.int32)
        return cls(box, np.zeros(nodes), children, np.zeros(nodes, np.int32), np.zeros(nodes, np.uint8))


def top_of(tree: BinaryTree, least_share: float) -> tuple[Top, float]:
    """Returns the top of a tree, and half of the surface of a box, the mean of all of the tree.

    tree: as builders number it: nodes depth first, siblings side by side, and leaf indices from left to right.
    least_share: a node hangs from the top with all below it where its surface is not above so many times that mean.
    """
    height = np.zeros(len(tree.child), np.uint8)
    mean_area = _measure(tree.lower, tree.upper, tree.child, height) / len(height)
    limit = least_share * mean_area
    top = Top.empty(_count_top(tree.lower, tree.upper, tree.child, limit))
    _fill_top(tree.lower, tree.upper, tree.child, height, limit, top)
    return top, mean_area


@compiled
def _measure(lower: Any, upper: Any, child: Any, height: Any) -> float:
    """Writes how many levels are below each node. Returns half of the surface of all boxes."""
    area = 0.0
    for node in range(len(child) - 1, -1, -1):
        area += half_area_of(lower, upper, node)
        left = child[node]
        if left > 0:
            height[node] = 1 + max(height[left], height[left + 1])
    return area


@compiled
def _count_top(lower: Any, upper: Any, child: Any, limit: float) -> int:
    """Returns how many nodes the top has. limit: half of the surface above which a node's children are in it."""
    stack = np.zeros(MAX_DEPTH + 3, np.int64)
    waiting, count = 1, 1
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        left = child[node]
        if left > 0 and half_area_of(lower, upper, node) > limit:
            stack[waiting], stack[waiting + 1] = left + 1, left
            waiting += 2
            count += 2
    return count


@compiled
def _fill_top(lower: Any, upper: Any, child: Any, height: Any, limit: float, top: Any) -> None:
    """Numbers the nodes of the top depth first, siblings side by side.

    height: (n,) uint8, of all nodes of the tree.
    limit: as `_count_top` takes it.
    top: `Top`, zeros, written.
    """
    stack = np.zeros(MAX_DEPTH + 3, np.int64)
    top.children[0, 0] = ~0
    waiting, count = 1, 1
    while waiting > 0:
        waiting -= 1
        number = stack[waiting]
        node = ~np.int64(top.children[number, 0])
        top.height[number] = height[node]
        for axis in range(3):
            top.box[number, axis], top.box[number, axis + 4] = lower[node, axis], upper[node, axis]
        top.area[number] = half_area_of(lower, upper, node)
        left = child[node]
        if left > 0 and top.area[number] > limit:
            top.children[number, 0], top.children[number, 1] = count, count + 1
            top.children[count, 0], top.children[count + 1, 0] = ~left, ~(left + 1)
            top.parent[count] = top.parent[count + 1] = number
            stack[waiting], stack[waiting + 1] = count + 1, count
            waiting += 2
            count += 2


# ------------------------------------------------------------------------------------------------------- put together


class _Links(NamedTuple):
    """Holds what `BinaryTree` has of these names."""

    child: Any
    first: Any
    count: Any


class _Plan(NamedTuple):
    """Says where nodes of a tree and its triangles go.

    number: (m,) int32, which node each of the top becomes.
    below: (h, 3) int32, of each hanging subtree: the first node below its root, which one that becomes, how many there
    are.
    leaf_indices: (h, 3) int32, the same of leaf indices.
    """

    number: Any
    below: Any
    leaf_indices: Any


def put_under(top: Top, tree: BinaryTree) -> BinaryTree:
    """Returns a tree under another top, numbered as `top_of` takes it.

    top: from `top_of`, changed, with the same subtrees hanging from it.
    tree: the one that it was the top of.
    """
    links, lower, upper, order = _Links(tree.child, tree.first, tree.count), tree.lower, tree.upper, tree.order
    block, build_seconds = tree.triangle_block, tree.build_seconds
    del tree  # its arrays are given back one by one
    hanging = len(top.parent) // 2 + 1
    plan = _Plan(np.zeros(len(top.parent), np.int32), *np.zeros((2, hanging, 3), np.int32))
    new_links = _Links(*(np.zeros_like(column) for column in links))
    _link_all(top.children, links, plan, new_links)
    del links
    new_lower = _moved(lower, plan.below)
    new_lower[plan.number] = top.box[:, 0:3]
    del lower
    new_upper = _moved(upper, plan.below)
    new_upper[plan.number] = top.box[:, 4:7]
    del upper
    return BinaryTree(
        lower=new_lower,
        upper=new_upper,
        **new_links._asdict(),
        order=_moved(order, plan.leaf_indices),
        triangle_block=block,
        build_seconds=build_seconds,
    )


@compiled
def _link_all(children: Any, links: Any, plan: Any, new: Any) -> None:
    """Numbers nodes depth first, siblings side by side, and leaf indices from left to right.

    children: as in `Top`.
    links: `_Links` of the tree.
    plan: `_Plan`, zeros, written.
    new: `_Links`, zeros, written.
    """
    stack = np.zeros(MAX_DEPTH + 3, np.int64)
    waiting, nodes, leaf_indices, hanging = 1, 1, 0, 0
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        number = plan.number[node]
        left, right = np.int64(children[node, 0]), np.int64(children[node, 1])
        if left > 0:
            new.child[number], plan.number[left], plan.number[right] = nodes, nodes, nodes + 1
            stack[waiting], stack[waiting + 1] = right, left
            waiting += 2
            nodes += 2
            continue
        root = ~left
        below, first, triangles = _extent(links, root)
        _put_run(plan.below, hanging, links.child[root], nodes, below)
        _put_run(plan.leaf_indices, hanging, first, leaf_indices, triangles)
        by_nodes, by_leaf_indices = nodes - np.int64(links.child[root]), leaf_indices - first
        _move_link(links, root, new, number, by_nodes, by_leaf_indices)
        for i in range(below):
            _move_link(links, links.child[root] + i, new, nodes + i, by_nodes, by_leaf_indices)
        nodes += below
        leaf_indices += triangles
        hanging += 1


@inlined
def _put_run(runs: Any, run: int, source: int, target: int, length: int) -> None:
    runs[run, 0], runs[run, 1], runs[run, 2] = source, target, length


@inlined
def _move_link(links: Any, node: int, new: Any, number: int, by_nodes: int, by_leaf_indices: int) -> None:
    """Copies what a node refers to, and adds how far that moves."""
    left = links.child[node]
    if left > 0:
        new.child[number] = left + by_nodes
    else:
        new.first[number], new.count[number] = links.first[node] + by_leaf_indices, links.count[node]


@inlined
def _extent(links: Any, root: int) -> Any:
    """Returns how many nodes are below a root, the first leaf index there, and how many there are."""
    child = links.child
    left = right = last = np.int64(root)
    below = np.int64(0)
    while child[left] > 0:
        left = np.int64(child[left])
    while child[right] > 0:
        right = np.int64(child[right]) + 1
    while child[last] > 0:
        below = child[last] + 2 - np.int64(child[root])
        last = np.int64(child[last]) + (1 if child[child[last] + 1] > 0 else 0)
    first = np.int64(links.first[left])
    return below, first, np.int64(links.first[right]) + links.count[right] - first


def _moved(column: Any, runs: Ints) -> Any:
    """Returns a column of `BinaryTree` in another order.

    column: (n,) or (n, 3).
    runs: (h, 3) int32, from where, to where, and how many rows.
    """
    moved = np.empty_like(column)
    _move_runs(column.reshape(-1), runs, math.prod(column.shape[1:]), moved.reshape(-1))
    return moved


@compiled
def _move_runs(column: Any, runs: Any, width: int, moved: Any) -> None:
    """Copies runs of rows. column, moved: of so many numbers a row, one after the other."""
    for run in range(len(runs)):
        source, target = width * np.int64(runs[run, 0]), width * np.int64(runs[run, 1])
        for i in range(width * np.int64(runs[run, 2])):
            moved[target + i] = column[source + i]
