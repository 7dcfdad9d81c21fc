"""Neighbours that are joined. What trees from the triangles up have in common is in test_bottom_up."""

from unittest.mock import Mock

import numpy as np
import pytest
from test_bottom_up import same
from test_builder import points_at, soup

from tracecore.bvh import ploc
from tracecore.rays import Floats


def test_threads_do_not_change_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ploc, "CHUNK", 64)
    trees = [ploc.build(soup(3000), threads=threads) for threads in (1, 2, 5)]
    assert same(trees[0], trees[1])
    assert same(trees[0], trees[2])


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


def test_few_rounds_are_needed_where_few_find_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Along a line of growing steps each would be joined with the one before it, a pair in a round."""
    steps = points_at((1.01 ** np.arange(1500.0))[:, None] * np.ones(3))
    joins = Mock(wraps=ploc._join)
    monkeypatch.setattr(ploc, "_join", joins)
    ploc.build(steps)
    assert joins.call_count < 100
