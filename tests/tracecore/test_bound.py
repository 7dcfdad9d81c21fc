"""What GPUs could reach if memory took no time."""

from dataclasses import replace

import numpy as np
import pytest

from tracecore.analysis.bound import bound, instructions
from tracecore.analysis.instruction_counts import StepInstructions
from tracecore.analysis.simulator import Schedule
from tracecore.cuda.gpus import GPUS, Gpu

COSTS = StepInstructions(node=50, leaf=5, triangle=70, inside=20, ray=100, iteration=2)

SCHEDULE = Schedule(
    width=32, issued=np.array([10, 4, 6, 2, 1, 3, 7]), useful=np.zeros(7, np.int64), waits=np.zeros(0, np.int64)
)
#: 500 + 20 + 420 + 40 + 100 + 6, and 7 moves.
ISSUED = 1086 + 7 * 3
SLOW = Gpu(name="slow", multiprocessors=2, clock=0.001, issue=0.5, alu=0.25, arch="sm_75")


def test_each_kind_of_step_has_its_cost():
    assert instructions(SCHEDULE, COSTS, move=3.0) == ISSUED


def test_a_bound_is_rays_over_the_time_to_issue():
    # A million instructions a second.
    assert bound(SCHEDULE, 32, COSTS, SLOW, move=3.0) == pytest.approx(32 / ISSUED)


def test_a_bound_is_that_of_the_fuller_pipe():
    """At half the rate, more than half of the instructions fill the ALU pipe before the schedulers."""
    few = StepInstructions(node=20, leaf=5, triangle=6, inside=1, ray=20, iteration=2)  # 200 + 20 + 36 + 2 + 20 + 6
    many = StepInstructions(node=40, leaf=5, triangle=40, inside=20, ray=100, iteration=2)  # 806
    assert bound(SCHEDULE, 32, replace(COSTS, alu=few), SLOW, move=3.0) == pytest.approx(32 / ISSUED)
    assert bound(SCHEDULE, 32, replace(COSTS, alu=many), SLOW, move=3.0) == pytest.approx(32 / (2 * 806))


def test_wider_warps_are_fewer():
    assert [SLOW.instruction_rate(width) for width in (16, 32, 64)] == pytest.approx([2e6, 1e6, 5e5])


def test_nothing_to_do_takes_no_time():
    nothing = Schedule(width=32, issued=np.zeros(7), useful=np.zeros(7), waits=np.zeros(0))  # type: ignore[arg-type]
    assert bound(nothing, 1, COSTS, SLOW) == float("inf")


def test_gpus_differ_by_what_they_issue():
    rates = {name: gpu.instruction_rate(32) / 1e9 for name, gpu in GPUS.items()}
    assert rates == pytest.approx({"h200": 1045.44, "rtx-4090": 1290.24, "a100": 609.12, "gtx-285": 11.07})
