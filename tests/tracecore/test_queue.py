"""The queue for Python: batches in order, whatever answers them."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracecore
from tracecore.checks.ray_cases import box_room, random_rays
from tracecore.dispatch.ring import RingMemory
from tracecore.errors import DeviceError, KernelError, RayError
from tracecore.rays import Query

DEVICES = ["cpu", "brute", "emulator", pytest.param("gpu", marks=pytest.mark.gpu)]
EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "photon_tracer.py"


def open_on(device: str):
    if device == "gpu" and (reason := __import__("tracecore.tracers.gpu", fromlist=["x"]).gpu_unavailable_reason()):
        pytest.skip(reason)
    return tracecore.open_tracer(box_room(), device=device)


@pytest.mark.parametrize("device", DEVICES)
def test_hits_come_back_in_the_order_of_submission(device: str) -> None:
    """More batches than the queue holds, of different sizes, and both queries."""
    sent = [random_rays(seed, 40 + 7 * seed) for seed in range(9)]
    with open_on(device) as tracer, tracer.open_queue(depth=3) as queue:
        done = []
        for i, rays in enumerate(sent):
            assert queue.submit(rays, Query(i % 2)) == i
            assert queue.in_flight <= queue.depth == 3
            done += queue.completed()
        done += queue.drain()
        assert queue.in_flight == 0
        assert queue.completed() == []
        for i, batch in enumerate(done):
            assert batch.number == i
            whole = tracer.any_hit(sent[i]) if i % 2 else tracer.closest_hit(sent[i])
            np.testing.assert_array_equal(batch.hits.view(np.uint32), whole.view(np.uint32))
        assert len(done) == len(sent)


@pytest.mark.parametrize("device", DEVICES)
def test_a_fence_is_passed_when_all_before_it_is_done(device: str) -> None:
    with open_on(device) as tracer, tracer.open_queue(depth=4) as queue:
        for seed in range(2):
            queue.submit(random_rays(seed, 50))
        fence = queue.fence()
        queue.submit(random_rays(2, 50))
        queue.wait(fence)
        numbers = [batch.number for batch in queue.completed()]
        assert numbers[:2] == [0, 1]
        numbers += [batch.number for batch in queue.drain()]
        assert numbers == [0, 1, 2]


def test_rays_are_copied_and_counted() -> None:
    rays = random_rays(0, 64)
    rays[:2, 4:7] = 0.0  # no direction: invalid
    with open_on("cpu") as tracer:
        with tracer.open_queue() as queue:
            expected = tracer.closest_hit(rays)
            before = tracer.statistics()
            queue.submit(rays)
            rays[:] = 0.0
            np.testing.assert_array_equal(queue.drain()[0].hits, expected)
        done = tracer.statistics()
        assert done.batches - before.batches == 1
        assert done.rays - before.rays == 64
        assert done.invalid_rays - before.invalid_rays == 2


@pytest.mark.parametrize("device", DEVICES)
def test_what_does_not_fit_is_refused(device: str) -> None:
    with open_on(device) as tracer, tracer.open_queue(batch_rays=256) as queue:
        for rays in (random_rays(0, 257), np.zeros((0, 8), np.float32)):
            with pytest.raises(RayError, match=f"1 to 256 rays, got {len(rays)}"):
                queue.submit(rays)
        with pytest.raises(RayError):
            queue.submit(np.zeros((3, 7), np.float32))


@pytest.mark.parametrize(
    ("depth", "reason"),
    [
        (10**9, r"1,000,000,000 slots of 256 rays take 12,288\.0 GB, and this machine has [0-9.,]+; ask for fewer"),
        (10**30, "take [0-9,.]+ GB, and this machine has"),
        (0, "at least 1 slot, got 0"),
        (2.5, "whole numbers, got 2.5 slots of 256 rays"),
    ],
)
def test_a_depth_that_no_memory_has_room_for_is_refused(depth: Any, reason: str) -> None:
    with open_on("cpu") as tracer, pytest.raises(DeviceError, match=reason):
        tracer.open_queue(depth=depth, batch_rays=256)


def test_what_is_closed_refuses() -> None:
    tracer = open_on("cpu")
    queue = tracer.open_queue()
    queue.submit(random_rays(0, 10))
    tracer.close()
    with pytest.raises(KernelError, match="is closed"):
        queue.submit(random_rays(0, 10))
    queue.close()
    queue.close()
    for use in (queue.completed, queue.drain, lambda: queue.wait(1), lambda: queue.submit(random_rays(0, 1))):
        with pytest.raises(KernelError, match="the queue is closed"):
            use()


def test_the_photon_tracer_of_the_documentation_keeps_its_energy() -> None:
    """In a closed room nothing escapes, and a photon lands 1 / (1 - reflectance) times on average."""
    example = runpy.run_path(str(EXAMPLE))
    photons, reflectance = 20_000, 0.6
    landed, escaped = example["trace_photons"](box_room(), (0.1, 0.2, 0.0), reflectance, photons, device="cpu")
    assert escaped == 0
    mean, deviation = photons / (1.0 - reflectance), np.sqrt(photons * reflectance) / (1.0 - reflectance)
    assert abs(len(landed) - mean) < 4.0 * deviation
    assert (np.abs(np.abs(landed).max(axis=1) - 1.0) < 1e-3).all()
    assert len(EXAMPLE.read_text().splitlines()) <= 50


def test_memory_that_runs_out_is_an_error_of_the_tracer() -> None:
    def allocate(shape: tuple[int, ...], kind: Any) -> Any:
        raise MemoryError

    with pytest.raises(DeviceError, match=r"4 slots of 256 rays take 0\.0 GB"):
        RingMemory(4, 256, allocate)


def test_an_error_in_the_driver_leaves_nothing_in_flight() -> None:
    def fail(tracer: tracecore.Tracer) -> None:
        with tracer.open_queue() as queue:
            queue.submit(random_rays(0, 10))
            raise ZeroDivisionError

    with open_on("brute") as tracer:
        with pytest.raises(ZeroDivisionError):
            fail(tracer)
        with tracer.open_queue() as queue:
            queue.submit(random_rays(0, 10))
            assert len(queue.drain()) == 1
