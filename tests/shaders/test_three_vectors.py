"""Frames about every direction, and the small operations on triples."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from shaders.elementary import fma
from shaders.vector import (
    cross,
    frame,
    largest,
    largest_magnitude,
    length,
    mean,
    multiply,
    normalize,
    to_local,
    to_world,
)

A, B = (1.0, -2.0, 3.0), (4.0, 0.5, -1.0)


def directions():
    """Poles, both signs of zero, directions next to the lower pole, and many at random."""
    special = [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (-0.0, -0.0, -1.0), (1.0, 0.0, 0.0), (1.0, 0.0, -0.0)]
    special += [(0.0, -1.0, 0.0), (0.0, 1.0, -0.0)]
    for tilt in (1e-3, 1e-6, 1e-9, 1e-12):
        special += [(math.sin(tilt), 0.0, -math.cos(tilt)), (0.0, -math.sin(tilt), -math.cos(tilt))]
    random = np.random.default_rng(1).normal(size=(500, 3))
    random /= np.linalg.norm(random, axis=1, keepdims=True)
    return special + [tuple(map(float, d)) for d in random]


def test_frames_are_orthonormal_and_right_handed():
    for normal in directions():
        tangent, bitangent = frame(normal)
        axes = np.array([tangent, bitangent, normal])
        np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
        np.testing.assert_allclose(np.cross(tangent, bitangent), normal, atol=1e-12)


def test_to_world_undoes_to_local():
    axes = (*frame(normalize(A)), normalize(A))
    assert to_world(to_local(B, *axes), *axes) == pytest.approx(B)
    assert to_local(A, *axes) == pytest.approx((0.0, 0.0, math.sqrt(14.0)))


@njit
def fused(a, b, c):
    return fma(a, b, c)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_products_and_sums_are_rounded_once(kind):
    """The square of 1 + e is 1 + 2 e + e^2, of which rounding would lose the last part."""
    e = 2.0 ** -(np.finfo(kind).nmant // 2 + 1)
    a = kind(1.0 + e)
    assert a * a - kind(1.0 + 2.0 * e) == 0.0
    assert fused(a, a, kind(-1.0 - 2.0 * e)) == e * e
    numbers = np.random.default_rng(6).normal(size=(100, 3)).astype(kind)
    for a, b, c in numbers:
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        off = abs(Fraction(float(fused(a, b, c))) - exact)
        assert off <= Fraction(float(np.spacing(kind(abs(float(exact)))))) / 2


def test_fused_numbers_are_of_the_higher_precision():
    assert fused(np.float32(0.1), 1.0, 0.0) == float(np.float32(0.1))
    assert fused(0.1, np.float32(1.0), np.float32(0.0)) == 0.1
    with pytest.raises(TypingError, match="fma takes three numbers"):
        fused("a", 1.0, 2.0)


def test_a_vector_without_length_is_normalised_to_z():
    assert normalize((0.0, 0.0, 0.0)) == (0.0, 0.0, 1.0)
    assert normalize((0.0, -3.0, 4.0)) == pytest.approx((0.0, -0.6, 0.8))


def test_known_answers_of_the_small_operations():
    assert cross(A, B) == (0.5, 13.0, 8.5)
    assert multiply(A, B) == (4.0, -1.0, -3.0)
    assert length((2.0, 3.0, 6.0)) == 7.0
    assert [largest(A), mean(A)] == pytest.approx([3.0, 2.0 / 3.0])
    for vector in ((-9.0, 1.0, 2.0), (1.0, -9.0, 2.0), (1.0, 2.0, -9.0)):
        assert largest_magnitude(vector) == 9.0
