"""What GPUs could reach if memory took no time."""

from dataclasses import dataclass

import numpy as np
import pytest

from tracecore.analysis.bound import bound, instructions
from tracecore.analysis.simulator import Schedule
from tracecore.cuda.gpus import GPUS, Gpu


@dataclass(frozen=True)
class Costs:
    node: float = 50.0
    leaf: float = 5.0
    triangle: float = 70.0
    inside: float = 20.0
    ray: float = 100.0
    iteration: float = 2.0
    alu: "Costs | None" = None


SCHEDULE = Schedule(
    width=32, issued=np.array([10, 4, 6, 2, 1, 3, 7]), useful=np.zeros(7, np.int64), waits=np.zeros(0, np.int64)
)
#: 500 + 20 + 420 + 40 + 100 + 6, and 7 moves.
ISSUED = 1086 + 7 * 3
SLOW = Gpu(name="slow", multiprocessors=2, clock=0.001, issue=0.5, alu=0.25, arch="sm_75")


def test_each_kind_of_step_has_its_cost():
    assert instructions(SCHEDULE, Costs(), move=3.0) == ISSUED


def test_a_bound_is_rays_over_the_time_to_issue():
    # A million instructions a second.
    assert bound(SCHEDULE, 32, Costs(), SLOW, move=3.0) == pytest.approx(32 / ISSUED)


def test_a_bound_is_that_of_the_fuller_pipe():
    """At half the rate, more than half of the instructions fill the ALU pipe before the schedulers."""
    few = Costs(node=20.0, leaf=5.0, triangle=6.0, inside=1.0, ray=20.0, iteration=2.0)  # 200 + 20 + 36 + 2 + 20 + 6
    many = Costs(node=40.0, leaf=5.0, triangle=40.0, inside=20.0, ray=100.0, iteration=2.0)  # 806
    assert bound(SCHEDULE, 32, Costs(alu=few), SLOW, move=3.0) == pytest.approx(32 / ISSUED)
    assert bound(SCHEDULE, 32, Costs(alu=many), SLOW, move=3.0) == pytest.approx(32 / (2 * 806))


def test_wider_warps_are_fewer():
    assert [SLOW.instruction_rate(width) for width in (16, 32, 64)] == pytest.approx([2e6, 1e6, 5e5])


def test_nothing_to_do_takes_no_time():
    nothing = Schedule(width=32, issued=np.zeros(7), useful=np.zeros(7), waits=np.zeros(0))  # type: ignore[arg-type]
    assert bound(nothing, 1, Costs(), SLOW) == float("inf")


def test_gpus_differ_by_what_they_issue():
    rates = {name: gpu.instruction_rate(32) / 1e9 for name, gpu in GPUS.items()}
    assert rates == pytest.approx({"h200": 1045.44, "rtx-4090": 1290.24, "a100": 609.12, "gtx-285": 11.07})
