"""Feeding: waves run to their end on many threads, and stop at the first fault."""

import numpy as np
import pytest

import tracecore
from renderer.feeding import Feeder, Request
from tracecore.rays import MISS, make_rays
from tracecore.tracer import Query

WALL = np.array([[(-9.0, -9.0, 2.0), (9.0, -9.0, 2.0), (0.0, 18.0, 2.0)]], np.float32)


@pytest.fixture(params=[1, 3])
def feeder(request):
    with tracecore.open_tracer(WALL, device="cpu", threads=request.param) as tracer:
        feeder = Feeder(tracer, request.param, batch_rays=256)
        yield feeder
        feeder.close()


def test_hits_come_back_in_place_and_are_counted(feeder):
    numbers = iter(range(40))
    distances = {}

    def wave(lane):
        batch, shadow = lane.batch("rays"), lane.batch("shadow", 7)
        for number in numbers:
            batch.rays[:5] = make_rays(np.zeros((5, 3)), [(0.0, 0.0, 1.0 + number)] * 5)
            shadow.rays[:2] = make_rays(np.zeros((2, 3)), [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0)])
            lane.count("camera", 5)
            yield [Request(batch, 5), Request(shadow, 2, Query.ANY)]
            distances[number] = batch.hits[:5, 0].tolist()
            assert shadow.prim_ids[:2].tolist() == [0, MISS]

    feeder.run(wave)
    assert distances == {n: pytest.approx([2.0 / (1.0 + n)] * 5) for n in range(40)}
    assert feeder.counts["camera"] == 200
    assert feeder.trace_seconds > 0.0
    assert feeder.shade_seconds > 0.0


def test_batches_have_the_size_of_the_run_and_are_kept(feeder):
    seen = []

    def wave(lane):
        seen.append((lane.batch("rays"), lane.kept("key", object)))
        assert lane.batch("rays").capacity == 256
        yield []

    feeder.run(wave)
    first, seen = seen, []
    feeder.run(wave)
    assert {(id(b), id(k)) for b, k in first} == {(id(b), id(k)) for b, k in seen}


def test_a_fault_in_one_wave_ends_the_run(feeder):
    def wave(lane):
        batch = lane.batch("rays")
        batch.rays[:1] = make_rays([(0.0, 0.0, 0.0)], [(0.0, 0.0, 1.0)])
        for step in range(1_000_000):
            if step == 20:
                raise ArithmeticError("bad shader")
            yield [Request(batch, 1)]

    with pytest.raises(ArithmeticError, match="bad shader"):
        feeder.run(wave)


def test_a_wave_may_ask_for_nothing(feeder):
    steps = []

    def wave(lane):
        steps.append("start")
        yield [Request(lane.batch("rays"), 0)]
        yield []
        steps.append("end")

    feeder.run(wave)
    assert steps.count("start") == steps.count("end") >= 1
