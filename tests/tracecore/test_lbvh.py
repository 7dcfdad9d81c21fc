"""Trees by bits alone. What trees from the triangles up have in common is in test_bottom_up."""

import numpy as np
import pytest
from test_builder import TRIANGLES

from tracecore.bvh import lbvh
from tracecore.bvh.boxes import boxes_of
from tracecore.bvh.morton import curve_codes
from tracecore.bvh.tree import BinaryTree


def sets_by_hand(keys: list[int]) -> set[frozenset[int]]:
    """Keys below each node: split by the highest bit in which any of them differ."""
    if len(keys) == 1:
        return {frozenset(keys)}
    highest = (min(keys) ^ max(keys)).bit_length() - 1
    sides = [[key for key in keys if key >> highest & 1 == side] for side in (0, 1)]
    return {frozenset(keys)} | sets_by_hand(sides[0]) | sets_by_hand(sides[1])


def sets_of(tree: BinaryTree, names: list[int]) -> set[frozenset[int]]:
    """Names of the triangles below each node, of a tree whose leaves hold one."""
    below: dict[int, frozenset[int]] = {}
    for node in reversed(range(len(tree.child))):
        left = tree.child[node]
        below[node] = below[left] | below[left + 1] if left else frozenset([names[tree.order[tree.first[node]]]])
    return set(below.values())


@pytest.mark.parametrize("name", ["one", "five", "soup", "same", "line of points", "far"])
def test_nodes_are_split_by_the_highest_bit_that_differs(name: str) -> None:
    """The bits of places along the curve, and below them those of places in the row."""
    triangles = TRIANGLES[name]
    codes = curve_codes(boxes_of(triangles))
    row = np.argsort(codes, kind="stable")
    keys = [0] * len(row)
    for place, triangle in enumerate(row.tolist()):
        keys[triangle] = int(codes[triangle]) << 32 | place
    assert sets_of(lbvh.build(triangles, max_leaf=1), keys) == sets_by_hand(keys)


def test_two_that_differ_in_every_bit_are_joined() -> None:
    children = np.zeros((3, 2), np.int32)
    lbvh._join(np.array([(1 << 62) - 1, 1 << 62], np.uint64), children)
    assert children.tolist() == [[0, 0], [0, 0], [0, 1]]


def test_known_places_make_a_known_tree() -> None:
    """Eight corners of a cube: x is split first, then y, then z, and children stand in the order of the curve."""
    corners = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], np.float32)
    triangles = np.repeat(corners[:, None], 3, axis=1)
    tree = lbvh.build(triangles, max_leaf=1)
    assert tree.order.tolist() == [0, 4, 2, 6, 1, 5, 3, 7]
    assert [tree.upper[1].tolist(), tree.lower[2].tolist()] == [[0, 1, 1], [1, 0, 0]]
