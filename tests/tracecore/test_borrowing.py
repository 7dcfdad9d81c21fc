"""Arrays and named tuples that are lent to functions: not counted, and handed on by their address."""

import sys
import typing
from typing import Any

import numpy as np
from numba import njit
from numba.core.types import NamedTuple

from tracecore.compilation.borrowing import Borrowed, borrowed


class Pair(typing.NamedTuple):
    numbers: Any
    factor: int


class Nested(typing.NamedTuple):
    alike: tuple[Any, Any]
    pair: Pair
    rest: tuple[int, int]


@njit
def total(nested: Any) -> Any:
    return nested.alike[0].sum() + nested.alike[1].sum() + nested.pair.numbers.sum() * nested.pair.factor


@njit
def borrowed_total(nested: Any) -> Any:
    mine = borrowed(nested)
    mine.alike[0][0] += mine.rest[1]
    return total(mine)


@njit
def counted_total(nested: Any) -> Any:
    nested.alike[0][0] += nested.rest[1]
    return total(nested)


def test_borrowed_arrays_are_the_same_and_nobody_counts_them():
    nested = Nested((np.ones(3), np.ones(4)), Pair(np.arange(3), 10), (5, 7))
    owners = sys.getrefcount(nested.alike[0])
    assert borrowed_total(nested) == 7 + 7 + 30  # and seven more each time
    assert borrowed_total(nested) == 7 + 7 + 7 + 30
    np.testing.assert_array_equal(nested.alike[0], [15, 1, 1])
    for _ in range(100):
        borrowed_total(nested)
    assert sys.getrefcount(nested.alike[0]) < owners + 10
    counted_total(nested)
    borrowing, counting = (f.inspect_llvm(f.signatures[0]) for f in (borrowed_total, counted_total))
    assert "NRT_incref" not in borrowing
    assert "NRT_incref" in counting
    assert [len(kinds) for kinds in total.signatures] == [1, 1]
    assert {type(kinds[0]) for kinds in total.signatures} == {Borrowed, NamedTuple}
