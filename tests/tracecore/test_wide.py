"""Collapse to wide trees, and the bytes of the 8-wide one."""

import numpy as np
import pytest

from tracecore.bvh.binned_sah import build
from tracecore.bvh.tree import BinaryTree
from tracecore.bvh.wide import EMPTY, WideTree, collapse
from tracecore.errors import KernelError
from tracecore.layout.bvh8 import BLOCK, NODE, TRIANGLES, WIDTH, pack
from tracecore.rays import Floats


def soup(count: int, seed: int = 2) -> Floats:
    random = np.random.default_rng(seed)
    return (random.random((count, 1, 3)) + 0.1 * random.random((count, 3, 3))).astype(np.float32)


def leaf_slots(wide: WideTree) -> list[int]:
    is_leaf = (wide.binary != EMPTY) & (wide.wide == EMPTY)
    return [
        slot
        for first, count in zip(wide.first[is_leaf], wide.count[is_leaf], strict=True)
        for slot in range(first, first + count)
    ]


@pytest.mark.parametrize("width", [2, 4, 8])
@pytest.mark.parametrize("count", [0, 1, 4, 5, 9, 100, 2000])
def test_every_slot_is_in_one_leaf_and_every_node_has_one_parent(count: int, width: int) -> None:
    wide = collapse(build(soup(count)), width=width, max_leaf=4)
    assert sorted(leaf_slots(wide)) == list(range(count))
    assert sorted(wide.wide[wide.wide != EMPTY]) == list(range(1, len(wide.wide)))
    assert wide.binary.shape == (len(wide.wide), width)
    is_leaf = (wide.binary != EMPTY) & (wide.wide == EMPTY)
    assert wide.count[is_leaf].max(initial=0) <= 4


def test_small_subtrees_become_leaves() -> None:
    tree = build(soup(500), max_leaf=1)
    merged = collapse(tree, max_leaf=8)
    is_leaf = (merged.binary != EMPTY) & (merged.wide == EMPTY)
    assert 4 < merged.count[is_leaf].mean() <= 8
    assert sorted(leaf_slots(merged)) == list(range(500))


def test_the_largest_surface_is_opened_first() -> None:
    """Of the root's children 1 (area 2) and 2 (area 3), only the larger one has room to be opened in a width of 3."""
    box = np.float32([[4, 1, 1], [2, 1, 1], [3, 1, 1], *[[1, 1, 1]] * 4])
    tree = BinaryTree(
        lower=np.zeros((7, 3), np.float32),
        upper=box,
        child=np.int32([1, 3, 5, 0, 0, 0, 0]),
        first=np.int32([0, 0, 0, 0, 1, 2, 3]),
        count=np.int32([0, 0, 0, 1, 1, 1, 1]),
        order=np.arange(4, dtype=np.uint32),
        sah_cost=0.0,
        build_seconds=0.0,
    )
    wide = collapse(tree, width=3, max_leaf=1)
    assert sorted(wide.binary[0]) == [1, 5, 6]
    assert wide.depth == 2


def test_layout_is_of_whole_cache_lines() -> None:
    assert NODE.itemsize == 256
    assert TRIANGLES.itemsize == 320
    packed = pack(*_packed_arguments(soup(300)))
    assert packed.nodes.ctypes.data % 64 == 0
    assert packed.blocks.ctypes.data % 64 == 0


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
        for lane in range(WIDTH):
            record = packed.nodes[node]
            lower, upper, child = record["lower"][:, lane], record["upper"][:, lane], int(record["child"][lane])
            if np.isinf(lower).any():
                assert (lower > upper).all()
                continue
            entries += 1
            if child >= 0:
                continue
            block = packed.blocks[~child]
            real = ~np.isnan(block["corner"][0, 0])
            assert np.array_equal(block["corner"][:, :, real].transpose(2, 0, 1), triangles[block["prim_id"][real]])
            assert np.array_equal(block["corner"][:, :, real].min(axis=(0, 2)), lower)
            assert np.array_equal(block["corner"][:, :, real].max(axis=(0, 2)), upper)
            seen.extend(block["prim_id"][real].tolist())
        inner = [int(child) for child in packed.nodes[node]["child"] if child > 0]
        return max([entries, *(entries - 1 + visit(child, depth + 1) for child in inner)])

    assert visit(0, 1) <= packed.stack
    assert sorted(seen) == list(range(count))


@pytest.mark.parametrize(("width", "max_leaf"), [(4, 8), (8, 16)])
def test_other_trees_are_refused(width: int, max_leaf: int) -> None:
    triangles = np.ones((16, 3, 3), np.float32)
    tree = build(triangles, max_leaf=max_leaf)
    with pytest.raises(KernelError, match="bvh8 takes 8 lanes and leaves of at most 8 triangles, got"):
        pack(tree, collapse(tree, width=width, max_leaf=max_leaf), triangles)
