"""Strategies on wide trees: order of children, stacks, and leaves of any size."""

import functools
import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from judges import assert_same_bits, levels_that_need

from tracecore.bvh.tree import MAX_DEPTH, BinaryTree
from tracecore.checks.chain_tree import chain, slices, vertical_rays
from tracecore.checks.ray_cases import Floats, random_rays, soup
from tracecore.cuda.nvrtc import compile_strategy, supported_architectures
from tracecore.emulator.tracer import EmulatedTracer
from tracecore.errors import DeviceError, KernelError
from tracecore.kernels.strategies import find_strategy
from tracecore.kernels.strategy import KernelStrategy
from tracecore.layout import bvh4, wide
from tracecore.layout.device_layout import DeviceLayout, PackedTree
from tracecore.rays import MISS, make_rays
from tracecore.tracers.brute_force import BruteForceTracer
from tracecore.tracers.cpu import CpuTracer

GROUPED = [find_strategy(name) for name in (*(f"grouped-{width}" for width in wide.WIDTHS), "warp-bvh4", "warp-bvh8")]
BVH4 = [find_strategy(name) for name in ("bvh4", "persistent-bvh4", "replacing-bvh4", "packet-32-bvh4")]
COMPRESSED = [find_strategy(f"{taking}compressed-bvh8") for taking in ("", "persistent-", "replacing-")]


def name_of(strategy: KernelStrategy) -> str:
    return strategy.name


def each(strategies: list[KernelStrategy]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("strategy", strategies, ids=name_of)


@functools.cache
def large_soup() -> tuple[Floats, Floats, Floats, Floats]:
    """Triangles, rays, and the CPU's answers to both queries."""
    triangles, rays = soup(5000), random_rays(20, 1000)
    with CpuTracer(triangles) as cpu:
        return triangles, rays, cpu.closest_hit(rays), cpu.any_hit(rays)


@pytest.mark.usefixtures("emulator")
@each(GROUPED + BVH4 + COMPRESSED)
def test_hits_in_a_large_soup(strategy: KernelStrategy) -> None:
    triangles, rays, closest, occlusion = large_soup()
    with EmulatedTracer(triangles, strategy, order="shuffled") as tracer:
        assert_same_bits(tracer.closest_hit(rays), closest, rays)
        assert_same_bits(tracer.any_hit(rays), occlusion, rays)


def one_leaf(triangles: Floats) -> BinaryTree:
    """A tree of nothing but a leaf with all triangles."""
    return BinaryTree(
        lower=triangles.min(axis=(0, 1))[None],
        upper=triangles.max(axis=(0, 1))[None],
        child=np.zeros(1, np.int32),
        first=np.zeros(1, np.int32),
        count=np.array([len(triangles)], np.int32),
        order=np.arange(len(triangles), dtype=np.uint32),
        build_seconds=0.0,
    )


def with_tree(strategy: KernelStrategy, tree: BinaryTree, stack_size: int) -> KernelStrategy:
    """The strategy on a tree of the test's own, with so many entries of stack, be they enough or not."""

    def pack(_: BinaryTree, triangles: Floats) -> PackedTree:
        return replace(strategy.layout.pack(tree, triangles), stack=1)

    return replace(strategy, layout=replace(strategy.layout, pack=pack), stack_size=stack_size)


@pytest.mark.usefixtures("emulator")
@each(GROUPED)
def test_a_leaf_with_more_triangles_than_lanes(strategy: KernelStrategy) -> None:
    triangles, rays = soup(63), random_rays(21, 500)
    judge = BruteForceTracer(triangles)
    with EmulatedTracer(triangles, with_tree(strategy, one_leaf(triangles), 32)) as tracer:
        assert_same_bits(tracer.closest_hit(rays), judge.closest_hit(rays), rays)
        assert_same_bits(tracer.any_hit(rays), judge.any_hit(rays), rays)


LEVELS = 100

#: Entries of stack that kernels are compiled with for most scenes.
USUAL = 32


def open_chain(strategy: KernelStrategy, levels: int, stack_size: int) -> EmulatedTracer:
    return EmulatedTracer(slices(levels), with_tree(strategy, chain(levels), stack_size))


def expect_overflow(tracer: EmulatedTracer, rays: Floats) -> None:
    with pytest.raises(KernelError, match="its traversal stack overflowed"):
        tracer.closest_hit(rays)


@pytest.mark.usefixtures("emulator")
@each(GROUPED + BVH4)
def test_stack_of_the_layout_is_just_enough(strategy: KernelStrategy) -> None:
    """The same stack, with which the kernel is compiled once, is enough for a chain and not for one of a level more. A
    packet looks for room before it visits a node, not after, and gets to the next one.
    """
    levels, more = levels_that_need(strategy.layout, USUAL), bvh4.WIDTH if strategy.packet_rays > 1 else 1
    rays = vertical_rays(levels, np.ones(70), hit=np.arange(70) % 3 == 0)
    judge = BruteForceTracer(slices(levels))
    with open_chain(strategy, levels, USUAL) as tracer:
        assert_same_bits(tracer.closest_hit(rays), judge.closest_hit(rays), rays)
        assert_same_bits(tracer.any_hit(rays), judge.any_hit(rays), rays)
    with open_chain(strategy, levels + more, USUAL) as tracer:
        expect_overflow(tracer, vertical_rays(levels + more, np.ones(70), hit=np.arange(70) % 3 == 0))


@pytest.mark.usefixtures("emulator")
@each(GROUPED + BVH4)
def test_the_nearest_child_comes_first_and_the_farthest_last(strategy: KernelStrategy) -> None:
    """From below the stack is empty again before each next node; from above the leaves of every node wait."""
    width = int(strategy.layout.defines["WIDTH"])
    # A tree of four children has room for three more than a ray needs, and none is deeper than MAX_DEPTH.
    spare, levels = (width - 1, MAX_DEPTH) if strategy.layout is bvh4.LAYOUT else (0, LEVELS)
    with open_chain(strategy, levels, width + spare) as tracer:
        up = vertical_rays(levels, np.zeros(70), hit=np.zeros(70))
        assert (tracer.closest_hit(up).view(np.uint32)[:, 3] == MISS).all()
        expect_overflow(tracer, vertical_rays(levels, np.arange(70) == 17, hit=np.zeros(70)))


@pytest.mark.usefixtures("emulator")
def test_a_packet_goes_first_where_its_first_ray_enters() -> None:
    """From above the leaves of every node wait, so that the stack tells who decided: one of 32 rays, or the others."""
    levels, width = MAX_DEPTH, bvh4.WIDTH
    with open_chain(find_strategy("packet-32-bvh4"), levels, 2 * width - 1) as tracer:
        rays = vertical_rays(levels, np.arange(32) == 17, hit=np.zeros(32))
        rays[:, 2] = -100.0
        rays[17, 2] = levels + 200.0
        assert (tracer.closest_hit(rays).view(np.uint32)[:, 3] == MISS).all()
        rays[17, 2] = levels + 50.0
        expect_overflow(tracer, rays)


def probe(folder: Path, layout: DeviceLayout, header: str, body: str) -> KernelStrategy:
    """A strategy with the given body of `trace`, a ray in each lane."""
    source = folder / "probe.cu"
    source.write_text(
        '#include "lane_order.cuh"\n'
        f'#include "{header}"\n'
        "template <bool ANY_HIT>\n"
        "__device__ Hit trace(const Scene& scene, const Ray& ray, unsigned& faults) {" + body + "}\n"
        '#include "rounds.cuh"\n'
    )
    return KernelStrategy(name="probe", source=source, layout=layout, citation="none")


#: A ray's t_max is a box's distance. t: the distance in this place; prim_id: the lane that had it.
SORT = """
    const unsigned lane = lane_index() % WIDTH;
    const int from = bitonic_sort<WIDTH>(key_of(ray.t_max, lane), lane) & LANE_BITS;
    return {__shfl_sync(WHOLE_WARP, ray.t_max, from, WIDTH), 0.0f, 0.0f, static_cast<unsigned>(from)};
"""

#: Whether a box that begins at t_min is passed over when the nearest hit is at t_max.
PASS_OVER = """
    return {0.0f, 0.0f, 0.0f, key_of(ray.t_min, lane_index()) > last_key_at(ray.t_max)};
"""

#: Four distances; prim_id: which they are when they are sorted, a byte each.
SORT_FOUR = """
    int4 keys = {child_key(ray.t_min, 0), child_key(ray.origin.x, 1),
                 child_key(ray.origin.y, 2), child_key(ray.t_max, 3)};
    sort(keys);
    const int4 numbers = {0, 1, 2, 3};
    const int places = child_of(numbers, keys.x) | child_of(numbers, keys.y) << 8 | child_of(numbers, keys.z) << 16 |
                       child_of(numbers, keys.w) << 24;
    return {0.0f, 0.0f, 0.0f, static_cast<unsigned>(places)};
"""


def rays_with(t_min: npt.ArrayLike, t_max: npt.ArrayLike) -> Floats:
    rays = make_rays(np.zeros((np.size(t_max), 3)), [0, 0, 1])
    rays[:, 3], rays[:, 7] = t_min, t_max
    return rays


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("width", wide.WIDTHS)
def test_distances_are_sorted_and_tell_their_lane(width: int, tmp_path: Path) -> None:
    t = np.random.default_rng(width).choice([-np.inf, -3e30, -2, -1e-40, 0, 1e-40, 0.5, 7, 1e30, np.inf], 1024)
    rays = rays_with(0, t.astype(np.float32))
    with EmulatedTracer(soup(5), probe(tmp_path, wide.LAYOUTS[width], "wide.cuh", SORT)) as tracer:
        hits = tracer.closest_hit(rays).reshape(-1, width, 4)
    groups, lanes = rays[:, 7].reshape(-1, width), hits.view(np.uint32)[:, :, 3].astype(np.int64)
    assert (hits[:, :, 0] == np.sort(groups, axis=1)).all()
    assert (np.sort(lanes, axis=1) == np.arange(width)).all()
    assert (np.take_along_axis(groups, lanes, axis=1) == hits[:, :, 0]).all()


@pytest.mark.usefixtures("emulator")
def test_four_children_are_sorted(tmp_path: Path) -> None:
    distances = np.array(list(itertools.product([-1.0, 0.0, 2.5, 1e30], repeat=4)), np.float32)
    rays = rays_with(distances[:, 0], distances[:, 3])
    rays[:, 0:2] = distances[:, 1:3]
    with EmulatedTracer(soup(5), probe(tmp_path, bvh4.LAYOUT, "bvh4.cuh", SORT_FOUR)) as tracer:
        hits = tracer.closest_hit(rays)
    places = hits.view(np.uint32)[:, 3:] >> np.array([0, 8, 16, 24]) & 15
    assert (np.sort(places, axis=1) == np.arange(4)).all()
    assert (np.take_along_axis(distances, places, axis=1) == np.sort(distances, axis=1)).all()


@pytest.mark.usefixtures("emulator")
def test_only_boxes_behind_the_nearest_hit_are_passed_over(tmp_path: Path) -> None:
    sign = np.array([[-1], [1]], np.float32)
    t = np.ravel(sign * np.array([0, 1e-40, 1, 1 + 2**-22, 1 + 2**-16, 1e30, np.inf], np.float32))
    near, nearest_hit = (values.ravel() for values in np.meshgrid(np.tile(t, 32), t))
    with EmulatedTracer(soup(5), probe(tmp_path, wide.LAYOUTS[2], "wide.cuh", PASS_OVER)) as tracer:
        passed = tracer.closest_hit(rays_with(near, nearest_hit)).view(np.uint32)[:, 3] == 1
    assert not passed[near <= nearest_hit].any()
    farther = np.where(nearest_hit < 0, nearest_hit * (1 - 2.0**-17), nearest_hit * (1 + 2.0**-17))
    assert passed[near > farther].all()


STATIC_SHARED_BYTES = 48 << 10


@each(GROUPED)
def test_the_deepest_stack_fits_in_shared_memory(strategy: KernelStrategy) -> None:
    try:
        supported_architectures()
    except DeviceError as error:
        pytest.skip(str(error))
    width = int(strategy.layout.defines["WIDTH"])
    deepest = PackedTree(arrays={}, scalars={}, nodes=1, stack=(width - 1) * MAX_DEPTH + 1)
    compiled = compile_strategy(strategy, "sm_90", strategy.stack_for(deepest))
    for row in compiled.resources.values():
        assert row.shared_bytes <= STATIC_SHARED_BYTES
        assert row.spill_bytes == 0
