"""This module makes sine, cosine, arc tangent and powers from sums and products alone, in float32 and without branches,
so that loops vectorise. It also says what the lesser and the greater of two numbers is, and multiplies and adds with a
single rounding.

Libraries of mathematics differ from machine to machine in the last bit of these; pictures shall not.

`cosine` and `exponential` are for tables and rows of numbers that are made once for each scene, in float64:
they take a number or an array, and are right to 3e-16 and, of -20..20, to 2e-15 of themselves.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError

from shaders.compilation import compiled, emitting
from shaders.float32 import HALF, ONE, TWO_PI, ZERO, Float32, Int

#: LLVM's names of the instruction.
_NAMES = {types.float32: "llvm.fma.f32", types.float64: "llvm.fma.f64"}


@emitting
def fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """Returns a b + c, rounded once, in float32 if all three are. It is one instruction, and gives the same bits where
    a processor needs more of them."""
    if not all(isinstance(kind, types.Number) for kind in (a, b, c)):
        raise TypingError(f"fma takes three numbers, not {a}, {b} and {c}")
    kind = types.float32 if a == b == c == types.float32 else types.float64

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = arguments[0].type
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(number, [number] * 3), _NAMES[kind])
        return builder.call(function, arguments)

    return kind(kind, kind, kind), emit


#: With square = x^2, up to an eighth of a turn: sin x = x + x square (...) and cos x = 1 - square / 2 + square^2 (...).
#: Minimax polynomials, lowest power first, right to 2e-8.
_SINE = (Float32(-0.16666664666), Float32(0.0083327489425), Float32(-0.00019588008690))
_COSINE = (Float32(0.041666665432), Float32(-0.0013888339222), Float32(2.4550726773e-05))

#: Up to tan(pi / 8), atan x = 2 pi x (...) with square = x^2: a minimax polynomial, right to 2e-8 of itself.
_ARC_TANGENT = tuple(
    Float32(x) for x in (0.15915494022, -0.053050797278, 0.031790346047, -0.02204616459, 0.012710890772)
)
_TAN_EIGHTH, _EIGHTH = Float32(math.tan(math.pi / 8.0)), Float32(0.125)

#: Coefficients of the series, lowest power first; the terms left out are below 4e-8 on the reduced ranges.
_EXPONENTIAL = tuple(Float32(math.log(2.0) ** k / math.factorial(k)) for k in range(1, 9))
_LOGARITHM = tuple(Float32(2.0 / math.log(2.0) / (2 * k + 1)) for k in range(5))

_FOUR, _QUARTER = Float32(4.0), Float32(0.25)
_LEAST_EXPONENT = Float32(-126.0)

#: A float32 as an integer: exponents begin at this bit, with this bias; and the bits of the root of 1/2.
_EXPONENT_BIT, _BIAS = np.int32(23), np.int32(127)
_ROOT_HALF = np.float32(math.sqrt(0.5)).view(np.int32)
_LEAST_NORMAL = Float32(2.0**-126)

#: int32 numbers are below.
_INT_LIMIT = Float32(2.0**31)

#: From which half of a number's bits are taken to guess 1 over its root.
_ROOT_GUESS, _ONE_BIT, _THREE_HALVES = np.int32(0x5F3759DF), np.int32(1), Float32(1.5)


@compiled
def least(a: float, b: float) -> float:
    """Returns `a if a < b else b`: the second number where either is NaN, and of 0 and -0."""
    return a if a < b else b


@compiled
def greatest(a: float, b: float) -> float:
    """Returns `a if a > b else b`: the second number where either is NaN, and of 0 and -0."""
    return a if a > b else b


@compiled
def horner(x: float, coefficients: tuple[float, ...]) -> float:
    """Returns the sum of coefficients[k] x^k."""
    total = coefficients[-1]
    for k in range(len(coefficients) - 2, -1, -1):
        total = fma(total, x, coefficients[k])
    return total


@compiled
def floor(x: float) -> tuple[int, float]:
    """Returns the greatest whole number that is not above x, int32, and how far x is above it, in the precision of x:
    below 1, or 1 where x is so little below a whole number that the difference is rounded up.

    Both are 0 where x is NaN or not within 2^31 of 0.
    """
    within = x if abs(x) < _INT_LIMIT else ZERO
    below = np.floor(within)
    return Int(below), within - below


@compiled
def power_of_two(exponent: int) -> float:
    """Returns 2^exponent for an int32 exponent in -126..127."""
    return Int((exponent + _BIAS) << _EXPONENT_BIT).view(np.float32)


@compiled
def binary_exponent(x: float) -> int:
    """Returns the int32 exponent e of 2^(e - 1) <= x < 2^e for a normal x > 0."""
    return (Float32(x).view(np.int32) >> _EXPONENT_BIT) - (_BIAS - np.int32(1))


@compiled
def sine_cosine(turns: float) -> tuple[float, float]:
    """Returns the sine and cosine of an angle in full turns, -1/8..1; right to 2e-7."""
    turns = Float32(turns)
    quarter = np.int32(fma(_FOUR, turns, HALF))
    angle = fma(-_QUARTER, Float32(quarter), turns) * TWO_PI  # within an eighth of a turn
    square = angle * angle
    sine = fma(angle * square, horner(square, _SINE), angle)
    cosine = fma(square * square, horner(square, _COSINE), fma(-HALF, square, ONE))
    swapped = (quarter & np.int32(1)) != 0
    a = cosine if swapped else sine
    b = sine if swapped else cosine
    return (-a if (quarter & np.int32(2)) != 0 else a, -b if ((quarter + np.int32(1)) & np.int32(2)) != 0 else b)


@compiled
def turns_to(x: float, y: float) -> float:
    """Returns the angle from +x to (x, y) in full turns, -1/2..1/2, 0 of (0, 0); right to 5e-8, and 2e-7 of itself. It
    is 1/2 along -x, also where y is -0."""
    x, y = Float32(x), Float32(y)
    width, height = abs(x), abs(y)
    short, long = least(width, height), greatest(width, height)
    is_beyond = short > _TAN_EIGHTH * long  # then it is measured from the diagonal
    part = short - long if is_beyond else short
    ratio = part / greatest(short + long if is_beyond else long, _LEAST_NORMAL)
    octant = ratio * horner(ratio * ratio, _ARC_TANGENT) + (_EIGHTH if is_beyond else ZERO)
    quadrant = _QUARTER - octant if height > width else octant
    half = HALF - quadrant if x < ZERO else quadrant
    return -half if y < ZERO else half


@compiled
def inverse_root(x: float) -> float:
    """Returns 1 / sqrt(x) of a normal x > 0, right to 2e-7 of itself; something finite for 0.

    Newton's method from a guess by the bits (Lomont: Fast Inverse Square Root, 2003). Vector units divide and take
    roots at a third of this speed.
    """
    half = -HALF * x
    y = np.int32(_ROOT_GUESS - (Float32(x).view(np.int32) >> _ONE_BIT)).view(np.float32)
    y = y * fma(half * y, y, _THREE_HALVES)
    y = y * fma(half * y, y, _THREE_HALVES)
    return y * fma(half * y, y, _THREE_HALVES)


@compiled
def log2(x: float) -> float:
    """Returns the logarithm to the base 2 of x >= 2^-126; right to 1e-7 of itself."""
    bits = Float32(x).view(np.int32)
    exponent = np.int32(bits - _ROOT_HALF) >> _EXPONENT_BIT
    mantissa = np.int32(bits - (exponent << _EXPONENT_BIT)).view(np.float32)
    s = (mantissa - ONE) / (mantissa + ONE)
    return Float32(exponent) + s * horner(s * s, _LOGARITHM)


@compiled
def exp2(x: float) -> float:
    """Returns 2^x for x < 127; right to 1e-7 of itself, and 0 where it would be less than 2^-126."""
    part, rest = _split_exp2(Float32(x))
    return part + part * rest if x >= _LEAST_EXPONENT else ZERO


@compiled
def exp2_minus_1(x: float) -> float:
    """Returns 2^x - 1 for x < 127, also close to 0; right to 2e-7 of itself, or of 1."""
    part, rest = _split_exp2(Float32(x))
    return (part - ONE) + part * rest


@compiled
def _split_exp2(x: float) -> tuple[float, float]:
    """Returns a power of two and a small rest with 2^x = part (1 + rest)."""
    x = greatest(x, _LEAST_EXPONENT)
    whole = np.floor(x + HALF)
    fraction = x - whole
    return power_of_two(Int(whole)), fraction * horner(fraction, _EXPONENTIAL)


@compiled
def power(x: float, exponent: float) -> float:
    """Returns x^exponent for x in 0..1 and exponent >= 0; 0^0 = 1. Right to 1e-7 times its logarithm."""
    raised = exp2(Float32(exponent) * log2(greatest(Float32(x), _LEAST_NORMAL)))
    return ONE if exponent <= ZERO else (raised if x >= _LEAST_NORMAL else ZERO)


def cosine(turns: Any) -> Any:
    """Returns the cosine of an angle in full turns, float64; that of a quarter is exact."""
    quarter = np.rint(4.0 * np.asarray(turns, np.float64))
    angle = 2.0 * math.pi * (turns - 0.25 * quarter)  # within an eighth of a turn
    even, odd = _nested(-angle * angle, 16), angle * _nested(-angle * angle, 17)
    return np.choose(quarter.astype(np.int64) & 3, [even, -odd, -even, odd])


def exponential(x: Any) -> Any:
    """Returns e^x, float64."""
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
