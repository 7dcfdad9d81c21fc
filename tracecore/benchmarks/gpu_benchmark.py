"""Rates of launches over whole arrays, of queues and of ports, nothing done with the hits.

In a room full of spheres. Every figure is a median of 5. `tracecore bench SCENE` compares kernels on the rays of a
scene.
"""

import statistics
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np

from tracecore.benchmarks.kernel_time import kernel_seconds
from tracecore.benchmarks.ring_rate import ring_rate
from tracecore.cuda.device import gpu_name
from tracecore.dispatch.queue import RayQueue
from tracecore.errors import DeviceError
from tracecore.rays import BATCH_RAYS, Floats, Query, make_rays
from tracecore.tracers.gpu import DISPATCHES, GpuTracer, gpu_unavailable_reason

REPEATS = 5
LAUNCH_RAYS = 1 << 21
QUEUED_RAYS = 1 << 22

#: Kernels that are measured through ports too.
RESIDENT = ("while-while", "replacing-while-while", "replacing-compressed-bvh8")

Row = dict[str, str | int | float]


def tables(triangles: Floats) -> dict[str, list[Row]]:
    """Prints the tables, line by line as they are measured, and returns their rows by name. Raises `DeviceError` where
    no GPU can be used.

    triangles: (t, 3, 3) float32, of a room about the origin with lamps inside.
    """
    if reason := gpu_unavailable_reason():
        raise DeviceError(f"no GPU can be used: {reason}")
    photons = lamp_rays()
    print(f"{gpu_name()}, {len(triangles)} triangles; Mrays/s, median of {REPEATS}")
    return {
        "launches": list(launch_rows(triangles, photons)),
        "queues": [row for dispatch in DISPATCHES for row in queue_rows(triangles, dispatch, photons)],
        "resident": [row for name in RESIDENT for row in resident_rows(triangles, name, photons)],
    }


def lamp_rays() -> Floats:
    """Returns (LAUNCH_RAYS, 8) float32 rays from six lamps in the room to all sides, in random order."""
    random = np.random.default_rng(1)
    lamps = random.uniform(-0.9, 0.9, (6, 3))[random.integers(6, size=LAUNCH_RAYS)]
    return make_rays(lamps, random.normal(size=(LAUNCH_RAYS, 3)))


def kernel_rate(tracer: GpuTracer, rays: Floats) -> float:
    """Returns millions of rays per second of one launch, by the device's clock, launch alone."""
    return len(rays) / statistics.median(kernel_seconds(tracer, rays, Query.CLOSEST, REPEATS)) / 1e6


def median(measure: Callable[[], float]) -> float:
    """Returns the median of `REPEATS` measurements."""
    return statistics.median(measure() for _ in range(REPEATS))


def launch_rows(triangles: Floats, rays: Floats) -> Iterator[Row]:
    """Yields rates of one launch at a time, of ever more rays: by the device's clock, and with copies by wall time."""
    with GpuTracer(triangles) as tracer:
        print(f"\n{tracer.name} on 'photon', one launch at a time\n{'rays':>24} {'closest':>9} {'copied':>9}")
        for exponent in range(10, 21, 2):
            part = rays[: 1 << exponent]
            rate, copied = kernel_rate(tracer, part), array_rate(tracer, part)
            print(f"{len(part):24} {rate:9.0f} {copied:9.0f}", flush=True)
            yield {"rays": len(part), "closest": rate, "copied": copied}


def array_rate(tracer: GpuTracer, rays: Floats) -> float:
    """Returns millions of rays per second of wall time that a call with a whole array traces."""

    def seconds() -> float:
        start = time.perf_counter()
        tracer.closest_hit(rays)
        return time.perf_counter() - start

    return len(rays) / median(seconds) / 1e6


def queue_rows(triangles: Floats, dispatch: str, rays: Floats) -> Iterator[Row]:
    """Yields rates end to end through queues of Python threads."""
    with GpuTracer(triangles, dispatch=dispatch, threads=8) as tracer:
        print(f"\n{tracer.name} on 'photon', {dispatch}, through queues\n{'threads':>24} depth {'Mrays/s':>9}")
        for threads in (1, 2, 4, 8):
            for depth in (4, 16, 64):
                rate = queue_rate(tracer, (threads, depth), rays[:BATCH_RAYS])
                print(f"{threads:24} {depth:5} {rate:9.1f}", flush=True)
                yield {"dispatch": dispatch, "threads": threads, "depth": depth, "rate": rate}


def queue_rate(tracer: GpuTracer, shape: tuple[int, int], rays: Floats) -> float:
    """Returns millions of rays per second of wall time.

    shape: threads, and batches that each has in flight.
    rays: (n, 8) float32, of every batch.
    """
    threads, depth = shape
    batches = max(QUEUED_RAYS // (threads * len(rays)), 2 * depth)

    def seconds() -> float:
        ready = threading.Barrier(threads + 1)
        ports = tracer.open_ports(threads, depth, BATCH_RAYS)
        workers = [
            threading.Thread(target=_feed, args=(RayQueue(port, tracer.name), rays, batches, ready)) for port in ports
        ]
        for worker in workers:
            worker.start()
        ready.wait()
        start = time.perf_counter()
        for worker in workers:
            worker.join()
        return time.perf_counter() - start

    return threads * batches * len(rays) / median(seconds) / 1e6


def _feed(queue: RayQueue, rays: Floats, batches: int, ready: threading.Barrier) -> None:
    """Trace the same rays so many times."""
    with queue:
        ready.wait()
        for _ in range(batches):
            queue.submit(rays)
            queue.completed()
        queue.drain()


def resident_rows(triangles: Floats, kernel: str, rays: Floats) -> Iterator[Row]:
    """Yields rates end to end through ports: compiled threads that ring again as soon as a flag is up."""
    print(f"\n{kernel} on 'photon', resident, nothing done with the hits\n{'threads':>24} depth {'Mrays/s':>9} busy")
    with GpuTracer(triangles, kernel) as tracer:
        for threads, depth in ((1, 4), (1, 16), (4, 16), (8, 16), (16, 4), (16, 16), (16, 32)):
            rate, busy = ring_rate(tracer, rays, Query.CLOSEST, (threads, depth))
            print(f"{threads:24} {depth:5} {rate:9.1f} {busy:4.0%}", flush=True)
            yield {"kernel": kernel, "threads": threads, "depth": depth, "rate": rate, "busy": busy}
