"""Sums that are exact, so that the same numbers give the same bits in any order and however they are shared out.

A number is rounded once, to the nearest multiple of `STEP`, a tie to the even one. Multiples of it are whole numbers,
and whole numbers are added without an error as long as they fit. A sum is `high` times `LIMB` steps and `low` steps
more, `low` from -LIMB / 2 on and below LIMB / 2, so that each sum has one form alone. (Fixed point in place of the
superaccumulators of Neal: Fast Exact Summation Using Small and Large Superaccumulators, 2015; numbers are rounded
before they are added as by Demmel, Nguyen: Fast Reproducible Floating-Point Summation, 2013.)

`MOST_NUMBERS` numbers of at most `LARGEST` fit a sum. Whoever adds sees to it that there are no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.film.bands import by_bands
from tracecore.compilation.cached import compiled, inlined

#: Binary digits of a step behind the point, and of the low part of a sum.
STEP_BITS, LIMB_BITS = 56, 62
STEP, LIMB, HALF_LIMB = 2.0**-STEP_BITS, 2.0**LIMB_BITS, 1 << (LIMB_BITS - 1)

#: The greatest size of a number, and how many of them a sum has room for at least.
LARGEST, MOST_NUMBERS = 2.0**48, 1 << 20

Doubles = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]


class ExactSum(NamedTuple):
    """Is a sum for each place of an array. high, low: int64, of its shape."""

    high: Longs
    low: Longs

    @classmethod
    def zeros(cls, shape: tuple[int, ...]) -> ExactSum:
        """Returns sums of nothing."""
        return cls(np.zeros(shape, np.int64), np.zeros(shape, np.int64))

    @property
    def value(self) -> Doubles:
        """Returns the sums as float64, of the array's shape."""
        made = np.empty(self.high.shape)
        by_bands(lambda *bands: _put_values(*(band.reshape(-1) for band in bands)), made, *self)
        return made

    def put(self, before: ExactSum, numbers: Doubles, first: int = 0) -> None:
        """Makes this, which may hold anything, other sums with numbers added. All arrays are rows of one length.

        before: the other sums, of the same shape as these, (rows, ..., n).
        numbers: (rows, ..., columns) float64, of which n columns are added.
        first: the first column of them.
        """

        def put_band(*bands: npt.NDArray[Any]) -> None:
            own, *parts = (band.reshape(-1, band.shape[-1]) for band in bands)
            _put_rounded(own, first, (parts[0], parts[1]), (parts[2], parts[3]))

        by_bands(put_band, np.ascontiguousarray(numbers), *before, *self)

    def put_both(self, one: ExactSum, other: ExactSum) -> None:
        """Makes this, which may hold anything, the sums of both, all of the same shape; it may be one of them."""

        def put_band(*bands: npt.NDArray[Any]) -> None:
            flat = [band.reshape(-1) for band in bands]
            _put_both((flat[0], flat[1]), (flat[2], flat[3]), (flat[4], flat[5]))

        by_bands(put_band, *one, *other, *self)

    def joined(self, other: ExactSum) -> ExactSum:
        """Returns the sums of both."""
        made = ExactSum(*map(np.empty_like, self))
        made.put_both(self, other)
        return made


class RunningSum(NamedTuple):
    """Is an exact sum of passes that takes turns between two pieces of memory.

    now: (height, width, n).
    spare: memory of the sum before, to which the next one is written; None where there is none.
    is_looked_at: whether somebody may look at the sum later, so that its memory is not written to again.
    """

    now: ExactSum
    spare: ExactSum | None = None
    is_looked_at: bool = True

    def plus(self, numbers: Doubles, first: int = 0) -> RunningSum:
        """Returns the sum with numbers added, as by `ExactSum.put`, which leaves this one as it is."""
        new = self._room()
        new.put(self.now, numbers, first)
        return self._followed_by(new)

    def plus_at(self, numbers: Doubles, places: npt.NDArray[np.int64]) -> RunningSum:
        """Returns the sum with numbers added to some places alone, in the memory of this one unless somebody may look
        at that.

        numbers: (places, n) float64.
        places: (places,) int64, row * width + column, each of them once.
        """
        now = ExactSum(*(part.copy() for part in self.now)) if self.is_looked_at else self.now
        high, low = (part.reshape(-1, part.shape[-1]) for part in now)
        by_bands(lambda *band: _put_at(*band, (high, low)), numbers, places)
        return RunningSum(now, self.spare, is_looked_at=False)

    def joined(self, other: ExactSum) -> RunningSum:
        """Returns the sum with another one added, which leaves this one as it is."""
        new = self._room()
        new.put_both(self.now, other)
        return self._followed_by(new)

    def _room(self) -> ExactSum:
        return ExactSum(*map(np.empty_like, self.now)) if self.spare is None else self.spare

    def _followed_by(self, new: ExactSum) -> RunningSum:
        return RunningSum(new, None if self.is_looked_at else self.now, is_looked_at=False)


def to_arrays(sums: Mapping[str, ExactSum]) -> dict[str, Longs]:
    """Returns the parts of sums by names that `from_arrays` knows."""
    return {f"{name}.{part}": array for name, one in sums.items() for part, array in one._asdict().items()}


def from_arrays(name: str, arrays: Mapping[str, npt.NDArray[np.generic]]) -> ExactSum:
    """Returns the sum of this name. arrays: as `to_arrays` has them, and others."""
    return ExactSum(*(np.asarray(arrays[f"{name}.{part}"], np.int64) for part in ExactSum._fields))


@inlined
def plus(high: int, low: int, number: float) -> tuple[int, int]:
    """Returns a sum, given by its parts, with a number added. What is done with steps is exact, as these are whole
    numbers of 53 binary digits."""
    steps = np.rint(number * (1.0 / STEP))
    limbs = np.rint(steps * (1.0 / LIMB))
    return _in_one_form(high + np.int64(limbs), low + np.int64(steps - limbs * LIMB))


@inlined
def _in_one_form(high: int, low: int) -> tuple[int, int]:
    """Returns the parts of a sum whose low part may be beyond its range, by less than LIMB."""
    carried = (low + HALF_LIMB) >> LIMB_BITS
    return high + carried, low - (carried << LIMB_BITS)


@compiled
def _put_values(values: Doubles, high: Longs, low: Longs) -> None:
    """Puts sums as float64. All arrays are (n,)."""
    for i in range(len(values)):
        values[i] = high[i] * (LIMB * STEP) + low[i] * STEP


@compiled
def _put_rounded(numbers: Doubles, first: int, before: tuple[Longs, Longs], after: tuple[Longs, Longs]) -> None:
    """Adds columns of numbers, from the first one on, to sums, and puts what comes of it into others.

    before, after: high and low parts.
    """
    (high, low), (new_high, new_low) = before, after
    for row in range(high.shape[0]):
        for column in range(high.shape[1]):
            made = plus(high[row, column], low[row, column], numbers[row, first + column])
            new_high[row, column], new_low[row, column] = made


@compiled
def _put_at(numbers: Doubles, places: Longs, sums: tuple[Longs, Longs]) -> None:
    """Adds rows of numbers to sums at some places. sums: high and low parts, (all places, columns) each."""
    high, low = sums
    for k in range(len(places)):
        place = places[k]
        for column in range(high.shape[1]):
            high[place, column], low[place, column] = plus(high[place, column], low[place, column], numbers[k, column])


@compiled
def _put_both(one: tuple[Longs, Longs], other: tuple[Longs, Longs], new: tuple[Longs, Longs]) -> None:
    """Adds sums to others and puts what comes of it into others: high and low parts, (n,) each."""
    (high, low), (other_high, other_low), (new_high, new_low) = one, other, new
    for i in range(len(high)):
        new_high[i], new_low[i] = _in_one_form(high[i] + other_high[i], low[i] + other_low[i])
