"""Trees that are built from the triangles up. What all builders promise is in test_builder."""

from dataclasses import fields
from unittest.mock import Mock

import numpy as np
import pytest
from test_builder import TRIANGLES, check_soundness, depths, points_at, soup

import scenes
from tracecore.bvh import binned_sah, ploc
from tracecore.bvh.tree import BinaryTree
from tracecore.rays import Floats


def same(one: BinaryTree, other: BinaryTree) -> bool:
    names = [field.name for field in fields(one) if field.name != "build_seconds"]
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


@pytest.mark.parametrize(("max_leaf", "triangle_block"), [(4, 1), (8, 8), (32, 32), (20, 3)])
@pytest.mark.parametrize("name", TRIANGLES)
def test_leaves_of_any_size_make_sound_trees(name: str, max_leaf: int, triangle_block: int) -> None:
    triangles = TRIANGLES[name]
    check_soundness(ploc.build(triangles, max_leaf=max_leaf, triangle_block=triangle_block), triangles, max_leaf)


def test_threads_do_not_change_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ploc, "CHUNK", 64)
    trees = [ploc.build(soup(3000), threads=threads) for threads in (1, 2, 5)]
    assert same(trees[0], trees[1])
    assert same(trees[0], trees[2])


def test_the_curve_goes_by_the_bits_of_all_coordinates() -> None:
    places = np.random.default_rng(3).integers(0, 256, (50, 3))
    centres = ((places + 0.5) / 256).T.astype(np.float32)
    words = ["".join(a + b + c for a, b, c in zip(*(f"{one:08b}" for one in place), strict=True)) for place in places]
    assert (ploc._curve(np.concatenate([centres, centres])) >> np.uint64(39)).tolist() == [int(w, 2) for w in words]


def pairs_by_hand(triangles: Floats) -> set[frozenset[int]]:
    """Indices of triangles that find each other among all others: the surface around both is the least for both."""
    lower, upper = triangles.min(axis=1).astype(float), triangles.max(axis=1).astype(float)
    x, y, z = np.moveaxis(np.maximum(upper[:, None], upper) - np.minimum(lower[:, None], lower), -1, 0)
    area = x * y + y * z + z * x
    np.fill_diagonal(area, np.inf)
    nearest = area.argmin(axis=1)
    return {frozenset((i, int(j))) for i, j in enumerate(nearest) if nearest[j] == i}


def test_the_first_round_joins_those_that_are_nearest_to_each_other() -> None:
    triangles = soup(ploc.RADIUS)  # all are neighbours
    tree = ploc.build(triangles, max_leaf=1)
    left = tree.child[(tree.child > 0) & ~tree.is_leaf]
    of_leaves = [k for k in left if tree.is_leaf[k] and tree.is_leaf[k + 1]]
    joined = {frozenset(tree.order[tree.first[[k, k + 1]]].tolist()) for k in of_leaves}
    assert len(pairs_by_hand(triangles)) > 2
    assert pairs_by_hand(triangles) <= joined


def test_equal_boxes_make_a_tree_of_the_least_depth() -> None:
    assert max(depths(ploc.build(np.ones((1024, 3, 3), np.float32), max_leaf=1))) == 10


def test_leaves_are_where_they_cost_least() -> None:
    """Four triangles in two far places: two leaves, though four would fit into one."""
    near = np.repeat(soup(1), 2, axis=0)
    tree = ploc.build(np.concatenate([near, near + np.float32(10.0)]), max_leaf=4)
    assert tree.count.tolist() == [0, 2, 2]
    assert len(ploc.build(soup(4, 0.01) * 0.0 + soup(1), max_leaf=4).child) == 1


def test_few_rounds_are_needed_where_few_find_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Along a line of growing steps each would be joined with the one before it, a pair in a round."""
    steps = points_at((1.01 ** np.arange(1500.0))[:, None] * np.ones(3))
    joins = Mock(wraps=ploc._join)
    monkeypatch.setattr(ploc, "_join", joins)
    ploc.build(steps)
    assert joins.call_count < 100


def test_a_tree_that_would_be_too_deep_is_binned() -> None:
    triangles = points_at((1.5 ** -np.arange(150.0))[:, None] * np.ones(3))
    tree = ploc.build(triangles, max_leaf=1)
    check_soundness(tree, triangles, 1)
    assert same(tree, binned_sah.build(triangles, max_leaf=1))


def test_a_tree_costs_less_than_that_of_bins_where_things_are_far_apart() -> None:
    triangles = scenes.load("stress:20k").at(0.0).positions
    assert ploc.build(triangles).sah_cost < 0.8 * binned_sah.build(triangles).sah_cost
