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
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tracecore.bvh.boxes import BOX_BYTES, UPPER_OFFSET, grow, half_area, put
from tracecore.bvh.tree import MAX_DEPTH, BinaryTree
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.vector import address, load4, splat4
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
    node = np.arange(TOP, len(tree.child), dtype=np.int32)
    with ThreadPoolExecutor(threads or usable_cores()) as pool:
        for _ in range(MOST_ROUNDS):
            nodes = _linked(tree)
            before = nodes.area.sum()
            is_near = _move_best(nodes, node, pool.map)
            if not nodes.area.sum() < (1.0 - LEAST_GAIN) * before:
                break
            better, old = _numbered(tree, nodes)
            if better is None:
                break
            tree, node = better, TOP + np.flatnonzero(is_near[old][TOP:]).astype(np.int32)
    return replace(tree, build_seconds=tree.build_seconds + time.perf_counter() - start)


class _Nodes(NamedTuple):
    """Holds a tree whose nodes may be moved.

    box: (n, 8) float32, as in `boxes`.
    area: (n,) float64, half of the surface.
    children: (n, 2) int32, both 0 in a leaf.
    parent: (n,) int32.
    """

    box: Any
    area: Any
    children: Any
    parent: Any


class _Moves(NamedTuple):
    """Says where subtrees should go: node, target: (m,) int32; gain: (m,) float64, by how much all half areas shrink
    together. A subtree becomes the sibling of its target.
    """

    node: Any
    target: Any
    gain: Any


class _Leaves(NamedTuple):
    """Holds the leaves: first, count: (n,) int32; order: (t,) uint32, as in `BinaryTree`."""

    first: Any
    count: Any
    order: Any


def _move_best(nodes: _Nodes, node: Ints, each: Callable[..., Any]) -> Flags:
    """Moves the subtrees that gain most. Returns which ones are worth a search in the next round, (n,) bool.

    node: (m,) int32, the subtrees to search places for.
    each: maps over chunks of moves, by threads.
    """
    moves = _Moves(node, np.zeros_like(node), np.zeros(len(node)))
    chunks = (_Moves(*(column[at : at + CHUNK] for column in moves)) for at in range(0, len(node), CHUNK))
    list(each(lambda chunk: _find_targets(nodes, chunk), chunks))
    found = np.flatnonzero(moves.gain > 0.0)
    found = found[np.argsort(-moves.gain[found], kind="stable")]
    is_moved = np.zeros(len(nodes.area), np.bool_)
    _move_all(nodes, node[found], moves.target[found], is_moved)
    is_near = _near(nodes, is_moved)
    is_near[node[found]] = True
    return is_near


def _near(nodes: _Nodes, is_moved: Flags) -> Flags:
    """Returns which nodes are moved ones, their parents or their children, (n,) bool."""
    is_near = is_moved.copy()
    is_near[nodes.parent[is_moved]] = True
    is_near[nodes.children[is_moved]] = True
    return is_near


def _linked(tree: BinaryTree) -> _Nodes:
    inner = np.flatnonzero(tree.child)
    left = tree.child[inner]
    children, parent = np.zeros((len(tree.child), 2), np.int32), np.zeros_like(tree.child)
    children[inner, 0], children[inner, 1] = left, left + 1
    parent[left] = parent[left + 1] = inner
    box = np.zeros((len(tree.child), 8), np.float32)
    box[:, 0:3], box[:, 4:7] = tree.lower, tree.upper
    return _Nodes(box, tree.half_area, children, parent)


def _numbered(tree: BinaryTree, nodes: _Nodes) -> tuple[BinaryTree | None, Ints]:
    """Returns the tree of moved nodes, numbered as by a builder, or None where it is too deep; and which node has
    become each, (n,) int32.
    """
    leaves = _Leaves(tree.first, tree.count, tree.order)
    numbered = _Leaves(*(np.zeros_like(column) for column in leaves))
    old, child = np.zeros_like(tree.child), np.zeros_like(tree.child)
    if _number(nodes.children, leaves, numbered, old, child) > MAX_DEPTH:
        return None, old
    lower, upper = (np.ascontiguousarray(nodes.box[old, k : k + 3]) for k in (0, 4))
    return replace(tree, lower=lower, upper=upper, child=child, **numbered._asdict()), old


# ----------------------------------------------------------------------------------------------------------- the search


@compiled
def _find_targets(nodes: Any, moves: Any) -> None:
    """Finds the best target of each subtree, and the gain."""
    stack = np.empty(MAX_DEPTH + 2, np.int64), np.empty(MAX_DEPTH + 2)  # a node, and the gain before it
    boxes = address(nodes.box)
    for i in range(len(moves.node)):
        node = moves.node[i]
        parent, at = nodes.parent[node], node
        gain, best, target = nodes.area[parent], 0.0, NOWHERE
        lower, upper = splat4(np.inf), splat4(-np.inf)  # of an ancestor's box without the subtree
        while at != 0:  # up to the root, from each ancestor down on its other side
            other = _sibling(nodes, at)
            if at != node and at != parent:
                gain -= half_area(lower, upper)
                if gain > best:  # beside the ancestor, in a box as large as that is
                    best, target = gain, at
                gain += nodes.area[at]
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
    (best, target), area = found, nodes.area[node]
    places[0], gains[0] = top
    waiting = 1
    while waiting > 0:
        waiting -= 1
        place, gain = places[waiting], gains[waiting]
        if gain - area <= best:  # a box around the subtree is as large at least
            continue
        both = grow(lower, upper, boxes + place * BOX_BYTES)
        gain -= half_area(both[0], both[1])
        if gain > best:
            best, target = gain, place
        gain += nodes.area[place]
        if nodes.children[place, 0] != 0 and gain - area > best:
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
    boxes = address(nodes.box)
    is_done = False
    while not is_done:
        left = boxes + nodes.children[node, 0] * BOX_BYTES
        lower, upper = grow(load4(left), load4(left + UPPER_OFFSET), boxes + nodes.children[node, 1] * BOX_BYTES)
        put(boxes + node * BOX_BYTES, lower, upper)
        nodes.area[node] = half_area(lower, upper)
        is_done = node == 0
        node = nodes.parent[node]


# ------------------------------------------------------------------------------------------------------------ the order


@compiled
def _number(children: Any, leaves: Any, numbered: Any, old: Any, child: Any) -> int:
    """Numbers nodes depth first, siblings side by side, and leaf indices from left to right. Returns the depth of the
    tree, which is more than `MAX_DEPTH` where the rest was left out.

    children: (n, 2) int32.
    leaves, numbered: `_Leaves` before and, written, after it.
    old: (n,) int32, written: which node has become each.
    child: (n,) int32, written, as in `BinaryTree`.
    """
    stack = np.zeros((MAX_DEPTH + 3, 2), np.int32)  # a number, and its depth
    waiting, nodes, leaf_indices, deepest = 1, 1, 0, 0
    while waiting > 0 and deepest <= MAX_DEPTH:
        waiting -= 1
        number, depth = stack[waiting]
        node = old[number]
        deepest = max(deepest, depth)
        if children[node, 0] == 0:
            first, count = leaves.first[node], leaves.count[node]
            numbered.first[number], numbered.count[number] = leaf_indices, count
            for k in range(count):
                numbered.order[leaf_indices + k] = leaves.order[first + k]
            leaf_indices += count
            continue
        child[number] = nodes
        for side in range(2):
            old[nodes + side] = children[node, side]
            stack[waiting + 1 - side, 0], stack[waiting + 1 - side, 1] = nodes + side, depth + 1
        waiting += 2
        nodes += 2
    return deepest
