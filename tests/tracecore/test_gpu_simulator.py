"""SIMD efficiency as simulated, against what a GPU counts."""

import pytest

from tracecore.analysis.simulator import own_organisation, simulate
from tracecore.checks.ray_cases import random_rays, soup
from tracecore.cuda.device import gpu_unavailable_reason
from tracecore.emulator.library import emulator_unavailable_reason
from tracecore.emulator.tracer import EmulatedTracer
from tracecore.kernels.step_records import Step
from tracecore.kernels.strategies import find_strategy
from tracecore.rays import Query
from tracecore.tracers.gpu import GpuTracer

pytestmark = pytest.mark.gpu

TRIANGLES, RAYS = soup(500), random_rays(5, 3001)

#: Of all ways to loop; where rays are replaced, it depends on the device which warp gets which.
KERNELS = (
    "while-while",
    "speculative-while-while",
    "persistent-while-while",
    "if-if",
    "speculative-if-if",
    "bvh4",
    "compressed-bvh8",
    "packet-32",
    "packet-32-bvh4",
    "warp-triangles-8",
    "grouped-4",
    "grouped-8",
)


@pytest.mark.parametrize("query", Query)
@pytest.mark.parametrize("kernel", KERNELS)
def test_efficiencies_are_those_of_the_gpu_within_two_points(kernel: str, query: Query) -> None:
    if reason := gpu_unavailable_reason() or emulator_unavailable_reason():
        pytest.skip(reason)
    with GpuTracer(TRIANGLES, kernel) as tracer:
        counts = tracer.count_steps(RAYS, query)
    with EmulatedTracer(TRIANGLES, kernel) as tracer:
        sequences = tracer.record_steps(RAYS, query)
    schedule = simulate(sequences, own_organisation(find_strategy(kernel)))
    for step in (Step.NODE, Step.TRIANGLE):
        assert schedule.efficiency(step) == pytest.approx(counts.efficiency(step), abs=0.02)
