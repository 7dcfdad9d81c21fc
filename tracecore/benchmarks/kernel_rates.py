"""How long kernels take, alone, and how fast they trace batches through their ring, nothing done with the hits."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tracecore.cuda.device import timeout_seconds
from tracecore.dispatch.port import ANY_HIT, NO_OPTIONS, are_ready, submit
from tracecore.dispatch.resident import RingPort
from tracecore.dispatch.ring import ring_again
from tracecore.dispatch.tracer import Tracer
from tracecore.errors import KernelError
from tracecore.rays import BATCH_RAYS, Floats, Query
from tracecore.tracers.gpu import GpuTracer

#: Rays that are traced in all.
RUNG_RAYS = 1 << 26
Indices = npt.NDArray[np.int64]


class TimedRounds(NamedTuple):
    """Holds the seconds of each round over the same rays, and the hits of the last one, (n, 4) float32."""

    seconds: list[float]
    hits: Floats


def timed_rounds(tracer: Tracer, rays: Floats, query: Query, repeats: int) -> TimedRounds:
    """Times so many rounds over the same rays, after one that does not count, as caches and clocks warm.

    On a GPU by the device's clock, the rays in its memory, nothing but the kernel; else wall time of all threads.
    """
    if isinstance(tracer, GpuTracer):
        seconds, hits = tracer.timed_launches(rays, query, repeats + 1)
        return TimedRounds(seconds[1:], hits)
    trace = tracer.closest_hit if query == Query.CLOSEST else tracer.any_hit
    seconds = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        hits = trace(rays)
        seconds.append(time.perf_counter() - start)
    return TimedRounds(seconds[1:], hits)


class RingRate(NamedTuple):
    """Holds what was measured through a ring.

    rate: millions of rays per second of wall time.
    busy: share of that time in which the device had work.
    indices: (m,) which rays were in the slots, in the end.
    hits: (m, 4) float32, the last ones of these rays.
    """

    rate: float
    busy: float
    indices: Indices
    hits: Floats


def ring_rate(
    tracer: GpuTracer, rays: Floats, query: Query, shape: tuple[int, int], rung_rays: int = RUNG_RAYS
) -> RingRate:
    """Measures the rate of batches through a ring, and how busy the device is.

    Compiled threads ring again as soon as a flag is up. All batches are traced once before, which is not timed.

    rays: (n, 8) float32, n > 0, of which batches are taken from all over the array.
    shape: threads, and batches that each has in flight.
    rung_rays: that are traced, at least; no fewer than a batch in flight has.

    Raises `KernelError` where the device does not answer.
    """
    threads, depth = shape
    rounds = max(rung_rays // (threads * depth * BATCH_RAYS), 1)
    batches = _batches(len(rays), threads * depth)
    with ExitStack() as opened:
        ports = [opened.enter_context(closing(port)) for port in tracer.open_ports(threads, depth, BATCH_RAYS)]
        for port, own in zip(ports, np.split(batches, threads), strict=True):
            _trace_once(port, [rays[batch] for batch in own], query)
        before, start = tracer.statistics().busy_seconds, time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            answered = list(pool.map(partial(_rung_again, rounds), ports))
        seconds = time.perf_counter() - start
        if not all(answered):
            raise KernelError(f"kernel {tracer.name!r} has not answered in {timeout_seconds():g} s: end this process")
        slots = [slot for opened_port in ports for slot in opened_port.port.hits]
        hits = np.concatenate([np.ascontiguousarray(slot[:, :BATCH_RAYS].T) for slot in slots])
    return RingRate(
        rate=rounds * threads * depth * BATCH_RAYS / seconds / 1e6,
        busy=(tracer.statistics().busy_seconds - before) / seconds,
        indices=batches.reshape(-1),
        hits=hits,
    )


def _batches(rays: int, count: int) -> Indices:
    """Returns which rays, of so many, are in each batch: (count, BATCH_RAYS), side by side, spread over all; few rays
    are repeated.
    """
    starts = np.linspace(0, max(rays - BATCH_RAYS, 0), count).astype(np.int64)
    return (starts[:, None] + np.arange(BATCH_RAYS)) % rays


def _trace_once(opened: RingPort, batches: list[Floats], query: Query) -> None:
    """Fill all slots of a port with rays and have them traced; their hits are forgotten."""
    port = opened.port
    opened.check()
    for slot, batch in enumerate(batches):
        port.rays[slot, :, :BATCH_RAYS] = batch.T
        submit(port, slot, BATCH_RAYS, ANY_HIT if query == Query.ANY else NO_OPTIONS)
    if not are_ready(port, port.timeout):
        opened.drain()
    port.hits[:] = np.nan  # what is not written again is no hit and no miss


def _rung_again(rounds: int, opened: RingPort) -> bool:
    """Returns whether the batches of all slots of a port were answered so many times again."""
    port = opened.port
    return ring_again(port.doorbells, port.flags, (0, len(port.doorbells)), rounds, port.timeout)
