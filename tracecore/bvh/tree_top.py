"""Cuts the top off a tree, where its nodes are large, and puts what hangs below it under another top.

Most of what a tree costs, and of what can be gained, is in few large nodes. Whoever changes these alone need not touch
the others: a subtree is moved as a whole, node by node and triangle by triangle in the same order.
"""

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tracecore.bvh.tree import MAX_DEPTH, BinaryTree
from tracecore.compilation.cached import compiled, inlined

Ints = npt.NDArray[np.int32]


class Top(NamedTuple):
    """Holds the top of a tree. Node 0 is the root, and the next two are its children.

    box: (m, 8) float32, as in `boxes`.
    children: (m, 2) int32; of a hanging subtree ~node, which was its root in the tree, and how many levels are below.
    parent: (m,) int32.
    """

    box: Any
    children: Any
    parent: Any

    def copy(self) -> Self:
        """Returns the same in memory of its own."""
        return type(self)(*(column.copy() for column in self))


def top_of(tree: BinaryTree, least_share: float) -> tuple[Top, float]:
    """Returns the top of a tree, and half of the surface of a box, the mean of all of the tree.

    tree: as builders number it: nodes depth first, siblings side by side, and leaf indices from left to right.
    least_share: a node hangs from the top with all below it where its surface is not above so many times that mean.
    """
    height = np.zeros(len(tree.child), np.uint8)
    mean_area = _measure(tree.lower, tree.upper, tree.child, height) / len(height)
    old, child = np.zeros(len(height), np.int32), np.zeros(len(height), np.int32)
    count = _walk_top(tree.lower, tree.upper, tree.child, least_share * mean_area, old, child)
    old, child = old[:count], child[:count]
    box, parent = np.zeros((count, 8), np.float32), np.zeros(count, np.int32)
    box[:, 0:3], box[:, 4:7] = tree.lower[old], tree.upper[old]
    inner = np.flatnonzero(child)
    parent[child[inner]] = parent[child[inner] + 1] = inner
    children = np.where(child > 0, (child, child + 1), (~old, height[old])).T
    return Top(box, np.ascontiguousarray(children), parent), mean_area


@compiled
def _measure(lower: Any, upper: Any, child: Any, height: Any) -> float:
    """Writes how many levels are below each node. Returns half of the surface of all boxes."""
    area = 0.0
    for node in range(len(child) - 1, -1, -1):
        area += _half_area(lower, upper, node)
        left = child[node]
        if left > 0:
            height[node] = 1 + max(height[left], height[left + 1])
    return area


@inlined
def _half_area(lower: Any, upper: Any, node: int) -> float:
    x = np.float64(upper[node, 0]) - np.float64(lower[node, 0])
    y = np.float64(upper[node, 1]) - np.float64(lower[node, 1])
    z = np.float64(upper[node, 2]) - np.float64(lower[node, 2])
    return x * y + y * z + z * x


@compiled
def _walk_top(lower: Any, upper: Any, child: Any, limit: float, old: Any, new_child: Any) -> int:
    """Numbers the nodes of the top depth first, siblings side by side. Returns how many there are.

    limit: half of the surface above which a node's children are in the top.
    old, new_child: (n,) int32, zeros, of which the first are written: which node has become each, and its left child in
    the top.
    """
    stack = np.zeros(MAX_DEPTH + 3, np.int64)
    waiting, count = 1, 1
    while waiting > 0:
        waiting -= 1
        number = stack[waiting]
        node = np.int64(old[number])
        if child[node] == 0 or not _half_area(lower, upper, node) > limit:
            continue
        new_child[number] = count
        for side in range(2):
            old[count + side] = child[node] + side
            stack[waiting + 1 - side] = count + side
        waiting += 2
        count += 2
    return count


# ------------------------------------------------------------------------------------------------------- put together


class _Plan(NamedTuple):
    """Says where nodes of a tree and its triangles go.

    number, child, first, count: (m,) int32, which node each of the top becomes, and what `BinaryTree` has of it.
    below: (m, 3) int64, of what hangs from it: the first node below the root, which one that becomes, how many follow.
    leaf_indices: (m, 3) int64, the same of leaf indices.
    """

    number: Any
    child: Any
    first: Any
    count: Any
    below: Any
    leaf_indices: Any

    @classmethod
    def empty(cls, nodes: int) -> Self:
        """Returns zeros."""
        return cls(*np.zeros((4, nodes), np.int32), *np.zeros((2, nodes, 3), np.int64))


def put_under(top: Top, tree: BinaryTree) -> BinaryTree:
    """Returns a tree under another top, numbered as `top_of` takes it.

    top: from `top_of`, changed, with the same subtrees hanging from it.
    tree: the one that it was the top of.
    """
    lower, upper, child, first, count, order = tree.lower, tree.upper, tree.child, tree.first, tree.count, tree.order
    block, build_seconds = tree.triangle_block, tree.build_seconds
    del tree  # its arrays are given back one by one
    plan = _Plan.empty(len(top.parent))
    _make_plan(top, child, first, count, plan)
    new_child, new_first = _moved_links(child, first, plan)
    del child, first
    new_count = _moved(count, plan.below, plan.number, plan.count)
    del count
    new_lower = _moved(lower, plan.below, plan.number, top.box[:, 0:3])
    del lower
    new_upper = _moved(upper, plan.below, plan.number, top.box[:, 4:7])
    del upper
    return BinaryTree(
        lower=new_lower,
        upper=new_upper,
        child=new_child,
        first=new_first,
        count=new_count,
        order=_moved(order, plan.leaf_indices),
        triangle_block=block,
        build_seconds=build_seconds,
    )


@compiled
def _make_plan(top: Any, child: Any, first: Any, count: Any, plan: Any) -> None:
    """Numbers nodes depth first, siblings side by side, and leaf indices from left to right.

    child, first, count: of the tree, as in `BinaryTree`.
    plan: `_Plan`, zeros, written.
    """
    stack = np.zeros(MAX_DEPTH + 3, np.int64)
    waiting, nodes, leaf_indices = 1, 1, 0
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        left, right = np.int64(top.children[node, 0]), np.int64(top.children[node, 1])
        if left > 0:
            plan.child[node], plan.number[left], plan.number[right] = nodes, nodes, nodes + 1
            stack[waiting], stack[waiting + 1] = right, left
            waiting += 2
            nodes += 2
            continue
        root = ~left
        below, leaf_index, triangles = _extent(child, first, count, root)
        plan.below[node, 0], plan.below[node, 1], plan.below[node, 2] = child[root], nodes, below
        plan.leaf_indices[node, 0], plan.leaf_indices[node, 1] = leaf_index, leaf_indices
        plan.leaf_indices[node, 2] = triangles
        if below > 0:
            plan.child[node] = nodes
        else:
            plan.first[node], plan.count[node] = leaf_indices, triangles
        nodes += below
        leaf_indices += triangles


@inlined
def _extent(child: Any, first: Any, count: Any, root: int) -> Any:
    """Returns how many nodes are below a root, the first leaf index there, and how many there are."""
    left = right = last = np.int64(root)
    below = np.int64(0)
    while child[left] > 0:
        left = np.int64(child[left])
    while child[right] > 0:
        right = np.int64(child[right]) + 1
    while child[last] > 0:
        below = child[last] + 2 - np.int64(child[root])
        last = np.int64(child[last]) + (1 if child[child[last] + 1] > 0 else 0)
    return below, np.int64(first[left]), np.int64(first[right]) + count[right] - first[left]


def _moved(column: Any, runs: Any, number: Any = (), rows: Any = ()) -> Any:
    """Returns a column of `BinaryTree` in another order.

    column: (n,) or (n, 3).
    runs: (m, 3) int64, from where, to where, and how many rows.
    number, rows: (m,) int32, which are others, and they.
    """
    moved = np.empty_like(column)
    width = column.size // max(len(column), 1)
    _move_runs(column.reshape(-1), runs * width, moved.reshape(-1))
    moved[np.asarray(number, np.intp)] = rows
    return moved


@compiled
def _move_runs(column: Any, runs: Any, moved: Any) -> None:
    for run in range(len(runs)):
        source, target, length = runs[run, 0], runs[run, 1], runs[run, 2]
        for i in range(length):
            moved[target + i] = column[source + i]


def _moved_links(child: Ints, first: Ints, plan: _Plan) -> tuple[Ints, Ints]:
    """Returns these columns of `BinaryTree` in another order, with what they refer to."""
    new_child, new_first = np.empty_like(child), np.empty_like(first)
    _move_links(child, first, plan, new_child, new_first)
    new_child[plan.number], new_first[plan.number] = plan.child, plan.first
    return new_child, new_first


@compiled
def _move_links(child: Any, first: Any, plan: Any, new_child: Any, new_first: Any) -> None:
    for run in range(len(plan.number)):
        source, target, length = plan.below[run, 0], plan.below[run, 1], plan.below[run, 2]
        nodes, leaf_indices = target - source, plan.leaf_indices[run, 1] - plan.leaf_indices[run, 0]
        for i in range(length):
            left = child[source + i]
            new_child[target + i] = left + nodes if left > 0 else 0
            new_first[target + i] = 0 if left > 0 else first[source + i] + leaf_indices
