"""Packs triangles as most kernels read them: 48 bytes each, in the order of the leaves.

A row for each axis holds that component of the three corners, so that a ray loads the rows in the order of its own axes
and has nothing to exchange. `kernels/packed_row.cuh` is the other side.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tracecore.compilation.cached import compiled, inlined
from tracecore.rays import Floats, Ids
from tracecore.threads import Piece, in_pieces

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
    packed = np.empty(len(order), PACKED_TRIANGLE)
    in_pieces(partial(_write_triangles, order, triangles, rows_of(packed)), len(order))
    return packed


def unpacked_triangles(packed: npt.NDArray[np.void]) -> Floats:
    """Returns the triangles of (t,) `PACKED_TRIANGLE` records, (t, 3, 3) float32, in the caller's order."""
    triangles = np.empty((len(packed), 3, 3), np.float32)
    triangles[packed["rows"]["prim_id"][:, 0]] = packed["rows"]["component"].transpose(0, 2, 1)
    return triangles


class Rows(NamedTuple):
    """Holds records of triangles by field. component: (t, 3, 3) float32, axis by corner. prim_id: (t, 3) uint32."""

    component: Any
    prim_id: Any


def rows_of(packed: npt.NDArray[np.void]) -> Rows:
    """Returns the fields of records, the same memory. packed: (t,) `PACKED_TRIANGLE`."""
    return Rows(packed["rows"]["component"], packed["rows"]["prim_id"])


@compiled
def _write_triangles(order: Any, triangles: Any, rows: Any, piece: Piece) -> None:
    """Writes the records of a piece of the leaf indices."""
    for leaf_index in range(piece[0], piece[1]):
        write_triangle(rows, leaf_index, triangles, order[leaf_index])


@inlined
def write_triangle(rows: Any, place: int, triangles: Any, prim_id: int) -> None:
    """Writes the record of a triangle at a place among others."""
    for axis in range(3):
        rows.prim_id[place, axis] = prim_id
        for corner in range(3):
            rows.component[place, axis, corner] = triangles[prim_id, corner, axis]
