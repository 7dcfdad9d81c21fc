"""The simulator of SIMD machines: schedules worked out by hand, and what holds of every schedule."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracecore.analysis.simulator import Lanes, Queues, SimulatedWork, own_organisation, simulate
from tracecore.analysis.steps import StepSequences
from tracecore.kernels.loop import IF_IF, NODE_THEN_LEAF, WHILE_WHILE, Loop
from tracecore.kernels.strategies import find_strategy, strategy_names

TWO_TESTS = Loop(nodes=1, leaves=1, tests=2)
LOOPS = (WHILE_WHILE, IF_IF, TWO_TESTS, NODE_THEN_LEAF)
ORGANISATIONS = (
    *(Lanes(loop=loop, replace_below=below, rounds=rounds) for loop in LOOPS for below, rounds in ((0, 16), (0.6, 2))),
    Queues(pool=1),
    Queues(pool=3),
)


def sequences(*items: str, lanes: int = 1) -> StepSequences:
    """Items whose lanes all have work in all steps, written by first letters."""
    kinds = np.array(["NLTI".index(letter) for letter in "".join(items)], np.uint8)
    return StepSequences(
        kinds=kinds,
        useful=np.full(len(kinds), lanes, np.uint8),
        starts=np.cumsum([0, *map(len, items)]),
        lanes=lanes,
        rays=1,
    )


def counts(found, *kinds):
    """Of each kind: how often issued, and how many lanes had work."""
    return [(int(found.issued[kind]), int(found.useful[kind])) for kind in kinds]


VISITS_AND_TESTS = (SimulatedWork.NODE, SimulatedWork.TRIANGLE)
STEPS = (SimulatedWork.NODE, SimulatedWork.LEAF, SimulatedWork.TRIANGLE, SimulatedWork.INSIDE)


def test_while_while_visits_until_all_have_a_leaf_and_tests_until_all_have_none():
    # Turn 1: N of both, N of one; L of both; T of both, then I of one, then T of the other. Turn 2: N of one.
    found = simulate(sequences("NLTIN", "NNLTT"), Lanes(), 2)
    assert counts(found, *STEPS) == [(3, 4), (1, 2), (2, 3), (1, 1)]
    assert counts(found, SimulatedWork.ITERATION, SimulatedWork.RAYS) == [(2, 3), (1, 2)]
    assert found.efficiency(SimulatedWork.NODE) == 4 / 6
    assert found.efficiency(SimulatedWork.TRIANGLE) == 3 / 4
    assert found.efficiency(*VISITS_AND_TESTS) == 7 / 10
    assert found.waits.tolist() == [2, 1]


def test_while_while_takes_leaf_after_leaf():
    # Both pick up a first leaf; the second ray tests alone; both pick up the second leaf; each tests once.
    found = simulate(sequences("NLTLT", "NLTTLT"), Lanes(), 2)
    assert counts(found, *STEPS) == [(1, 2), (2, 4), (3, 5), (0, 0)]
    assert counts(found, SimulatedWork.ITERATION) == [(1, 2)]


def test_a_postponed_leaf_keeps_nobody_waiting():
    # The first ray postpones its leaf and visits along with the second one. They test together.
    found = simulate(sequences("NLNNT", "NNNLT"), Lanes(), 2)
    assert counts(found, *STEPS) == [(3, 6), (2, 2), (1, 2), (0, 0)]
    assert found.efficiency(*VISITS_AND_TESTS) == 1.0


@pytest.mark.parametrize(("loop", "tests", "turns"), [(IF_IF, 3, 3), (TWO_TESTS, 3, 2), (NODE_THEN_LEAF, 4, 2)])
def test_if_if_does_a_little_of_all_in_each_turn(loop, tests, turns):
    # The second ray's second visit is in turn 2, and so is its test: along with the first ray's if that has one left.
    found = simulate(sequences("NLTTT", "NNLT"), Lanes(loop=loop), 2)
    assert counts(found, SimulatedWork.NODE, SimulatedWork.TRIANGLE) == [(2, 3), (tests, 4)]
    assert found.issued[SimulatedWork.ITERATION] == turns


def test_rays_are_replaced_where_too_few_walk():
    # Two lanes; a ray of 4 visits beside four of 1 each. By warps of rays: 4 + 1 + 1 turns, replaced: 4.
    rays = sequences("NLTNLTNLTNLT", "NLT", "NLT", "NLT", "NLT")
    assert counts(simulate(rays, Lanes(), 2), SimulatedWork.NODE, SimulatedWork.RAYS) == [(6, 8), (3, 5)]
    replaced = simulate(rays, Lanes(replace_below=1.0), 2)
    assert counts(replaced, SimulatedWork.NODE, SimulatedWork.RAYS) == [(4, 8), (4, 5)]
    assert replaced.efficiency(*VISITS_AND_TESTS) == 1.0


def test_queues_do_what_more_rays_are_ready_for():
    # Width 2, four rays: two visits fill two steps, then all test, two at a time. The lanes change places twice.
    found = simulate(sequences("NLT", "NLT", "NLT", "NLT"), Queues(pool=2), 2)
    assert counts(found, *STEPS) == [(2, 4), (2, 4), (2, 4), (0, 0)]
    assert counts(found, SimulatedWork.RAYS, SimulatedWork.ITERATION) == [(2, 4), (4, 8)]
    assert found.efficiency(*VISITS_AND_TESTS) == 1.0


def test_queues_move_a_ray_only_where_its_lane_is_needed():
    # Of one ray there is nothing to move but its coming into a lane.
    assert counts(simulate(sequences("NLTN"), Queues(), 2), SimulatedWork.MOVE) == [(1, 1)]
    # Two rays in one lane: in, each visits; the second one tests and ends; the first one comes back.
    assert counts(
        simulate(sequences("NLT", "NLT"), Queues(pool=2), 1), SimulatedWork.MOVE, SimulatedWork.ITERATION
    ) == [(3, 4), (4, 4)]


#: A ray: what it does, step by step.
RAY = st.lists(st.sampled_from(["N", "NLT", "NLTTI", "NLNT", "NLTLT", "LTI"]), max_size=6).map("".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(RAY, max_size=20), st.sampled_from([1, 2, 8]), st.sampled_from(ORGANISATIONS))
def test_every_step_is_done_once(items, width, organisation):
    found = simulate(sequences(*items), organisation, width)
    for kind, letter in zip(STEPS, "NLTI", strict=True):
        assert found.useful[kind] == "".join(items).count(letter)
        assert found.useful[kind] <= width * found.issued[kind]
    assert found.useful[SimulatedWork.RAYS] == len(items)
    assert np.all(found.waits >= 0)
    if width == 1:
        assert found.efficiency(*VISITS_AND_TESTS) in (1.0, None)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 30), max_size=40), st.sampled_from(LOOPS))
def test_replacing_never_costs_steps(lengths, loop):
    rays = sequences(*("NLT" * length for length in lengths))
    plain, replaced = (simulate(rays, Lanes(loop=loop, replace_below=below), 8) for below in (0.0, 1.0))
    assert replaced.issued[SimulatedWork.NODE] <= plain.issued[SimulatedWork.NODE]
    assert replaced.issued[SimulatedWork.TRIANGLE] <= plain.issued[SimulatedWork.TRIANGLE]


@pytest.mark.parametrize("name", strategy_names())
def test_kernels_say_how_they_are_organised(name):
    own = own_organisation(find_strategy(name))
    lanes = (24 if "compressed" in name else 20) if name.startswith("replacing-") else 0
    assert own.replace_below == lanes / 32
    assert (own.loop == IF_IF) == name.endswith("if-if")
    assert (own.loop == TWO_TESTS) == ("compressed" in name)
    assert (own.loop == NODE_THEN_LEAF) == ("grouped" in name or "warp-bvh" in name)


def test_items_must_fit_in():
    with pytest.raises(ValueError, match="a warp of 8 lanes does not hold items of 16"):
        simulate(sequences("N", lanes=16), Lanes(), 8)


@pytest.mark.parametrize("items", [("I",), ("NI",), ("NT", "IN")])
def test_nothing_is_inside_of_a_triangle_not_tested(items):
    with pytest.raises(ValueError, match="INSIDE does not follow a TRIANGLE"):
        simulate(sequences(*items), Lanes(), 2)


def test_no_rays_need_no_steps():
    for organisation in ORGANISATIONS:
        assert simulate(sequences(), organisation, 8).issued.sum() == 0  # type: ignore[arg-type]
