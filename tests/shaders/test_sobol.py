"""Points that fill the unit square evenly, and that have nothing to do with each other from purpose to purpose."""

import math

import numba
import numpy as np
import pytest

from shaders.random import (
    HALF_BITS,
    LOW,
    NO_PASS,
    STREAM_CAMERA,
    STREAM_LIGHT,
    pascal,
    philox,
    reversed_bits,
    sobol_bits,
    unit,
)


@numba.njit
def sobol4(seed, number, index, stream, step):
    """Four numbers in (0, 1), whose sequence belongs to an index, a stream and a step."""
    counter = (np.uint64(index), np.uint64(step), NO_PASS, np.uint64(stream))
    words = philox(counter, (seed & LOW, seed >> HALF_BITS))
    seeds = (np.uint32(words[0]), np.uint32(words[1]), np.uint32(words[2]), np.uint32(words[3]))
    bits = sobol_bits(np.uint32(number), seeds)
    return unit(np.uint64(bits[0])), unit(np.uint64(bits[1])), unit(np.uint64(bits[2])), unit(np.uint64(bits[3]))


@numba.njit
def points(count, seed, index, stream, step):
    """(count, 4)."""
    made = np.zeros((count, 4))
    for number in range(count):
        made[number] = sobol4(np.uint64(seed), number, index, stream, step)
    return made


@numba.njit
def of_many(count, sequence):
    """(count, 4) of so many pixels in one pass."""
    made = np.zeros((count, 4))
    for pixel in range(count):
        made[pixel] = sobol4(np.uint64(5), sequence, pixel, STREAM_CAMERA, 0)
    return made


@pytest.mark.parametrize(("seed", "index", "step"), [(0, 0, 0), (1, 7, 3), (2**40 + 5, 99_999, 12)])
def test_every_elementary_interval_has_one_of_the_first_points(seed, index, step):
    """2^k points, in intervals 2^-a wide and 2^(a-k) high: a (0,2)-sequence, shuffled and scrambled."""
    made = points(256, seed, index, STREAM_LIGHT, step)
    for pair in (made[:, :2], made[:, 2:]):
        for k in range(9):
            for first in (0, 256 - 2**k):  # aligned runs, not the first alone
                for a in range(k + 1):
                    cells = np.floor(pair[first : first + 2**k] * (2**a, 2 ** (k - a))).astype(int)
                    assert len(np.unique(cells, axis=0)) == 2**k, (k, a)


def test_the_second_dimension_is_by_binomials_modulo_two():
    for k in range(32):
        expected = sum(1 << j for j in range(k + 1) if math.comb(k, j) % 2)
        assert int(pascal(np.uint32(1 << k))) == expected
    assert int(pascal(np.uint32(0b101))) == int(pascal(np.uint32(4))) ^ int(pascal(np.uint32(1)))


@pytest.mark.parametrize("sequence", [0, 1, 2, 77, 2**20])
def test_points_are_uniform_over_the_pixels(sequence):
    """Chi-squared, 255 degrees of freedom, for each pair of the four numbers: beyond 350 by chance in 3 of 100,000."""
    made = of_many(1_000_000, sequence)
    assert np.all((made > 0.0) & (made < 1.0))
    for a in range(4):
        for b in range(a):
            counts = np.histogram2d(made[:, a], made[:, b], bins=16, range=((0, 1), (0, 1)))[0]
            expected = len(made) / 256
            assert ((counts - expected) ** 2 / expected).sum() < 350.0


def test_passes_of_a_pixel_hang_together_in_no_simple_way():
    """Over the pixels, where one pass is tells nothing of where another is, but that it is elsewhere."""
    first, third = of_many(20_000, 0), of_many(20_000, 3)
    correlation = np.corrcoef(first.T, third.T)[:4, 4:]
    np.fill_diagonal(correlation, 0.0)
    assert np.abs(correlation).max() < 0.03


@pytest.mark.parametrize("other", [{"seed": 4}, {"index": 6}, {"stream": STREAM_CAMERA}, {"step": 2}])
def test_each_purpose_has_points_of_its_own(other):
    """The order and the places differ: 4096 points of two purposes are as far from each other as chance has it."""
    chosen = {"seed": 3, "index": 5, "stream": STREAM_LIGHT, "step": 1}
    one, two = points(4096, **chosen), points(4096, **(chosen | other))
    distance = np.abs(one - two).mean(axis=0)
    np.testing.assert_allclose(distance, 1.0 / 3.0, atol=0.05)


def test_a_number_depends_on_no_other_pass():
    few, many = points(10, 1, 2, STREAM_LIGHT, 0), points(100, 1, 2, STREAM_LIGHT, 0)
    assert np.array_equal(few, many[:10])


def test_bits_are_reversed():
    for value in (0, 1, 0x80000000, 0x12345678, 0xFFFFFFFF):
        assert int(reversed_bits(np.uint32(value))) == int(f"{value:032b}"[::-1], 2)
