"""Sine, cosine and powers from sums and products alone.

Libraries of mathematics differ from machine to machine in the last bit of these; pictures shall not.
"""

import math

from shaders.compilation import compiled

#: Coefficients of the Taylor series, lowest power first; the terms left out are below 1e-15 on the reduced ranges.
_SINE = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(9))
_COSINE = tuple((-1.0) ** k / math.factorial(2 * k) for k in range(9))
_EXPONENTIAL = tuple(math.log(2.0) ** k / math.factorial(k) for k in range(14))
_LOGARITHM = tuple(2.0 / math.log(2.0) / (2 * k + 1) for k in range(10))


@compiled
def horner(x: float, coefficients: tuple[float, ...]) -> float:
    """Sum of coefficients[k] x^k."""
    total = 0.0
    for k in range(len(coefficients) - 1, -1, -1):
        total = total * x + coefficients[k]
    return total


@compiled
def sine_cosine(turns: float) -> tuple[float, float]:
    """Sine and cosine of an angle in full turns, 0..1; right to 1e-15."""
    quarter = math.floor(4.0 * turns + 0.5)
    angle = (turns - 0.25 * quarter) * (2.0 * math.pi)  # within an eighth of a turn
    square = angle * angle
    sine, cosine = angle * horner(square, _SINE), horner(square, _COSINE)
    quadrant = int(quarter) & 3
    if quadrant == 0:
        return sine, cosine
    if quadrant == 1:
        return cosine, -sine
    if quadrant == 2:
        return -sine, -cosine
    return -cosine, sine


@compiled
def log2(x: float) -> float:
    """Logarithm to the base 2 of x > 0; right to 1e-14."""
    mantissa, exponent = math.frexp(x)
    if mantissa < math.sqrt(0.5):
        mantissa, exponent = 2.0 * mantissa, exponent - 1
    s = (mantissa - 1.0) / (mantissa + 1.0)
    return exponent + s * horner(s * s, _LOGARITHM)


@compiled
def exp2(x: float) -> float:
    """2^x; right to 1e-14, and 0 where it would be less than 2^-1000."""
    if x < -1000.0:
        return 0.0
    whole = math.floor(x + 0.5)
    return math.ldexp(horner(x - whole, _EXPONENTIAL), int(whole))


@compiled
def power(x: float, exponent: float) -> float:
    """x^exponent for x in 0..1 and exponent >= 0; 0^0 = 1."""
    if exponent <= 0.0:
        return 1.0
    if x <= 0.0:
        return 0.0
    return exp2(exponent * log2(x))
