"""Packs triangles as most kernels read them: 48 bytes each, in the order of the leaves.

`kernels/packed_triangle.cuh` is the other side.
"""

import numpy as np
import numpy.typing as npt

from tracecore.rays import Floats, Ids

PACKED_TRIANGLE = np.dtype(
    [("v0", "<f4", 3), ("prim_id", "<u4"), ("v1", "<f4", 3), ("unused_1", "<f4"), ("v2", "<f4", 3), ("unused_2", "<f4")]
)

#: Named constants by which a kernel checks its struct.
DEFINES = {"TRIANGLE_BYTES": str(PACKED_TRIANGLE.itemsize)}


def pack_triangles(order: Ids, triangles: Floats) -> npt.NDArray[np.void]:
    """Returns (t,) `PACKED_TRIANGLE` records.

    order: (t,) uint32, leaf index -> `prim_id`.
    triangles: (t, 3, 3) float32, in the caller's order.
    """
    packed = np.zeros(len(order), PACKED_TRIANGLE)
    packed["prim_id"] = order
    for corner in range(3):
        packed[f"v{corner}"] = triangles[order, corner]
    return packed
