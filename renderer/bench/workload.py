"""A workload is what kernels and peers are compared on: sets of rays, and the answers that are right."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from renderer.errors import UsageError
from tracecore.dispatch.tracer import Tracer
from tracecore.rays import MISS, Floats, Query

#: Stands for the view point of rays that do not depend on one.
NO_VIEW = "none"


@dataclass(frozen=True, kw_only=True, eq=False)
class RaySet:
    """Holds rays of a kind, what is asked of them, and the view point that they come from, or NO_VIEW.

    rays: (n, 8) float32, n > 0.
    """

    kind: str
    query: Query
    rays: Floats
    view: str = "camera"


class Workload:
    """Sets of rays, made by the first tracer that there is.

    is_judged: whether its answers are kept too.
    """

    def __init__(self, make: Callable[[Tracer], Sequence[RaySet]], *, is_judged: bool) -> None:
        self._make = make
        self._is_judged = is_judged
        self.sets: Sequence[RaySet] = ()
        self.answers: list[Floats] = []

    def prepare(self, tracer: Tracer) -> None:
        """Makes what is not there yet. Raises `UsageError` if there are no rays."""
        if self.sets:
            return
        self.sets = self._make(tracer)
        if not self.sets:
            raise UsageError("there are no rays of these kinds: nothing is hit, or there is no light")
        if self._is_judged:
            self.answers = [answers_of(tracer, one) for one in self.sets]


def answers_of(tracer: Tracer, rays: RaySet) -> Floats:
    """Returns (n,) float32: how far from its `t_min` each ray hits something, infinite where nothing is hit; 0 for any
    hit.
    """
    if rays.query == Query.CLOSEST:
        return tracer.closest_hit(rays.rays)[:, 0] - rays.rays[:, 3]
    is_hit = tracer.any_hit(rays.rays).view(np.uint32)[:, 3] != MISS
    return np.where(is_hit, 0.0, np.inf).astype(np.float32)
