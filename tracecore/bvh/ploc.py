"""Builds a tree from the triangles up: neighbours along a space-filling curve are joined, nearest ones first.

Meister, Bittner: Parallel Locally-Ordered Clustering for Bounding Volume Hierarchy Construction, 2018. Subtrees stand
in the order of the curve of Morton, Sharma: A Computer Oriented Geodetic Data Base, 1966. In a round each looks for the
nearest of its neighbours, so many to both sides, and pairs that find each other are joined. All threads search.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tracecore.bvh import binned_sah
from tracecore.bvh.boxes import BOX_BYTES, UPPER_OFFSET, grow, half_area, put
from tracecore.bvh.tree import MAX_DEPTH, VISIT_COST, BinaryTree
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.vector import address, float_bits, load4
from tracecore.cores import usable_cores
from tracecore.rays import Floats, Ids
from tracecore.triangles import check_finite

#: How many neighbours each subtree looks at, on either side.
RADIUS = 16

#: Where fewer than one of so many subtrees found each other, all are joined two by two instead: so rounds are few.
LEAST_SHARE = 32

#: Subtrees that a thread takes at a time.
CHUNK = 16384

#: Of no pair: greater than all others.
NO_KEY = np.int64(np.iinfo(np.int64).max)

#: The largest coordinate along the curve, and the bits of a place in the row.
MOST_CODE, LOW_BITS = (1 << 21) - 1, (1 << 32) - 1


def build(triangles: Floats, *, max_leaf: int = 4, triangle_block: int = 1, threads: int | None = None) -> BinaryTree:
    """Returns a tree whose leaves hold at most `max_leaf` triangles and whose depth is at most `MAX_DEPTH`; one that
    would be deeper is made by `binned_sah`.

    The same triangles give the same tree, for any number of threads.

    triangles: (t, 3, 3) float32, finite, corners of each; t may be 0.
    max_leaf: triangles that a leaf may hold.
    triangle_block: how many triangles the traversal tests at once, at least 1.
    threads: that search; by default all usable cores.

    Raises `TriangleError` for a corner that is not finite.
    """
    start = time.perf_counter()
    triangles = np.ascontiguousarray(triangles, np.float32)
    count = len(triangles)
    nodes = _Nodes(np.zeros((max(2 * count - 1, 1), 8), np.float32), np.zeros((max(2 * count - 1, 1), 2), np.int32))
    own = nodes.box[:count]
    triangles.min(axis=1, out=own[:, 0:3])
    triangles.max(axis=1, out=own[:, 4:7])
    check_finite(own)
    order = _join_all(nodes, count, threads or usable_cores())
    tree = _numbered(nodes, order, _Leaves(max_leaf, triangle_block))
    if tree is None:
        return binned_sah.build(triangles, max_leaf=max_leaf, triangle_block=triangle_block)
    return replace(tree, build_seconds=time.perf_counter() - start)


class _Nodes(NamedTuple):
    """Holds the nodes: first the triangles, in the order of the curve, then those that were joined, children first.

    box: (n, 8) float32, as in `boxes`.
    children: (n, 2) int32, both 0 of a triangle.
    """

    box: Any
    children: Any


class _Row(NamedTuple):
    """Holds the subtrees that are not joined yet, in order.

    box: (6, m) float32, x, y, z of their lower and then of their upper corners; all of them fit in a cube of edge 1.
    node: (m,) int32.
    nearest: (m,) int32, which one of the row each would be joined with.
    """

    box: Any
    node: Any
    nearest: Any


def _row(boxes: Floats) -> _Row:
    """Returns the row of triangles whose boxes are (t, 8) float32."""
    low = boxes[:, 0:3].min(axis=0, initial=np.inf).astype(np.float64)
    high = boxes[:, 4:7].max(axis=0, initial=-np.inf).astype(np.float64)
    extent = np.max(high - low, initial=0.0)
    scale = 1.0 / extent if extent > 0.0 else 0.0
    box = np.empty((6, len(boxes)), np.float32)
    for axis in range(3):
        box[axis] = (boxes[:, axis] - low[axis]) * scale
        box[axis + 3] = (boxes[:, axis + 4] - low[axis]) * scale
    return _Row(box, np.arange(len(boxes), dtype=np.int32), np.zeros(len(boxes), np.int32))


def _curve(box: Floats) -> npt.NDArray[np.uint64]:
    """Returns where the centres of boxes, (6, t) float32, are along the curve: (t,) uint64."""
    codes = np.zeros(box.shape[1], np.uint64)
    _code_all(box, codes)
    return codes


@compiled
def _code_all(box: Any, codes: Any) -> None:
    """Writes the bits of the three coordinates by turns, the highest first."""
    for i in range(len(codes)):
        code = np.uint64(0)
        for axis in range(3):
            centre = 0.5 * (np.float64(box[axis, i]) + np.float64(box[axis + 3, i]))
            code |= _spread(np.uint64(centre * MOST_CODE)) << np.uint64(2 - axis)
        codes[i] = code


@inlined
def _spread(bits: Any) -> Any:
    """Returns a number of 21 bits with two zeros before each of them."""
    bits = (bits | bits << np.uint64(32)) & np.uint64(0x1F00000000FFFF)
    bits = (bits | bits << np.uint64(16)) & np.uint64(0x1F0000FF0000FF)
    bits = (bits | bits << np.uint64(8)) & np.uint64(0x100F00F00F00F00F)
    bits = (bits | bits << np.uint64(4)) & np.uint64(0x10C30C30C30C30C3)
    return (bits | bits << np.uint64(2)) & np.uint64(0x1249249249249249)


# ---------------------------------------------------------------------------------------------------------- the joining


def _join_all(nodes: _Nodes, count: int, threads: int) -> Ids:
    """Joins subtrees until there is one. Returns which triangle each of the first nodes is, (t,) uint32.

    nodes: of `count` triangles, as they come, and with no others; written, but for the boxes of the others.
    """
    row = _row(nodes.box[:count])
    order = np.argsort(_curve(row.box), kind="stable").astype(np.uint32)
    nodes.box[:count] = nodes.box[order]
    row.box[:] = row.box[:, order]
    length, made = count, count
    with ThreadPoolExecutor(threads) as pool:
        while length > 1:
            list(pool.map(partial(_find_nearest, row, length), range(0, length, CHUNK)))
            joined = _join(row, length, nodes.children, made)
            length, made = length - joined, made + joined
    return order


def _find_nearest(row: _Row, length: int, first: int) -> None:
    _search(row.box, row.nearest, length, first, min(first + CHUNK, length))


@compiled
def _search(box: Any, nearest: Any, length: int, first: int, end: int) -> None:
    """Finds the nearest of the neighbours: the box around both has the least surface.

    Of equal ones it is the one whose place differs by the lowest bits; so both of a pair mean each other, and equal
    boxes make no chain.
    """
    for place in range(first, end):
        before = _least_key(box, place, max(place - RADIUS, 0), place)
        after = _least_key(box, place, place + 1, min(place + RADIUS + 1, length))
        nearest[place] = place ^ (min(before, after) & LOW_BITS)


@inlined
def _least_key(box: Any, place: int, first: int, end: int) -> Any:
    """Returns the least key of a pair with some neighbours: the bits of the half area, then how the places differ."""
    key = NO_KEY
    x0, y0, z0, x1, y1, z1 = box[0, place], box[1, place], box[2, place], box[3, place], box[4, place], box[5, place]
    for other in range(first, end):
        x = max(x1, box[3, other]) - min(x0, box[0, other])
        y = max(y1, box[4, other]) - min(y0, box[1, other])
        z = max(z1, box[5, other]) - min(z0, box[2, other])
        key = min(key, float_bits(x * y + y * z + z * x) << 32 | place ^ other)
    return key


@compiled
def _join(row: Any, length: int, children: Any, made: int) -> int:
    """Joins pairs that found each other, and closes the gaps. Returns how many were joined.

    made: how many nodes there are; joined ones are numbered from there.
    """
    found = 0
    for place in range(length):
        found += row.nearest[row.nearest[place]] == place
    by_twos = found * LEAST_SHARE < length
    kept, joined = 0, 0
    for place in range(length):
        other: Any = np.int64(place ^ 1) if by_twos else np.int64(row.nearest[place])
        is_pair = other < length and (by_twos or row.nearest[other] == place)
        if is_pair and other < place:
            continue
        node = row.node[place]
        if is_pair:
            children[made + joined, 0], children[made + joined, 1] = node, row.node[other]
            node = np.int32(made + joined)
            joined += 1
        else:
            other = place
        for axis in range(3):
            row.box[axis, kept] = min(row.box[axis, place], row.box[axis, other])
            row.box[axis + 3, kept] = max(row.box[axis + 3, place], row.box[axis + 3, other])
        row.node[kept] = node
        kept += 1
    return joined


# ----------------------------------------------------------------------------------------------- leaves and their order

#: Returned in place of a number of nodes.
TOO_DEEP = -1


class _Leaves(NamedTuple):
    """Says what leaves are. max_leaf: triangles that one may hold. block: triangles that are tested at once."""

    max_leaf: Any
    block: Any


class _Shape(NamedTuple):
    """Says how nodes hang together, the root last.

    children: (n, 2) int32, as in `_Nodes`.
    order: (t,) uint32, which triangle each of the first nodes is.
    below: (n,) int32, triangles below each node.
    is_leaf: (n,) bool, whether a node is one leaf with all that is below it.
    """

    children: Any
    order: Any
    below: Any
    is_leaf: Any


class _Links(NamedTuple):
    """Holds what `BinaryTree` has of these names, of a tree whose nodes are numbered as there.

    old: (m,) int32, which node each was before.
    """

    child: Any
    first: Any
    count: Any
    order: Any
    old: Any


def _numbered(nodes: _Nodes, order: Ids, leaves: _Leaves) -> BinaryTree | None:
    """Returns the tree, with leaves where they cost least; None where it is too deep."""
    below, is_leaf = np.ones(len(nodes.box), np.int32), np.ones(len(nodes.box), np.bool_)
    _choose_leaves(nodes, leaves, below, is_leaf)
    shape = _Shape(nodes.children, order, below, is_leaf)
    count = _count_nodes(shape)
    if count == TOO_DEEP:
        return None
    child, first, counts, old = (np.zeros(count, np.int32) for _ in range(4))
    links = _Links(child, first, counts, np.zeros_like(order), old)
    _number(shape, leaves.max_leaf, links)
    lower, upper = (np.ascontiguousarray(nodes.box[links.old, k : k + 3]) for k in (0, 4))
    return BinaryTree(
        lower=lower,
        upper=upper,
        child=links.child,
        first=links.first,
        count=links.count,
        order=links.order,
        triangle_block=leaves.block,
    )


@compiled
def _choose_leaves(nodes: Any, leaves: Any, below: Any, is_leaf: Any) -> None:
    """Fits boxes around those of the children, and makes leaves where that costs no more than all that is below.

    below: (n,) int32, 1; written: triangles below each node.
    is_leaf: (n,) bool, True; written.
    """
    cost, boxes = np.empty(len(below)), address(nodes.box)
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
    """Numbers the nodes depth first, siblings side by side. links: `_Links`, zeros; written."""
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
