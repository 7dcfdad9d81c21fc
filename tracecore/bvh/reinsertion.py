"""Makes a tree cheaper by the surface area heuristic: subtrees are taken out and put back where they cost least.

After Meister, Bittner: Parallel Reinsertion for Bounding Volume Hierarchy Optimization, 2018: in a round the best place
of every subtree is found in the same tree, by all threads, and those that gain most are moved. The search goes by
Bittner, Hapala, Havran: Fast Insertion-Based Optimization of Bounding Volume Hierarchies, 2013: a branch is left where
its ancestors alone would cost more than the best place found.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tracecore.bvh.boxes import BOX_BYTES, UPPER_OFFSET, grow, half_area, half_area_of, put
from tracecore.bvh.tree import MAX_DEPTH, BinaryTree
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.vector import address, greatest, least, load4, splat4
from tracecore.cores import usable_cores

#: Rounds at most, and the share of the cost that a round must gain for another one to follow.
MOST_ROUNDS, LEAST_GAIN = 16, 0.002

#: Nodes of a tree at most, so that one of many millions takes no gigabytes more than its building: a larger one stays.
MOST_NODES = 1 << 23

#: Subtrees that a thread takes at a time.
CHUNK = 4096

#: The root and its two children, which have no other place.
TOP = 3

#: Target of a subtree that is best where it is.
NOWHERE = 0

Ints = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]


def reinserted(tree: BinaryTree, *, threads: int | None = None) -> BinaryTree:
    """Returns a tree of the same leaves whose `sah_cost` is at most that of the tree, and whose depth is at most
    `MAX_DEPTH`; the tree itself where it has more than `MOST_NODES`.

    The same tree gives the same one, for any number of threads.

    tree: as a builder made it.
    threads: that search; by default all usable cores.
    """
    start = time.perf_counter()
    if len(tree.child) > MOST_NODES:
        return tree
    nodes, block, build_seconds = _linked(tree), tree.triangle_block, tree.build_seconds
    del tree  # its memory is for what follows
    is_searched = np.ones(len(nodes.parent), np.bool_)
    with ThreadPoolExecutor(threads or usable_cores()) as pool:
        for _ in range(MOST_ROUNDS):
            node, target = _found_moves(nodes, is_searched, pool.map)
            before, children = nodes.half_area.sum(), nodes.children.copy()
            is_near = _move_best(nodes, node, target)
            del node, target
            if not nodes.half_area.sum() < (1.0 - LEAST_GAIN) * before or _depth(nodes.children) > MAX_DEPTH:
                nodes = nodes._replace(children=children)
                _fit_all(nodes)
                break
            del children
            nodes, old = _numbered(nodes)
            is_searched = is_near[old]
    seconds = build_seconds + time.perf_counter() - start
    return replace(_tree_of(nodes), triangle_block=block, build_seconds=seconds)


class _Nodes(NamedTuple):
    """Holds a tree whose nodes may be moved.

    box: (n, 8) float32, as in `boxes`.
    children: (n, 2) int32; of a leaf ~first and count, as in `BinaryTree`.
    parent: (n,) int32.
    order: (t,) uint32, as in `BinaryTree`.
    """

    box: Any
    children: Any
    parent: Any
    order: Any

    @classmethod
    def empty(cls, count: int, triangles: int) -> Self:
        """Returns room for so many nodes and triangles."""
        box, children = np.zeros((count, 8), np.float32), np.zeros((count, 2), np.int32)
        return cls(box, children, np.zeros(count, np.int32), np.empty(triangles, np.uint32))

    @property
    def half_area(self) -> npt.NDArray[np.float64]:
        """Returns half of the surface of every box, (n,) float64."""
        area = np.empty(len(self.parent))
        _measure(self.box, area)
        return area


class _Moves(NamedTuple):
    """Says where subtrees should go: node, target: (m,) int32; gain: (m,) float64, by how much all half areas shrink
    together. A subtree becomes the sibling of its target.
    """

    node: Any
    target: Any
    gain: Any


def _found_moves(nodes: _Nodes, is_searched: Flags, each: Callable[..., Any]) -> tuple[Ints, Ints]:
    """Returns which subtrees should go beside which nodes, (m,) int32 each, the greatest gain first.

    is_searched: (n,) bool, the subtrees to search places for.
    each: maps over pieces of them, by threads.
    """
    node = TOP + np.flatnonzero(is_searched[TOP:]).astype(np.int32)
    moves = _Moves(node, np.zeros_like(node), np.zeros(len(node)))
    pieces = (_Moves(*(column[at : at + CHUNK] for column in moves)) for at in range(0, len(node), CHUNK))
    list(each(partial(_find_targets, nodes), pieces))
    np.negative(moves.gain, out=moves.gain)
    by_gain = np.argsort(moves.gain, kind="stable")[: np.count_nonzero(moves.gain)]
    return node[by_gain], moves.target[by_gain]


def _move_best(nodes: _Nodes, node: Ints, target: Ints) -> Flags:
    """Moves subtrees, the first ones first. Returns which ones are worth a search in the next round, (n,) bool."""
    is_moved = np.zeros(len(nodes.parent), np.bool_)
    _move_all(nodes, node, target, is_moved)
    is_near = is_moved.copy()
    is_near[nodes.parent[is_moved]] = True
    children = nodes.children[is_moved]
    is_near[children[children[:, 0] > 0]] = True
    is_near[node] = True
    return is_near


def _linked(tree: BinaryTree) -> _Nodes:
    nodes = _Nodes.empty(len(tree.child), len(tree.order))
    nodes.box[:, 0:3], nodes.box[:, 4:7] = tree.lower, tree.upper
    nodes.order[:] = tree.order
    nodes.children[:, 0] = np.where(tree.is_leaf, ~tree.first, tree.child)
    nodes.children[:, 1] = np.where(tree.is_leaf, tree.count, tree.child + 1)
    inner = np.flatnonzero(tree.child)
    nodes.parent[tree.child[inner]] = nodes.parent[tree.child[inner] + 1] = inner
    return nodes


def _tree_of(nodes: _Nodes) -> BinaryTree:
    left, right = nodes.children.T
    return BinaryTree(
        lower=nodes.box[:, 0:3].copy(),
        upper=nodes.box[:, 4:7].copy(),
        child=np.maximum(left, 0),
        first=np.where(left > 0, 0, ~left),
        count=np.where(left > 0, 0, right),
        order=nodes.order,
    )


def _numbered(nodes: _Nodes) -> tuple[_Nodes, Ints]:
    """Returns the same tree in the same array of boxes, numbered as by a builder, and which node has become each, (n,)
    int32.
    """
    numbered = _Nodes(nodes.box, *(np.zeros_like(links) for links in (nodes.children, nodes.parent, nodes.order)))
    old = np.zeros_like(nodes.parent)
    _number(nodes, numbered, old)
    _rearrange(nodes.box, old, np.zeros(len(old), np.bool_))
    return numbered, old


# ----------------------------------------------------------------------------------------------------------- the search


@compiled
def _find_targets(nodes: Any, moves: Any) -> None:
    """Finds the best target of each subtree, and the gain."""
    stack = np.empty(MAX_DEPTH + 2, np.int64), np.empty(MAX_DEPTH + 2)  # a node, and the gain before it
    boxes = address(nodes.box)
    for i in range(len(moves.node)):
        node = moves.node[i]
        parent, at = nodes.parent[node], node
        gain, best, target = half_area_of(boxes + parent * BOX_BYTES), 0.0, NOWHERE
        lower, upper = splat4(np.inf), splat4(-np.inf)  # of an ancestor's box without the subtree
        while at != 0:  # up to the root, from each ancestor down on its other side
            other = _sibling(nodes, at)
            if at != node and at != parent:
                gain -= half_area(lower, upper)
                if gain > best:  # beside the ancestor, in a box as large as that is
                    best, target = gain, at
                gain += half_area_of(boxes + at * BOX_BYTES)
            best, target = _best_below(nodes, node, (other, gain), (best, target), stack)
            lower, upper = grow(lower, upper, boxes + other * BOX_BYTES)
            at = nodes.parent[at]
        moves.target[i], moves.gain[i] = target, best


@inlined
def _best_below(nodes: Any, node: int, top: Any, found: Any, stack: Any) -> Any:
    """Returns the greatest gain and its target, of what has been found and all places below a node.

    top: that node, and what is gained without the subtree before it comes there.
    """
    places, gains = stack
    boxes = address(nodes.box)
    lower, upper = load4(boxes + node * BOX_BYTES), load4(boxes + node * BOX_BYTES + UPPER_OFFSET)
    (best, target), area = found, half_area(lower, upper)
    places[0], gains[0] = top
    waiting = 1
    while waiting > 0:
        waiting -= 1
        place, gain = places[waiting], gains[waiting]
        if gain - area <= best:  # a box around the subtree is as large at least
            continue
        low, high = load4(boxes + place * BOX_BYTES), load4(boxes + place * BOX_BYTES + UPPER_OFFSET)
        gain -= half_area(least(lower, low), greatest(upper, high))
        if gain > best:
            best, target = gain, place
        gain += half_area(low, high)
        if nodes.children[place, 0] > 0 and gain - area > best:
            for side in range(2):
                places[waiting + side], gains[waiting + side] = nodes.children[place, side], gain
            waiting += 2
    return best, target


@inlined
def _sibling(nodes: Any, node: int) -> int:
    parent = nodes.parent[node]
    return np.int64(nodes.children[parent, 0]) + nodes.children[parent, 1] - node


# ------------------------------------------------------------------------------------------------------------ the moves


@compiled
def _move_all(nodes: Any, node: Any, target: Any, is_moved: Any) -> None:
    """Moves subtrees in order, but for those that come upon what has been moved before.

    node, target: (m,) int32, the greatest gain first.
    is_moved: (n,) bool, written: False, but for nodes that get another parent or child.
    """
    for i in range(len(node)):
        subtree, place = np.int64(node[i]), np.int64(target[i])
        parent, beside = np.int64(nodes.parent[subtree]), np.int64(nodes.parent[place])
        changed = (subtree, _sibling(nodes, subtree), parent, np.int64(nodes.parent[parent]), place, beside)
        is_free = True
        for one in changed:
            is_free &= not is_moved[one]
        if is_free and not _is_below(nodes, place, subtree):
            for one in changed:
                is_moved[one] = True
            _move(nodes, subtree, place)


@inlined
def _is_below(nodes: Any, node: int, top: int) -> bool:
    """Returns whether a node is in the subtree of another one."""
    while node != 0 and node != top:
        node = nodes.parent[node]
    return node == top


@inlined
def _move(nodes: Any, node: int, target: int) -> None:
    """Moves a subtree, whose parent, which is not the root, goes with it to be that of the target."""
    parent, sibling = nodes.parent[node], _sibling(nodes, node)
    grandparent = nodes.parent[parent]
    _replace_child(nodes, grandparent, parent, sibling)
    _replace_child(nodes, nodes.parent[target], target, parent)
    _replace_child(nodes, parent, sibling, target)
    _fit(nodes, grandparent)
    _fit(nodes, parent)


@inlined
def _replace_child(nodes: Any, parent: int, child: int, other: int) -> None:
    side = 0 if nodes.children[parent, 0] == child else 1
    nodes.children[parent, side] = other
    nodes.parent[other] = parent


@inlined
def _fit(nodes: Any, node: int) -> None:
    """Makes the boxes of a node and all its ancestors anew."""
    is_done = False
    while not is_done:
        _fit_one(nodes, node)
        is_done = node == 0
        node = nodes.parent[node]


@compiled
def _fit_all(nodes: Any) -> None:
    """Makes the boxes of all nodes but leaves anew; children come after their parents."""
    for node in range(len(nodes.parent) - 1, -1, -1):
        if nodes.children[node, 0] > 0:
            _fit_one(nodes, node)


@inlined
def _fit_one(nodes: Any, node: int) -> None:
    """Makes the box of an inner node anew."""
    boxes = address(nodes.box)
    left, right = boxes + nodes.children[node, 0] * BOX_BYTES, boxes + nodes.children[node, 1] * BOX_BYTES
    lower, upper = grow(load4(left), load4(left + UPPER_OFFSET), right)
    put(boxes + node * BOX_BYTES, lower, upper)


# ------------------------------------------------------------------------------------------------------------ the order


@compiled
def _measure(box: Any, area: Any) -> None:
    """Writes half of the surface of every box."""
    for node in range(len(area)):
        area[node] = half_area_of(address(box) + node * BOX_BYTES)


@compiled
def _depth(children: Any) -> int:
    """Returns the depth of the tree, or if it is more than `MAX_DEPTH`, one more."""
    stack = np.zeros((MAX_DEPTH + 3, 2), np.int64)  # a node, and its depth
    waiting, deepest = 1, 0
    while waiting > 0 and deepest <= MAX_DEPTH:
        waiting -= 1
        node, depth = stack[waiting]
        deepest = max(deepest, depth)
        if children[node, 0] > 0:
            for side in range(2):
                stack[waiting + side, 0], stack[waiting + side, 1] = children[node, side], depth + 1
            waiting += 2
    return deepest


@compiled
def _number(nodes: Any, numbered: Any, old: Any) -> None:
    """Numbers nodes depth first, siblings side by side, and leaf indices from left to right.

    numbered: `_Nodes`, zeros, written but for its boxes.
    old: (n,) int32, zeros, written: which node has become each.
    """
    stack = np.zeros(MAX_DEPTH + 3, np.int64)
    waiting, count, leaf_indices = 1, 1, 0
    while waiting > 0:
        waiting -= 1
        number = stack[waiting]
        node = old[number]
        left, right = nodes.children[node]
        if left <= 0:
            numbered.children[number, 0], numbered.children[number, 1] = ~leaf_indices, right
            for k in range(right):
                numbered.order[leaf_indices + k] = nodes.order[~left + k]
            leaf_indices += right
            continue
        for side in range(2):
            old[count + side] = nodes.children[node, side]
            numbered.children[number, side], numbered.parent[count + side] = count + side, number
            stack[waiting + 1 - side] = count + side
        waiting += 2
        count += 2


@compiled
def _rearrange(box: Any, old: Any, is_done: Any) -> None:
    """Moves boxes to where their nodes are now, one round of those that take each other's places after the other.

    old: (n,) int32, which node has become each.
    is_done: (n,) bool, False, written.
    """
    boxes = address(box)
    for start in range(len(old)):
        if is_done[start]:
            continue
        lower, upper = load4(boxes + start * BOX_BYTES), load4(boxes + start * BOX_BYTES + UPPER_OFFSET)
        node = np.int64(start)
        is_done[node] = True
        while old[node] != start:
            source = boxes + old[node] * BOX_BYTES
            put(boxes + node * BOX_BYTES, load4(source), load4(source + UPPER_OFFSET))
            node = np.int64(old[node])
            is_done[node] = True
        put(boxes + node * BOX_BYTES, lower, upper)
