"""The builders: what every tree must be, whatever the triangles, and how close bins come to the exact heuristic."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracecore.bvh import binned_sah, boxes, ploc, sweep_sah
from tracecore.bvh.binned_sah import DEFAULT_BINNING, FAST_BINNING, Binning, _tests_by_count, build
from tracecore.bvh.optimal_collapse import optimal_collapse
from tracecore.bvh.refit import refit
from tracecore.bvh.tree import MAX_DEPTH, BinaryTree
from tracecore.bvh.wide import collapse, stack_need
from tracecore.errors import TriangleError
from tracecore.rays import Floats
from tracecore.triangles import checked_triangles


def soup(count: int, scale: float = 1.0, seed: int = 1) -> Floats:
    random = np.random.default_rng(seed)
    return ((random.random((count, 1, 3)) + 0.1 * random.random((count, 3, 3))) * scale).astype(np.float32)


def points_at(places) -> Floats:
    return np.repeat(places[:, None, :], 3, axis=1).astype(np.float32)


HALVING = np.ldexp(1.0, -(np.arange(3000) % 149))
TRIANGLES = {
    "none": np.zeros((0, 3, 3), np.float32),
    "one": soup(1),
    "five": soup(5),
    "soup": soup(3000),
    "same": np.ones((1000, 3, 3), np.float32),
    "flat": soup(1000) * np.array([1, 1, 0], np.float32),
    "line of points": points_at(np.linspace(0, 1, 500)[:, None] * np.ones(3)),
    "large": soup(1000, 1e6),
    "small": soup(1000, 1e-6),
    "denormal": soup(1000, 1e-42),
    "largest": ((soup(1000) - 0.55) * 6.0).astype(np.float32) * np.float32(1e38),
    "far": soup(1000) + np.float32(1e6),
    "halving": points_at(HALVING[:, None] * np.eye(3)[np.arange(3000) % 3]),
    "every magnitude": points_at(10.0 ** np.linspace(-44, 38, 20000)[:, None] * np.ones(3)),
}


def depths(tree: BinaryTree) -> list[int]:
    result = [0] * len(tree.child)
    for node, child in enumerate(tree.child):
        if child > 0:
            result[child] = result[child + 1] = result[node] + 1
    return result


def check_soundness(tree: BinaryTree, triangles: Floats, max_leaf: int) -> None:
    """Every triangle is in one leaf, boxes are exact, children come after parents, and all bounds hold."""
    lower, upper = triangles.min(axis=1), triangles.max(axis=1)
    leaves = np.flatnonzero(tree.is_leaf)
    seen = np.zeros(len(triangles), int)
    for leaf in leaves:
        prim_ids = tree.order[tree.first[leaf] : tree.first[leaf] + tree.count[leaf]]
        seen[prim_ids] += 1
        if len(triangles):
            assert np.array_equal(tree.lower[leaf], lower[prim_ids].min(axis=0))
            assert np.array_equal(tree.upper[leaf], upper[prim_ids].max(axis=0))
    assert (seen == 1).all()
    assert tree.count[leaves].max() <= max_leaf
    inner = np.flatnonzero(~tree.is_leaf)
    left = tree.child[inner]
    assert (left > inner).all()
    assert (tree.count[inner] == 0).all()
    assert np.array_equal(tree.lower[inner], np.minimum(tree.lower[left], tree.lower[left + 1]))
    assert np.array_equal(tree.upper[inner], np.maximum(tree.upper[left], tree.upper[left + 1]))
    assert sorted([0, *left, *(left + 1)]) == list(range(len(tree.child)))
    assert max(depths(tree)) <= MAX_DEPTH


BUILDERS: dict[str, Callable[..., BinaryTree]] = {
    "binned": build,
    "fast": partial(build, binning=FAST_BINNING),
    "sweep": sweep_sah.build,
    "ploc": ploc.build,
}


@pytest.mark.parametrize(("max_leaf", "triangle_block"), [(1, 1), (4, 1), (8, 8), (32, 32), (20, 3)])
@pytest.mark.parametrize("name", TRIANGLES)
@pytest.mark.parametrize("builder", BUILDERS)
def test_tree_is_sound(builder, name, max_leaf, triangle_block):
    triangles = TRIANGLES[name]
    blocks = {} if builder == "sweep" else {"triangle_block": triangle_block}
    check_soundness(BUILDERS[builder](triangles, max_leaf=max_leaf, **blocks), triangles, max_leaf)


#: The bits of float32: of whatever number, and often of one that few programs are tried with.
BITS = st.integers(0, (1 << 32) - 1) | st.sampled_from(
    np.array([np.nan, np.inf, -np.inf, 1e38, -3.4e38, 1e-45, -1e-40, 0, -0.0, 1], np.float32).view(np.uint32).tolist()
)


@pytest.mark.parametrize("builder", BUILDERS)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(bits=st.lists(BITS, min_size=9, max_size=90), max_leaf=st.integers(1, 8))
def test_whatever_bits_coordinates_have_a_tree_is_sound_or_a_triangle_is_named(builder, bits, max_leaf):
    triangles = np.array(bits[: len(bits) // 9 * 9], np.uint32).view(np.float32).reshape(-1, 3, 3)
    is_finite = np.isfinite(triangles).all(axis=(1, 2))
    if not is_finite.all():
        with pytest.raises(TriangleError, match=rf"^triangle {np.argmin(is_finite)} has [^\n]*\Z"):
            BUILDERS[builder](triangles)
        with pytest.raises(TriangleError, match=r"^triangle \d+ has [^\n]*\Z"):
            checked_triangles(triangles)
    triangles = triangles[is_finite]
    tree = BUILDERS[builder](triangles, max_leaf=max_leaf)
    check_soundness(tree, triangles, max_leaf)
    for wide in (collapse(tree), optimal_collapse(tree)):
        assert stack_need(wide) >= 0
    assert np.array_equal(refit(tree, triangles).upper, tree.upper)


def half_area(triangles: Floats) -> float:
    x, y, z = np.ptp(triangles.reshape(-1, 3).astype(np.float64), axis=0)
    return x * y + y * z + z * x


@pytest.mark.parametrize("count", [2, 3, 17])
def test_a_sweep_finds_the_cheapest_of_all_borders(count: int) -> None:
    for seed in range(5):
        triangles = soup(count, seed=seed)
        tree = sweep_sah.build(triangles, max_leaf=1)
        borders = []
        for axis in range(3):
            order = np.argsort(triangles[..., axis].min(axis=1) + triangles[..., axis].max(axis=1))
            for left in range(1, count):
                sides = triangles[order[:left]], triangles[order[left:]]
                borders.append(sum(len(side) * half_area(side) for side in sides))
        below = [len(side) * half_area(side) for side in sides_of_root(tree, triangles)]
        assert sum(below) == pytest.approx(min(borders), rel=1e-6)


def sides_of_root(tree: BinaryTree, triangles: Floats) -> list[Floats]:
    sides = []
    for top in (1, 2):
        nodes, leaf_indices = [top], []
        while nodes:
            node = nodes.pop()
            leaf_indices += range(tree.first[node], tree.first[node] + tree.count[node])
            nodes += [tree.child[node], tree.child[node] + 1] if tree.child[node] else []
        sides.append(triangles[tree.order[leaf_indices]])
    return sides


def area_times_tests(sides: list[Floats]) -> float:
    return sum(len(side) * half_area(side) for side in sides)


@pytest.mark.parametrize("count", range(2, boxes.FEW + 1))
def test_few_triangles_are_split_where_that_is_cheapest(count: int) -> None:
    for seed in range(10):
        triangles = soup(count, seed=seed)
        ways = []
        for left in range(1, 2 ** (count - 1)):
            is_left = left >> np.arange(count) & 1 == 1
            ways.append(area_times_tests([triangles[is_left], triangles[~is_left]]))
        found = area_times_tests(sides_of_root(build(triangles, max_leaf=1), triangles))
        assert found == pytest.approx(min(ways), rel=1e-6)


def test_more_bins_come_closer_to_the_exact_heuristic() -> None:
    triangles = soup(3000)
    exact = sweep_sah.build(triangles).sah_cost
    default, fast, coarse = (
        build(triangles, binning=binning).sah_cost for binning in (DEFAULT_BINNING, FAST_BINNING, Binning(2, 2, 1))
    )
    assert default == pytest.approx(exact, rel=0.02)
    assert fast == pytest.approx(exact, rel=0.05)
    assert coarse > 1.03 * exact


@pytest.mark.parametrize(("max_leaf", "triangle_block"), [(1, 1), (4, 1), (8, 8)])
@pytest.mark.parametrize("name", TRIANGLES)
def test_the_tree_is_the_same_for_any_number_of_threads(name, max_leaf, triangle_block, monkeypatch):
    """Pieces of a few triangles are shared out, of one, and of all."""
    trees = []
    for threads, piece in ((1, 1 << 20), (1, 10), (2, 10), (7, 10), (3, 1)):
        monkeypatch.setattr(binned_sah, "PIECE", piece)
        trees.append(build(TRIANGLES[name], max_leaf=max_leaf, triangle_block=triangle_block, threads=threads))
    for tree in trees[1:]:
        for field in ("lower", "upper", "child", "first", "count", "order"):
            assert np.array_equal(getattr(tree, field), getattr(trees[0], field))


def test_what_fails_in_a_thread_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree of which a part is missing is worse than none."""
    split = binned_sah._split_all

    def fail_at_small_ones(work: object, subtree: binned_sah._Subtree, scratch: object, is_one: bool) -> int:
        if subtree.first > 0 and not is_one:
            raise MemoryError("no memory left")
        return int(split(work, subtree, scratch, is_one))

    monkeypatch.setattr(binned_sah, "PIECE", 100)
    monkeypatch.setattr(binned_sah, "_split_all", fail_at_small_ones)
    with pytest.raises(MemoryError, match="no memory left"):
        build(TRIANGLES["soup"], threads=2)


def test_cost_of_a_known_tree() -> None:
    """Two unit boxes at the ends of a 3 x 1 x 1 box: one visit, and one test with probability 6/14 in each leaf."""
    box = np.array([[[0, 0, 0], [1, 1, 1], [0, 1, 0]]], np.float32)
    tree = build(np.concatenate([box, box + np.array([2, 0, 0], np.float32)]), max_leaf=1)
    assert tree.sah_cost == pytest.approx(1 + 2 * 6 / 14)


def test_tests_are_a_mean_of_blocks_begun_and_blocks_filled() -> None:
    assert _tests_by_count(5, 4).tolist() == [0, 0.625, 0.75, 0.875, 1, 1.625]
    assert np.array_equal(_tests_by_count(10**6, 1), np.arange(10**6 + 1))


@pytest.mark.parametrize("size", [0, 1])
def test_cost_is_in_blocks(size: int) -> None:
    """Three triangles in one place are one leaf, tested two at once."""
    assert build(np.full((3, 3, 3), 5, np.float32) + size * soup(1), triangle_block=2).sah_cost == 2
