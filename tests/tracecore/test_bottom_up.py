"""Trees that are built from the triangles up. What all builders promise is in test_builder."""

from dataclasses import fields

import numpy as np
from test_builder import check_soundness, depths, points_at, soup

from tracecore.bvh import binned_sah, ploc
from tracecore.bvh.boxes import boxes_of
from tracecore.bvh.morton import curve_codes
from tracecore.bvh.tree import BinaryTree


def same(one: BinaryTree, other: BinaryTree) -> bool:
    names = [field.name for field in fields(one) if field.name != "build_seconds"]
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def test_the_curve_goes_by_the_bits_of_all_coordinates() -> None:
    places = np.random.default_rng(3).integers(0, 256, (50, 3))
    places[:2] = [[0], [255]]  # the corners of the cube
    words = ["".join(a + b + c for a, b, c in zip(*(f"{one:08b}" for one in place), strict=True)) for place in places]
    codes = curve_codes(boxes_of(points_at(places / 255 * 7.0 + 3.0)))
    assert (codes >> np.uint64(39)).tolist() == [int(word, 2) for word in words]


def test_equal_boxes_make_a_tree_of_the_least_depth() -> None:
    assert max(depths(ploc.build(np.ones((1024, 3, 3), np.float32), max_leaf=1))) == 10


def test_leaves_are_where_they_cost_least() -> None:
    """Four triangles in two far places: two leaves, though four would fit into one."""
    near = np.repeat(soup(1), 2, axis=0)
    tree = ploc.build(np.concatenate([near, near + np.float32(10.0)]), max_leaf=4)
    assert tree.count.tolist() == [0, 2, 2]
    assert len(ploc.build(soup(4, 0.01) * 0.0 + soup(1), max_leaf=4).child) == 1


def test_a_tree_that_would_be_too_deep_is_binned() -> None:
    triangles = points_at((1.5 ** -np.arange(150.0))[:, None] * np.ones(3))
    tree = ploc.build(triangles, max_leaf=1)
    check_soundness(tree, triangles, 1)
    assert same(tree, binned_sah.build(triangles, max_leaf=1))
