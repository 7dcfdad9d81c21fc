"""The binary tree that every builder makes and every layout packs."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tracecore.rays import Floats, Ids

#: No tree is deeper (the root's depth is 0), so that a stack with one entry per level never needs more.
MAX_DEPTH = 64


@dataclass(frozen=True, kw_only=True, eq=False)
class BinaryTree:
    """A bounding volume hierarchy over triangles; node 0 is the root and may be a leaf, no node is deeper than
    `MAX_DEPTH`.

    lower, upper: (n, 3) float32, exact bounds of the triangles below. child: (n,) int32, index of the left child, the
    right one follows it; 0 in a leaf. first, count: (n,) int32, the leaf's range of slots; count is 0 in an inner node
    (and in the root of no triangles). order: (t,) uint32, slot -> `prim_id`. sah_cost: surface area heuristic, in node
    visits. build_seconds: wall time.
    """

    lower: Floats
    upper: Floats
    child: npt.NDArray[np.int32]
    first: npt.NDArray[np.int32]
    count: npt.NDArray[np.int32]
    order: Ids
    sah_cost: float
    build_seconds: float

    @property
    def half_area(self) -> npt.NDArray[np.float64]:
        """(n,) float64, half of the surface of every box."""
        x, y, z = (self.upper.astype(np.float64) - self.lower).T
        return x * y + y * z + z * x

    @property
    def is_leaf(self) -> npt.NDArray[np.bool_]:
        """(n,) bool."""
        return self.child == 0
