"""What a pool tells of its threads: seconds, bytes, and rays that are left in the slots."""

import numpy as np
import pytest

import tracecore
from tracecore.dispatch.port import (
    ANY_HIT,
    ENDLESS,
    NO_OPTIONS,
    NO_UV,
    ONE_SLOT,
    PORT_SHADED,
    PORT_TRACED,
    PORT_WAITED,
    next_batch,
    submit,
)
from tracecore.workers.pool import WorkerPool

WALL = np.array([[(-9.0, -9.0, 2.0), (9.0, -9.0, 2.0), (0.0, 18.0, 2.0)]], np.float32)


def run_on(pool, count, options=NO_OPTIONS):
    """On each thread one batch of rays along (i, 2, 3) from (4, 5, 6)."""

    def make_loop(worker):
        port, live, sent = worker.port, np.ones(1, np.int64), []

        def loop():
            while (index := next_batch(port, live, ONE_SLOT)) >= 0:
                if sent:
                    live[index] = 0
                else:
                    rays = np.array([(4.0, 5.0, 6.0, 0.25, i, 2.0, 3.0, 8.0) for i in range(count)])
                    port.rays[index, :, :count] = rays.T
                    submit(port, index, count, options)
                    sent.append(count)
            return index

        return loop

    pool.run(make_loop)


@pytest.fixture(params=["cpu", "brute"])
def pool(request):
    with tracecore.open_tracer(WALL, device=request.param, threads=2) as tracer:
        pool = WorkerPool(tracer, 2, batch_rays=256)
        yield pool
        pool.close()


@pytest.mark.parametrize(
    ("options", "up", "down"), [(NO_OPTIONS, 32, 16), (ANY_HIT, 32, 16), (ENDLESS, 24, 16), (ENDLESS | NO_UV, 24, 8)]
)
def test_bytes_of_rays_and_hits(pool, options, up, down):
    run_on(pool, 7, options)
    run_on(pool, 3, options)
    counters = pool.counters()
    assert (counters["bytes_up"], counters["bytes_down"]) == (2 * 10 * up, 2 * 10 * down)


def test_seconds_are_means_over_the_threads(pool):
    assert set(pool.counters().values()) == {0}
    run_on(pool, 1)
    for port, waited in zip([worker.port for worker in pool.workers], (10, 30), strict=True):
        port.counters[PORT_WAITED], port.counters[PORT_SHADED], port.counters[PORT_TRACED] = waited * 1e9, 2e9, 3e9
    assert pool.counters() == {
        "trace_seconds": pytest.approx(23.0),
        "wait_seconds": pytest.approx(20.0),
        "shade_seconds": pytest.approx(2.0),
        "map_seconds": 0.0,
        "idle_seconds": 0.0,
        "python_seconds": 0.0,
        "bytes_up": 64,
        "bytes_down": 32,
    }


def test_rays_are_left_in_the_slots(pool):
    assert pool.sample_rays().shape == (0, 8)
    run_on(pool, 7)
    run_on(pool, 3)
    sample = pool.sample_rays()
    assert (sample.dtype, sample.flags.c_contiguous) == (np.float32, True)
    one_thread = [[4.0, 5.0, 6.0, 0.0, float(i), 2.0, 3.0, np.inf] for i in range(7)]
    assert sample.tolist() == 2 * one_thread
