"""The wide trees as packed for children side by side, read back."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from tracecore.bvh.binned_sah import build
from tracecore.bvh.wide import EMPTY, collapse
from tracecore.checks.ray_cases import Floats, soup
from tracecore.layout.device_layout import PackedTree
from tracecore.layout.wide import LAYOUTS, LEAF_COUNT_BITS, WIDTHS
from tracecore.precision import padded


class Lane(NamedTuple):
    """A child as its parent's child holds it. child: a node where not negative, else a leaf's range of leaf indices."""

    lower: Floats
    upper: Floats
    child: int
    first: int
    count: int  # type: ignore[assignment]


def node_children(packed: PackedTree, node: int) -> list[Lane]:
    record = packed.arrays["nodes"][node]
    found = []
    for xy, z in zip(record["xy"], record["z"], strict=True):
        child = int(z["child"])
        lower, upper = np.array([xy[0], xy[2], z["lower"]]), np.array([xy[1], xy[3], z["upper"]])
        found.append(Lane(lower, upper, child, ~child >> LEAF_COUNT_BITS, ~child & ((1 << LEAF_COUNT_BITS) - 1)))
    return found


def is_spare(child_index: Lane) -> bool:
    return child_index.child < 0 and child_index.count == 0


def leaves(packed: PackedTree, node: int = 0) -> list[Lane]:
    """All leaves below a node; checks that boxes of inner children are just what is below them, and a pad."""
    found: list[Lane] = []
    for child_index in node_children(packed, node):
        if is_spare(child_index):
            continue
        if child_index.child < 0:
            found.append(child_index)
            continue
        below = leaves(packed, child_index.child)
        lower, upper = padded_bounds(packed, below)
        assert (lower == child_index.lower).all()
        assert (upper == child_index.upper).all()
        found += below
    return found


def rows_of(packed: PackedTree, leaf: Lane) -> npt.NDArray[np.void]:
    """(3, count) records: each axis of each triangle."""
    start = 3 * leaf.first
    return packed.arrays["rows"][start : start + 3 * leaf.count].reshape(3, leaf.count)


def padded_bounds(packed: PackedTree, some: list[Lane]) -> tuple[Floats, Floats]:
    """The box of all triangles of some leaves, with its pad."""
    corners = np.concatenate([rows_of(packed, leaf)["component"] for leaf in some], axis=1)
    return padded(corners.min(axis=(1, 2)), corners.max(axis=(1, 2)))


def pack(triangles: Floats, width: int) -> PackedTree:
    return LAYOUTS[width].pack(build(triangles, max_leaf=width), triangles)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [1, 2, 9, 33, 1000])
def test_walk_finds_every_triangle_once_inside_its_box(width: int, count: int) -> None:
    triangles = soup(count)
    packed = pack(triangles, width)
    seen: list[int] = []
    for leaf in leaves(packed):
        rows = rows_of(packed, leaf)
        corners = rows["component"].transpose(1, 2, 0)
        assert (rows["prim_id"] == rows["prim_id"][0]).all()
        assert (corners == triangles[rows["prim_id"][0]]).all()
        lower, upper = padded_bounds(packed, [leaf])
        assert (lower == leaf.lower).all()
        assert (upper == leaf.upper).all()
        assert 1 <= leaf.count <= width
        seen.extend(rows["prim_id"][0].tolist())
    assert sorted(seen) == list(range(count))
    assert packed.bytes == packed.nodes * 32 * width + count * 48


@pytest.mark.parametrize("width", WIDTHS)
def test_lanes_are_those_of_the_wide_tree(width: int) -> None:
    triangles = soup(1000)
    tree = build(triangles, max_leaf=width)
    tested, packed = collapse(tree, width=width, max_leaf=width), LAYOUTS[width].pack(tree, triangles)
    assert packed.nodes == len(tested.binary)
    for node, links in enumerate(tested.wide):
        found = node_children(packed, node)
        assert [child_index.child if child_index.child >= 0 else EMPTY for child_index in found] == links.tolist()
        assert [is_spare(child_index) for child_index in found] == (tested.binary[node] == EMPTY).tolist()


def test_lanes_to_spare_are_at_infinity() -> None:
    spare = [child_index for child_index in node_children(pack(soup(3), 8), 0) if is_spare(child_index)]
    assert len(spare) == 7
    for child_index in spare:
        assert child_index.child == ~0
        assert (child_index.lower == np.inf).all()
        assert (child_index.upper == np.inf).all()


@pytest.mark.parametrize("width", WIDTHS)
def test_stack_is_what_a_walk_that_meets_everything_needs(width: int) -> None:
    """Every child but one waits at each node, above the mark at the bottom."""
    packed = pack(soup(1000), width)

    def need(node: int) -> int:
        children = [child_index.child for child_index in node_children(packed, node) if not is_spare(child_index)]
        return len(children) - 1 + max(need(child) if child >= 0 else 1 for child in children)

    assert packed.stack == need(0)
