"""Arrays and named tuples that are lent to functions: not counted, and handed on by their address."""

import sys
import typing
from typing import Any

import numpy as np
from numba import njit, typeof
from numba.core.types import NamedTuple

from tracecore.compilation import borrowing
from tracecore.compilation.borrowing import Borrowed, borrowed, lent_type


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


def test_alike_tuples_have_their_type_found_once(monkeypatch):
    """Whatever Numba types in another way is unlike."""
    asked = []
    monkeypatch.setattr(borrowing, "typeof", lambda value: asked.append(value) or typeof(value))
    numbers, frozen = np.ones((4, 6)), np.ones((4, 6))
    frozen.flags.writeable = False
    record = np.dtype([("a", np.int32), ("b", np.float32)])
    unlike = [numbers, frozen, numbers[:, 0], numbers[:, ::2], numbers.T, np.ones((2, 2), np.float32)]
    unlike += [np.zeros(3, record), np.zeros(3, record.descr[::-1]), np.ones(3), np.ones(3, np.uint64)]
    others: list[Any] = [1.5, np.uint64(1), True]
    pairs: list[Any] = [Pair(one, 1) for one in unlike] + [Pair(numbers, one) for one in others]
    pairs += [Nested((one, one), pairs[0], (1, 2)) for one in unlike[:2]]
    assert [lent_type(pair) for pair in pairs] == [Borrowed(typeof(pair)) for pair in pairs]
    assert len({lent_type(pair) for pair in pairs}) == len(pairs)
    asked.clear()
    assert lent_type(Pair(np.zeros((7, 8)), 3)) is lent_type(pairs[0])
    assert not any(isinstance(one, tuple) for one in asked)
