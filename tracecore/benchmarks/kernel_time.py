"""How long kernels take, alone."""

import time

from tracecore.dispatch.tracer import Tracer
from tracecore.rays import Floats, Query
from tracecore.tracers.gpu import GpuTracer


def kernel_seconds(tracer: Tracer, rays: Floats, query: Query, repeats: int) -> list[float]:
    """Seconds of each of so many rounds over the same rays, after one that does not count, as caches and clocks warm.

    On a GPU by the device's clock, the rays in its memory, nothing but the kernel; else wall time of all threads.
    """
    if isinstance(tracer, GpuTracer):
        return tracer.launch_seconds(rays, query, repeats + 1)[1:]
    trace = tracer.closest_hit if query == Query.CLOSEST else tracer.any_hit
    seconds = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        trace(rays)
        seconds.append(time.perf_counter() - start)
    return seconds[1:]
