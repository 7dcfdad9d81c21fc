"""Packs triangles as most kernels read them: 48 bytes each, in the order of the leaves.

A row for each axis holds that component of the three corners, so that a ray loads the rows in the order of its own axes
and has nothing to exchange. `kernels/packed_row.cuh` is the other side.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from tracecore.compilation.cached import compiled
from tracecore.rays import Floats, Ids

#: One component of a triangle's three corners.
ROW = np.dtype([("component", "<f4", 3), ("prim_id", "<u4")])
PACKED_TRIANGLE = np.dtype([("rows", ROW, 3)])

#: Named constants by which a kernel checks its structs.
DEFINES = {"ROW_BYTES": str(ROW.itemsize), "TRIANGLE_BYTES": str(PACKED_TRIANGLE.itemsize)}


def pack_triangles(order: Ids, triangles: Floats) -> npt.NDArray[np.void]:
    """Returns (t,) `PACKED_TRIANGLE` records.

    order: (t,) uint32, leaf index -> `prim_id`.
    triangles: (t, 3, 3) float32, in the caller's order.
    """
    packed = np.zeros(len(order), PACKED_TRIANGLE)
    _write_triangles(order, triangles, packed["rows"]["component"], packed["rows"]["prim_id"])
    return packed


@compiled
def _write_triangles(order: Any, triangles: Any, component: Any, prim_id: Any) -> None:
    """Writes the records. component: (t, 3, 3) float32, axis by corner. prim_id: (t, 3) uint32."""
    for leaf_index in range(len(order)):
        own = order[leaf_index]
        for axis in range(3):
            prim_id[leaf_index, axis] = own
            for corner in range(3):
                component[leaf_index, axis, corner] = triangles[own, corner, axis]
