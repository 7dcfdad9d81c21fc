"""Rates through a ring; CUDA is played by the emulator."""

from collections.abc import Iterator

import numpy as np
import pytest
from brute_answers import answers
from fake_cuda import FakeCuda, installed
from judges import assert_same_bits

from tracecore.benchmarks import kernel_rates as benchmark
from tracecore.benchmarks.kernel_rates import ring_rate
from tracecore.dispatch.port import ANY_HIT, NO_OPTIONS
from tracecore.errors import KernelError
from tracecore.rays import BATCH_RAYS, Query
from tracecore.tracers.gpu import GpuTracer

CASE = answers("soup", 600)


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCuda]:
    monkeypatch.setenv("TRACECORE_GPU_TIMEOUT", "30")
    yield from installed(monkeypatch)


@pytest.mark.parametrize(("query", "options"), [(Query.CLOSEST, NO_OPTIONS), (Query.ANY, ANY_HIT)])
def test_all_batches_in_flight_are_asked_again(cuda, query, options, monkeypatch):
    asked: list[tuple[int, int]] = []
    rung: list[int] = []
    submit, ring_again = benchmark.submit, benchmark.ring_again  # type: ignore[attr-defined]
    monkeypatch.setattr(benchmark, "submit", lambda *words: (asked.append(words[1:4:2]), submit(*words)))
    monkeypatch.setattr(benchmark, "ring_again", lambda *words: rung.append(words[3]) or ring_again(*words))
    with GpuTracer(CASE.triangles, "while-while", threads=2) as tracer:
        found = ring_rate(tracer, CASE.rays, query, (2, 2), rung_rays=8 * BATCH_RAYS)
        assert found.rate > 0.0
        assert 0.0 < found.busy <= 1.1  # clocks of the host and of the played device
        assert_same_bits(found.hits, (CASE.closest, CASE.occlusion)[query][found.indices], CASE.rays)
        tracer.open_ports(1, 1, 256)[0].close()  # ports are closed: another size of batches may be had
    assert asked == [(0, options), (1, options)] * 2
    assert rung == [2, 2]


def test_batches_come_from_all_over_the_rays() -> None:
    indices = np.arange(5 * BATCH_RAYS)
    first, middle, last = benchmark._batches(len(indices), 3)
    assert np.array_equal(first, indices[:BATCH_RAYS])
    assert np.array_equal(middle, indices[2 * BATCH_RAYS : 3 * BATCH_RAYS])
    assert np.array_equal(last, indices[-BATCH_RAYS:])
    (few,) = benchmark._batches(100, 1)
    assert few.shape == (BATCH_RAYS,)
    assert np.array_equal(few[100:200], indices[:100])


def test_hits_are_those_of_the_last_round(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was there before the clock ran is forgotten: a kernel that writes nothing has no hits to show."""
    monkeypatch.setattr(benchmark, "ring_again", lambda *_: True)
    with GpuTracer(CASE.triangles, "while-while", threads=1) as tracer:
        assert np.isnan(ring_rate(tracer, CASE.rays, Query.CLOSEST, (1, 1), rung_rays=1).hits).all()


def test_a_device_that_does_not_answer_is_an_error(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "ring_again", lambda *_: False)
    with (
        GpuTracer(CASE.triangles, "while-while", threads=1) as tracer,
        pytest.raises(KernelError, match="kernel 'while-while' has not answered in 30 s"),
    ):
        ring_rate(tracer, CASE.rays, Query.CLOSEST, (1, 1), rung_rays=1)
