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
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.film.bands import by_bands

#: Binary digits of a step behind the point, and of the low part of a sum.
STEP_BITS, LIMB_BITS = 56, 62
STEP, LIMB = 2.0**-STEP_BITS, 2.0**LIMB_BITS

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
        made: Doubles = self.high * (LIMB * STEP) + self.low * STEP
        return made

    def put(self, before: ExactSum, numbers: Doubles) -> None:
        """Makes this, which may hold anything, other sums with numbers added. numbers: float64, of their shape."""
        by_bands(_put_rounded, numbers, *before, *self)

    def joined(self, other: ExactSum) -> ExactSum:
        """Returns the sums of both."""
        joined = ExactSum(self.high + other.high, self.low + other.low)
        _carry(*joined)
        return joined


class RunningSum(NamedTuple):
    """Is an exact sum of passes that takes turns between two pieces of memory.

    now: (height, width, n).
    spare: memory of the sum before, to which the next one is written; None where there is none.
    is_looked_at: whether somebody may look at the sum later, so that its memory is not written to again.
    """

    now: ExactSum
    spare: ExactSum | None = None
    is_looked_at: bool = True

    def plus(self, numbers: Doubles) -> RunningSum:
        """Returns the sum with numbers added, which leaves this one as it is."""
        new = ExactSum(*map(np.empty_like, self.now)) if self.spare is None else self.spare
        new.put(self.now, numbers)
        return RunningSum(new, None if self.is_looked_at else self.now, is_looked_at=False)

    def looked_at(self) -> RunningSum:
        """Returns the same for somebody who keeps the sum."""
        return RunningSum(self.now)


def to_arrays(sums: Mapping[str, ExactSum]) -> dict[str, Longs]:
    """Returns the parts of sums by names that `from_arrays` knows."""
    return {f"{name}.{part}": array for name, one in sums.items() for part, array in one._asdict().items()}


def from_arrays(name: str, arrays: Mapping[str, npt.NDArray[np.generic]]) -> ExactSum:
    """Returns the sum of this name. arrays: as `to_arrays` has them, and others."""
    return ExactSum(*(np.asarray(arrays[f"{name}.{part}"], np.int64) for part in ExactSum._fields))


def _put_rounded(numbers: Doubles, high: Longs, low: Longs, new_high: Longs, new_low: Longs) -> None:
    """Adds numbers to sums, in a band. All arrays have the same shape."""
    steps = np.multiply(numbers, 1.0 / STEP)
    np.rint(steps, out=steps)
    limbs = np.multiply(steps, 1.0 / LIMB)
    np.rint(limbs, out=limbs)
    np.add(high, limbs.astype(np.int64), out=new_high)
    limbs *= LIMB
    steps -= limbs  # all of these are exact
    np.add(low, steps.astype(np.int64), out=new_low)
    _carry(new_high, new_low)


def _carry(high: Longs, low: Longs) -> None:
    """Gives sums their one form. low: within a limb of 0."""
    carried = low + (1 << (LIMB_BITS - 1))
    carried >>= LIMB_BITS
    high += carried
    carried <<= LIMB_BITS
    low -= carried
