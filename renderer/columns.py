"""Rows of 32 bytes to columns and back, eight at a time: records in memory, loops over columns in between.

A compiler moves records to columns number by number, which took most of the time of shading a photon. Transposing eight
rows in registers takes a tenth of it.
"""

import numpy as np
import numpy.typing as npt

from tracecore.compiled import inlined
from tracecore.vector import load4_in_8, load8, store, transpose8

#: Rows handled together; columns of so many stay in the first two levels of the cache. A multiple of eight.
CHUNK = 128

ROW_BYTES = 32
HALF_ROW_BYTES = 16
COLUMN_BYTES = 4 * CHUNK

Places = npt.NDArray[np.int32]
Sources = tuple[int, int, int, int, int, int, int, int]


@inlined
def rows_to_columns(rows: int, count: int, columns: int) -> None:
    """The first `count` rows at an address become eight columns at another; columns are filled up with the last row."""
    whole = count // 8 * 8
    for i in range(0, whole, 8):
        _transpose(_from(rows + ROW_BYTES * i, ROW_BYTES), columns + 4 * i, COLUMN_BYTES)
    if whole < count:
        sources = _last(rows + ROW_BYTES * whole, ROW_BYTES, count - 1 - whole)
        _transpose(sources, columns + 4 * whole, COLUMN_BYTES)


@inlined
def half_rows_to_columns(rows: int, count: int, columns: int) -> None:
    """As `rows_to_columns` with rows of 16 bytes, which become four columns."""
    whole = count // 8 * 8
    for i in range(0, whole, 8):
        _transpose_half(_from(rows + HALF_ROW_BYTES * i, HALF_ROW_BYTES), columns + 4 * i)
    if whole < count:
        sources = _last(rows + HALF_ROW_BYTES * whole, HALF_ROW_BYTES, count - 1 - whole)
        _transpose_half(sources, columns + 4 * whole)


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
        _transpose(_from(columns + 4 * i, COLUMN_BYTES), rows + ROW_BYTES * i, ROW_BYTES)


@inlined
def copy_row(source: int, target: int) -> None:
    """Copy 32 bytes."""
    store(target, load8(source))


@inlined
def _from(first: int, step: int) -> Sources:
    """Eight addresses `step` apart."""
    return (
        first,
        first + step,
        first + 2 * step,
        first + 3 * step,
        first + 4 * step,
        first + 5 * step,
        first + 6 * step,
        first + 7 * step,
    )


@inlined
def _last(first: int, step: int, last: int) -> Sources:
    """Addresses `step` apart up to number `last`, which fills up the eight."""
    return (
        first,
        first + step * min(1, last),
        first + step * min(2, last),
        first + step * min(3, last),
        first + step * min(4, last),
        first + step * min(5, last),
        first + step * min(6, last),
        first + step * last,
    )


@inlined
def _transpose(sources: Sources, target: int, step: int) -> None:
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


@inlined
def _transpose_half(sources: Sources, target: int) -> None:
    """Eight times four words to columns."""
    a, b, c, d, e, f, g, h = sources
    rows = transpose8(
        (
            load4_in_8(a),
            load4_in_8(b),
            load4_in_8(c),
            load4_in_8(d),
            load4_in_8(e),
            load4_in_8(f),
            load4_in_8(g),
            load4_in_8(h),
        )
    )
    store(target, rows[0])
    store(target + COLUMN_BYTES, rows[1])
    store(target + 2 * COLUMN_BYTES, rows[2])
    store(target + 3 * COLUMN_BYTES, rows[3])
