"""Worker pools: loops run to their end on many threads, and stop at the first fault, whoever traces."""

import itertools
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from data_files import data_text
from numba import njit
from played_device import PlayedTracer

import tracecore
from tracecore.compilation.vector import address, fetch_add
from tracecore.dispatch.port import (
    ANY_HIT,
    DONE,
    ENDLESS,
    LOG_IN_FLIGHT,
    LOG_SHADING,
    LOG_WAITING,
    NO_OPTIONS,
    ONE_SLOT,
    PORT_BATCHES,
    PORT_LOGGED,
    PORT_SHADED,
    PORT_TRACED,
    PORT_WAITED,
    are_ready,
    next_batch,
    submit,
)
from tracecore.errors import KernelError
from tracecore.rays import MISS, make_rays
from tracecore.workers.pool import WorkerPool

WALL = np.array([[(-9.0, -9.0, 2.0), (9.0, -9.0, 2.0), (0.0, 18.0, 2.0)]], np.float32)


def open_tracer(kind, threads):
    """A CPU that traces in place, one that Python attends to, or a device that listens."""
    if kind == "played":
        return PlayedTracer(WALL, threads=threads)
    return tracecore.open_tracer(WALL, device=kind, threads=threads)


@pytest.fixture(params=[(kind, threads) for kind in ("cpu", "brute", "played") for threads in (1, 3)], ids=str)
def pool(request):
    with open_tracer(*request.param) as tracer:
        pool = WorkerPool(tracer, batch_rays=256, batch_slots=2)
        yield pool
        pool.close()


@njit(nogil=True)
def shoot(port, live, supply, numbers, distances):
    """Job number n: rays at a wall, the i-th of which has direction (0, 0, 1 + i); n of them."""
    index = next_batch(port, live, ONE_SLOT)
    while index >= 0:
        for i in range(numbers[index]):
            distances[numbers[index], i] = port.hits[index, 0, i]
        number = fetch_add(address(supply), 1)
        numbers[index] = number if number < supply[1] else 0
        live[index] = numbers[index]
        for i in range(numbers[index]):
            for word in range(8):
                port.rays[index, word, i] = 0.0
            port.rays[index, 6, i] = 1.0 + i
        if numbers[index] > 0:
            submit(port, index, numbers[index], ENDLESS)
        index = next_batch(port, live, ONE_SLOT)
    return index


def run_shots(pool, jobs):
    """(jobs, jobs) distances: row n has n of them."""
    supply, distances = np.array([1, jobs]), np.zeros((jobs, jobs), np.float32)

    def make_loop(worker):
        batches = pool.batches(1)
        live, numbers = np.ones(batches, np.int64), np.zeros(batches, np.int64)
        return lambda: shoot(worker.port, live, supply, numbers, distances)

    pool.run(make_loop)
    return distances


def test_hits_come_back_in_place_and_are_counted(pool):
    expected = np.tril(np.broadcast_to(2.0 / (1.0 + np.arange(50)), (50, 50)), -1)
    for turn in (1, 2):
        np.testing.assert_allclose(run_shots(pool, 50), expected, rtol=1e-6)
        assert pool.rays == turn * 49 * 50 // 2
    assert sum(int(worker.port.counters[PORT_BATCHES]) for worker in pool.workers) == 2 * 49
    assert min(pool.counters()["trace_seconds"], pool.counters()["shade_seconds"]) > 0.0


def test_a_lane_of_several_slots_waits_for_all(pool):
    """Every other time the second slot is not used."""
    seen = []

    def make_loop(worker):
        port, turns, live = worker.port, itertools.count(), np.ones(1, np.int64)

        def loop():
            index = next_batch(port, live, np.int64(2))
            while index == 0:
                turn = next(turns)
                if turn > 0:
                    shadows = port.hits[1, 3, :2].view(np.uint32).tolist()
                    seen.append((float(port.hits[0, 0, 0]), shadows))
                if turn == 6:
                    live[0] = 0
                else:
                    port.rays[0, :, :1] = make_rays(np.zeros((1, 3)), [(0.0, 0.0, 1.0 + turn)]).T
                    submit(port, 0, 1, NO_OPTIONS)
                    if turn % 2 == 0:
                        port.hits[1, 3, :2].view(np.uint32)[:] = 7
                        port.rays[1, :, :2] = make_rays(np.zeros((2, 3)), [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0)]).T
                        submit(port, 1, 2, ANY_HIT)
                index = next_batch(port, live, np.int64(2))
            return index

        return loop

    pool.run(make_loop)
    assert len(seen) == 6 * pool.threads
    assert sorted({distance for distance, _ in seen}) == pytest.approx(sorted(2.0 / (1.0 + n) for n in range(6)))
    assert all(shadows == [0, MISS] for _, shadows in seen)


def spin_until(worker, condition):
    """A Python loop that traces the same batch until the condition holds."""
    live = np.ones(pool_batches(worker), np.int64)

    def loop():
        index = next_batch(worker.port, live, ONE_SLOT)
        while index >= 0:
            if condition():
                return DONE
            worker.port.rays[index, :, :1] = make_rays([(0.0, 0.0, 0.0)], [(0.0, 0.0, 1.0)]).T
            submit(worker.port, index, 1, NO_OPTIONS)
            index = next_batch(worker.port, live, ONE_SLOT)
        return index

    return loop


def pool_batches(worker):
    return min(len(worker.port.doorbells), 2)


def fail_after(steps):
    left = itertools.count()

    def condition():
        if next(left) == steps:
            raise ArithmeticError("bad shader")
        return False

    return condition


@pytest.mark.timeout(60, method="thread")  # threads that do not end would hold up any other method
def test_a_fault_ends_loops_that_would_go_on_for_ever_within_a_second(pool):
    run_shots(pool, 3)  # compiles
    turns, failed_at = itertools.count(), []

    def fail():
        failed_at.append(time.perf_counter())
        raise ArithmeticError("bad shader")

    def make_loop(worker):
        steps = itertools.count()
        fails = next(turns) == 0
        return spin_until(worker, lambda: fails and next(steps) == 20 and fail())

    with pytest.raises(ArithmeticError, match="bad shader"):
        pool.run(make_loop)
    assert time.perf_counter() - failed_at[0] < 1.0
    assert np.all(np.tril(np.ones((30, 30)), -1)[1:] == (run_shots(pool, 30)[1:] > 0.0))  # and it runs again


@pytest.fixture
def heard_interrupts():
    """Ctrl-C raises `KeyboardInterrupt`, also where the tests run in the background and ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@njit(nogil=True)
def shoot_for_ever(port, live):
    """Without the interpreter, until it is stopped."""
    index = next_batch(port, live, ONE_SLOT)
    while index >= 0:
        port.rays[index, 6, 0] = 1.0
        submit(port, index, 1, ENDLESS)
        index = next_batch(port, live, ONE_SLOT)
    return index


@pytest.mark.timeout(60, method="thread")
def test_an_interrupt_ends_compiled_loops_within_a_second(pool, heard_interrupts):
    run_shots(pool, 3)
    sent = []

    def interrupt():
        sent.append(time.perf_counter())
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def make_loop(worker):
        live = np.ones(pool_batches(worker), np.int64)
        return lambda: shoot_for_ever(worker.port, live)

    shoot_for_ever(pool.workers[0].port, np.zeros(1, np.int64))  # compiles
    timer = threading.Timer(0.3, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        pool.run(make_loop)
    assert time.perf_counter() - sent[0] < 1.0
    for thread in threading.enumerate():
        if thread.name.startswith("pool"):
            thread.join(10.0)  # it has left the port, and is about to go
            assert not thread.is_alive()


def test_what_is_on_its_way_lands_before_a_fault_is_told():
    with PlayedTracer(WALL, batches=4) as tracer:
        pool = WorkerPool(tracer, batch_rays=256)

        def make_loop(worker):
            submit(worker.port, 2, 1, ENDLESS)
            return fail_after(0)

        with pytest.raises(ArithmeticError):
            pool.run(make_loop)
        assert are_ready(tracer.ports[0].port, 0)


@pytest.mark.timeout(60, method="thread")
def test_a_device_that_falls_silent_is_an_error():
    with PlayedTracer(WALL, threads=2, timeout=0.2, silent=True) as tracer:
        pool = WorkerPool(tracer, batch_rays=256)
        with pytest.raises(KernelError, match=r"'played' has not answered in 0.2 s.*TRACECORE_GPU_TIMEOUT"):
            run_shots(pool, 20)


def test_a_complaint_of_the_kernel_is_an_error():
    complaint = pytest.raises(KernelError, match="'played' failed: its traversal stack overflowed")
    with PlayedTracer(WALL, faulty=True) as tracer, complaint:
        run_shots(WorkerPool(tracer, batch_rays=256), 20)


@pytest.mark.parametrize("kind", ["cpu", "brute", "played"])
def test_invalid_rays_are_counted(kind):
    with open_tracer(kind, 1) as tracer:
        if kind == "played":
            pytest.skip("the played device does not look at rays")
        pool = WorkerPool(tracer, batch_rays=256)

        def make_loop(worker):
            port, live = worker.port, np.ones(1, np.int64)
            port.rays[0, 6, :9] = (1.0, np.nan, 1.0, np.inf, 0.0, 1.0, 1.0, 1.0, 1.0)
            submit(port, 0, 9, ENDLESS)

            def loop():
                status = next_batch(port, live, ONE_SLOT)
                live[:] = status < 0
                return DONE if status >= 0 else status

            return loop

        pool.run(make_loop)
        pool.close()
        assert tracer.statistics().invalid_rays == 3
        assert tracer.statistics().rays == 9


def test_the_log_tells_when_what_happened():
    with PlayedTracer(WALL, batches=3) as tracer:
        pool = WorkerPool(tracer, batch_rays=256, log_rows=10_000)
        run_shots(pool, 100)
        port = pool.workers[0].port
        log = port.log[: port.counters[PORT_LOGGED]]
        for kind, counter in ((LOG_SHADING, PORT_SHADED), (LOG_WAITING, PORT_WAITED)):
            spans = log[log[:, 0] == kind]
            assert (spans[:, 3] - spans[:, 2]).sum() == port.counters[counter]
        own = log[log[:, 0] != LOG_IN_FLIGHT]
        own = own[np.argsort(own[:, 2])]
        assert np.all(own[1:, 2] >= own[:-1, 3])  # a thread does one thing at a time
        batches = log[log[:, 0] == LOG_IN_FLIGHT]
        assert sorted(batches[:, 4].tolist()) == list(range(1, 100))
        assert set(batches[:, 1].tolist()) == {0, 1, 2}
        assert port.counters[PORT_TRACED] == 0


INTERRUPTED_RENDER = data_text("programs/interrupted_render.py")


@pytest.mark.parametrize("threads", ["1", "3"])
def test_an_interrupt_ends_a_render_in_the_midst_of_a_pass(tmp_path, threads):
    """The one pass would take minutes."""
    arguments = ["render", "cornell", "--device", "cpu", "--threads", threads, "--size", "64x64", "--passes", "1"]
    arguments += ["--photons", "60000000", "--quiet", "-o", str(tmp_path / "a.png")]
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


@pytest.mark.timeout(60, method="thread")
def test_a_device_that_dies_is_an_error_at_once():
    with PlayedTracer(WALL, threads=2, silent=True) as tracer:
        pool = WorkerPool(tracer, batch_rays=256)
        threading.Timer(0.3, lambda: setattr(tracer, "dies", True)).start()
        with pytest.raises(KernelError, match="the device has died"):
            run_shots(pool, 20)
