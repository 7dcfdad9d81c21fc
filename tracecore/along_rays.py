"""All hits along rays: where a ray has hit something, it is traced again from behind that."""

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tracecore.arrays import Array
from tracecore.errors import RayError
from tracecore.rays import HIT_FLOATS, Hits, checked_rays


class Answering(Protocol):
    """Is what can be asked for the nearest hits of rays: a tracer, or a masked one."""

    def closest_hit(self, rays: Array, /) -> Hits:
        """(n, 8) float32 rays -> (n, 4) float32 hits."""


class AllHits(NamedTuple):
    """Holds what rays have hit: all of the first ray, the nearest first, then all of the second one, and so on.

    ray: (h,) int64, whose hit each is.
    hits: (h, 4) float32, with names (`rays.Hits`).
    """

    ray: npt.NDArray[np.int64]
    hits: Hits


def all_hits(tracer: Answering, rays: Array, most: int | None = None) -> AllHits:
    """Returns all that rays hit. Of triangles that a ray meets at one distance, as at an edge, one counts: that of the
    least number.

    tracer: of the triangles.
    rays: (n, 8) float32, as `closest_hit` takes them, in the machine's memory.
    most: how many hits a ray may have, the nearest ones; None for all of them.
    Raises `RayError` for other rays, and where `most` is below 1.
    """
    if most is not None and most < 1:
        raise RayError(f"at least one hit of a ray must be asked for, got {most}")
    ahead = checked_rays(rays).copy()
    left = np.arange(len(ahead))
    found = [AllHits(left[:0], np.empty((0, HIT_FLOATS), np.float32).view(Hits))]
    while len(left) and (most is None or len(found) <= most):
        hits = tracer.closest_hit(ahead[left])
        left, hits = left[hits.hit], hits[hits.hit]
        found.append(AllHits(left, hits))
        ahead[left, 3] = np.nextafter(hits.t, np.float32(np.inf))
    ray = np.concatenate([part.ray for part in found])
    order = np.argsort(ray, kind="stable")
    return AllHits(ray[order], np.concatenate([part.hits.plain for part in found])[order].view(Hits))
