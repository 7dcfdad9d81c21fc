"""Builds trees from the triangles up, along a space-filling curve. How they are joined is up to the builder."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tracecore.bvh import binned_sah
from tracecore.bvh.boxes import BOX_BYTES, UPPER_OFFSET, boxes_of, grow, half_area, put
from tracecore.bvh.morton import curve_codes
from tracecore.bvh.tree import MAX_DEPTH, VISIT_COST, BinaryTree
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.vector import address, load4
from tracecore.rays import Floats, Ids

#: Returned in place of a number of nodes.
TOO_DEEP = -1


class JoinedNodes(NamedTuple):
    """Holds the nodes: first the triangles, in the order of the curve, then those that were joined, children first.

    box: (n, 8) float32, as in `boxes`.
    children: (n, 2) int32, both 0 of a triangle.
    """

    box: Any
    children: Any


#: Joins the triangles of `JoinedNodes`, so many as it takes, two subtrees at a time, until there is one: writes the
#: children of all nodes behind them. The boxes of the nodes that it makes are fitted later.
Join = Callable[[JoinedNodes, int], object]


class Leaves(NamedTuple):
    """Says what leaves are. max_leaf: triangles that one may hold. block: triangles that are tested at once."""

    max_leaf: Any
    block: Any


def grown(triangles: Floats, leaves: Leaves, join: Join) -> BinaryTree:
    """Returns a tree with leaves where they cost least, whose depth is at most `MAX_DEPTH`; one that would be deeper is
    made by `binned_sah`.

    triangles: (t, 3, 3) float32, finite, corners of each; t may be 0.
    leaves: what they may be.
    join: of the builder; it is called if there are triangles.

    Raises `TriangleError` for a corner that is not finite.
    """
    start = time.perf_counter()
    triangles = np.ascontiguousarray(triangles, np.float32)
    nodes, order = _joined(triangles, join)
    tree = _numbered(nodes, order, leaves)
    if tree is None:
        return binned_sah.build(triangles, max_leaf=leaves.max_leaf, triangle_block=leaves.block)
    return replace(tree, build_seconds=time.perf_counter() - start)


def _joined(triangles: Floats, join: Join) -> tuple[JoinedNodes, Ids]:
    """Returns the nodes, and which triangle each of the first is, (t,) uint32."""
    boxes = boxes_of(triangles)
    order = np.argsort(curve_codes(boxes), kind="stable").astype(np.uint32)
    count = max(2 * len(boxes) - 1, 1)
    nodes = JoinedNodes(np.zeros((count, 8), np.float32), np.zeros((count, 2), np.int32))
    np.take(boxes, order, axis=0, out=nodes.box[: len(boxes)], mode="clip")  # with "raise" NumPy copies twice
    del boxes
    if len(order):
        join(nodes, len(order))
    return nodes, order


class _Shape(NamedTuple):
    """Says how nodes hang together, the root last.

    children: (n, 2) int32, as in `JoinedNodes`.
    order: (t,) uint32, which triangle each of the first nodes is.
    below: (n,) int32, triangles below each node.
    is_leaf: (n,) bool, whether a node is one leaf with all that is below it.
    """

    children: Any
    order: Any
    below: Any
    is_leaf: Any


class _NodeLinks(NamedTuple):
    """Holds what `BinaryTree` has of these names, of a tree whose nodes are numbered as there.

    old: (m,) int32, which node each was before.
    """

    child: Any
    first: Any
    count: Any
    order: Any
    old: Any


def _numbered(nodes: JoinedNodes, order: Ids, leaves: Leaves) -> BinaryTree | None:
    """Returns the tree, with leaves where they cost least; None where it is too deep."""
    shape = _Shape(nodes.children, order, *_chosen_leaves(nodes, leaves))
    count = _count_nodes(shape)
    if count == TOO_DEEP:
        return None
    child, first, counts, old = (np.zeros(count, np.int32) for _ in range(4))
    links = _NodeLinks(child, first, counts, np.zeros_like(order), old)
    _number(shape, leaves.max_leaf, links)
    lower, upper = (np.empty((count, 3), np.float32) for _ in range(2))
    _copy_boxes(nodes.box, links.old, lower, upper)
    return BinaryTree(
        lower=lower,
        upper=upper,
        child=links.child,
        first=links.first,
        count=links.count,
        order=links.order,
        triangle_block=leaves.block,
    )


def _chosen_leaves(nodes: JoinedNodes, leaves: Leaves) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
    """Returns `below` and `is_leaf` of a `_Shape`, and fits the boxes."""
    below, is_leaf = np.ones(len(nodes.box), np.int32), np.ones(len(nodes.box), np.bool_)
    _choose_leaves(nodes, leaves, below, is_leaf, np.empty(len(below)))
    return below, is_leaf


@compiled
def _choose_leaves(nodes: Any, leaves: Any, below: Any, is_leaf: Any, cost: Any) -> None:
    """Fits boxes around those of the children, and makes leaves where that costs no more than all that is below.

    below: (n,) int32, 1; written: triangles below each node.
    is_leaf: (n,) bool, True; written.
    cost: (n,) float64, scratch.
    """
    boxes = address(nodes.box)
    for node in range(len(below)):
        box = boxes + node * BOX_BYTES
        left, right = nodes.children[node, 0], nodes.children[node, 1]
        if left != right:
            one = boxes + left * BOX_BYTES
            lower, upper = grow(load4(one), load4(one + UPPER_OFFSET), boxes + right * BOX_BYTES)
            put(box, lower, upper)
        area = half_area(load4(box), load4(box + UPPER_OFFSET))
        cost[node] = area
        if left != right:
            below[node] = below[left] + below[right]
            split, leaf = VISIT_COST * area + cost[left] + cost[right], -(-below[node] // leaves.block) * area
            is_leaf[node] = below[node] <= leaves.max_leaf and leaf <= split
            cost[node] = leaf if is_leaf[node] else split


@compiled
def _count_nodes(shape: Any) -> int:
    """Returns how many nodes there are down to the leaves, or TOO_DEEP."""
    stack = np.zeros((MAX_DEPTH + 3, 2), np.int64)  # a node, and its depth
    stack[0, 0] = len(shape.children) - 1
    waiting, count = 1, 0
    while waiting > 0:
        waiting -= 1
        node, depth = stack[waiting]
        if depth > MAX_DEPTH:
            return TOO_DEEP
        count += 1
        if not shape.is_leaf[node]:
            for side in range(2):
                stack[waiting + side, 0], stack[waiting + side, 1] = shape.children[node, side], depth + 1
            waiting += 2
    return count


@compiled
def _number(shape: Any, max_leaf: int, links: Any) -> None:
    """Numbers the nodes depth first, siblings side by side. links: `_NodeLinks`, zeros; written."""
    stack = np.zeros(MAX_DEPTH + 3, np.int64)
    inside = np.empty(max_leaf + 1, np.int64)
    links.old[0] = len(shape.children) - 1
    waiting, nodes, leaf_indices = min(len(shape.order), 1), 1, 0
    while waiting > 0:
        waiting -= 1
        number = stack[waiting]
        node = links.old[number]
        if shape.is_leaf[node]:
            links.first[number], links.count[number] = leaf_indices, shape.below[node]
            leaf_indices = _list_triangles(shape, node, links.order, leaf_indices, inside)
            continue
        links.child[number] = nodes
        for side in range(2):
            links.old[nodes + side] = shape.children[node, side]
            stack[waiting + 1 - side] = nodes + side
        waiting += 2
        nodes += 2


@compiled
def _copy_boxes(box: Any, old: Any, lower: Any, upper: Any) -> None:
    """Writes the corners of the boxes of nodes, each (m, 3) float32. old: (m,) int32, which node each was before."""
    for number in range(len(old)):
        for axis in range(3):
            lower[number, axis] = box[old[number], axis]
            upper[number, axis] = box[old[number], axis + 4]


@inlined
def _list_triangles(shape: Any, top: int, listed: Any, count: int, inside: Any) -> int:
    """Writes the triangles below a node behind the `count` that are listed. Returns how many there are then.

    inside: (max_leaf + 1,) int64, scratch: nodes below.
    """
    inside[0] = top
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = inside[waiting]
        if node < len(shape.order):
            listed[count] = shape.order[node]
            count += 1
        else:
            inside[waiting], inside[waiting + 1] = shape.children[node, 1], shape.children[node, 0]
            waiting += 2
    return count
