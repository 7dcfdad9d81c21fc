"""Cosines and exponentials of rows and tables against the library's."""

import math

import numpy as np

from shaders.elementary import cosine, exponential


def test_cosines():
    turns = np.linspace(-2.0, 2.0, 4001)
    np.testing.assert_allclose(cosine(turns), np.cos(2.0 * math.pi * turns), rtol=0.0, atol=2e-15)
    assert cosine(np.arange(9) / 4.0).tolist() == [1, 0, -1, 0, 1, 0, -1, 0, 1]


def test_exponentials():
    x = np.linspace(-20.0, 20.0, 4001)
    np.testing.assert_allclose(exponential(x), np.exp(x), rtol=2e-15, atol=0.0)
    assert exponential(0.0) == 1.0
