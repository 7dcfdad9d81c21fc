"""This module makes cosine and exponential in float64 from sums and products, which give the same bits wherever they
are done: for tables and rows of numbers that are made once for each scene. `shaders.elementary` is for loops.

Both take a number or an array. Cosines are right to 3e-16, exponentials of -20..20 to 2e-15 of themselves.
"""

import math
from typing import Any

import numpy as np


def cosine(turns: Any) -> Any:
    """Returns the cosine of an angle in full turns; that of a quarter is exact."""
    quarter = np.rint(4.0 * np.asarray(turns, np.float64))
    angle = 2.0 * math.pi * (turns - 0.25 * quarter)  # within an eighth of a turn
    even, odd = _nested(-angle * angle, 16), angle * _nested(-angle * angle, 17)
    return np.choose(quarter.astype(np.int64) & 3, [even, -odd, -even, odd])


def exponential(x: Any) -> Any:
    """Returns e^x."""
    whole = np.rint(np.asarray(x, np.float64) / math.log(2.0))
    rest = x - whole * math.log(2.0)
    sum_of_even, sum_of_odd = _nested(rest * rest, 18), rest * _nested(rest * rest, 17)
    return np.ldexp(sum_of_even + sum_of_odd, whole.astype(np.int64))


def _nested(square: Any, last: int) -> Any:
    """Returns 1 + square / (2 * 3) (1 + square / (4 * 5) (...)) up to a divisor, or the same of 1 * 2, 3 * 4, ..."""
    total = np.ones_like(square)
    for divisor in range(last, 1, -2):
        total = 1.0 + square / (divisor * (divisor - 1)) * total
    return total
