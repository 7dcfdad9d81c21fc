"""Rows of 32 bytes to columns and back, eight at a time: records in memory, loops over columns in between.

A compiler moves records to columns number by number, which took most of the time of shading a photon. Transposing eight
rows in registers takes a tenth of it.
"""

import numpy as np
import numpy.typing as npt

from tracecore.compiled import inlined
from tracecore.vector import load8, store, transpose8

#: Rows handled together; columns of so many stay in the first two levels of the cache. A multiple of eight.
CHUNK = 128

ROW_BYTES = 32
COLUMN_BYTES = 4 * CHUNK

Places = npt.NDArray[np.int32]


@inlined
def rows_to_columns(rows: int, count: int, columns: int) -> None:
    """The first `count` rows at an address become eight columns at another; columns are filled up with the last row."""
    last = np.int64(count - 1)
    for i in range(0, count, 8):
        _transpose(
            (
                rows + ROW_BYTES * i,
                rows + ROW_BYTES * min(i + 1, last),
                rows + ROW_BYTES * min(i + 2, last),
                rows + ROW_BYTES * min(i + 3, last),
                rows + ROW_BYTES * min(i + 4, last),
                rows + ROW_BYTES * min(i + 5, last),
                rows + ROW_BYTES * min(i + 6, last),
                rows + ROW_BYTES * min(i + 7, last),
            ),
            columns + 4 * i,
            COLUMN_BYTES,
        )


@inlined
def gather_columns(rows: int, row_bytes: int, places: Places, count: int, columns: int) -> None:
    """Rows at `places` become eight columns. places: CHUNK of them, all of which must exist."""
    for i in range(0, count, 8):
        _transpose(
            (
                rows + row_bytes * np.int64(places[i]),
                rows + row_bytes * np.int64(places[i + 1]),
                rows + row_bytes * np.int64(places[i + 2]),
                rows + row_bytes * np.int64(places[i + 3]),
                rows + row_bytes * np.int64(places[i + 4]),
                rows + row_bytes * np.int64(places[i + 5]),
                rows + row_bytes * np.int64(places[i + 6]),
                rows + row_bytes * np.int64(places[i + 7]),
            ),
            columns + 4 * i,
            COLUMN_BYTES,
        )


@inlined
def columns_to_rows(columns: int, count: int, rows: int) -> None:
    """Eight columns become rows, of which there must be room for a multiple of eight."""
    for i in range(0, count, 8):
        first = columns + 4 * i
        _transpose(
            (
                first,
                first + COLUMN_BYTES,
                first + 2 * COLUMN_BYTES,
                first + 3 * COLUMN_BYTES,
                first + 4 * COLUMN_BYTES,
                first + 5 * COLUMN_BYTES,
                first + 6 * COLUMN_BYTES,
                first + 7 * COLUMN_BYTES,
            ),
            rows + ROW_BYTES * i,
            ROW_BYTES,
        )


@inlined
def copy_row(source: int, target: int) -> None:
    """Copy 32 bytes."""
    store(target, load8(source))


@inlined
def _transpose(sources: tuple[int, int, int, int, int, int, int, int], target: int, step: int) -> None:
    """Eight times eight words, from eight addresses to addresses `step` apart."""
    a, b, c, d, e, f, g, h = sources
    rows = transpose8((load8(a), load8(b), load8(c), load8(d), load8(e), load8(f), load8(g), load8(h)))
    store(target, rows[0])
    store(target + step, rows[1])
    store(target + 2 * step, rows[2])
    store(target + 3 * step, rows[3])
    store(target + 4 * step, rows[4])
    store(target + 5 * step, rows[5])
    store(target + 6 * step, rows[6])
    store(target + 7 * step, rows[7])
