"""The collapse of least cost, against every other one."""

from itertools import product

import numpy as np
import pytest

from tracecore.bvh.binned_sah import build
from tracecore.bvh.optimal_collapse import optimal_collapse
from tracecore.bvh.tree import BinaryTree
from tracecore.bvh.wide import collapse, sah_cost
from tracecore.rays import Floats


def soup(count: int, seed: int) -> Floats:
    random = np.random.default_rng(seed)
    return (random.random((count, 1, 3)) + 0.3 * random.random((count, 3, 3))).astype(np.float32)


def least_cost(tree: BinaryTree, width: int, max_leaf: int, triangle_cost: float) -> float:
    """Tries every use of every inner node: its child is opened, or it is a wide node, or a leaf. The root is a node."""
    area, inner = tree.half_area, np.flatnonzero(~tree.is_leaf)

    def children_and_cost(node: int, uses: dict[int, str]) -> tuple[int, float, int]:
        """Lanes that a node takes in its parent, the cost of all below, and its triangles."""
        if tree.is_leaf[node]:
            return 1, area[node] * tree.count[node] * triangle_cost, tree.count[node]
        below = [children_and_cost(tree.child[node] + side, uses) for side in range(2)]
        node_children, cost, count = (sum(values) for values in zip(*below, strict=True))
        if uses[node] == "opened":
            return node_children, cost, count
        if uses[node] == "leaf":
            return 1, area[node] * count * triangle_cost if count <= max_leaf else np.inf, count
        return 1, area[node] + cost if node_children <= width else np.inf, count

    uses = [["node"], *[["opened", "node", "leaf"]] * (len(inner) - 1)]
    return float(min(children_and_cost(0, dict(zip(inner, use, strict=True)))[1] for use in product(*uses)) / area[0])


@pytest.mark.parametrize("count", [3, 7])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("triangle_cost", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("max_leaf", [1, 3])
@pytest.mark.parametrize("width", [2, 3, 4])
def test_no_collapse_costs_less(width: int, max_leaf: int, triangle_cost: float, seed: int, count: int) -> None:
    tree = build(soup(count, seed), max_leaf=1)
    wide = optimal_collapse(tree, width=width, max_leaf=max_leaf, triangle_cost=triangle_cost)
    found = sah_cost(tree, wide, triangle_cost=triangle_cost)
    assert found == pytest.approx(least_cost(tree, width, max_leaf, triangle_cost))


@pytest.mark.parametrize("build_leaf", [1, 4])
@pytest.mark.parametrize("width", [3, 4, 8])
def test_it_beats_the_largest_surface_first(width: int, build_leaf: int) -> None:
    tree = build(soup(3000, 5), max_leaf=build_leaf)
    largest_first = collapse(tree, width=width, max_leaf=3)
    assert sah_cost(tree, optimal_collapse(tree, width=width)) < sah_cost(tree, largest_first)
