"""How long kernels take, alone."""

import time
from typing import NamedTuple

from tracecore.dispatch.tracer import Tracer
from tracecore.rays import Floats, Query
from tracecore.tracers.gpu import GpuTracer


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
