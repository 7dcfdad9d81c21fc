"""The top of a tree: what is in it, and the tree that it is put on again."""

import numpy as np
import pytest
from test_builder import BUILDERS, TRIANGLES, check_soundness, depths, soup
from test_reinsertion import same

from tracecore.bvh import binned_sah
from tracecore.bvh.tree_top import Top, put_under, top_of

SHARES = (-1.0, 0.0, 0.5, 1.0, 16.0)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", TRIANGLES)
def test_a_tree_under_its_own_top_is_the_same(name: str, share: float) -> None:
    for max_leaf in (1, 4):
        tree = binned_sah.build(TRIANGLES[name], max_leaf=max_leaf, triangle_block=2)
        again = put_under(top_of(tree, share)[0], tree)
        assert same(again, tree)
        assert (again.triangle_block, again.build_seconds) == (tree.triangle_block, tree.build_seconds)


@pytest.mark.parametrize("builder", BUILDERS)
def test_all_builders_number_as_a_top_expects(builder: str) -> None:
    tree = BUILDERS[builder](soup(3000), max_leaf=3)
    assert same(put_under(top_of(tree, 1.0)[0], tree), tree)


@pytest.mark.parametrize("share", SHARES)
def test_children_of_large_nodes_are_in_the_top(share: float) -> None:
    tree = binned_sah.build(soup(3000), max_leaf=1)
    top, mean = top_of(tree, share)
    area = tree.half_area
    assert mean == pytest.approx(area.mean())
    large = np.flatnonzero((tree.child > 0) & (area > share * mean))
    assert len(top.parent) == 1 + 2 * len(large)
    depth, height = depths(tree), heights(tree.child)
    x, y, z = (top.box[:, 4:7].astype(np.float64) - top.box[:, 0:3]).T
    assert np.array_equal(top.area, x * y + y * z + z * x)
    for node, (left, right) in enumerate(top.children):
        if left > 0:
            assert top.parent[left] == top.parent[right] == node
            assert np.array_equal(top.box[node, :3], np.minimum(top.box[left, :3], top.box[right, :3]))
            continue
        hanging = ~left
        assert not (tree.child[hanging] and area[hanging] > share * mean)
        assert np.array_equal(top.box[node, [0, 1, 2, 4, 5, 6]], [*tree.lower[hanging], *tree.upper[hanging]])
        assert right == 0
        assert top.height[node] == height[hanging]
        assert depth_in(top, node) == depth[hanging]


def heights(child: np.ndarray) -> list[int]:
    height = [0] * len(child)
    for node in range(len(child) - 1, -1, -1):
        if child[node]:
            height[node] = 1 + max(height[child[node]], height[child[node] + 1])
    return height


def depth_in(top: Top, node: int) -> int:
    depth = 0
    while node:
        node, depth = int(top.parent[node]), depth + 1
    return depth


def test_what_hangs_from_a_top_goes_with_it() -> None:
    """Two subtrees of other sizes change places: their nodes and triangles come in the same order elsewhere."""
    triangles = soup(500)
    tree = binned_sah.build(triangles, max_leaf=2)
    top, _ = top_of(tree, 2.0)
    hanging = np.flatnonzero(top.children[:, 0] < 0)
    one, other = hanging[0], hanging[-1]
    assert 0 < top.height[one] != top.height[other] > 0
    for column in (top.box, top.children):
        column[[one, other]] = column[[other, one]]
    for node in range(len(top.parent) - 1, -1, -1):
        left, right = top.children[node]
        if left > 0:
            top.box[node, :3] = np.minimum(top.box[left, :3], top.box[right, :3])
            top.box[node, 4:7] = np.maximum(top.box[left, 4:7], top.box[right, 4:7])
    moved = put_under(top, tree)
    check_soundness(moved, triangles, 2)
    assert same(put_under(top_of(moved, -1.0)[0], moved), moved)
    assert moved.order[0] != tree.order[0]
