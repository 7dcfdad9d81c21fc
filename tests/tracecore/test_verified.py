"""A share of the batches is compared with the CPU's hits; wrong ones are named, and none that is not there is used."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from brute_answers import answers
from judges import assert_same_bits
from played_device import PlayedTracer

from tracecore.dispatch.port import ONE_SLOT, next_batch, submit
from tracecore.errors import KernelError, WrongHitError
from tracecore.rays import MISS, Floats, Query
from tracecore.tracers.cpu import CpuTracer
from tracecore.tracers.polled import PolledTracer
from tracecore.tracers.verified import Judge, VerifiedTracer

CASE = answers("soup", 600)
TRIANGLES = len(CASE.triangles)


class WrongTracer(PolledTracer):
    """Has `change` change the hits of each batch, whose number it is told."""

    def __init__(self, change: Callable[[int, Floats], None]) -> None:
        super().__init__(CpuTracer(CASE.triangles, threads=1))
        self._change, self._batch = change, -1

    def _trace(self, rays: Floats, hits: Floats, query: Query) -> int:
        invalid, self._batch = super()._trace(rays, hits, query), self._batch + 1
        self._change(self._batch, hits)
        return invalid


def verified(share: float, change: Callable[[int, Floats], None] = lambda batch, hits: None) -> VerifiedTracer:
    return VerifiedTracer(WrongTracer(change), Judge(CpuTracer(CASE.triangles, threads=1), TRIANGLES, share))


def hits_of(tracer: VerifiedTracer, batches: int, query: Query = Query.CLOSEST) -> list[Floats]:
    """Hits of batches of 20 rays each, one slot after the other."""
    queue = tracer.open_queue(depth=2, batch_rays=256)
    for first in range(0, 20 * batches, 20):
        queue.submit(CASE.rays[first : first + 20], query)
    return [hits for _, hits in queue.drain()]


@pytest.mark.parametrize("query", list(Query))
def test_right_hits_pass(query: Query) -> None:
    expected = (CASE.closest, CASE.occlusion)[query]
    with verified(1.0) as tracer:
        assert_same_bits(np.concatenate(hits_of(tracer, 8, query)), expected[:160], CASE.rays)
        assert tracer.statistics().verified_batches == tracer.statistics().batches == 8


@pytest.mark.parametrize(("share", "batches"), [(0.25, 5), (0.5, 10)])
def test_a_share_of_the_batches_is_looked_at_always_the_same_ones(share: float, batches: int) -> None:
    judge = Judge(CpuTracer(CASE.triangles, threads=1), TRIANGLES, share)
    chosen = [batch for batch in range(1000) if judge.looks_at(batch)]
    assert len(chosen) == pytest.approx(1000 * share, abs=2)
    assert {batch % 4 for batch in chosen} == {0, 1, 2, 3}  # of all slots, also where their number goes into 1 / share
    with verified(share) as tracer:
        hits_of(tracer, 20)
        assert tracer.statistics().verified_batches == pytest.approx(batches, abs=1)


def test_one_bit_is_found_and_named() -> None:
    where = int(np.flatnonzero(CASE.closest.view(np.uint32)[60:80, 3] != MISS)[0])

    def change(batch: int, hits: Floats) -> None:
        if batch == 3:
            hits.view(np.uint32)[where, 0] ^= 1

    with verified(1.0, change) as tracer, pytest.raises(WrongHitError) as caught:
        hits_of(tracer, 8)
    wrong = caught.value
    assert (wrong.kernel, wrong.query, wrong.index) == ("bvh8", Query.CLOSEST, where)
    assert_same_bits(wrong.rays, CASE.rays[60:80], CASE.rays)
    right = CASE.closest[60 + where]
    assert f"kernel 'bvh8' is wrong: ray {where} of batch 3 of thread 0 hits triangle" in str(wrong)
    assert f"by the CPU it hits triangle {right.view(np.uint32)[3]} at t = {float(right[0])!r}" in str(wrong)


def test_whole_arrays_are_looked_at_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """As batches side by side, and the first wrong ray of all is named, with its batch."""
    monkeypatch.setattr("tracecore.tracers.verified.BATCH_RAYS", 100)
    where = 300 + int(np.flatnonzero(CASE.closest.view(np.uint32)[300:400, 3] != MISS)[1])

    def change(batch: int, hits: Floats) -> None:
        if batch == 2:
            hits.view(np.uint32)[where, 0] ^= 1

    with verified(1.0, change) as tracer:
        assert_same_bits(tracer.closest_hit(CASE.rays), CASE.closest, CASE.rays)
        assert_same_bits(tracer.any_hit(CASE.rays), CASE.occlusion, CASE.rays)
        assert tracer.statistics().verified_batches == 12
        assert len(tracer.closest_hit(CASE.rays[:0])) == 0
        with pytest.raises(WrongHitError, match=f"ray {where} of an array of 600 hits triangle") as caught:
            tracer.closest_hit(CASE.rays)
        assert (caught.value.query, caught.value.index) == (Query.CLOSEST, where - 300)
        assert_same_bits(caught.value.rays, CASE.rays[300:400], CASE.rays)


def test_a_share_of_whole_arrays_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many small ones too, and triangles that are not there are found in all."""
    monkeypatch.setattr("tracecore.tracers.verified.BATCH_RAYS", 100)

    def change(batch: int, hits: Floats) -> None:
        if batch == 41:
            hits.view(np.uint32)[hits.view(np.uint32)[:, 3] != MISS, 3] = TRIANGLES

    with verified(0.25, change) as tracer:
        tracer.any_hit(CASE.rays)
        for _ in range(40):
            tracer.any_hit(CASE.rays[:50])
        judge = Judge(CpuTracer(CASE.triangles, threads=1), TRIANGLES, 0.25)
        assert tracer.statistics().verified_batches == sum(map(judge.looks_at, range(46))) == 13
        assert not judge.looks_at(46)
        with pytest.raises(WrongHitError, match=f"hits triangle {TRIANGLES} at"):
            tracer.closest_hit(CASE.rays[:100])


def test_a_miss_instead_of_a_shadow_is_found() -> None:
    def change(batch: int, hits: Floats) -> None:
        hits[:] = (np.inf, 0.0, 0.0, np.uint32(MISS).view(np.float32))

    with verified(1.0, change) as tracer, pytest.raises(WrongHitError, match="hits nothing, by the CPU it hits"):
        hits_of(tracer, 1, Query.ANY)


def test_triangles_that_are_not_there_are_found_in_all_batches() -> None:
    def change(batch: int, hits: Floats) -> None:
        if batch > 0:  # the first one is looked at anyway
            hits.view(np.uint32)[hits.view(np.uint32)[:, 3] != MISS, 3] = TRIANGLES

    assert not Judge(CpuTracer(CASE.triangles, threads=1), TRIANGLES, 1e-6).looks_at(1)
    with verified(1e-6, change) as tracer, pytest.raises(WrongHitError, match=f"hits triangle {TRIANGLES} at"):
        hits_of(tracer, 2)


@pytest.fixture
def played() -> Iterator[PlayedTracer]:
    with PlayedTracer(CASE.triangles, batches=2, timeout=0.2) as tracer:
        tracer.bvh = tracer.tree = None
        yield tracer


@pytest.mark.parametrize("silent", [False, True])
def test_a_device_that_listens_is_waited_for_as_long_as_it_may_take(played: PlayedTracer, silent: bool) -> None:
    played.silent = silent
    tracer = VerifiedTracer(played, Judge(CpuTracer(CASE.triangles, threads=1), TRIANGLES, 1.0))  # type: ignore[arg-type]
    (opened,) = tracer.open_ports(1, 1, 256)
    opened.port.rays[0, :, :20] = CASE.rays[:20].T
    submit(opened.port, 0, 20, np.int64(0))
    if silent:
        with pytest.raises(KernelError, match=r"has not answered in 0\.2 s"):
            opened.poll()
    else:
        opened.poll()
        assert next_batch(opened.port, np.ones(1, np.int64), ONE_SLOT) == 0
        assert_same_bits(np.ascontiguousarray(opened.port.hits[0, :, :20].T), CASE.closest[:20], CASE.rays)
        assert opened.verified_batches == 1
