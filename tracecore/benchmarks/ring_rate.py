"""How fast a kernel traces batches through its ring, nothing done with the hits."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import numpy as np

from tracecore.cuda.device import timeout_seconds
from tracecore.dispatch.port import ANY_HIT, NO_OPTIONS, Port, are_ready, submit
from tracecore.dispatch.resident import RingPort
from tracecore.dispatch.ring import ring_again
from tracecore.errors import KernelError
from tracecore.rays import BATCH_RAYS, RAY_FLOATS, Floats, Query
from tracecore.tracers.gpu import GpuTracer

#: Rays that are traced in all.
RUNG_RAYS = 1 << 26


def ring_rate(
    tracer: GpuTracer, rays: Floats, query: Query, shape: tuple[int, int], rung_rays: int = RUNG_RAYS
) -> tuple[float, float]:
    """Returns millions of rays per second of wall time, and the share of it in which the device had work.

    Compiled threads ring again as soon as a flag is up. All batches are traced once before, which is not timed.

    rays: (n, 8) float32, n > 0, of which batches are taken from all over the array.
    shape: threads, and batches that each has in flight.
    rung_rays: that are traced, at least; no fewer than a batch in flight has.

    Raises `KernelError` where the device does not answer.
    """
    threads, depth = shape
    rounds = max(rung_rays // (threads * depth * BATCH_RAYS), 1)
    batches = iter(_batches(rays, threads * depth))
    with ExitStack() as opened:
        ports = [opened.enter_context(closing(port)) for port in tracer.open_ports(threads, depth, BATCH_RAYS)]
        for port in ports:
            _trace_once(port, [next(batches) for _ in range(depth)], query)
        before, start = tracer.statistics().busy_seconds, time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            answered = list(pool.map(lambda port: _rung_again(port.port, rounds), ports))
        seconds = time.perf_counter() - start
        if not all(answered):
            raise KernelError(f"kernel {tracer.name!r} has not answered in {timeout_seconds():g} s: end this process")
    return rounds * threads * depth * BATCH_RAYS / seconds / 1e6, (tracer.statistics().busy_seconds - before) / seconds


def _batches(rays: Floats, count: int) -> list[Floats]:
    """Returns so many batches of rays side by side, spread over all; few rays are repeated."""
    many = rays if len(rays) >= BATCH_RAYS else np.resize(rays, (BATCH_RAYS, RAY_FLOATS))
    starts = np.linspace(0, len(many) - BATCH_RAYS, count).astype(np.int64)
    return [many[start : start + BATCH_RAYS] for start in starts]


def _trace_once(opened: RingPort, batches: list[Floats], query: Query) -> None:
    """Fill all slots of a port with rays and have them traced."""
    port = opened.port
    opened.check()
    for slot, batch in enumerate(batches):
        port.rays[slot, :, :BATCH_RAYS] = batch.T
        submit(port, slot, BATCH_RAYS, ANY_HIT if query == Query.ANY else NO_OPTIONS)
    if not are_ready(port, port.timeout):
        opened.drain()


def _rung_again(port: Port, rounds: int) -> bool:
    """Returns whether the batches of all slots were answered so many times again."""
    return ring_again(port.doorbells, port.flags, (0, len(port.doorbells)), rounds, port.timeout)
