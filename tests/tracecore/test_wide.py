"""Collapse to wide trees, and the bytes of the 8-wide one."""

from collections.abc import Callable
from functools import cache
from itertools import permutations

import numpy as np
import pytest

from tracecore.bvh.binned_sah import build
from tracecore.bvh.optimal_collapse import optimal_collapse
from tracecore.bvh.tree import MAX_DEPTH, BinaryTree
from tracecore.bvh.wide import EMPTY, WideTree, collapse, sah_cost, stack_need
from tracecore.layout.bvh8 import BLOCK, WIDTH, pack
from tracecore.precision import padded
from tracecore.rays import Floats

WAYS = [collapse, optimal_collapse]


def soup(count: int, seed: int = 2) -> Floats:
    random = np.random.default_rng(seed)
    return (random.random((count, 1, 3)) + 0.1 * random.random((count, 3, 3))).astype(np.float32)


def tree_of(child: list[int], length: list[float]) -> BinaryTree:
    """A tree of one triangle per leaf. child: left child of every node, 0 in leaves; length: of every box, which is 1
    wide and high."""
    first = np.zeros(len(child), np.int32)
    to_visit, leaf_indices = [0], 0
    while to_visit:
        node = to_visit.pop()
        if child[node] > 0:
            to_visit += [child[node] + 1, child[node]]
        else:
            first[node] = leaf_indices
            leaf_indices += 1
    return BinaryTree(
        lower=np.zeros((len(child), 3), np.float32),
        upper=np.array([[x, 1, 1] for x in length], np.float32),
        child=np.int32(child),  # type: ignore[arg-type]
        first=first,
        count=(np.int32(child) == 0).astype(np.int32),  # type: ignore[arg-type]
        order=np.arange(leaf_indices, dtype=np.uint32),
        build_seconds=0.0,
    )


def chain(levels: int) -> BinaryTree:
    """Of every two siblings the left one is a leaf."""
    node = np.arange(2 * levels + 1)
    inner = (node % 2 == 0) & (node < 2 * levels)
    return tree_of(np.where(inner, node + 1, 0).tolist(), np.where(node % 2, 0.01, 0.9 ** (node / 2)).tolist())


def leaf_indices(wide: WideTree) -> list[int]:
    is_leaf = (wide.binary != EMPTY) & (wide.wide == EMPTY)
    return [
        leaf_index
        for first, count in zip(wide.first[is_leaf], wide.count[is_leaf], strict=True)
        for leaf_index in range(first, first + count)
    ]


def assert_sound(wide: WideTree, triangles: int, width: int, max_leaf: int) -> None:
    assert wide.binary.shape == (len(wide.wide), width)
    assert sorted(leaf_indices(wide)) == list(range(triangles))
    parent, child_index = np.nonzero(wide.wide != EMPTY)
    linked = wide.wide[parent, child_index]
    assert sorted(linked) == list(range(1, len(wide.wide)))
    assert (linked > parent).all()
    assert np.array_equal(wide.count[linked].sum(axis=1), wide.count[parent, child_index])
    filled = wide.binary != EMPTY
    assert (filled[:, 1:] <= filled[:, :-1]).all()
    assert wide.count[filled & (wide.wide == EMPTY)].max(initial=0) <= max_leaf


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("width", [2, 4, 8])
@pytest.mark.parametrize("count", [0, 1, 4, 5, 9, 100, 2000])
def test_every_slot_is_in_one_leaf_and_every_node_has_one_parent(count, width, way):
    assert_sound(way(build(soup(count)), width=width, max_leaf=4), count, width, 4)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("width", [2, 4, 8])
def test_deepest_chain(width: int, way: Callable[..., WideTree]) -> None:
    wide = way(chain(MAX_DEPTH), width=width, max_leaf=1)
    assert_sound(wide, MAX_DEPTH + 1, width, 1)
    assert wide.depth == np.ceil(MAX_DEPTH / (width - 1))
    assert stack_need(wide) == MAX_DEPTH + 1  # all leaves below the deepest one


def test_the_largest_surface_is_opened_first() -> None:
    """Of the root's children 1 (area 2) and 2 (area 3), only the larger one has room to be opened in a width of 3."""
    wide = collapse(tree_of([1, 3, 5, 0, 0, 0, 0], [4, 2, 3, 1, 1, 1, 1]), width=3, max_leaf=1)
    assert sorted(wide.binary[0]) == [1, 5, 6]
    assert wide.depth == 2


def test_cost_of_a_known_tree() -> None:
    """Half areas are 1 + 2 * length: the root's is 9; node 2 of half area 7 is the only one below, with two leaves."""
    tree = tree_of([1, 0, 3, 0, 0], [4, 2, 3, 1, 0.5])
    cost = sah_cost(tree, collapse(tree, width=2, max_leaf=1), triangle_cost=0.5)
    assert cost == pytest.approx((9 + 7 + 0.5 * (5 + 3 + 2)) / 9)


def most_entries(wide: WideTree) -> int:
    """Plays every traversal: any children of a node in any order. The entries are nodes, or `EMPTY` for leaves."""

    @cache
    def most(stack: tuple[int, ...]) -> int:
        if not stack:
            return 0
        children: list[int] = []
        if stack[-1] != EMPTY:
            children = wide.wide[stack[-1]][wide.binary[stack[-1]] != EMPTY].tolist()
        pushed = {order for k in range(len(children) + 1) for order in permutations(children, k)}
        return max(len(stack), *(most(stack[:-1] + order) for order in pushed))

    return most((0,))


@pytest.mark.parametrize("width", [2, 3, 4])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 8, 11])
def test_stack_need_is_that_of_the_worst_order(count: int, width: int) -> None:
    wide = collapse(build(soup(count, seed=count), max_leaf=1), width=width, max_leaf=1)
    assert stack_need(wide) == most_entries(wide)


def _packed_arguments(triangles: Floats) -> tuple[BinaryTree, WideTree, Floats]:
    tree = build(triangles, max_leaf=BLOCK)
    return tree, collapse(tree, width=WIDTH, max_leaf=BLOCK), triangles


@pytest.mark.parametrize("count", [0, 1, 8, 9, 1000])
def test_packed_boxes_hold_the_triangles_below(count: int) -> None:
    triangles = soup(count)
    packed = pack(*_packed_arguments(triangles))
    seen: list[int] = []

    def visit(node: int, depth: int) -> int:
        """Checks a node; returns the most stack entries needed below, counted by hand."""
        entries = 0
        for child_index in range(WIDTH):
            record = packed.nodes[node]
            lower, upper, child = (
                record["lower"][:, child_index],
                record["upper"][:, child_index],
                int(record["child"][child_index]),
            )
            if np.isinf(lower).any():
                assert (lower > upper).all()
                continue
            entries += 1
            if child >= 0:
                continue
            block = packed.blocks[~child]
            real = ~np.isnan(block["corner"][0, 0])
            assert np.array_equal(block["corner"][:, :, real].transpose(2, 0, 1), triangles[block["prim_id"][real]])
            corners = block["corner"][:, :, real]
            assert np.array_equal(padded(corners.min(axis=(0, 2)), corners.max(axis=(0, 2))), (lower, upper))
            seen.extend(block["prim_id"][real].tolist())
        inner = [int(child) for child in packed.nodes[node]["child"] if child > 0]
        return max([entries, *(entries - 1 + visit(child, depth + 1) for child in inner)])

    assert visit(0, 1) <= packed.stack
    assert sorted(seen) == list(range(count))


def test_cost_of_points() -> None:
    """No area to weigh by: all is visited."""
    tree = build(np.zeros((8, 3, 3), np.float32), max_leaf=1)
    assert sah_cost(tree, collapse(tree, width=4, max_leaf=2)) == pytest.approx(1 + 0.3 * 8)
