"""Makes a tree cheaper by the surface area heuristic: subtrees are taken out and put back where they cost least.

After Meister, Bittner: Parallel Reinsertion for Bounding Volume Hierarchy Optimization, 2018: in a round the best place
of every subtree is found in the same tree, by all threads. Then they are moved, those that gain most first, if they
still gain after the moves before. The search goes by Bittner, Hapala, Havran: Fast Insertion-Based Optimization of
Bounding Volume Hierarchies, 2013: a branch is left where its ancestors alone would cost more than the best place found.
As there, only a part of the subtrees is searched for: those in the top of the tree (`tree_top`), which hold nearly all
that can be gained.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tracecore.bvh import binned_sah
from tracecore.bvh.boxes import BOX_BYTES, UPPER_OFFSET, grow, half_area, put
from tracecore.bvh.tree import MAX_DEPTH, BinaryTree
from tracecore.bvh.tree_top import Top, put_under, top_of
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.vector import address, greatest, least, less, load4, splat4
from tracecore.rays import Floats
from tracecore.threads import usable_cores

#: Subtrees are moved within the top of a tree: they and their new siblings have parents whose surface is above so many
#: times the mean of all boxes. Where it is above the second number, a place is searched for in every round.
LEAST_SHARE, LARGE_SHARE = 0.5, 16.0

#: Rounds at most, and the share of the cost that a round must gain for another one to follow.
MOST_ROUNDS, LEAST_GAIN = 32, 0.0005

#: A subtree is moved if, after the moves before it, it gains so much of what the search has found.
KEPT_GAIN = 0.5

#: Nodes that a thread takes at a time.
CHUNK = 2048

#: Target of a subtree that is best where it is.
NOWHERE = 0

#: What is gained with less than so much of the root's surface may be lost in the rounding of sums.
NEGLIGIBLE = 1e-9

Flags = npt.NDArray[np.bool_]


def build(triangles: Floats, *, max_leaf: int, triangle_block: int) -> BinaryTree:
    """Returns the tree of `binned_sah.build`, which takes the same, made cheaper."""
    return reinserted(binned_sah.build(triangles, max_leaf=max_leaf, triangle_block=triangle_block))


def reinserted(tree: BinaryTree, *, threads: int | None = None) -> BinaryTree:
    """Returns a tree of the same leaves whose `sah_cost` is at most that of the tree, and whose depth is at most
    `MAX_DEPTH`.

    The same tree gives the same one, for any number of threads.

    tree: as a builder made it, numbered as `top_of` takes it.
    threads: that search; by default all usable cores.
    """
    start, build_seconds = time.perf_counter(), tree.build_seconds
    top, mean_area = top_of(tree, LEAST_SHARE)
    handed_on = [tree]
    if _improve(top, mean_area, len(tree.child), threads or usable_cores()):
        del tree  # so that its arrays can be given back one by one
        handed_on.append(put_under(top, handed_on.pop()))
    return replace(handed_on.pop(), build_seconds=build_seconds + time.perf_counter() - start)


def _improve(top: Top, mean_area: float, nodes: int, threads: int) -> bool:
    """Moves subtrees in the top of a tree. Returns whether there was one to be moved.

    mean_area: half of the surface of a box, the mean of all of the tree.
    nodes: how many nodes the tree has.
    """
    area = before = nodes * mean_area
    is_searched = np.ones(len(top.parent), np.bool_)
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(MOST_ROUNDS):
            moves = _found_moves(top, is_searched, pool.map)
            is_searched[:] = False
            gain = _move_all(top, moves, MAX_DEPTH, is_searched)
            area -= gain
            if not gain > LEAST_GAIN * area:
                break
            is_searched[moves.node] = True
            del moves
            _mark_large(top, LARGE_SHARE * mean_area, is_searched)
    return area < before


class _Moves(NamedTuple):
    """Says where subtrees should go: node, target: (m,) int32; gain: (m,) float64, by how much all half areas shrink
    together. A subtree becomes the sibling of its target.
    """

    node: Any
    target: Any
    gain: Any


_NO_MOVES = _Moves(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0))


def _found_moves(top: Top, is_searched: Flags, each: Callable[..., Any]) -> _Moves:
    """Returns which subtrees should go beside which nodes, the greatest gain first.

    is_searched: (m,) bool, the subtrees to search places for.
    each: maps over pieces of them, by threads.
    """
    pieces = each(partial(_found_in, top, is_searched), range(0, len(is_searched), CHUNK))
    moves = _Moves(*(np.concatenate(columns) for columns in zip(_NO_MOVES, *pieces, strict=True)))
    by_gain = np.argsort(-moves.gain, kind="stable")
    return _Moves(*(column[by_gain] for column in moves))


def _found_in(top: Top, is_searched: Flags, first: int) -> _Moves:
    """Returns the same of one piece, in the order of the nodes."""
    node = first + np.flatnonzero(is_searched[first : first + CHUNK]).astype(np.int32)
    moves = _Moves(node, np.zeros_like(node), np.zeros(len(node)))
    _find_targets(top, moves)
    is_found = moves.gain > 0.0
    return _Moves(*(column[is_found] for column in moves))


# ----------------------------------------------------------------------------------------------------------- the search


@compiled
def _find_targets(nodes: Any, moves: Any) -> None:
    """Finds the best target of each subtree, and the gain.

    moves: `_Moves`, of targets `NOWHERE` and gains of 0, written.
    """
    stack = np.empty(MAX_DEPTH + 2, np.int64), np.empty(MAX_DEPTH + 2)  # a node, and the gain before it
    boxes = address(nodes.box)
    negligible = NEGLIGIBLE * nodes.area[0]
    for i in range(len(moves.node)):
        node = moves.node[i]
        parent, at = nodes.parent[node], node
        if parent == 0:  # the root and its children have no other place
            continue
        gain, best, target = nodes.area[parent], negligible, NOWHERE
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
        moves.target[i], moves.gain[i] = target, best if target != NOWHERE else 0.0


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
        low, high = load4(boxes + place * BOX_BYTES), load4(boxes + place * BOX_BYTES + UPPER_OFFSET)
        gain -= half_area(least(lower, low), greatest(upper, high))
        if gain > best:
            best, target = gain, place
        gain += nodes.area[place]
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
def _move_all(nodes: Any, moves: Any, most_depth: int, is_near: Any) -> float:
    """Moves subtrees in order, but for those that gain too little after the moves before them, or would be too deep.
    Returns by how much all half areas have shrunk together.

    moves: `_Moves`, the greatest gain first.
    most_depth: of the tree.
    is_near: (n,) bool, written: True of nodes that get another parent or child, and of their parents and children.
    """
    gain = 0.0
    for i in range(len(moves.node)):
        subtree, place = np.int64(moves.node[i]), np.int64(moves.target[i])
        parent, beside = np.int64(nodes.parent[subtree]), np.int64(nodes.parent[place])
        depth, is_inside = _depth(nodes, place, subtree)
        if parent == 0 or place == parent or beside == parent or is_inside:
            continue
        if depth + 1 + max(nodes.height[subtree], nodes.height[place]) > most_depth:
            continue
        sibling = _sibling(nodes, subtree)
        change = _move(nodes, subtree, place)
        if -change >= KEPT_GAIN * moves.gain[i]:
            gain -= change
            for changed in (subtree, sibling, parent, place, beside, np.int64(nodes.parent[sibling])):
                _mark_around(nodes, changed, is_near)
        else:
            _move(nodes, subtree, sibling)
    return gain


@inlined
def _mark_around(nodes: Any, node: int, is_near: Any) -> None:
    """Marks a node, its parent and its children."""
    is_near[node] = is_near[nodes.parent[node]] = True
    if nodes.children[node, 0] > 0:
        is_near[nodes.children[node, 0]] = is_near[nodes.children[node, 1]] = True


@inlined
def _depth(nodes: Any, node: int, other: int) -> Any:
    """Returns how deep in the tree a node is, and whether it is in the subtree of another one."""
    depth, is_inside = 0, node == other
    while node != 0:
        node = nodes.parent[node]
        depth += 1
        is_inside |= node == other
    return depth, is_inside


@inlined
def _move(nodes: Any, node: int, target: int) -> float:
    """Moves a subtree, whose parent, which is not the root, goes with it to be that of the target. Returns by how much
    all half areas have grown together.
    """
    parent, sibling = np.int64(nodes.parent[node]), _sibling(nodes, node)
    grandparent, beside = np.int64(nodes.parent[parent]), np.int64(nodes.parent[target])
    _replace_child(nodes, grandparent, parent, sibling)
    _replace_child(nodes, beside, target, parent)
    _replace_child(nodes, parent, sibling, target)
    growth = _fit(nodes, grandparent)
    change, _ = _fit_one(nodes, parent)
    return growth + change + _fit(nodes, beside)


@inlined
def _replace_child(nodes: Any, parent: int, child: int, other: int) -> None:
    side = 0 if nodes.children[parent, 0] == child else 1
    nodes.children[parent, side] = other
    nodes.parent[other] = parent


@inlined
def _fit(nodes: Any, node: int) -> float:
    """Makes a node and its ancestors fit their children, as far as they change. Returns by how much half areas grow."""
    growth, at, is_done = 0.0, np.int64(node), False
    while not is_done:
        change, is_same = _fit_one(nodes, at)
        growth += change
        is_done = is_same or at == 0
        at = np.int64(nodes.parent[at])
    return growth


@inlined
def _fit_one(nodes: Any, node: int) -> Any:
    """Makes an inner node fit its children. Returns by how much its half area grows, and whether it is the same."""
    boxes = address(nodes.box)
    box = boxes + node * BOX_BYTES
    old_lower, old_upper = load4(box), load4(box + UPPER_OFFSET)
    old_area, old_height = nodes.area[node], nodes.height[node]
    one, other = np.int64(nodes.children[node, 0]), np.int64(nodes.children[node, 1])
    left = boxes + one * BOX_BYTES
    lower, upper = grow(load4(left), load4(left + UPPER_OFFSET), boxes + other * BOX_BYTES)
    put(box, lower, upper)
    nodes.area[node] = half_area(lower, upper)
    nodes.height[node] = 1 + max(nodes.height[one], nodes.height[other])
    differs = less(lower, old_lower) | less(old_lower, lower) | less(upper, old_upper) | less(old_upper, upper)
    return nodes.area[node] - old_area, differs == 0 and nodes.height[node] == old_height


@compiled
def _mark_large(nodes: Any, limit: float, is_searched: Any) -> None:
    """Marks the children of nodes whose half area is above a limit. is_searched: (m,) bool, written."""
    for node in range(len(nodes.parent)):
        if nodes.children[node, 0] > 0 and nodes.area[node] > limit:
            is_searched[nodes.children[node, 0]] = is_searched[nodes.children[node, 1]] = True
