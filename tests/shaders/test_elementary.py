"""Sine, cosine and powers against the library's, which are right to the last bit or nearly so."""

import math

import numpy as np
import pytest

from shaders.elementary import exp2, log2, power, sine_cosine

NUMBERS = np.random.default_rng(11).random(500).tolist()


@pytest.mark.parametrize("turns", [0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0, 2.0**-33, *NUMBERS[:100]])
def test_sine_and_cosine(turns):
    sine, cosine = sine_cosine(turns)
    assert sine == pytest.approx(math.sin(2.0 * math.pi * turns), abs=2e-15)
    assert cosine == pytest.approx(math.cos(2.0 * math.pi * turns), abs=2e-15)


def test_logarithms():
    for x in [1e-300, 1e-9, 0.5, 0.70710678, 1.0, 1.5, 2.0, 1e9, *NUMBERS]:
        assert log2(x) == pytest.approx(math.log2(x), rel=1e-14, abs=1e-15)


def test_exponentials():
    for x in [-1001.0, -999.5, -60.25, -0.5, 0.0, 0.5, 1.0, 10.3, *(20.0 * (n - 0.5) for n in NUMBERS)]:
        assert exp2(x) == pytest.approx(2.0**x if x > -1000.0 else 0.0, rel=1e-14)


def test_powers():
    for x in NUMBERS:
        for exponent in (0.0, 0.01, 1.0, 2.5, 97.4, 1000.0):
            assert power(x, exponent) == pytest.approx(x**exponent, rel=1e-11, abs=1e-300)
    assert power(0.0, 0.0) == 1.0
    assert power(0.0, 2.0) == 0.0
    assert power(1.0, 300.0) == 1.0
