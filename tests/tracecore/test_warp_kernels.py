"""Strategies in which lanes of a warp work together on a binary tree: their parts one by one, and their stacks."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from brute_answers import answers
from judges import assert_same_bits, levels_that_need

from tracecore.bvh.tree import BinaryTree
from tracecore.checks.chain_tree import chain, slices, vertical_rays
from tracecore.checks.ray_cases import Floats, soup
from tracecore.emulator.tracer import EmulatedTracer, Order
from tracecore.errors import KernelError
from tracecore.kernels.strategies import find_strategy
from tracecore.kernels.strategy import KernelStrategy
from tracecore.layout import bvh2
from tracecore.layout.device_layout import PackedTree
from tracecore.rays import MISS, make_rays
from tracecore.tracers.brute_force import BruteForceTracer

pytestmark = pytest.mark.usefixtures("emulator")

PACKETS = {"packet-8": 8, "packet-32": 32}
WARPS = ("warp", "warp-triangles-8", "warp-triangles-32", "warp-keep-nodes")
ORDERS = ("ascending", "descending", "shuffled")


def probe(folder: Path, trace: str, **fields: Any) -> KernelStrategy:
    """A strategy on a binary tree with the given body of `trace`, which may use `stacks`."""
    source = folder / "probe.cu"
    source.write_text(
        '#include "closest_of_lanes.cuh"\n'
        '#include "group_stack.cuh"\n'
        '#include "node_of_lanes.cuh"\n'
        "__shared__ int stacks[BLOCK_SIZE][STACK_SIZE][1];\n"
        "template <bool ANY_HIT>\n"
        "__device__ Hit trace(const Scene& scene, const Ray& ray, unsigned& faults) {" + trace + "}\n"
        '#include "rounds.cuh"\n'
    )
    return KernelStrategy(name="probe", source=source, layout=bvh2.LAYOUT, citation="none", **fields)


#: Ray and hit are the same four words: t_max or t, origin or u, v and prim_id. A miss where t_max is infinite.
REDUCE = """
    const Hit hit = {ray.t_max, ray.origin.x, ray.origin.y, __float_as_uint(ray.origin.z)};
    return closest_of_lanes<GROUP>(group_mask<GROUP>(), hit.t == infinity() ? miss() : hit);
"""


@pytest.mark.parametrize("group", [1, 2, 8, 32])
def test_closest_of_lanes_has_the_least_t_and_of_these_the_lowest_prim_id(group: int, tmp_path: Path) -> None:
    random = np.random.default_rng(group)
    hits = random.uniform(-1, 1, (1024, 4)).astype(np.float32)
    hits[:, 0] = random.choice([-1.5, -0.0, 0.0, 0.5, np.inf], 1024, p=[0.01, 0.1, 0.1, 0.2, 0.59])
    hits.view(np.uint32)[:, 3] = random.permutation(1024)
    hits[:32] = 0.5  # the best so far in all lanes
    hits[3, :3] = -7.0, 0.25, 0.125
    rays = make_rays(hits[:, 1:], [0, 0, 1])
    rays[:, 7] = hits[:, 0]
    missed = hits[:, 0] == np.inf
    hits[missed, 1:3], hits.view(np.uint32)[missed, 3] = 0.0, MISS
    groups = hits.reshape(-1, group, 4)
    first = np.lexsort((groups.view(np.uint32)[:, :, 3], groups[:, :, 0]))[:, 0]
    expected = groups[np.arange(len(groups)), first].repeat(group, axis=0)
    with EmulatedTracer(soup(5), probe(tmp_path, REDUCE, defines={"GROUP": group})) as tracer:
        assert_same_bits(tracer.closest_hit(rays), expected, rays)


#: The least of a warp's integers, by the instruction for it, and as on a GPU that has none.
LEAST = """
    return {0.0f, 0.0f, 0.0f, static_cast<unsigned>(least_of_warp(__float_as_int(ray.t_max)))};
"""


@pytest.mark.parametrize("defines", [{}, {"__CUDA_ARCH__": 750}])
def test_least_of_warp(defines: dict[str, int], tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).integers(-(2**30), 2**30, (32, 32)).astype(np.int32)
    numbers[0], numbers[1], numbers[2, 17] = abs(numbers[0]), -abs(numbers[1]), -(2**31)
    rays = make_rays(np.zeros((1024, 3)), [0, 0, 1])
    rays.view(np.int32)[:, 7] = numbers.ravel()
    with EmulatedTracer(soup(5), probe(tmp_path, LEAST, defines=defines)) as tracer:
        found = tracer.closest_hit(rays).view(np.int32)[:, 3]
    assert (found.reshape(32, 32) == numbers.min(axis=1, keepdims=True)).all()


#: What comes off a stack.
PUSH_AND_POP = """
    GroupStack<GROUP> stack = {stacks[threadIdx.x / GROUP], group_mask<GROUP>(), 0};
    const int number = ray.origin.x;
    stack.push(number);
    stack.push(number + 1);
    const int second = *stack.pop();
    stack.push(number + 2);
    const int third = *stack.pop();
    const int first = *stack.pop();
    return {float(first), float(second), float(third), 0};
"""


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("group", [1, 8, 32])
def test_stack_gives_all_lanes_what_one_pushed(group: int, order: Order, tmp_path: Path) -> None:
    numbers = 3.0 * (np.arange(256) // group)
    rays = make_rays(numbers[:, None] * np.array([1, 0, 0]), [0, 0, 1])
    with EmulatedTracer(soup(5), probe(tmp_path, PUSH_AND_POP, defines={"GROUP": group}), order=order) as tracer:
        hits = tracer.closest_hit(rays)
    assert (hits[:, :3] == numbers[:, None] + [0, 1, 2]).all()


#: How often the left box is met, the right one, and the left one is no farther; prim_id: how many nodes differ. Of
#: a ray that begins before 0, lanes may leave out what `slab_test` does not.
MEET = """
    const CentreRay box_ray = make_centre_ray(ray, scene.extent);
    Hit count = {0.0f, 0.0f, 0.0f, 0};
    for (int i = 0; i < NODES; ++i) {
        const Node node = load_node(scene, i);
        const Interval left = slab_test(node.left_box, box_ray, ray.t_min, ray.t_max);
        const Interval right = slab_test(node.right_box, box_ray, ray.t_min, ray.t_max);
        const int word = load_word(scene, i);
        const unsigned got = test_boxes(word, plane_of_lane(box_ray), ray.t_min, ray.t_max);
        count.t += is_hit(left);
        count.u += is_hit(right);
        count.v += left.near <= right.near;
        const bool got_left = (got & LEFT_HIT) != 0, got_right = (got & RIGHT_HIT) != 0;
        const bool before_0 = ray.t_min < 0.0f;
        const bool same = (got_left == is_hit(left) || (before_0 && !got_left)) &&
                          (got_right == is_hit(right) || (before_0 && !got_right)) &&
                          (((got & LEFT_FIRST) != 0) == (left.near <= right.near) || before_0);
        const int left_child = child_of_lanes(word, true);
        const int right_child = child_of_lanes(word, false);
        count.prim_id += !(same && left_child == node.left && right_child == node.right);
    }
    return count;
"""
NODES = 16


@pytest.mark.parametrize(
    "case",
    ["soup", "axis-aligned-grid", "intervals", "scale-1e-12", "scale-1e6", "shortest-directions", "short-directions"],
)
def test_boxes_in_lanes_are_met_as_by_the_one_box_test(case: str, tmp_path: Path) -> None:
    triangles, rays, _, _ = answers(case, 500)
    strategy = probe(tmp_path, MEET, lanes_per_ray=32, defines={"NODES": NODES})
    with EmulatedTracer(triangles, strategy) as tracer:
        counts = tracer.closest_hit(rays)
    assert (counts.view(np.uint32)[:, 3] == 0).all()
    assert (counts[:, :3].sum(axis=0) > 0).all()
    assert (counts[:, :3].sum(axis=0) < NODES * len(rays)).all()


LEVELS = 40

#: Entries of stack that kernels are compiled with for most scenes.
USUAL = 32


def open_chain(kernel: str, levels: int, stack_size: int) -> EmulatedTracer:
    """A tracer on a chain with so many entries of stack, be they enough or not."""

    def pack(tree: BinaryTree, triangles: Floats) -> PackedTree:
        return replace(bvh2.pack(chain(levels), triangles), stack=1)

    layout = replace(bvh2.LAYOUT, pack=pack)
    return EmulatedTracer(slices(levels), replace(find_strategy(kernel), layout=layout, stack_size=stack_size))


def expect_overflow(tracer: EmulatedTracer, rays: Floats) -> None:
    for query in (tracer.closest_hit, tracer.any_hit):
        with pytest.raises(KernelError, match="its traversal stack overflowed"):
            query(rays)


def expect_misses(tracer: EmulatedTracer, rays: Floats) -> None:
    for query in (tracer.closest_hit, tracer.any_hit):
        assert (query(rays).view(np.uint32)[:, 3] == MISS).all()


@pytest.mark.parametrize("kernel", [*PACKETS, *WARPS])
def test_stack_of_the_layout_is_just_enough(kernel: str) -> None:
    """The same stack, with which the kernel is compiled once, is enough for a chain and not for one of a level more."""
    levels = levels_that_need(bvh2.LAYOUT, USUAL)
    rays = vertical_rays(levels, np.ones(40), hit=np.arange(40) % 3 == 0)
    with open_chain(kernel, levels, USUAL) as tracer:
        assert_same_bits(tracer.closest_hit(rays), BruteForceTracer(slices(levels)).closest_hit(rays), rays)
        assert_same_bits(tracer.any_hit(rays), BruteForceTracer(slices(levels)).any_hit(rays), rays)
    with open_chain(kernel, levels + 1, USUAL) as tracer:
        expect_overflow(tracer, vertical_rays(levels + 1, np.ones(40), hit=np.arange(40) % 3 == 0))


@pytest.mark.parametrize("kernel", WARPS)
def test_warp_goes_to_the_nearer_child_first(kernel: str) -> None:
    with open_chain(kernel, LEVELS, 2) as tracer:
        expect_misses(tracer, vertical_rays(LEVELS, np.zeros(40), hit=np.zeros(40)))
        expect_overflow(tracer, vertical_rays(LEVELS, np.arange(40) == 17, hit=np.zeros(40)))


@pytest.mark.parametrize("kernel", PACKETS)
def test_packet_goes_first_where_most_of_its_rays_want(kernel: str) -> None:
    lanes = PACKETS[kernel]
    above = np.zeros(4 * lanes, bool)
    first_packet = np.random.default_rng(0).permutation(lanes)
    above[first_packet[: lanes // 2]] = True
    with open_chain(kernel, LEVELS, 2) as tracer:
        expect_misses(tracer, vertical_rays(LEVELS, above, hit=np.zeros(4 * lanes)))
        above[first_packet[lanes // 2]] = True
        expect_overflow(tracer, vertical_rays(LEVELS, above, hit=np.zeros(4 * lanes)))


@pytest.mark.parametrize("kernel", PACKETS)
def test_rays_that_meet_one_child_do_not_vote(kernel: str) -> None:
    above = np.arange(64) % 4 != 0
    rays = vertical_rays(LEVELS, above, hit=np.zeros(64))
    rays[above, 3] = LEVELS + 0.5  # t_min: behind all slices but the last
    with open_chain(kernel, LEVELS, 2) as tracer:
        expect_misses(tracer, rays)


@pytest.mark.parametrize("kernel", PACKETS)
def test_rays_that_have_any_hit_vote_no_more(kernel: str) -> None:
    """Of eight rays three come from above, and only of the others does one go on behind the first slice."""
    place = np.arange(64) % 8
    rays = vertical_rays(LEVELS, place < 3, hit=place < 7)
    with open_chain(kernel, LEVELS, 2) as tracer:
        assert_same_bits(tracer.any_hit(rays), BruteForceTracer(slices(LEVELS)).any_hit(rays), rays)
