"""The 4-wide tree as packed for one ray per thread, read back."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from judges import twice_areas

from tracecore.bvh.binned_sah import build
from tracecore.bvh.optimal_collapse import optimal_collapse
from tracecore.bvh.wide import EMPTY
from tracecore.checks.ray_cases import Floats, soup
from tracecore.layout.bvh4 import LEAF_COUNT_BITS, WIDTH, pack
from tracecore.layout.device_layout import PackedTree
from tracecore.precision import padded

LOWER, UPPER, LOWER_AGAIN = range(3)

Doubles = npt.NDArray[np.float64]


class Child(NamedTuple):
    """A child as its parent holds it. link: a node where not negative, else a range of leaf
    indices.
    """

    lower: Doubles
    upper: Doubles
    link: int
    first: int
    count: int  # type: ignore[assignment]


def children(packed: PackedTree, node: int) -> list[Child]:
    record = packed.arrays["nodes"][node]
    lower, upper, again = (record["planes"][:, row].T.astype(np.float64) for row in (LOWER, UPPER, LOWER_AGAIN))
    assert (again == lower).all()
    found = []
    for child_index, link in enumerate(record["child"].tolist()):
        first, count = ~link >> LEAF_COUNT_BITS, ~link & ((1 << LEAF_COUNT_BITS) - 1)
        if link >= 0 or count > 0:
            found.append(Child(lower[child_index], upper[child_index], link, first, count))
    return found


def padded_bounds(packed: PackedTree, some: list[Child]) -> tuple[Floats, Floats]:
    """The box of all triangles of some leaves, with its pad."""
    rows = packed.arrays["triangles"]["rows"]
    corners = np.concatenate([rows[leaf.first : leaf.first + leaf.count]["component"] for leaf in some])
    return padded(corners.min(axis=(0, 2)), corners.max(axis=(0, 2)))


def leaves(packed: PackedTree, node: int = 0) -> list[Child]:
    """All leaves below a node; checks that boxes of inner children are just what is below them, and a pad."""
    found: list[Child] = []
    for child in children(packed, node):
        if child.link < 0:
            found.append(child)
            continue
        below = leaves(packed, child.link)
        lower, upper = padded_bounds(packed, below)
        assert (lower == child.lower).all()
        assert (upper == child.upper).all()
        found += below
    return found


@pytest.mark.parametrize("count", [1, 2, 9, 33, 3000])
def test_walk_finds_every_triangle_once_inside_its_box(count: int) -> None:
    triangles = soup(count)
    packed = pack(build(triangles), triangles)
    leaf_indices = packed.arrays["triangles"]
    seen: list[int] = []
    for leaf in leaves(packed):
        chosen = leaf_indices["rows"][leaf.first : leaf.first + leaf.count]
        corners = chosen["component"].transpose(0, 2, 1)
        assert (corners == triangles[chosen["prim_id"][:, 0]]).all()
        lower, upper = padded_bounds(packed, [leaf])
        assert (leaf.lower == lower).all()
        assert (leaf.upper == upper).all()
        seen.extend(chosen["prim_id"][:, 0].tolist())
    assert sorted(seen) == list(range(count))
    assert packed.bytes == packed.nodes * 160 + count * 48


def test_the_tree_is_the_one_of_least_cost_and_no_leaves_are_merged() -> None:
    triangles = soup(3000)
    tree = build(triangles)
    expected = optimal_collapse(tree, width=WIDTH, max_leaf=1)
    found = pack(tree, triangles).arrays["nodes"]["child"]
    assert (np.sort(np.where(found < 0, EMPTY, found)) == np.sort(expected.wide)).all()
    assert ((found == ~0).sum(axis=1) == (expected.binary == EMPTY).sum(axis=1)).all()


def test_children_are_sorted_by_surface() -> None:
    triangles = soup(3000)
    packed = pack(build(triangles), triangles)
    areas = twice_areas(packed.arrays["triangles"])

    def surface(node: int) -> float:
        found = [
            surface(child.link) if child.link >= 0 else areas[child.first : child.first + child.count].sum()
            for child in children(packed, node)
        ]
        assert all(one <= other * (1 + 1e-9) for one, other in pairwise(found))
        return float(sum(found))

    assert surface(0) == pytest.approx(areas.sum())


@pytest.mark.parametrize("count", [0, 1, 40])
def test_children_to_spare_are_leaves_without_triangles_inside_out(count: int) -> None:
    triangles = soup(count)
    packed = pack(build(triangles), triangles)
    spare = packed.arrays["nodes"]["child"] == ~0
    assert spare.sum() == WIDTH * packed.nodes - sum(len(children(packed, node)) for node in range(packed.nodes))
    assert spare.any()
    lower, upper = (packed.arrays["nodes"]["planes"][:, :, row] for row in (LOWER, UPPER))
    assert ((lower == np.finfo(np.float32).max) == spare[:, None, :]).all()
    assert ((upper == np.finfo(np.float32).min) == spare[:, None, :]).all()


def test_stack_is_what_a_walk_that_meets_everything_needs() -> None:
    """Every child but one waits at each node, above the mark at the bottom; and there is room for three more."""
    triangles = soup(3000)
    packed = pack(build(triangles), triangles)

    def need(node: int) -> int:
        links = [child.link for child in children(packed, node)]
        return len(links) - 1 + max(need(link) if link >= 0 else 1 for link in links)

    assert packed.stack == need(0) + WIDTH - 1
