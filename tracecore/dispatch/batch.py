"""A batch: room for rays and their hits."""

from typing import Self

import numpy as np

from tracecore.rays import HIT_FLOATS, RAY_FLOATS, Floats, Ids


class Batch:
    """Room for rays and their hits, filled by a driver and traced in place.

    rays: (capacity, 8) float32 and hits: (capacity, 4) float32, the bytes of `RAY` and `HIT` records.
    prim_ids: (capacity,) uint32, the ids inside `hits`. A queue makes batches, in memory that suits its device.
    """

    def __init__(self, rays: Floats, hits: Floats) -> None:
        self.rays = rays
        self.hits = hits

    @classmethod
    def in_memory(cls, capacity: int) -> Self:
        """A batch in plain memory."""
        return cls(np.zeros((capacity, RAY_FLOATS), np.float32), np.zeros((capacity, HIT_FLOATS), np.float32))

    @property
    def capacity(self) -> int:
        """Most rays that fit."""
        return len(self.rays)

    @property
    def prim_ids(self) -> Ids:
        """(capacity,) uint32 view of the ids in `hits`: `MISS` where nothing was hit; any-hit gives 0 or `MISS`."""
        return self.hits.view(np.uint32)[:, 3]
