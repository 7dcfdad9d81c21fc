"""A tracer around another one that Python polls, so that one can look on between two batches."""

from tracecore.dispatch.direct import DirectTracer
from tracecore.dispatch.tracer import Tracer
from tracecore.rays import Floats, Query


class PolledTracer(DirectTracer):
    """This is a tracer around another one, whose batches Python polls, so that one can look on. Closing it leaves the
    other open.
    """

    def __init__(self, tracer: Tracer) -> None:
        self.name, self.device, self.bvh, self.tree = tracer.name, tracer.device, tracer.bvh, tracer.tree
        super().__init__(threads=1)
        self._tracer = tracer

    def _trace(self, rays: Floats, hits: Floats, query: Query) -> int:
        hits[:] = self._tracer.closest_hit(rays) if query == Query.CLOSEST else self._tracer.any_hit(rays)
        return 0
