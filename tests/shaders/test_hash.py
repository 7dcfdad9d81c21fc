"""The hash behind photons' numbers against uniformity and independence."""

import itertools

import numpy as np
import pytest

from shaders.compilation import compiled
from shaders.random import STREAM_EMISSION, STREAM_PHOTON, hash4, hash_key, more4, unit32

DRAWS = 300_000
SEED = np.uint64(5)
MASK = 0xFFFFFFFF


def published_pcg4d(words):
    """Listing of pcg4d in Jarzynski, Olano: Hash Functions for GPU Rendering, 2020."""
    x, y, z, w = ((word * 1664525 + 1013904223) & MASK for word in words)
    for shift in (16, 0):
        x = (x + y * w) & MASK
        y = (y + z * x) & MASK
        z = (z + x * y) & MASK
        w = (w + y * z) & MASK
        if shift:
            x, y, z, w = (word ^ (word >> shift) for word in (x, y, z, w))
    return x, y, z, w


@compiled
def hashed(key, start, stride, count):
    """(count, 7): four numbers and three more. start, stride: of the index and of the step."""
    numbers = np.empty((count, 7))
    for k in range(count):
        words = hash4(key, np.uint32(start[0] + k * stride[0]), np.uint32(start[1] + k * stride[1]))
        for i in range(4):
            numbers[k, i] = unit32(words[i])
        more = more4(words)
        for i in range(3):
            numbers[k, 4 + i] = unit32(more[i])
    return numbers


def cells(bins, *columns):
    """(bins ** len(columns),) counts of points in cells of the unit cube, so many along each axis."""
    index = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        index = index * bins + (column * bins).astype(np.int64)
    return np.bincount(index, minlength=bins ** len(columns))


def key(seed=SEED, sequence=0, stream=STREAM_PHOTON):
    return tuple(np.uint32(word) for word in hash_key(np.uint64(seed), sequence, stream))


#: Neighbouring photons, bounces of one photon, and every 2^12-th photon.
WALKS = pytest.mark.parametrize("stride", [(1, 0), (0, 1), (4096, 0)], ids=["index", "step", "far index"])


@pytest.mark.parametrize("words", [(0, 0, 0, 0), (MASK,) * 4, (1, 2, 3, 4)])
def test_the_hash_is_the_published_one(words):
    assert hash4((0, 0, *map(np.uint32, words[2:])), np.uint32(words[0]), np.uint32(words[1])) == published_pcg4d(words)  # type: ignore[arg-type]


def test_units_are_inside_the_interval_in_even_steps():
    assert unit32(np.uint32(0)) == 2.0**-24
    assert unit32(np.uint32(MASK)) == 1.0 - 2.0**-24


@WALKS
def test_numbers_are_uniform_in_two_dimensions(stride, assert_fits):
    numbers = hashed(key(), (0, 0), stride, DRAWS)
    for a, b in itertools.combinations(range(numbers.shape[1]), 2):
        assert_fits(cells(64, numbers[:, a], numbers[:, b]), np.full(4096, DRAWS / 4096))


@WALKS
def test_numbers_are_uniform_in_three_dimensions(stride, assert_fits):
    numbers = hashed(key(), (0, 0), stride, DRAWS)
    for columns in itertools.combinations(range(4), 3):
        assert_fits(cells(16, *numbers[:, columns].T), np.full(4096, DRAWS / 4096))


@pytest.mark.parametrize(
    ("other", "other_start"),
    [
        ({}, (1, 0)),
        ({}, (0, 1)),
        ({}, (1, 1)),
        ({"seed": SEED + np.uint64(1)}, (0, 0)),
        ({"seed": SEED + np.uint64(1 << 32)}, (0, 0)),
        ({"sequence": 1}, (0, 0)),
        ({"stream": STREAM_EMISSION}, (0, 0)),
    ],
    ids=["next photon", "next bounce", "next photon and bounce", "next seed", "upper half", "next pass", "stream"],
)
def test_neighbours_know_nothing_of_each_other(other, other_start, assert_fits):
    before, after = hashed(key(), (0, 0), (1, 0), DRAWS), hashed(key(**other), other_start, (1, 0), DRAWS)
    for a, b in itertools.product(range(4), repeat=2):
        assert abs(np.corrcoef(before[:, a], after[:, b])[0, 1]) < 4.5 / np.sqrt(DRAWS)
        assert_fits(cells(32, before[:, a], after[:, b]), np.full(1024, DRAWS / 1024))
