"""Vectors in compiled code, element by element against NumPy."""

import re
from typing import Any

import numpy as np
import pytest
from numba import njit

from tracecore.compilation import vector
from tracecore.tracers.brute_force import fma


@njit
def arithmetic(a: Any, b: Any, c: Any, out: Any) -> None:
    x, y, z = vector.load8(vector.address(a)), vector.load8(vector.address(b)), vector.load8(vector.address(c))
    at = vector.address(out)
    vector.store(at, x + y)
    vector.store(at + 32, x - y)
    vector.store(at + 64, x * y + z)
    vector.store(at + 96, x / y)
    vector.store(at + 128, -x)
    vector.store(at + 160, vector.fma(x, y, z))
    vector.store(at + 192, vector.least(x, y))
    vector.store(at + 224, vector.greatest(x, y))


@njit
def comparisons(a: Any, b: Any) -> Any:
    x, y = vector.load8(vector.address(a)), vector.load8(vector.address(b))
    return vector.less(x, y), vector.less_equal(x, y)


@njit
def numbers(array: Any, k: int) -> Any:
    x = vector.load4(vector.address(array))
    bits = vector.float_bits(vector.element(x, k))
    return vector.element(x, k), bits, vector.bits_float(bits), vector.lowest_bit(np.int64(1) << k)


SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.5, 1e-45], np.float32)


@pytest.mark.parametrize("shift", range(8))
def test_arithmetic_is_that_of_each_element(shift: int) -> None:
    random = np.random.default_rng(shift)
    for a, b, c in ((SPECIAL, np.roll(SPECIAL, shift), SPECIAL[::-1].copy()), random.normal(size=(3, 8))):
        x, y, z = np.float32(a), np.float32(b), np.float32(c)
        out = np.empty((8, 8), np.float32)
        arithmetic(x, y, z, out)
        with np.errstate(all="ignore"):
            expected = [x + y, x - y, x * y + z, x / y, -x, fma(x, y, z), np.where(x < y, x, y), np.where(x > y, x, y)]  # type: ignore[arg-type]
        for got, right in zip(out, expected, strict=True):
            assert np.array_equal(got, right, equal_nan=True)  # type: ignore[arg-type]
            numbers_only = ~np.isnan(right)  # type: ignore[call-overload]
            assert np.array_equal(np.signbit(got[numbers_only]), np.signbit(right[numbers_only]))  # type: ignore[index]


@pytest.mark.parametrize("shift", range(8))
def test_comparisons_set_a_bit_per_element(shift: int) -> None:
    a, b = SPECIAL, np.roll(SPECIAL, shift)
    bits = 1 << np.arange(8)
    assert comparisons(a, b) == ((bits * (a < b)).sum(), (bits * (a <= b)).sum())


@pytest.mark.parametrize("k", range(4))
def test_elements_and_bits(k: int) -> None:
    array = np.array([1.5, -2.0, 1e-45, np.inf], np.float32)
    bits = int(array.view(np.int32)[k])
    assert numbers(array, k) == (array[k], bits, array[k], k)


@njit
def whole_numbers(array: Any) -> Any:
    x = vector.load4(vector.address(array))
    return vector.whole(x, 0), vector.whole(x, 1), vector.whole(x, 2), vector.whole(x, 3)


def test_whole_numbers_have_no_fraction_and_do_not_mind_their_neighbours() -> None:
    assert whole_numbers(np.array([2.99, -2.99, 1e9, 0.0], np.float32)) == (2, -2, 1_000_000_000, 0)
    assert whole_numbers(np.array([2.99, np.nan, 1.0, np.inf], np.float32))[::2] == (2, 1)


@njit
def hand_over(word: Any) -> Any:
    vector.store_release(vector.address(word), np.uint64(7))
    return vector.load_acquire(vector.address(word))


def test_hand_overs_are_atomic_and_ordered() -> None:
    """What x86 keeps in order by itself, other processors and LLVM's optimiser do not."""
    assert hand_over(np.zeros(1, np.uint64)) == 7
    (code,) = hand_over.inspect_llvm().values()
    assert re.search(r"store atomic i64 7, .* release, align 8", code)
    assert re.search(r"load atomic i64, .* acquire, align 8", code)
