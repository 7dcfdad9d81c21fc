"""Trees over triangles that have moved: sound, of the cost they say, and no hit is lost."""

import numpy as np
import pytest
from judges import incoherent_rays

import tracecore
from tracecore.bvh.binned_sah import build
from tracecore.bvh.refit import refit
from tracecore.bvh.tree import BinaryTree
from tracecore.checks.ray_cases import soup
from tracecore.dispatch.tracer import Tracer
from tracecore.emulator.library import emulator_unavailable_reason
from tracecore.rays import Floats

#: One of each layout.
KERNELS = ("while-while", "bvh4", "compressed-bvh8", "grouped-8")


def moved(triangles: Floats, amount: float) -> Floats:
    steps = np.random.default_rng(7).normal(size=(len(triangles), 1, 3)) * amount
    return (triangles + steps).astype(np.float32)


def assert_boxes_are_exact(tree: BinaryTree, triangles: Floats) -> None:
    for node in range(len(tree.child)):
        inside, nodes = [], [node]
        while nodes:
            at = nodes.pop()
            if tree.child[at]:
                nodes += [tree.child[at], tree.child[at] + 1]
            inside += list(tree.order[tree.first[at] : tree.first[at] + tree.count[at]])
        corners = triangles[inside].reshape(-1, 3)
        assert np.array_equal(tree.lower[node], corners.min(axis=0))
        assert np.array_equal(tree.upper[node], corners.max(axis=0))


@pytest.mark.parametrize("count", [1, 2, 9, 700])
def test_boxes_are_exact_and_all_else_stays(count: int) -> None:
    triangles = soup(count)
    tree = build(triangles)
    other = moved(triangles, 0.3)
    fitted = refit(tree, other)
    assert_boxes_are_exact(fitted, other)
    for name in ("child", "first", "count", "order"):
        assert np.array_equal(getattr(fitted, name), getattr(tree, name))
    assert_boxes_are_exact(tree, triangles)  # the old one is as it was


def test_the_cost_of_two_triangles_that_part() -> None:
    """Two unit squares' halves, one leaf each: their boxes have half areas of 1; the root's grows."""
    triangles = np.array([[[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[2, 0, 0], [3, 0, 0], [2, 1, 0]]], np.float32)
    tree = build(triangles, max_leaf=1)
    assert tree.sah_cost == pytest.approx(1 + 2 / 3)  # the root is 3 wide
    apart = triangles + np.array([[[0, 0, 0]], [[7, 0, 0]]], np.float32)
    assert refit(tree, apart).sah_cost == pytest.approx(1 + 2 / 10)


def test_triangles_that_scatter_make_the_tree_worse_than_a_new_one() -> None:
    triangles = soup(5000)
    tree = build(triangles)
    scattered = np.random.default_rng(3).permutation(triangles)
    assert refit(tree, scattered).sah_cost > 4 * build(scattered).sah_cost


def assert_hits_are_those_of_a_new_tree(
    old: Tracer, device: tracecore.Device, kernel: str | None, rays: int = 2000
) -> None:
    other = moved(soup(2000), 0.5)
    chosen = incoherent_rays(other)[:rays]
    assert old.tree is not None
    fitted = refit(old.tree, other)
    with (
        tracecore.open_tracer(other, device=device, kernel=kernel, tree=fitted) as tracer,
        tracecore.open_tracer(other, device=device, kernel=kernel) as anew,
    ):
        assert tracer.bvh.sah_cost == fitted.sah_cost > anew.bvh.sah_cost
        assert np.array_equal(tracer.closest_hit(chosen).view(np.uint32), anew.closest_hit(chosen).view(np.uint32))


def test_hits_on_the_cpu() -> None:
    with tracecore.open_tracer(soup(2000), device="cpu") as tracer:
        assert_hits_are_those_of_a_new_tree(tracer, "cpu", None)


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", KERNELS)
def test_hits_on_the_gpu(kernel: str) -> None:
    from tracecore.tracers.gpu import gpu_unavailable_reason

    if reason := gpu_unavailable_reason():
        pytest.skip(reason)
    with tracecore.open_tracer(soup(2000), device="gpu", kernel=kernel) as tracer:
        assert_hits_are_those_of_a_new_tree(tracer, "gpu", kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_hits_in_the_emulator(kernel: str) -> None:
    if reason := emulator_unavailable_reason():
        pytest.skip(reason)
    with tracecore.open_tracer(soup(2000), device="emulator", kernel=kernel) as tracer:
        assert_hits_are_those_of_a_new_tree(tracer, "emulator", kernel, rays=64)
