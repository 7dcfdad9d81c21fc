"""Builds a tree by the surface area heuristic exactly, at every border of two triangles in the order of their
centroids.

Wald, Boulos, Shirley: Ray Tracing Deformable Scenes Using Dynamic Bounding Volume Hierarchies, 2007, sweep so. It takes
longer than bins do (`binned_sah`), and judges how good their trees are.
"""

import time
from typing import Any

import numpy as np

from tracecore.bvh.tree import MAX_DEPTH, VISIT_COST, BinaryTree
from tracecore.compilation.cached import compiled, inlined
from tracecore.rays import Floats
from tracecore.triangles import check_finite


def build(triangles: Floats, *, max_leaf: int = 4) -> BinaryTree:
    """Returns a tree whose leaves hold at most `max_leaf` triangles and whose depth is at most `MAX_DEPTH`.

    The same triangles give the same tree.

    triangles: (t, 3, 3) float32, finite, corners of each; t may be 0.
    max_leaf: triangles that a leaf may hold.

    Raises `TriangleError` for a corner that is not finite.
    """
    start = time.perf_counter()
    check_finite(triangles)
    count = len(triangles)
    boxes = np.concatenate([triangles.min(axis=1), triangles.max(axis=1)], axis=1).astype(np.float64)
    orders = np.argsort(boxes[:, :3] + boxes[:, 3:], axis=0, kind="stable").T.copy()
    capacity = max(2 * count - 1, 1)  # both sides of a split hold a triangle
    bounds, links = np.zeros((capacity, 6)), np.zeros((capacity, 3), np.int32)
    scratch = np.zeros(count), np.zeros(count, np.int64)
    nodes = _split_all(boxes, orders, (bounds, links), scratch, max_leaf)
    child, first, number = np.ascontiguousarray(links[:nodes].T)
    lower, upper = (np.ascontiguousarray(bounds[:nodes, k : k + 3], np.float32) for k in (0, 3))
    return BinaryTree(
        lower=lower,
        upper=upper,
        child=child,
        first=first,
        count=number,
        order=orders[0].astype(np.uint32),
        build_seconds=time.perf_counter() - start,
    )


@compiled
def _split_all(boxes: Any, orders: Any, made: Any, scratch: Any, max_leaf: int) -> int:
    """Splits nodes depth first. Returns how many there are.

    boxes: (t, 6) float64, lower and upper, of the triangles.
    orders: (3, t) int64, triangles by their centroids along each axis, permuted.
    made: (n, 6) float64, bounds of nodes, and (n, 3) int32, their child, first and count, written.
    scratch: (t,) float64 and (t,) int64.
    """
    (bounds, links), (costs, spare) = made, scratch
    count = orders.shape[1]
    stack = np.zeros((MAX_DEPTH + 2, 4), np.int64)  # node, first and end leaf index, depth
    stack[0, 2] = count
    waiting, nodes = min(count, 1), 1
    while waiting > 0:
        waiting -= 1
        node, first, end, depth = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2], stack[waiting, 3]
        for leaf_index in range(first, end):
            _grow(bounds, node, boxes, orders[0, leaf_index], leaf_index == first)
        area = _half_area(bounds, node)
        axis, middle, cost = _choose(boxes, orders, (first, end), costs, MAX_DEPTH - depth)
        size = end - first
        if size == 1 or (size <= max_leaf and size * area <= cost + VISIT_COST * area):
            links[node, 1], links[node, 2] = first, size
            continue
        _partition(orders, axis, (first, middle, end), costs, spare)
        links[node, 0] = nodes
        _push(stack, waiting, (nodes + 1, middle, end, depth + 1))
        _push(stack, waiting + 1, (nodes, first, middle, depth + 1))
        waiting += 2
        nodes += 2
    return nodes


@inlined
def _push(stack: Any, row: int, entry: Any) -> None:
    stack[row, 0], stack[row, 1], stack[row, 2], stack[row, 3] = entry


@inlined
def _choose(boxes: Any, orders: Any, leaf_indices: Any, costs: Any, levels: int) -> Any:
    """Returns the axis of the cheapest border, the first leaf index on its right, and half area times triangles of both
    sides.

    levels: how many more the tree may have here. Halves need the logarithm of the count of them, so the heuristic is
    followed while there is one to spare.
    """
    first, end = leaf_indices
    best, middle, least = 0, first + (end - first) // 2, np.inf
    if 1 << min(levels - 1, 62) >= end - first:
        for axis in range(3):
            leaf_index, cost = _sweep(boxes, orders, axis, leaf_indices, costs)
            if cost < least:
                best, middle, least = axis, leaf_index, cost
    return best, middle, least


@inlined
def _sweep(boxes: Any, orders: Any, axis: int, leaf_indices: Any, costs: Any) -> Any:
    """Returns the cheapest border along one axis: the first leaf index on its right, and the cost.

    costs: (t,) float64, scratch.
    """
    first, end = leaf_indices
    box = np.empty((1, 6))
    for leaf_index in range(end - 1, first, -1):
        _grow(box, 0, boxes, orders[axis, leaf_index], leaf_index == end - 1)
        costs[leaf_index] = (end - leaf_index) * _half_area(box, 0)
    best, least = first, np.inf
    for leaf_index in range(first + 1, end):
        _grow(box, 0, boxes, orders[axis, leaf_index - 1], leaf_index == first + 1)
        cost = (leaf_index - first) * _half_area(box, 0) + costs[leaf_index]
        if cost < least:
            best, least = leaf_index, cost
    return best, least


@inlined
def _grow(box: Any, row: int, boxes: Any, triangle: int, is_first: bool) -> None:
    """Makes a row of `box` a triangle's box, or lets it grow around it."""
    for k in range(3):
        lower, upper = boxes[triangle, k], boxes[triangle, k + 3]
        box[row, k] = lower if is_first else min(box[row, k], lower)
        box[row, k + 3] = upper if is_first else max(box[row, k + 3], upper)


@inlined
def _half_area(box: Any, row: int) -> float:
    x, y, z = box[row, 3] - box[row, 0], box[row, 4] - box[row, 1], box[row, 5] - box[row, 2]
    return x * y + y * z + z * x


@inlined
def _partition(orders: Any, axis: int, leaf_indices: Any, side: Any, spare: Any) -> None:
    """Moves the triangles of the left side to the front in the orders of all axes; both sides stay in order.

    axis: in whose order the left side comes first already.
    leaf_indices: first, first on the right, end.
    side: (t,) float64, scratch.
    spare: (t,) int64, scratch.
    """
    first, middle, end = leaf_indices
    for leaf_index in range(first, end):
        side[orders[axis, leaf_index]] = 0.0 if leaf_index < middle else 1.0
    for k in range(3):
        left, right = first, 0
        for leaf_index in range(first, end):
            triangle = orders[k, leaf_index]
            if side[triangle] == 0.0:
                orders[k, left] = triangle
                left += 1
            else:
                spare[right] = triangle
                right += 1
        for i in range(right):
            orders[k, left + i] = spare[i]
