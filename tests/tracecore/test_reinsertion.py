"""Trees whose subtrees were moved: sound, never dearer, of known costs, the same for any number of threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judges import incoherent_rays
from test_builder import BITS, TRIANGLES, check_soundness, depths, soup

import tracecore
from tracecore.bvh import binned_sah, reinsertion
from tracecore.bvh.builders import BUILDERS, build_by
from tracecore.bvh.refit import refit
from tracecore.bvh.reinsertion import reinserted
from tracecore.bvh.tree import MAX_DEPTH, BinaryTree
from tracecore.bvh.tree_top import Top, put_under, top_of
from tracecore.rays import Floats

ARRAYS = ("lower", "upper", "child", "first", "count", "order")


def same(one: BinaryTree, other: BinaryTree) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ARRAYS)


def cubes(*corners: tuple[float, float, float]) -> Floats:
    """Triangles whose boxes are unit cubes."""
    triangle = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 1]], np.float32)
    return np.stack([triangle + np.float32(corner) for corner in corners])


def tree_of(triangles: Floats, children: dict[int, int], leaves: dict[int, int]) -> BinaryTree:
    """A tree of so many inner nodes, with the left child of each, and a triangle in each of its leaves."""
    count = len(children) + len(leaves)
    child, first, number = (np.zeros(count, np.int32) for _ in range(3))
    lower, upper = np.zeros((2, count, 3), np.float32)
    for leaf, prim_id in leaves.items():
        first[leaf], number[leaf] = prim_id, 1
        lower[leaf], upper[leaf] = triangles[prim_id].min(axis=0), triangles[prim_id].max(axis=0)
    for node in sorted(children, reverse=True):
        child[node] = left = children[node]
        lower[node] = np.minimum(lower[left], lower[left + 1])
        upper[node] = np.maximum(upper[left], upper[left + 1])
    order = np.arange(len(triangles), dtype=np.uint32)
    return BinaryTree(lower=lower, upper=upper, child=child, first=first, count=number, order=order)


def crossed() -> tuple[BinaryTree, Floats]:
    """Two cubes here and two there, along x, of which each subtree has one of both."""
    triangles = cubes((0, 0, 0), (10, 0, 0), (1, 0, 0), (11, 0, 0))
    return tree_of(triangles, {0: 1, 1: 3, 2: 5}, {3: 0, 4: 1, 5: 2, 6: 3}), triangles


def test_neighbours_come_together() -> None:
    """Of 12 x 1 x 1 the root has half an area of 25, of 2 x 1 x 1 the two pairs 5 each, and cubes 3 each."""
    tree, triangles = crossed()
    assert tree.sah_cost == pytest.approx((25 + 23 + 23 + 4 * 3) / 25)
    better = reinserted(tree)
    check_soundness(better, triangles, 1)
    assert better.sah_cost == pytest.approx((25 + 5 + 5 + 4 * 3) / 25)


def test_a_subtree_goes_up_to_where_it_is_alone() -> None:
    """A far cube two levels down makes the nodes above it large: it becomes a child of the root."""
    triangles = cubes((0, 0, 0), (1, 0, 0), (2, 0, 0), (99, 0, 0))
    tree = tree_of(triangles, {0: 1, 2: 3, 4: 5}, {1: 0, 3: 1, 5: 2, 6: 3})
    better = reinserted(tree)
    check_soundness(better, triangles, 1)
    assert better.sah_cost == pytest.approx((201 + 7 + 5 + 4 * 3) / 201)


@pytest.mark.parametrize("max_leaf", [1, 4])
@pytest.mark.parametrize("name", TRIANGLES)
def test_a_tree_stays_sound_and_never_costs_more(name: str, max_leaf: int) -> None:
    tree = binned_sah.build(TRIANGLES[name], max_leaf=max_leaf)
    better = reinserted(tree)
    check_soundness(better, TRIANGLES[name], max_leaf)
    assert better.sah_cost <= tree.sah_cost


@settings(max_examples=40, deadline=None, derandomize=True)
@given(bits=st.lists(BITS, min_size=45, max_size=180), max_leaf=st.integers(1, 3))
def test_whatever_bits_coordinates_have_the_tree_stays_sound(bits: list[int], max_leaf: int) -> None:
    triangles = np.array(bits[: len(bits) // 9 * 9], np.uint32).view(np.float32).reshape(-1, 3, 3)
    triangles = triangles[np.isfinite(triangles).all(axis=(1, 2))]
    tree = binned_sah.build(triangles, max_leaf=max_leaf)
    better = reinserted(tree)
    check_soundness(better, triangles, max_leaf)
    assert better.sah_cost <= tree.sah_cost


def test_a_round_that_gains_nothing_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_wrong_targets(top: Top, moves: reinsertion._Moves) -> None:
        moves.target[0], moves.gain[0] = len(top.parent) - 1, 1.0

    monkeypatch.setattr(reinsertion, "_find_targets", find_wrong_targets)
    tree = binned_sah.build(soup(40), max_leaf=1)
    assert same(reinserted(tree), tree)


def test_the_tree_is_the_same_for_any_number_of_threads() -> None:
    tree = binned_sah.build(soup(3 * reinsertion.CHUNK), max_leaf=1)
    one, two, many = (reinserted(tree, threads=threads) for threads in (1, 2, 7))
    assert one.sah_cost < tree.sah_cost
    assert same(one, two)
    assert same(one, many)


def scattered_tree(count: int) -> tuple[BinaryTree, Floats]:
    """A poor tree: that of triangles which have changed places since."""
    triangles = soup(count)
    scattered = np.random.default_rng(3).permutation(triangles)
    return refit(binned_sah.build(triangles, max_leaf=1), scattered), scattered


def whole(tree: BinaryTree) -> Top:
    """All nodes of a tree, numbered as there."""
    top, _ = top_of(tree, -1.0)
    assert len(top.parent) == len(tree.child)
    return top


def area_of(top: Top) -> float:
    x, y, z = (top.box[:, 4:7].astype(np.float64) - top.box[:, 0:3]).T
    area = x * y + y * z + z * x
    assert np.array_equal(top.area, area)
    return float(area.sum())


def move(top: Top, *moves: tuple[int, int], gain: float = -np.inf) -> float:
    """Moves nodes beside targets, by default whatever that gains. Returns what it does."""
    node, target = np.int32(moves).T.copy()
    is_near = np.zeros(len(top.parent), np.bool_)
    return reinsertion._move_all(top, reinsertion._Moves(node, target, np.full(len(node), gain)), MAX_DEPTH, is_near)


def gains_of_all_places(tree: BinaryTree, node: int) -> dict[int, float]:
    """By how much all half areas shrink together where a subtree goes to each target, by making the tree of each."""
    top = whole(tree)
    gains = {}
    for target in range(1, len(tree.child)):
        at = target
        while at not in (0, node):
            at = int(top.parent[at])
        if at == 0 and target != top.parent[node] != top.parent[target]:
            moved = whole(tree)
            gains[target] = move(moved, (node, target))
            assert gains[target] == pytest.approx(area_of(top) - area_of(moved))
    return gains


def test_the_search_finds_the_best_of_all_places() -> None:
    tree, _ = scattered_tree(40)
    chosen = np.arange(3, len(tree.child), dtype=np.int32)
    moves = reinsertion._Moves(chosen, np.zeros_like(chosen), np.zeros(len(chosen)))
    reinsertion._find_targets(whole(tree), moves)
    assert (moves.gain > 0.0).sum() > 20
    ancestors = 0
    for node, target, gain in zip(*moves, strict=True):
        gains = gains_of_all_places(tree, int(node))
        assert gain == pytest.approx(max(*gains.values(), 0.0), abs=1e-6)
        if gain > 0.0:
            assert gains[int(target)] == pytest.approx(gain)
            ancestors += is_below(tree, int(node), int(target))
    assert ancestors > 0


def test_the_root_and_its_children_stay_whatever_their_numbers_are() -> None:
    """Moves leave numbers as they are: here a cube has number 1, and a child of the root has number 4."""
    tree, _ = crossed()
    numbers = np.int32([0, 4, 2, 3, 1, 5, 6])
    box, area, children, parent, height = (column[numbers] for column in whole(tree))
    inner = children[:, 0] > 0
    children[inner] = numbers[children[inner]]
    top = Top(box, area, children, numbers[parent], height)
    moves = reinsertion._found_moves(top, np.ones(7, np.bool_), map)
    assert sorted(moves.node) == [1, 3, 5, 6]


def is_below(tree: BinaryTree, node: int, top: int) -> bool:
    parent = whole(tree).parent
    while node not in (0, top):
        node = int(parent[node])
    return node == top


def test_a_move_into_a_subtree_that_was_moved_below_is_left_out() -> None:
    """The second move's target is in the subtree that goes by the first one below what the second one moves."""
    triangles = soup(200)
    tree = binned_sah.build(triangles, max_leaf=1)
    top = whole(tree)
    upper = [node for node in range(3, 7) if tree.child[node]]
    one, other = upper[0], upper[-1]
    into_other, into_one = (deep_leaf(tree, node) for node in (other, one))
    move(top, (one, into_other), (other, into_one))
    check_soundness(put_under(top, tree), triangles, 1)


def test_a_move_that_gains_too_little_is_taken_back() -> None:
    """Cube 4 goes to its neighbour, and what was twice 23 is 23 and 5: 18 less. Nothing is left to gain for the other
    pair's cube then.
    """
    tree, _ = crossed()
    top = whole(tree)
    before = [column.copy() for column in top]
    too_little, enough = (18.0 / reinsertion.KEPT_GAIN * share for share in (1.01, 0.99))
    assert move(top, (4, 6), gain=too_little) == 0.0
    assert all(np.array_equal(*columns) for columns in zip(top, before, strict=True))
    assert move(top, (4, 6), gain=enough) == 18.0


def deep_leaf(tree: BinaryTree, node: int) -> int:
    while tree.child[node]:
        node = int(tree.child[node])
    return node


def test_a_tree_that_would_become_too_deep_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    tree, _ = crossed()
    monkeypatch.setattr(reinsertion, "MAX_DEPTH", 1)
    assert same(reinserted(tree), tree)
    deep = binned_sah.build(TRIANGLES["every magnitude"], max_leaf=1)
    assert max(depths(deep)) == MAX_DEPTH >= max(depths(reinserted(deep)))


def test_hits_do_not_depend_on_the_builder() -> None:
    triangles = soup(2000)
    rays = incoherent_rays(triangles)[:2000]
    with tracecore.open_tracer(triangles, device="brute") as brute:
        expected = [hits.view(np.uint32) for hits in (brute.closest_hit(rays), brute.any_hit(rays))]
    for builder in BUILDERS:
        with tracecore.open_tracer(triangles, device="cpu", builder=builder) as tracer:
            assert tracer.tree is not None
            assert same(tracer.tree, build_by(builder, triangles, max_leaf=8)), builder
            assert np.array_equal(tracer.closest_hit(rays).view(np.uint32), expected[0]), builder
            assert np.array_equal(tracer.any_hit(rays).view(np.uint32), expected[1]), builder
