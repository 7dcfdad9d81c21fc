"""Rates of launches and of both ways of dispatch, nothing done with the hits.

    python -m tracecore.benchmarks.gpu_benchmark


In a room full of spheres. Every figure is a median of 5. `tracecore bench` compares kernels on the rays of a scene.
"""

import argparse
import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from tracecore.benchmarks.compare_embree import room_of_spheres
from tracecore.benchmarks.kernel_time import kernel_seconds
from tracecore.cuda.device import gpu_name, timeout_seconds
from tracecore.dispatch.ring import RingBatch, ring_again
from tracecore.dispatch.streamed import CopiedBatch, PinnedBatch, StreamedQueue
from tracecore.dispatch.tracer import RayQueue
from tracecore.errors import DeviceError, KernelError
from tracecore.rays import BATCH_RAYS, Floats, Query, make_rays
from tracecore.tracers.gpu import GpuTracer, gpu_unavailable_reason

REPEATS = 5
LAUNCH_RAYS = 1 << 21
STREAMED_RAYS = 1 << 24

#: Kernels that are measured in resident dispatch too.
RESIDENT = ("while-while", "replacing-while-while", "replacing-compressed-bvh8")

Row = dict[str, str | int | float]


def main() -> None:
    """Print the tables; with --json FILE also write them."""
    parser = argparse.ArgumentParser(description="Rates of launches and of both ways of dispatch, without shading.")
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    options = parser.parse_args()
    if reason := gpu_unavailable_reason():
        raise DeviceError(f"no GPU can be used: {reason}")
    triangles, photons = room_of_spheres(), lamp_rays()
    tracer = GpuTracer(triangles)
    print(f"{gpu_name()}, {len(triangles)} triangles, {tracer.bvh.nodes} nodes; Mrays/s, median of {REPEATS}")
    tables = {
        "launches": list(launch_rows(tracer, photons)),
        "streamed": list(streamed_rows(tracer, photons)),
        "resident": [row for name in RESIDENT for row in resident_rows(triangles, name, photons)],
    }
    if options.json:
        options.json.write_text(json.dumps({"gpu": gpu_name(), "triangles": len(triangles), **tables}, indent=1))


def lamp_rays() -> Floats:
    """(LAUNCH_RAYS, 8) from six lamps in the room to all sides, in random order."""
    random = np.random.default_rng(1)
    lamps = random.uniform(-0.9, 0.9, (6, 3))[random.integers(6, size=LAUNCH_RAYS)]
    return make_rays(lamps, random.normal(size=(LAUNCH_RAYS, 3)))


def kernel_rate(tracer: GpuTracer, rays: Floats) -> float:
    """Millions of rays per second of one launch, by the device's clock, launch alone."""
    return len(rays) / statistics.median(kernel_seconds(tracer, rays, Query.CLOSEST, REPEATS)) / 1e6


def median(measure: Callable[[], float]) -> float:
    """Of `REPEATS` measurements."""
    return statistics.median(measure() for _ in range(REPEATS))


def launch_rows(tracer: GpuTracer, rays: Floats) -> Iterator[Row]:
    """One launch at a time, of fewer rays."""
    print(f"\n{tracer.name} on 'photon', one launch at a time\n{'rays':>24} {'closest':>9}")
    for exponent in range(10, 21, 2):
        rate = kernel_rate(tracer, rays[: 1 << exponent])
        print(f"{1 << exponent:24} {rate:9.0f}", flush=True)
        yield {"rays": 1 << exponent, "closest": rate}


def streamed_rows(tracer: GpuTracer, rays: Floats) -> Iterator[Row]:
    """End to end through queues, with pinned memory read by the kernel and with copies."""
    print(f"\n{tracer.name} on 'photon', end to end through queues, nothing done with the hits")
    print(f"{'threads':>24} depth batch {'mapped':>9} {'copied':>9}")
    plan = [(threads, depth, BATCH_RAYS) for threads in (1, 2, 4, 8) for depth in (4, 16, 64)]
    for threads, depth, size in [*plan, (1, 16, 16 * BATCH_RAYS), (4, 16, 16 * BATCH_RAYS)]:
        rates = [streamed_rate(tracer, kind, (threads, depth), rays[:size]) for kind in (PinnedBatch, CopiedBatch)]
        mapped, copied = (rate / 1e6 for rate in rates)
        print(f"{threads:24} {depth:5} {size:5} {mapped:9.1f} {copied:9.1f}", flush=True)
        yield {"threads": threads, "depth": depth, "batch": size, "mapped": mapped, "copied": copied}


def streamed_rate(tracer: GpuTracer, kind: type[PinnedBatch], shape: tuple[int, int], rays: Floats) -> float:
    """Rays per second of wall time. shape: threads, and batches that each has in flight."""
    threads, depth = shape
    rounds = max(STREAMED_RAYS // (threads * depth * len(rays)), 2)
    total = threads * depth * len(rays) * rounds

    def seconds() -> float:
        ready = threading.Barrier(threads + 1)
        workers = [
            threading.Thread(
                target=_feed, args=(StreamedQueue(tracer.launch_context, kind), rays, (depth, rounds), ready)
            )
            for _ in range(threads)
        ]
        for worker in workers:
            worker.start()
        ready.wait()
        start = time.perf_counter()
        for worker in workers:
            worker.join()
        return time.perf_counter() - start

    return total / median(seconds)


def resident_rows(triangles: Floats, kernel: str, rays: Floats) -> Iterator[Row]:
    """End to end through a ring: compiled threads that ring again as soon as a flag is up."""
    print(f"\n{kernel} on 'photon', resident, nothing done with the hits\n{'threads':>24} depth {'Mrays/s':>9} busy")
    shapes = ((1, 4), (1, 16), (4, 16), (8, 16), (16, 4), (16, 16), (16, 32))
    with GpuTracer(triangles, kernel, threads=max(threads * depth for threads, depth in shapes)) as tracer:
        for threads, depth in shapes:
            rate, busy = _ring_rate(tracer, (threads, depth), rays)
            print(f"{threads:24} {depth:5} {rate:9.1f} {busy:4.0%}", flush=True)
            yield {"kernel": kernel, "threads": threads, "depth": depth, "rate": rate, "busy": busy}


def _ring_rate(tracer: GpuTracer, shape: tuple[int, int], rays: Floats) -> tuple[float, float]:
    """Millions of rays per second of wall time, and the share of it in which the device had work."""
    threads, depth = shape
    queues = [tracer.open_queue() for _ in range(threads)]
    batches = [_traced_once(queue, rays[: depth * BATCH_RAYS]) for queue in queues]
    rounds = 4 * STREAMED_RAYS // (threads * depth * BATCH_RAYS)
    before, start = tracer.statistics().busy_seconds, time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        answered = list(pool.map(lambda batch: _rung_again(batch, depth, rounds), batches))
    seconds = time.perf_counter() - start
    if not all(answered):
        raise KernelError(f"kernel {tracer.name!r} has not answered in {timeout_seconds():g} s: end this process")
    for queue in queues:
        queue.close()
    return rounds * threads * depth * BATCH_RAYS / seconds / 1e6, (tracer.statistics().busy_seconds - before) / seconds


def _rung_again(batch: RingBatch, depth: int, rounds: int) -> bool:
    """Returns whether the orders of so many slots of a batch were all answered, so many times."""
    memory, timeout = batch.memory, int(timeout_seconds() * 1e9)
    return ring_again(memory.doorbells, memory.flags, (batch.first, depth), rounds, timeout)


def _traced_once(queue: RayQueue, rays: Floats) -> RingBatch:
    """A batch that has been traced."""
    batch = queue.batch(len(rays))
    batch.rays[:] = rays
    queue.submit(batch, len(rays), Query.CLOSEST)
    queue.wait(batch)
    if not isinstance(batch, RingBatch):
        raise DeviceError("the benchmark of the ring needs a tracer in resident dispatch")
    return batch


def _feed(queue: RayQueue, rays: Floats, shape: tuple[int, int], ready: threading.Barrier) -> None:
    """Trace the same rays in each of so many batches, so many times."""
    depth, rounds = shape
    batches = [queue.batch(len(rays)) for _ in range(depth)]
    for batch in batches:
        batch.rays[:] = rays
    ready.wait()
    for _ in range(rounds):
        for batch in batches:
            queue.wait(batch)
            queue.submit(batch, len(rays), Query.CLOSEST)
    for batch in batches:
        queue.wait(batch)
    queue.close()


if __name__ == "__main__":
    main()
