"""Steps that a GPU counts, against those that the emulator logs."""

import numpy as np
import pytest

from tracecore.checks.ray_cases import random_rays, soup
from tracecore.emulator.library import emulator_unavailable_reason
from tracecore.emulator.tracer import EmulatedTracer
from tracecore.kernels.step_records import Step
from tracecore.kernels.strategies import find_strategy, strategy_names
from tracecore.rays import Query
from tracecore.tracers.gpu import GpuTracer

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("gpu")]

TRIANGLES, RAYS = soup(500), random_rays(5, 3001)


@pytest.mark.parametrize("kernel", strategy_names())
def test_each_ray_takes_its_steps_and_lanes_add_up(kernel: str) -> None:
    with GpuTracer(TRIANGLES, kernel) as tracer:
        counts = tracer.count_steps(RAYS)
    strategy = find_strategy(kernel)
    assert np.all(counts.steps[:, Step.NODE] > 0)
    assert np.all(counts.useful <= 32 * counts.issued)
    for step in (Step.NODE, Step.TRIANGLE):
        assert 0.0 < (counts.efficiency(step) or 0.0) <= 1.0
    if strategy.lanes_per_ray == strategy.packet_rays == 1:
        assert counts.useful.tolist() == counts.steps.sum(axis=0).tolist()


@pytest.mark.parametrize("query", Query)
@pytest.mark.parametrize(
    "kernel",
    [
        "while-while",
        "replacing-if-if",
        "bvh4",
        "replacing-compressed-bvh8",
        "packet-8",
        "packet-32-bvh4",
        "warp-triangles-8",
        "grouped-8",
    ],
)
def test_a_gpu_takes_the_steps_of_the_emulator(kernel: str, query: Query) -> None:
    if reason := emulator_unavailable_reason():
        pytest.skip(reason)
    with GpuTracer(TRIANGLES, kernel) as tracer:
        counts = tracer.count_steps(RAYS, query)
    with EmulatedTracer(TRIANGLES, kernel) as tracer:
        sequences = tracer.record_steps(RAYS, query)
    first_rays = counts.steps[:: sequences.rays]
    known = [Step.NODE, Step.LEAF, Step.TRIANGLE]  # inside of edges is for each lane to say
    differs = (first_rays[:, known] != sequences.of_items[:, known]).any(axis=1)
    assert differs.sum() <= 0.001 * len(differs)  # reciprocals for boxes are wrong by as much, but not alike
    logged = [sequences.total_useful(step) for step in known]
    assert counts.useful[known].tolist() == pytest.approx(logged, rel=1e-3 * differs.any())
