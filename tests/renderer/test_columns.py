"""Rows to columns and back, whatever their number."""

import numpy as np
import pytest
from numba import njit

from renderer.columns import (
    CHUNK,
    columns_to_rows,
    gather_columns,
    half_rows_to_columns,
    rows_to_columns,
)
from tracecore.vector import address


@njit
def to_columns(rows, count, columns):
    rows_to_columns(address(rows), count, address(columns))


@njit
def halves_to_columns(rows, count, columns):
    half_rows_to_columns(address(rows), count, address(columns))


@njit
def gathered(rows, places, count, columns):
    gather_columns(address(rows), 32, places, count, address(columns))


@njit
def to_rows(columns, count, rows):
    columns_to_rows(address(columns), count, address(rows))


#: Bits of all kinds: those of NaN too must pass.
ROWS = np.random.default_rng(1).integers(0, 2**32, (CHUNK, 8), np.uint64).astype(np.uint32)
COUNTS = pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 15, 16, CHUNK - 1, CHUNK])


@COUNTS
def test_rows_become_columns_and_the_last_fills_up(count):
    columns = np.zeros((8, CHUNK), np.uint32)
    to_columns(ROWS[:count].copy(), count, columns)
    assert np.array_equal(columns[:, :count], ROWS[:count].T)
    filled = -(-count // 8) * 8
    assert np.all(columns[:, count:filled] == ROWS[count - 1][:, None])
    assert not columns[:, filled:].any()


@COUNTS
def test_rows_of_sixteen_bytes_become_four_columns(count):
    columns = np.zeros((8, CHUNK), np.uint32)
    halves = ROWS[:, :4].copy()
    halves_to_columns(halves[:count].copy(), count, columns)
    assert np.array_equal(columns[:4, :count], halves[:count].T)
    assert not columns[4:].any()


@COUNTS
def test_rows_are_gathered_from_their_places(count):
    columns = np.zeros((8, CHUNK), np.uint32)
    places = np.random.default_rng(2).integers(0, CHUNK, CHUNK).astype(np.int32)
    gathered(ROWS, places, count, columns)
    assert np.array_equal(columns[:, :count], ROWS[places[:count]].T)


@COUNTS
def test_columns_become_rows(count):
    rows = np.zeros((CHUNK, 8), np.uint32)
    to_rows(np.ascontiguousarray(ROWS.T), count, rows)
    assert np.array_equal(rows[:count], ROWS[:count])
