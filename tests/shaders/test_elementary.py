"""Sine, cosine, angles and powers against the library's in float64: right to a few units in the last place of
float32."""

import math

import numpy as np
import pytest

from shaders.elementary import (
    exp2,
    exp2_minus_1,
    floor,
    greatest,
    inverse_root,
    least,
    log2,
    power,
    sine_cosine,
    turns_to,
)

#: Half a unit in the last place of float32, for numbers in 1..2.
HALF_UNIT = 2.0**-24
NUMBERS = np.random.default_rng(11).random(500, np.float32).tolist()


@pytest.mark.parametrize("turns", [-0.1, *(k / 8.0 for k in range(-1, 9)), 2.0**-33, *NUMBERS[:100]])
def test_sine_and_cosine(turns):
    sine, cosine = sine_cosine(turns)
    assert sine == pytest.approx(math.sin(2.0 * math.pi * turns), abs=3 * HALF_UNIT)
    assert cosine == pytest.approx(math.cos(2.0 * math.pi * turns), abs=3 * HALF_UNIT)


def test_angles():
    generator = np.random.default_rng(12)
    directions = generator.normal(size=(2000, 2)) * 10.0 ** generator.uniform(-12.0, 12.0, (2000, 2))
    edges = [(1.0, 1.0), (-1.0, 1e-30), (1.0, math.tan(math.pi / 8)), (-1.0, -math.tan(math.pi / 8)), (1e-30, -1e30)]
    for x, y in np.array([*directions, *edges], np.float32).tolist():
        assert turns_to(x, y) == pytest.approx(math.atan2(y, x) / (2.0 * math.pi), rel=4 * HALF_UNIT, abs=1e-37), (x, y)


def test_the_lesser_and_the_greater_number_are_the_second_one_where_neither_is():
    for choose, first in ((least, (1.0, 2.0)), (greatest, (2.0, 1.0))):
        assert choose(*first) == first[0] == choose(*first[::-1])
        for a, b in ((0.0, -0.0), (-0.0, 0.0), (math.nan, 1.0), (1.0, math.nan)):
            for kind in (np.float32, np.float64):
                chosen = kind(choose(kind(a), kind(b)))  # type: ignore[arg-type]
                assert chosen.tobytes() == kind(b).tobytes()


def test_inverse_roots():
    edges = [2.0**-126, 1e-20, 0.5, 1.0, 1.0 + 2.0**-23, 4.0 - 2.0**-22, 7.0, 1e20]
    for x in [*edges, *NUMBERS, *(4.0 * n for n in NUMBERS)]:
        x = np.float32(x)
        assert inverse_root(x) == pytest.approx(1.0 / math.sqrt(x), rel=4 * HALF_UNIT, abs=0.0)  # type: ignore[arg-type]
    assert math.isfinite(inverse_root(np.float32(0.0)))  # type: ignore[arg-type]


def test_logarithms():
    for x in [2.0**-126, 1e-9, 0.5, 0.70710678, 1.0 - 2.0**-24, 1.0, 1.0 + 2.0**-23, 1.5, 2.0, 1e9, *NUMBERS]:
        x = float(np.float32(x))
        assert log2(x) == pytest.approx(math.log2(x), rel=6 * HALF_UNIT, abs=0.0)


def test_exponentials():
    for x in [-126.5, -126.0, -125.5, -60.25, -0.5, 0.0, 0.5, 10.25, *(float(20.0 * (n - 0.5)) for n in NUMBERS)]:
        x = float(np.float32(x))
        assert exp2(x) == pytest.approx(2.0**x if x >= -126.0 else 0.0, rel=4 * HALF_UNIT, abs=0.0)


def test_exponentials_close_to_one_keep_their_digits():
    for x in [-100.0, -1.0, -0.5, -1e-3, -1e-7, -1e-20, 0.0, 1e-9, 1e-3, 0.4]:
        x = float(np.float32(x))
        assert exp2_minus_1(x) == pytest.approx(math.expm1(x * math.log(2.0)), rel=5 * HALF_UNIT, abs=0.0)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_whole_parts(kind):
    for x in [0.0, -0.0, 0.25, 1.0, -0.25, -1.0, -1.75, 12345.5, -(2.0**31) + 128.0, 2.0**31 - 128.0, *NUMBERS[:50]]:
        whole, rest = floor(kind(x))
        assert (whole, rest) == (math.floor(kind(x)), kind(x) - math.floor(kind(x)))


def test_the_rest_of_a_tiny_negative_number_is_rounded_to_1():
    assert floor(np.float32(-1e-10)) == (-1, 1.0)  # type: ignore[arg-type]


def test_powers():
    """The error of the logarithm is multiplied with the exponent."""
    for x in NUMBERS:
        for exponent in (0.0, 0.01, 1.0, 2.5, 97.4, 1000.0):
            exponent = float(np.float32(exponent))
            expected = x**exponent
            steps = 5.0 + 8.0 * abs(exponent * math.log2(x))
            assert power(x, exponent) == pytest.approx(expected, rel=steps * HALF_UNIT, abs=2.0**-126)
    assert power(0.0, 0.0) == 1.0
    assert power(0.0, 2.0) == 0.0
    assert power(1.0, 300.0) == 1.0


def test_quarters_of_a_turn_are_exact():
    assert [sine_cosine(turns) for turns in (0.0, 0.25, 0.5, 0.75)] == [(0, 1), (1, 0), (0, -1), (-1, 0)]


def test_angles_of_axes_are_exact():
    assert [turns_to(x, y) for x, y in ((1, 0), (0, 1), (-1, 0), (-1, -0.0), (0, -1))] == [0, 0.25, 0.5, 0.5, -0.25]
    assert turns_to(0.0, 0.0) == turns_to(-0.0, -0.0) == 0.0
