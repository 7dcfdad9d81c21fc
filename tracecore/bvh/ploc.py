"""Builds a tree from the triangles up: neighbours along a space-filling curve are joined, nearest ones first.

Meister, Bittner: Parallel Locally-Ordered Clustering for Bounding Volume Hierarchy Construction, 2018. Subtrees stand
in the order of the curve (`morton`). In a round each looks for the nearest of its neighbours, so many to both sides,
and pairs that find each other are joined. All threads search.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tracecore.bvh.bottom_up import JoinedNodes, Leaves, grown
from tracecore.bvh.morton import unit_boxes
from tracecore.bvh.tree import BinaryTree
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.vector import float_bits
from tracecore.rays import Floats
from tracecore.threads import usable_cores

#: How many neighbours each subtree looks at, on either side.
RADIUS = 16

#: Where fewer than one of so many subtrees found each other, all are joined two by two instead: so rounds are few.
LEAST_SHARE = 32

#: Subtrees that a thread takes at a time.
CHUNK = 16384

#: Of no pair: greater than all others.
NO_KEY = np.int64(np.iinfo(np.int64).max)

#: The bits of a place in the row.
LOW_BITS = (1 << 32) - 1


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
    return grown(triangles, Leaves(max_leaf, triangle_block), partial(_join_all, threads or usable_cores()))


class _Subtrees(NamedTuple):
    """Holds the subtrees that are not joined yet, in order.

    box: (6, m) float32, x, y, z of their lower and then of their upper corners; all of them fit in a cube of edge 1.
    node: (m,) int32.
    nearest: (m,) int32, which one of the row each would be joined with.
    """

    box: Any
    node: Any
    nearest: Any


def _join_all(threads: int, nodes: JoinedNodes, count: int) -> None:
    """Joins subtrees until there is one: a `bottom_up.Join`."""
    length = made = count
    row = _Subtrees(unit_boxes(nodes.box[:length]), np.arange(length, dtype=np.int32), np.zeros(length, np.int32))
    with ThreadPoolExecutor(threads) as pool:
        while length > 1:
            list(pool.map(partial(_find_nearest, row, length), range(0, length, CHUNK)))
            joined = _join(row, length, nodes.children, made)
            length, made = length - joined, made + joined


def _find_nearest(row: _Subtrees, length: int, first: int) -> None:
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
