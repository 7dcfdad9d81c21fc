"""Defines the binary tree that every builder makes and every layout packs."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tracecore.arrays import pieces
from tracecore.rays import Floats, Ids

#: No tree is deeper (the root's depth is 0), so that a stack with one entry per level never needs more.
MAX_DEPTH = 64

#: Cost of a visit to an inner node, in tests of a block of triangles.
VISIT_COST = 1.0


@dataclass(frozen=True, kw_only=True, eq=False)
class BinaryTree:
    """Is a bounding volume hierarchy over triangles; node 0 is the root and may be a leaf, no node is deeper than
    `MAX_DEPTH`.

    A child's index is greater than its parent's.

    lower, upper: (n, 3) float32, exact bounds of the triangles below.
    child: (n,) int32, index of the left child, the right one follows it; 0 in a leaf.
    first, count: (n,) int32, the leaf's range of leaf indices; count is 0 in an inner node (and in the root of no
    triangles).
    order: (t,) uint32, leaf index -> `prim_id`.
    triangle_block: how many triangles the traversal tests at once.
    build_seconds: wall time that building or refitting it took.
    read_seconds: wall time that finding and reading it took where it was kept (`tree_cache`), else None.
    """

    lower: Floats
    upper: Floats
    child: npt.NDArray[np.int32]
    first: npt.NDArray[np.int32]
    count: npt.NDArray[np.int32]
    order: Ids
    triangle_block: int = 1
    build_seconds: float = 0.0
    read_seconds: float | None = None

    @property
    def half_area(self) -> npt.NDArray[np.float64]:
        """Returns half of the surface of every box, (n,) float64."""
        area = np.empty(len(self.child))
        for piece in pieces(len(area)):
            x, y, z = np.ascontiguousarray(self.upper[piece].T, np.float64) - self.lower[piece].T
            area[piece] = x * y + y * z + z * x
        return area

    @cached_property
    def sah_cost(self) -> float:
        """Returns the expected cost of a ray that hits the root's box, by the surface area heuristic.

        It is `VISIT_COST` per inner node and 1 per block of triangles.
        """
        area = self.half_area
        tests = -(-self.count // self.triangle_block)
        if area[0] == 0.0:
            return float(tests.sum())
        return float(area @ np.where(tests > 0, tests, VISIT_COST) / area[0])

    @property
    def is_cached(self) -> bool:
        """Returns whether it was kept, and not built in this process or the one that sent it."""
        return self.read_seconds is not None

    @property
    def seconds(self) -> float:
        """Returns the wall time that it took to be there: to read, build or refit it."""
        return self.build_seconds if self.read_seconds is None else self.read_seconds

    @property
    def is_leaf(self) -> npt.NDArray[np.bool_]:
        """Returns whether each node is a leaf, (n,) bool."""
        return self.child == 0
