"""Rates of launches over whole arrays, of queues and of ports, nothing done with the hits; and how long it takes to
move the triangles.

In a room full of spheres. Every figure is a median of 5. Hits are compared with the CPU's, outside of what is timed.
`tracecore bench SCENE` compares kernels on the rays of a scene.
"""

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tracecore.benchmarks.kernel_rates import Indices, ring_rate, timed_rounds
from tracecore.cuda.device import gpu_name
from tracecore.dispatch.queue import Completed, RayQueue
from tracecore.errors import DeviceError, WrongHitError
from tracecore.rays import BATCH_RAYS, Floats, Query, make_rays
from tracecore.tracers.cpu import CpuTracer
from tracecore.tracers.gpu import DISPATCHES, GpuTracer, gpu_unavailable_reason
from tracecore.tracers.verified import found_words, wrong_hits

#: Measurements of which a figure is the median, and calls of one where nobody waits for each.
REPEATS, CALLS = 5, 50

LAUNCH_RAYS = 1 << 21
QUEUED_RAYS = 1 << 22

#: Kernels that are measured through ports too.
RESIDENT = ("while-while", "replacing-while-while", "replacing-compressed-bvh8")

#: Kernels of each layout whose triangles a GPU moves.
MOVING = ("while-while", "persistent-bvh4", "replacing-compressed-bvh8")

Row = dict[str, str | int | float]


class JudgedRays(NamedTuple):
    """Holds rays, (n, 8) float32, and what the CPU hits with them, (n, 4) float32."""

    rays: Floats
    right: Floats

    def first(self, count: int) -> "JudgedRays":
        """Returns so many of them, from the first on."""
        return JudgedRays(self.rays[:count], self.right[:count])

    def check(self, kernel: str, hits: Floats, part: slice | Indices = slice(None)) -> None:
        """Compares what a kernel hits. Raises `WrongHitError` where a ray has another hit.

        hits: (k, 4) float32, of these rays, or of a part of them.
        """
        right, rays = self.right[part], self.rays[part]
        wrong = wrong_hits(hits, right)
        if len(wrong):
            first = int(wrong[0])
            text = f"ray {first} of {len(rays)} {found_words(hits[first], right[first])}"
            raise WrongHitError(kernel, Query.CLOSEST, rays, first, text)


def tables(triangles: Floats) -> dict[str, list[Row]]:
    """Prints the tables, line by line as they are measured, and returns their rows by name. Raises `DeviceError` where
    no GPU can be used, `WrongHitError` where a kernel does not hit what the CPU does.

    triangles: (t, 3, 3) float32, of a room about the origin with lamps inside.
    """
    if reason := gpu_unavailable_reason():
        raise DeviceError(f"no GPU can be used: {reason}")
    rays = lamp_rays()
    with CpuTracer(triangles) as judge:
        photons = JudgedRays(rays, judge.closest_hit(rays))
    print(f"{gpu_name()}, {len(triangles)} triangles; Mrays/s, median of {REPEATS}")
    return {
        "launches": list(launch_rows(triangles, photons)),
        "queues": [row for dispatch in DISPATCHES for row in queue_rows(triangles, dispatch, photons)],
        "resident": [row for name in RESIDENT for row in resident_rows(triangles, name, photons)],
        "moves": list(move_rows(triangles, photons)),
    }


def lamp_rays() -> Floats:
    """Returns (LAUNCH_RAYS, 8) float32 rays from six lamps in the room to all sides, in random order."""
    random = np.random.default_rng(1)
    lamps = random.uniform(-0.9, 0.9, (6, 3))[random.integers(6, size=LAUNCH_RAYS)]
    return make_rays(lamps, random.normal(size=(LAUNCH_RAYS, 3)))


def kernel_rate(tracer: GpuTracer, photons: JudgedRays) -> float:
    """Returns millions of rays per second of one launch, by the device's clock, launch alone."""
    seconds, hits = timed_rounds(tracer, photons.rays, Query.CLOSEST, REPEATS)
    photons.check(tracer.name, hits)
    return len(hits) / statistics.median(seconds) / 1e6


def median(measure: Callable[[], float]) -> float:
    """Returns the median of `REPEATS` measurements."""
    return statistics.median(measure() for _ in range(REPEATS))


def launch_rows(triangles: Floats, photons: JudgedRays) -> Iterator[Row]:
    """Yields rates of launches of ever more rays: one at a time by the device's clock, and by wall time with copies and
    where rays and hits lie on the device."""
    with GpuTracer(triangles) as tracer:
        print(f"\n{tracer.name} on 'photon', launches\n{'rays':>24} {'closest':>9} {'copied':>9} {'in place':>9}")
        for exponent in range(10, 21, 2):
            part = photons.first(1 << exponent)
            rate, copied, in_place = kernel_rate(tracer, part), array_rate(tracer, part), in_place_rate(tracer, part)
            print(f"{len(part.rays):24} {rate:9.0f} {copied:9.0f} {in_place:9.0f}", flush=True)
            yield {"rays": len(part.rays), "closest": rate, "copied": copied, "in_place": in_place}


def array_rate(tracer: GpuTracer, photons: JudgedRays) -> float:
    """Returns millions of rays per second of wall time that a call with a whole array traces."""

    def seconds() -> float:
        start = time.perf_counter()
        hits = tracer.closest_hit(photons.rays)
        taken = time.perf_counter() - start
        photons.check(tracer.name, hits)
        return taken

    return len(photons.rays) / median(seconds) / 1e6


def in_place_rate(tracer: GpuTracer, photons: JudgedRays) -> float:
    """Returns millions of rays per second of wall time that calls trace whose rays and hits lie on the device, one call
    after the other, none waited for before the last."""
    import cupy

    rays: Any = cupy.asarray(photons.rays)

    def seconds() -> float:
        start = time.perf_counter()
        for _ in range(CALLS):
            hits: Any = tracer.closest_hit(rays)
        cupy.cuda.get_current_stream().synchronize()
        taken = time.perf_counter() - start
        photons.check(tracer.name, hits.get())
        return taken

    return CALLS * len(photons.rays) / median(seconds) / 1e6


def queue_rows(triangles: Floats, dispatch: str, photons: JudgedRays) -> Iterator[Row]:
    """Yields rates end to end through queues of Python threads."""
    with GpuTracer(triangles, dispatch=dispatch, threads=8) as tracer:
        print(f"\n{tracer.name} on 'photon', {dispatch}, through queues\n{'threads':>24} depth {'Mrays/s':>9}")
        for threads in (1, 2, 4, 8):
            for depth in (4, 16, 64):
                rate = queue_rate(tracer, (threads, depth), photons.first(BATCH_RAYS))
                print(f"{threads:24} {depth:5} {rate:9.1f}", flush=True)
                yield {"dispatch": dispatch, "threads": threads, "depth": depth, "rate": rate}


def queue_rate(tracer: GpuTracer, shape: tuple[int, int], photons: JudgedRays) -> float:
    """Returns millions of rays per second of wall time.

    shape: threads, and batches that each has in flight.
    photons: of every batch.
    """
    threads, depth = shape
    rays, last_hits = photons.rays, [np.empty((0, 4), np.float32)] * threads
    batches = max(QUEUED_RAYS // (threads * len(rays)), 2 * depth)

    def seconds() -> float:
        ready = threading.Barrier(threads + 1)
        ports = tracer.open_ports(threads, depth, BATCH_RAYS)

        def feed(thread: int) -> None:
            last_hits[thread] = _feed(RayQueue(ports[thread], tracer.name), rays, batches, ready)

        workers = [threading.Thread(target=feed, args=(thread,)) for thread in range(threads)]
        for worker in workers:
            worker.start()
        ready.wait()
        start = time.perf_counter()
        for worker in workers:
            worker.join()
        taken = time.perf_counter() - start
        for hits in last_hits:
            photons.check(tracer.name, hits)
        return taken

    return threads * batches * len(rays) / median(seconds) / 1e6


def _feed(queue: RayQueue, rays: Floats, batches: int, ready: threading.Barrier) -> Floats:
    """Traces the same rays so many times. Returns the hits of the last batch."""
    done: list[Completed] = []
    with queue:
        ready.wait()
        for _ in range(batches):
            queue.submit(rays)
            done = queue.completed() or done
        return (queue.drain() or done)[-1].hits


def resident_rows(triangles: Floats, kernel: str, photons: JudgedRays) -> Iterator[Row]:
    """Yields rates end to end through ports: compiled threads that ring again as soon as a flag is up."""
    print(f"\n{kernel} on 'photon', resident, nothing done with the hits\n{'threads':>24} depth {'Mrays/s':>9} busy")
    with GpuTracer(triangles, kernel) as tracer:
        for threads, depth in ((1, 4), (1, 16), (4, 16), (8, 16), (16, 4), (16, 16), (16, 32)):
            rate, busy, indices, hits = ring_rate(tracer, photons.rays, Query.CLOSEST, (threads, depth))
            photons.check(tracer.name, hits, indices)
            print(f"{threads:24} {depth:5} {rate:9.1f} {busy:4.0%}", flush=True)
            yield {"kernel": kernel, "threads": threads, "depth": depth, "rate": rate, "busy": busy}


def move_rows(triangles: Floats, photons: JudgedRays) -> Iterator[Row]:
    """Yields how long a tracer takes to move all triangles, from the memory of the machine and from that of the GPU."""
    print(f"\nmoving {len(triangles)} triangles, ms\n{'kernel':>24} {'copied':>9} {'in place':>9}")
    for kernel in MOVING:
        copied, in_place = move_seconds(triangles, kernel, photons)
        print(f"{kernel:>24} {1e3 * copied:9.2f} {1e3 * in_place:9.2f}", flush=True)
        yield {"kernel": kernel, "copied": copied, "in_place": in_place}


def move_seconds(triangles: Floats, kernel: str, photons: JudgedRays) -> tuple[float, float]:
    """Returns the medians of the seconds that `tracer.update` takes with triangles on the host and on the device. They
    move to where they are, so that hits can be compared.
    """
    import cupy

    with GpuTracer(triangles, kernel, builder="ploc") as tracer:
        found = []
        for given in (triangles, cupy.asarray(triangles)):
            tracer.update(given)  # the first one makes room
            found.append(median(partial(_seconds_to_move, tracer, given)))
        photons.check(kernel, tracer.closest_hit(photons.rays))
    return found[0], found[1]


def _seconds_to_move(tracer: GpuTracer, triangles: Any) -> float:
    start = time.perf_counter()
    tracer.update(triangles)
    return time.perf_counter() - start
