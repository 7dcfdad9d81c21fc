"""Builds a tree by the surface area heuristic over bins of centroids, all three axes, one pass from the root down.

After Wald: On fast Construction of SAH-based Bounding Volume Hierarchies, 2007, with the number of bins of Günther,
Popov, Seidel, Slusallek: Realtime Ray Tracing on GPU with BVH-based Packet Traversal, 2007.
"""

import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tracecore.bvh.boxes import BOX_BYTES, FEW, UPPER_OFFSET, boxes_of, cheapest_split, grow, half_area, put
from tracecore.bvh.tree import MAX_DEPTH, VISIT_COST, BinaryTree
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.vector import (
    address,
    element,
    greatest,
    least,
    less,
    load4,
    load8,
    load_double,
    load_float,
    load_int,
    load_long,
    splat4,
    store,
    whole,
)
from tracecore.rays import Floats
from tracecore.threads import usable_cores

#: The most bins that there is room for.
MAX_BINS = 128
ENTRY_BYTES = 40
COUNTS_OFFSET = 3 * MAX_BINS * BOX_BYTES
COSTS_OFFSET = COUNTS_OFFSET + 3 * MAX_BINS * 8
STACK = COSTS_OFFSET + MAX_BINS * 8
SCRATCH_BYTES = STACK + (MAX_DEPTH + 2) * ENTRY_BYTES  # at most one right child per level, and the pair just made

#: Subtrees of at most so many triangles are not shared out between threads.
PIECE = 1 << 13

INFINITY = np.float32(np.inf)
HALF = np.float32(0.5)


class Binning(NamedTuple):
    """Says how many bins the triangles of a node are sorted into.

    least, most: limits of that number; `most` is `MAX_BINS` or fewer.
    triangles_per_bin: between these limits there is one bin for so many triangles.
    """

    least: int
    most: int
    triangles_per_bin: int


#: The two settings of Günther et al., their table 1: by default, and for the sake of speed.
DEFAULT_BINNING = Binning(least=8, most=MAX_BINS, triangles_per_bin=6)
FAST_BINNING = Binning(least=4, most=32, triangles_per_bin=16)


def build(
    triangles: Floats,
    *,
    max_leaf: int = 4,
    triangle_block: int = 1,
    binning: Binning = DEFAULT_BINNING,
    threads: int | None = None,
) -> BinaryTree:
    """Returns a tree whose leaves hold at most `max_leaf` triangles and whose depth is at most `MAX_DEPTH`.

    The same triangles give the same tree, for any number of threads.

    triangles: (t, 3, 3) float32, finite, corners of each; t may be 0.
    max_leaf: triangles that a leaf may hold.
    triangle_block: how many triangles the traversal tests at once, at least 1; larger blocks make a shallower tree of
    fuller leaves.
    binning: more bins cost time and come closer to the cheapest splits.
    threads: that split; by default all usable cores.

    Raises `TriangleError` for a corner that is not finite.
    """
    start = time.perf_counter()
    triangles = np.ascontiguousarray(triangles, np.float32)
    references = boxes_of(triangles)
    order = np.arange(len(triangles), dtype=np.uint32)
    nodes = _Nodes.empty(max(2 * len(triangles) - 1, 1))  # both sides of a split hold a triangle
    rules = _Rules(max_leaf, _tests_by_count(len(triangles), triangle_block), binning)
    _split_by_threads(_Work(references, order, nodes, rules), threads or usable_cores())
    del references, rules
    nodes = nodes.cut(_close_up(nodes))
    return BinaryTree(
        **nodes._asdict(),
        order=order,
        triangle_block=triangle_block,
        build_seconds=time.perf_counter() - start,
    )


def _tests_by_count(triangles: int, block: int) -> npt.NDArray[np.float64]:
    """Returns how many tests so many triangles take in a leaf, or on a side that may be split further: (triangles + 1,)
    float64.

    A leaf takes ceil(n / block), but that alone is flat between its steps, and further splits move them. Its mean with
    n / block made the cheaper trees. A block of 1 costs n exactly.
    """
    fraction = np.arange(triangles + 1) / block
    return 0.5 * (fraction + np.ceil(fraction))


class _Rules(NamedTuple):
    """Says when a node becomes a leaf. max_leaf: triangles that a leaf may hold. tests: (t + 1,) float64, by count.
    binning: `Binning`.
    """

    max_leaf: Any
    tests: Any
    binning: Any


class _Nodes(NamedTuple):
    """Holds the nodes, as in `BinaryTree`. While they are made some pairs of siblings are left out."""

    lower: Any
    upper: Any
    child: Any
    first: Any
    count: Any

    @classmethod
    def empty(cls, capacity: int) -> Self:
        """Returns nodes of zeros."""
        boxes = (np.zeros((capacity, 3), np.float32) for _ in range(2))
        return cls(*boxes, *(np.zeros(capacity, np.int32) for _ in range(3)))

    def cut(self, count: int) -> Self:
        """Returns the first nodes, in no more memory than they need."""
        if count == len(self.child):
            return self
        return type(self)(*(column[:count].copy() for column in self))


class _Work(NamedTuple):
    """Holds what all threads share. references: (t, 8) float32, boxes of the triangles, and order: (t,) uint32, both
    permuted. nodes: `_Nodes`, written. rules: `_Rules`.
    """

    references: Any
    order: Any
    nodes: Any
    rules: Any


class _Subtree(NamedTuple):
    """Is a subtree that is still to be split.

    node: its root.
    pair: where its root's children would be, and behind them all that is below. In front of it there is room for all
    nodes that come before these depth first, however many they may be: leaves of one triangle fill it.
    first, end: leaf indices.
    depth: of its root.
    """

    node: int
    pair: int
    first: int
    end: int
    depth: int


class _Bins(NamedTuple):
    """Says how centroids are sorted: into `count` bins along one axis from `low`, `scale` of them per unit of
    length.
    """

    axis: Any
    low: Any
    scale: Any
    count: Any


class _Room(NamedTuple):
    """Holds addresses of what the builder reads and writes. Boxes are eight float32: lower x y z 0, upper x y z 0.

    references: boxes of the triangles, moved together with order: uint32.
    bin_boxes: of the bins of each axis.
    bin_counts: int64, triangles in each bin of each axis.
    costs: float64, of each bin of one axis: half the area times the tests of it and all above it.
    stack: int64, of each subtree what `_Subtree` has.
    tests: float64, by count of triangles.
    binning: `Binning`, of numbers.
    """

    references: Any
    order: Any
    bin_boxes: Any
    bin_counts: Any
    costs: Any
    stack: Any
    tests: Any
    binning: Any


def _split_by_threads(work: _Work, threads: int) -> None:
    """Splits the root and all below: what has many triangles node by node, by whoever has time, and the rest in pieces.
    Where a node is, and what is in it, follows from its triangles alone.
    """
    waiting: deque[Future[None]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        _split_subtree(work, _Subtree(0, 1, 0, len(work.order), 0), pool, waiting)
        while waiting:  # what a subtree leaves to others is there before it is done
            waiting.pop().result()


def _split_subtree(work: _Work, subtree: _Subtree, pool: ThreadPoolExecutor, waiting: deque[Future[None]]) -> None:
    """Splits a subtree, but for large ones on the right of its splits: they wait."""
    scratch = np.empty(SCRATCH_BYTES, np.uint8)
    stack = scratch[STACK:].view(np.int64).reshape(-1, len(subtree))
    while _split_all(work, subtree, scratch, subtree.end - subtree.first > PIECE) > 0:
        right, subtree = (_Subtree(*row) for row in stack[:2].tolist())
        waiting.append(pool.submit(_split_subtree, work, right, pool, waiting))


@compiled
def _split_all(work: Any, subtree: Any, scratch: Any, is_one: bool) -> int:
    """Splits the nodes of a subtree depth first, or its root alone. Returns how many subtrees of it are left on the
    stack.

    scratch: SCRATCH_BYTES of uint8.
    """
    at, nodes = address(scratch), work.nodes
    room = _Room(
        address(work.references),
        address(work.order),
        at,
        at + COUNTS_OFFSET,
        at + COSTS_OFFSET,
        at + STACK,
        address(work.rules.tests),
        work.rules.binning,
    )
    _push(room.stack, subtree)
    pushed = min(subtree.end - subtree.first, 1)
    while pushed > 0:
        pushed -= 1
        entry = room.stack + pushed * ENTRY_BYTES
        node, pair, depth = load_long(entry), load_long(entry + 8), load_long(entry + 32)
        first, end = load_long(entry + 16), load_long(entry + 24)
        middle = _split(room, nodes, node, first, end, work.rules.max_leaf, MAX_DEPTH - depth)
        if middle == first:
            nodes.first[node], nodes.count[node] = first, end - first
            continue
        nodes.child[node] = pair
        behind_left = pair + 2 * (middle - first)  # and all nodes that may be below it
        _push(entry, (pair + 1, behind_left, middle, end, depth + 1))
        _push(entry + ENTRY_BYTES, (pair, pair + 2, first, middle, depth + 1))
        pushed += 2
        if is_one:
            break
    return pushed


@inlined
def _push(entry: int, subtree: Any) -> None:
    """Writes what `_Subtree` has."""
    store(entry, np.int64(subtree[0]))
    store(entry + 8, np.int64(subtree[1]))
    store(entry + 16, np.int64(subtree[2]))
    store(entry + 24, np.int64(subtree[3]))
    store(entry + 32, np.int64(subtree[4]))


@compiled
def _close_up(nodes: Any) -> int:
    """Moves nodes to where there are none before them; depth first, so that each moves to the front. Returns how many
    there are.
    """
    stack = np.zeros(MAX_DEPTH + 3, np.int64)
    waiting, count = 1, 1
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        pair = nodes.child[node]
        if pair == 0:
            continue
        nodes.child[node] = count
        for side in range(2):
            old, new = pair + side, count + side
            for k in range(3):
                nodes.lower[new, k], nodes.upper[new, k] = nodes.lower[old, k], nodes.upper[old, k]
            nodes.child[new] = nodes.child[old]
            nodes.first[new], nodes.count[new] = nodes.first[old], nodes.count[old]
            stack[waiting + 1 - side] = new
        waiting += 2
        count += 2
    return count


@inlined
def _split(room: Any, nodes: Any, node: int, first: int, end: int, max_leaf: int, levels: int) -> int:
    """Writes a node's box and sorts its leaf indices by side. Returns the first leaf index of the right side, or
    `first` for a leaf.

    levels: how many more the tree may have below this node. Halves need the logarithm of the count of them, so the
    heuristic is followed while there is one to spare.
    """
    count = end - first
    low, high, area = _measure(room, nodes, node, first, end)
    if count == 1:
        return first
    cost = np.inf
    plane = np.int64(0)
    bin_count = _bin_count(room.binning, count)
    best = _bins(low, high, plane, bin_count)
    left = np.int64(0)
    if 1 << min(levels - 1, 62) < count or less(low, high) == 0:
        pass
    elif count <= FEW:
        cost, left = cheapest_split(room.references + first * BOX_BYTES, room.tests, count)
    else:
        _fill(room, first, end, (low, high), bin_count)
        for axis in range(3):
            bins = _bins(low, high, axis, bin_count)
            if bins.scale > 0.0:
                cost_here, plane_here = _sweep(room, axis, bin_count)
                if cost_here < cost:
                    cost, plane, best = cost_here, plane_here, bins
    if count <= max_leaf and _tests(room, count) * area <= cost + VISIT_COST * area:
        return first
    if cost == np.inf:  # all centroids in one place, or no level to spare
        return first + count // 2
    if count <= FEW:
        return _move_to_front(room, first, count, left)
    return _partition(room, first, end, best, plane)


@inlined
def _move_to_front(room: Any, first: int, count: int, chosen: int) -> int:
    """Moves triangles to the front that have a bit each. Returns the first leaf index behind them."""
    middle = first
    for i in range(count):
        if chosen >> i & 1:
            _swap(room, middle, first + i)
            middle += 1
    return middle


@inlined
def _measure(room: Any, nodes: Any, node: int, first: int, end: int) -> Any:
    """Writes the box of the triangles. Returns the bounds of their centroids and half the area."""
    lower, upper = splat4(np.inf), splat4(-np.inf)
    low, high = lower, upper
    for i in range(first, end):
        box = room.references + i * BOX_BYTES
        lower, upper = grow(lower, upper, box)
        centroid = _centroid(box)
        low, high = least(low, centroid), greatest(high, centroid)
    for k in range(3):
        nodes.lower[node, k], nodes.upper[node, k] = element(lower, k), element(upper, k)
    return low, high, half_area(lower, upper)


@inlined
def _centroid(box: int) -> Any:
    return load4(box) * splat4(0.5) + load4(box + UPPER_OFFSET) * splat4(0.5)


@inlined
def _bin_count(binning: Any, triangles: int) -> int:
    return min(max(triangles // binning.triangles_per_bin, binning.least), binning.most)


@inlined
def _bins(low: Any, high: Any, axis: int, count: int) -> Any:
    """Returns the bins of one axis between bounds of centroids. The scale is 0 where float32 cannot tell the bounds
    apart.
    """
    scale = np.float32(count) / (element(high, axis) - element(low, axis))
    return _Bins(axis, element(low, axis), scale if scale < INFINITY else np.float32(0.0), count)


@inlined
def _bin(box: int, bins: Any) -> int:
    """Returns the bin of a triangle's centroid: 0 <= (centroid - low) * scale, at most a rounding above the count."""
    lower = box + 4 * bins.axis
    centroid = load_float(lower) * HALF + load_float(lower + UPPER_OFFSET) * HALF
    return min(np.int64((centroid - bins.low) * bins.scale), bins.count - 1)


@inlined
def _fill(room: Any, first: int, end: int, bounds: Any, bin_count: int) -> None:
    """Sorts the triangles into the bins of all axes. bounds: low and high, of their centroids."""
    low, high = bounds
    for axis in range(3):
        for i in range(axis * MAX_BINS, axis * MAX_BINS + bin_count):
            store(room.bin_counts + 8 * i, np.int64(0))
            put(room.bin_boxes + i * BOX_BYTES, splat4(np.inf), splat4(-np.inf))
    scale = _scales(room, low, high, bin_count)
    last = splat4(np.float32(bin_count - 1))
    for i in range(first, end):
        box = room.references + i * BOX_BYTES
        bins = least((_centroid(box) - low) * scale, last)
        lower, upper = load4(box), load4(box + UPPER_OFFSET)
        _add(room, whole(bins, 0), lower, upper)
        _add(room, MAX_BINS + whole(bins, 1), lower, upper)
        _add(room, 2 * MAX_BINS + whole(bins, 2), lower, upper)


@inlined
def _scales(room: Any, low: Any, high: Any, bin_count: int) -> Any:
    """Returns the scales of the bins of all axes as a vector."""
    for axis in range(3):
        store(room.costs + 4 * axis, _bins(low, high, axis, bin_count).scale)
    return load4(room.costs)


@inlined
def _add(room: Any, at: int, lower: Any, upper: Any) -> None:
    """Adds a triangle to a bin."""
    count, union = room.bin_counts + 8 * at, room.bin_boxes + at * BOX_BYTES
    store(count, load_long(count) + 1)
    lower, upper = grow(lower, upper, union)
    put(union, lower, upper)


@inlined
def _tests(room: Any, count: int) -> float:
    return load_double(room.tests + 8 * count)


@inlined
def _sweep(room: Any, axis: int, bins: int) -> Any:
    """Returns the cheapest border of two bins of an axis: half area times tests of both sides, and the first bin on the
    right.
    """
    boxes, counts = room.bin_boxes + axis * MAX_BINS * BOX_BYTES, room.bin_counts + axis * MAX_BINS * 8
    count = 0
    lower, upper = splat4(np.inf), splat4(-np.inf)
    cost_right = np.inf
    for i in range(bins - 1, 0, -1):
        here = load_long(counts + 8 * i)
        if here > 0:
            count += here
            lower, upper = grow(lower, upper, boxes + i * BOX_BYTES)
            cost_right = _tests(room, count) * half_area(lower, upper)
        store(room.costs + 8 * i, cost_right)
    best, plane = np.inf, 0
    count = 0
    lower, upper = splat4(np.inf), splat4(-np.inf)
    for i in range(1, bins):
        here = load_long(counts + 8 * i - 8)
        if here > 0:
            count += here
            lower, upper = grow(lower, upper, boxes + (i - 1) * BOX_BYTES)
            cost = _tests(room, count) * half_area(lower, upper) + load_double(room.costs + 8 * i)
            if cost < best:
                best, plane = cost, i
    return best, plane


@inlined
def _partition(room: Any, first: int, end: int, bins: Any, plane: int) -> int:
    """Moves the triangles of the bins below `plane` to the front. Returns the first leaf index behind them."""
    left = first
    for i in range(first, end):
        is_left = _bin(room.references + i * BOX_BYTES, bins) < plane
        _swap(room, left, i)  # always: a branch here would be foreseen wrongly half of the time
        left += 1 if is_left else 0
    return left


@inlined
def _swap(room: Any, left: int, right: int) -> None:
    one, other = room.references + left * BOX_BYTES, room.references + right * BOX_BYTES
    box = load8(one)
    store(one, load8(other))
    store(other, box)
    one, other = room.order + 4 * left, room.order + 4 * right
    prim_id = load_int(one)
    store(one, np.int32(load_int(other)))
    store(other, np.int32(prim_id))
