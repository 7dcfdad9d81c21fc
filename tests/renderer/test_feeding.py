"""Feeding: waves run to their end on many threads, and stop at the first fault."""

import itertools
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import tracecore
from renderer import feeding
from renderer.feeding import Feeder, Lane, Request
from tracecore.rays import BATCH_RAYS, MISS, make_rays
from tracecore.tracer import Batch, Query

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


def test_the_feeder_runs_again_after_a_fault(feeder):
    def fault(lane):
        raise ArithmeticError("bad shader")
        yield

    ends = []

    def wave(lane):
        yield [Request(lane.batch("rays"), 0)]
        ends.append(lane)

    with pytest.raises(ArithmeticError):
        feeder.run(fault)
    feeder.run(wave)
    assert len(ends) == feeder.threads


@pytest.mark.timeout(60, method="thread")  # threads that do not end would hold up any other method
def test_a_fault_ends_waves_that_would_go_on_for_ever():
    with tracecore.open_tracer(WALL, device="cpu", threads=3) as tracer:
        feeder = Feeder(tracer, 3, batch_rays=256)
        turns = itertools.count()

        def wave(lane):
            fails = next(turns) == 1
            for step in itertools.count():
                yield [Request(lane.batch("rays"), 1)]
                if fails and step == 20:
                    raise ArithmeticError("bad shader")

        with pytest.raises(ArithmeticError, match="bad shader"):
            feeder.run(wave)
        feeder.close()


@pytest.fixture
def heard_interrupts():
    """Ctrl-C raises `KeyboardInterrupt`, also where the tests run in the background and ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.timeout(60, method="thread")  # threads that do not end would hold up any other method
def test_an_interrupt_ends_waves_that_would_go_on_for_ever(feeder, heard_interrupts):
    turns = itertools.count()

    def wave(lane):
        interrupts = next(turns) == 0
        for step in itertools.count():
            yield [Request(lane.batch("rays"), 1)]
            if interrupts and step == 20:
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        feeder.run(wave)
    for thread in threading.enumerate():
        if thread.name.startswith("feeder"):
            thread.join(10.0)  # it has left the queue, and is about to go
            assert not thread.is_alive()


class SlowTracer:
    """A device that answers only when waited for, and notes what it is asked: depth batches may be in flight."""

    threads = 2

    def __init__(self, depth):
        self.depth = depth
        self.queues = []

    def open_queue(self):
        self.queues.append(SlowQueue(self.depth))
        return self.queues[-1]


class SlowQueue:
    def __init__(self, depth):
        self.depth = depth
        self.flying, self.most, self.asked, self.closed = [], 0, [], False

    def batch(self, capacity):
        return Batch.in_memory(capacity)

    def submit(self, batch, count, query):
        assert 0 < count <= batch.capacity
        assert not any(batch is other for other in self.flying)
        self.flying.append(batch)
        self.most = max(self.most, len(self.flying))
        self.asked.append((count, query))

    def wait(self, batch):
        assert self.flying[0] is batch  # the oldest first
        del self.flying[0]

    def close(self):
        self.closed = True


def test_as_many_waves_fly_as_the_queue_likes():
    tracer = SlowTracer(depth=3)
    feeder = Feeder(tracer, 1, batch_rays=64)
    work, log = iter(range(1, 13)), []

    def wave(lane):
        log.append("start")
        for number in work:
            yield [Request(lane.batch("eye"), number), Request(lane.batch("none"), 0)]
            log.append(number)
            yield [Request(lane.batch("eye"), number), Request(lane.batch("shadow"), 2 * number, Query.ANY)]

    feeder.run(wave)
    (queue,) = tracer.queues
    assert log[:3] == ["start", 1, "start"]  # one more wave for each batch that comes back
    assert log.count("start") == 3
    assert sorted(entry for entry in log if entry != "start") == list(range(1, 13))
    assert queue.most >= 3
    assert queue.flying == []
    expected = [pair for n in range(1, 13) for pair in [(n, Query.CLOSEST)] * 2 + [(2 * n, Query.ANY)]]
    assert sorted(queue.asked) == sorted(expected)
    feeder.close()
    assert queue.closed


def test_batches_in_flight_are_waited_for_after_a_fault():
    tracer = SlowTracer(depth=4)
    feeder = Feeder(tracer, 1, batch_rays=64)
    turns = itertools.count()

    def wave(lane):
        fails = next(turns) == 3
        for step in itertools.count():
            yield [Request(lane.batch("eye"), 1), Request(lane.batch("shadow"), 1)]
            if fails and step == 10:
                raise ArithmeticError("bad shader")

    with pytest.raises(ArithmeticError):
        feeder.run(wave)
    assert tracer.queues[0].most >= 6
    assert tracer.queues[0].flying == []


def test_threads_are_those_of_the_tracer_unless_told():
    tracer = SlowTracer(depth=1)
    for asked, expected in ((None, 2), (1, 1), (3, 3)):
        feeder = Feeder(tracer, asked)
        feeder.run(lambda lane: iter([[Request(lane.batch("eye"), lane.batch("eye").capacity)]]))
        assert len(tracer.queues) == expected
        assert all(queue.asked == [(BATCH_RAYS, Query.CLOSEST)] for queue in tracer.queues)
        feeder.close()
        assert all(queue.closed for queue in tracer.queues)
        tracer.queues.clear()


def test_batches_have_a_name_and_a_size():
    lane = Lane(SlowQueue(1), 64)
    assert lane.batch("eye") is lane.batch("eye") is lane.batch("eye", 64)
    assert lane.batch("eye") is not lane.batch("shadow")
    assert lane.batch("eye", 128).capacity == 128


def test_seconds_are_the_mean_over_the_threads(monkeypatch):
    clock = threading.local()

    def tick():
        clock.now = getattr(clock, "now", 0.0) + 1.0
        return clock.now

    monkeypatch.setattr(feeding.time, "perf_counter", tick)
    together = threading.Barrier(2, timeout=30)
    feeder = Feeder(SlowTracer(depth=1), 2)

    def wave(lane):
        together.wait()
        for _ in range(3):
            yield [Request(lane.batch("eye"), 1)]

    feeder.run(wave)
    # On each of the threads: four steps of the wave; three batches, handed over and waited for.
    assert feeder.shade_seconds == 4.0
    assert feeder.trace_seconds == 6.0


INTERRUPTED_RENDER = """
import os, signal, sys, threading
from renderer.cli import main
from renderer.feeding import Feeder

signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run in the background
run = Feeder.run

def run_and_interrupt(feeder, make_wave):
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    run(feeder, make_wave)

Feeder.run = run_and_interrupt
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("threads", ["1", "3"])
def test_an_interrupt_ends_a_render_in_the_midst_of_a_pass(tmp_path, threads):
    """The one pass would take many minutes."""
    arguments = ["render", "cornell", "--device", "cpu", "--threads", threads, "--size", "64x64", "--passes", "1"]
    arguments += ["--photons", "400000000", "--quiet", "-o", str(tmp_path / "a.png")]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_RENDER, *arguments],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert done.returncode == 130, done.stderr
    assert "before the first pass" in done.stderr
    assert list(tmp_path.iterdir()) == []
