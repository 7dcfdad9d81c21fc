"""Cut-outs on a GPU: every kernel, streamed and resident, against brute force."""

import functools
from collections.abc import Callable
from typing import Any

import pytest
from brute_answers import Answers, cutout_answers
from judges import MILLION, assert_same_bits
from readme_kernel import register_example

from tracecore.checks.cutout_cases import CASES, random_cutouts
from tracecore.cutouts import CutoutTables, tables_of
from tracecore.kernels import strategies
from tracecore.kernels.strategies import strategy_names
from tracecore.kernels.strategy import KernelStrategy
from tracecore.rays import Query
from tracecore.tracers.gpu import GpuTracer

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("gpu")]

RAYS = 1500
Judge = Callable[[str], tuple[CutoutTables, Answers]]


@pytest.fixture(scope="module")
def brute_force(tmp_path_factory: pytest.TempPathFactory) -> KernelStrategy:
    with pytest.MonkeyPatch.context() as context:
        context.setattr(strategies, "_strategies", dict(strategies._strategies))
        return register_example(tmp_path_factory.mktemp("kernel"))


@pytest.fixture(scope="module")
def judge(brute_force: KernelStrategy) -> Judge:
    """Cut-outs of a case, and what a million rays hit."""

    @functools.cache
    def of_case(case: str) -> tuple[CutoutTables, Answers]:
        triangles, rays = CASES[case](MILLION)
        tables = tables_of(random_cutouts(triangles), len(triangles))
        assert tables is not None
        with GpuTracer(triangles, brute_force, cutouts=tables) as tracer:
            return tables, Answers(triangles, rays, tracer.closest_hit(rays), tracer.any_hit(rays))

    return of_case


@pytest.mark.parametrize("case", CASES)
def test_the_judge_is_brute_force(brute_force: KernelStrategy, case: str) -> None:
    tables, (triangles, rays, closest, occlusion) = cutout_answers(case, RAYS)
    with GpuTracer(triangles, brute_force, cutouts=tables) as tracer:
        assert_same_bits(tracer.closest_hit(rays), closest, rays)
        assert_same_bits(tracer.any_hit(rays), occlusion, rays)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kernel", strategy_names())
def test_a_million_hits_are_those_of_brute_force(judge: Judge, kernel: str, case: str) -> None:
    tables, (triangles, rays, closest, occlusion) = judge(case)
    with GpuTracer(triangles, kernel, cutouts=tables) as tracer:
        assert_same_bits(tracer.closest_hit(rays), closest, rays)
        assert_same_bits(tracer.any_hit(rays), occlusion, rays)


@pytest.mark.parametrize("dispatch", ["resident", "streamed"])
@pytest.mark.parametrize("kernel", strategy_names())
def test_a_few_hits_through_queues_are_the_same(kernel: str, dispatch: Any) -> None:
    """What `tests/gpu.sh` may run under the sanitizer's tools."""
    tables, (triangles, rays, closest, occlusion) = cutout_answers("soup", RAYS)
    with GpuTracer(triangles, kernel, dispatch=dispatch, cutouts=tables) as tracer:
        queue = tracer.open_queue()
        for query, expected in ((Query.CLOSEST, closest), (Query.ANY, occlusion)):
            queue.submit(rays, query)
            (batch,) = queue.drain()
            assert_same_bits(batch.hits, expected, rays)
        queue.close()


@pytest.mark.parametrize("kernel", strategy_names())
def test_nothing_spills(kernel: str) -> None:
    tables, (triangles, *_) = cutout_answers("soup", RAYS)
    with GpuTracer(triangles, kernel, cutouts=tables) as tracer:
        assert all(row.spill_bytes == 0 for row in tracer.compiled.resources.values())
