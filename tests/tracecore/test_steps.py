"""Steps that kernels mark: what the emulator logs of them, and how a device's counts are read."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tracecore.analysis.steps import StepCounts, StepSequences
from tracecore.checks.ray_cases import random_rays, soup, unreal_rays
from tracecore.emulator.tracer import EmulatedTracer
from tracecore.errors import KernelError
from tracecore.kernels.loop import IF_IF, NODE_THEN_LEAF, WHILE_WHILE, Loop
from tracecore.kernels.step_records import COUNTS, RAY_COUNTS, Step
from tracecore.kernels.strategies import find_strategy, strategy_names
from tracecore.rays import MISS, Query, make_rays

#: Far from each other, so that each is a leaf under the only node.
TWO = np.array([[[x, 0, 0], [x + 1, 0, 0], [x, 1, 0]] for x in (0, 20)], np.float32)
THROUGH, BESIDE_EDGE, FAR = [0.2, 0.2], [0.8, 0.8], [10.0, 3.0]
TRIANGLES, RAYS = soup(60), random_rays(1, 70)


def towards(*places):
    return make_rays([[x, y, 1.0] for x, y in places], [0.0, 0.0, -1.0])


def recorded(kernel, triangles=TRIANGLES, rays=RAYS, query=Query.CLOSEST):
    with EmulatedTracer(triangles, kernel, threads=1) as tracer:
        return tracer.record_steps(rays, query), tracer.closest_hit(rays)


def letters(sequences):
    """A word for each item, of the steps' initials."""
    letters = "".join(Step(kind).name[0] for kind in sequences.kinds)
    return [letters[a:b] for a, b in zip(sequences.starts, sequences.starts[1:], strict=False)]


@pytest.mark.parametrize("kernel", ["while-while", "replacing-while-while", "speculative-if-if"])
def test_a_ray_is_followed_step_by_step(kernel):
    sequences, _ = recorded(kernel, TWO, towards(THROUGH, FAR, BESIDE_EDGE))
    assert letters(sequences) == ["NLTI", "N", "NLT"]
    assert (sequences.lanes, sequences.rays) == (1, 1)
    assert sequences.useful.tolist() == [1] * 8


def test_loops_on_the_same_tree_take_the_same_steps():
    base, hits = recorded("while-while")
    for kernel in ("if-if", "persistent-if-if", "replacing-while-while"):
        assert letters(recorded(kernel)[0]) == letters(base)
    assert len(set(letters(base))) > 20
    tests = np.array([word.count("I") for word in letters(base)])
    assert np.all(tests[hits.view(np.uint32)[:, 3] != MISS] > 0)


#: Kernels on `walks.cuh`, which sees their iterations; ways to give rays to lanes change none.
WALKS = [
    name for name in strategy_names() if "walks.cuh" in find_strategy(name).source.read_text() and "ing-" not in name
]


@pytest.mark.parametrize("query", list(Query))
@pytest.mark.parametrize("kernel", [*WALKS, "replacing-while-while"])
def test_kernels_have_the_loops_that_they_say(kernel, query):
    sequences, _ = recorded(kernel, query=query)
    assert len(sequences.iteration_ends) > sequences.items


@pytest.mark.parametrize(
    ("kernel", "loop", "said"),
    [
        ("while-while", IF_IF, "by its loop=Loop(nodes=1, leaves=1, tests=1), ray 0 does NODE in an iteration, where"),
        ("if-if", WHILE_WHILE, "does NODE, NODE, .* in an iteration, where its code did NODE; register it with"),
        ("if-if", NODE_THEN_LEAF, "TRIANGLE, TRIANGLE.* in an iteration, where its code did .*LEAF, TRIANGLE; "),
        ("speculative-while-while", NODE_THEN_LEAF, "does NODE in an iteration, where its code did NODE, NODE"),
        ("compressed-bvh8", IF_IF, "TRIANGLE in an iteration, where its code did .*TRIANGLE, TRIANGLE; "),
        ("bvh4", Loop(nodes=0), "in an iteration, where its code did NODE"),
    ],
)
def test_a_loop_that_a_kernel_does_not_have_is_found_out(kernel, loop, said):
    strategy = replace(find_strategy(kernel), name="mine", loop=loop)
    with pytest.raises(KernelError, match=rf"kernel 'mine' does not have the loop that it says: .*{said_words(said)}"):
        recorded(strategy)


def said_words(said):
    """The words as a pattern, of which `.*` alone is one."""
    return ".*".join(map(re.escape, said.split(".*")))


@pytest.mark.parametrize("kernel", ["while-while", "bvh4", "speculative-if-if", "warp", "warp-triangles-8"])
@pytest.mark.parametrize("share", [1, 2])
def test_rays_that_are_none_take_no_more_steps_than_others(kernel, share):
    """All of them, or every second one."""
    usual, _ = recorded(kernel)
    rays = RAYS.copy()
    rays[::share] = unreal_rays(RAYS)[::share]
    unreal, hits = recorded(kernel, rays=rays)
    for step in (Step.NODE, Step.TRIANGLE):
        assert unreal.total(step) <= 2.5 * usual.total(step)
    no_number = np.isnan(rays).any(axis=1) | ~np.isfinite(rays[:, [0, 1, 2, 4, 5, 6]]).all(axis=1)
    assert (unreal.of_items[no_number] <= [1, 0, 0, 0]).all()  # the root
    assert (hits.view(np.uint32)[no_number, 3] == MISS).all()


def most_at_once(kernel, monkeypatch):
    """How many long rays are on their way at once, at most, where the first ray of each 32 is long."""
    logs = []
    decoded = StepSequences.decoded
    monkeypatch.setattr(
        StepSequences, "decoded", lambda entries, *rest: logs.append(entries.copy()) or decoded(entries, *rest)
    )
    steps = recorded(kernel)[0].of_items[:, Step.NODE]
    rays = make_rays(np.full((512, 3), 50.0), [[1.0, 1.0, 1.0]])
    rays[::32] = RAYS[np.argmax(steps)]
    recorded(kernel, rays=rays)
    ray = (logs[-1] >> np.uint64(32)).astype(np.int64)
    spans = [np.flatnonzero(ray == long)[[0, -1]] for long in range(0, 512, 32)]
    return max(sum(first <= moment <= last for first, last in spans) for moment, _ in spans)


def test_a_warp_that_replaces_rays_is_on_several_tickets(monkeypatch):
    """Others finish all of 32 rays before they take the next."""
    warps = find_strategy("replacing-while-while").block_size // 32
    assert most_at_once("while-while", monkeypatch) <= warps
    assert most_at_once("replacing-while-while", monkeypatch) > warps


def test_a_warp_has_twelve_planes_of_a_node_and_a_triangle_for_each_of_some_lanes():
    base, _ = recorded("while-while")
    warp, _ = recorded("warp")
    assert letters(warp) == letters(base)
    assert (warp.lanes, warp.rays) == (32, 1)
    assert set(warp.useful[warp.kinds == Step.NODE]) == {12}
    assert set(warp.useful[warp.kinds == Step.TRIANGLE]) == {1}
    eight, _ = recorded("warp-triangles-8")
    tests = eight.useful[eight.kinds == Step.TRIANGLE]
    assert 1 < tests.max() <= 8


def test_a_group_has_a_child_or_a_triangle_for_each_lane():
    sequences, _ = recorded("grouped-4")
    assert (sequences.lanes, sequences.rays, sequences.items) == (4, 1, len(RAYS))
    assert set(sequences.useful[sequences.kinds == Step.NODE]) <= {2, 3, 4}
    assert set(sequences.useful[sequences.kinds == Step.TRIANGLE]) <= {1, 2, 3, 4}
    of_nodes = recorded("grouped-8")[0]
    assert of_nodes.useful[of_nodes.kinds == Step.NODE].min() < 8  # not all have eight children
    strategy = find_strategy("grouped-4")
    assert sequences.per_ray(strategy).triangles == sequences.total_useful(Step.TRIANGLE) / len(RAYS)


@pytest.mark.parametrize("kernel", ["packet-8", "persistent-packet-8"])
def test_a_packet_of_rays_goes_together(kernel):
    places = [THROUGH] * 5 + [FAR] * 3 + [FAR] * 8 + [THROUGH] * 2
    sequences, _ = recorded(kernel, TWO, towards(*places))
    assert letters(sequences) == ["NLTI", "N", "NLTI"]
    assert sequences.useful.tolist() == [5, 8, 5, 5, 0, 2, 2, 2, 2]
    assert (sequences.lanes, sequences.rays) == (8, 8)


def test_lanes_of_a_packet_work_where_their_rays_enter_the_box_of_a_node():
    row = np.concatenate([TWO[:1] + np.array([x, 0, 0], np.float32) for x in range(40)])
    sequences, _ = recorded("packet-32-bvh4", row, towards(*([[0.2, 0.2]] * 12 + [[39.2, 0.2]] * 19 + [FAR])))
    useful = sequences.useful[sequences.kinds == Step.NODE]
    assert (useful[0], set(useful[1:])) == (31, {12, 19})
    assert set(sequences.useful[sequences.kinds == Step.TRIANGLE]) <= {0, 12, 19}


@pytest.mark.parametrize("query", Query)
def test_a_packet_tests_none_but_the_first_of_many_triangles(query):
    column = np.concatenate([TWO[:1] - np.array([0, 0, z], np.float32) for z in range(40)])
    sequences, _ = recorded("packet-32-bvh4", column, towards(*[THROUGH] * 32), query)
    assert sequences.total(Step.TRIANGLE) == 1


def test_a_log_that_is_full_is_made_anew(monkeypatch):
    from tracecore.emulator import tracer

    whole = letters(recorded("while-while")[0])
    monkeypatch.setattr(tracer, "STEPS_OF_RAY", 1)
    assert letters(recorded("while-while")[0]) == whole


def test_counts_of_a_device_are_read():
    memory = np.zeros(COUNTS.itemsize + 2 * RAY_COUNTS.itemsize, np.uint8)
    totals, rays = memory[: COUNTS.itemsize].view(COUNTS), memory[COUNTS.itemsize :].view(RAY_COUNTS)
    totals["issued"], totals["useful"] = (3, 1, 2, 0), (48, 5, 16, 0)
    rays["steps"], rays["idle"] = [(2, 1, 2, 0), (0, 0, 0, 0)], [64, 0]
    counts = StepCounts.read(memory)
    assert counts.efficiency(Step.NODE) == 0.5
    twice = StepCounts.joined([counts, counts])
    assert (twice.issued.tolist(), twice.useful[0], len(twice.steps)) == ([6, 2, 4, 0], 96, 4)
    assert counts.efficiency(Step.TRIANGLE) == 0.25
    assert counts.efficiency(Step.INSIDE) is None
    assert counts.inactive.tolist() == [0.5, 0.0]
    found = counts.per_ray(find_strategy("while-while"))
    assert (found.nodes, found.triangles, found.node_efficiency) == (1.0, 1.0, 0.5)
