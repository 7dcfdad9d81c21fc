"""Philox against its published answers, and the numbers made of it against uniformity and independence."""

import itertools

import numpy as np
import pytest

from shaders.compilation import compiled
from shaders.random import STREAM_CAMERA, STREAM_LIGHT, philox, random4, unit

DRAWS, CELLS = 300_000, 16
START = {"seed": 7, "sequence": 3, "index": 11, "stream": STREAM_LIGHT, "step": 5}


@compiled
def run_of_draws(seed, start, stride, count):
    """(count, 4) numbers. start, stride: seed, sequence, index, stream, step; the stride is added each time."""
    numbers = np.empty((count, 4))
    for k in range(count):
        numbers[k] = random4(
            seed + np.uint64(k * stride[0]),
            start[1] + k * stride[1],
            start[2] + k * stride[2],
            start[3] + k * stride[3],
            start[4] + k * stride[4],
        )
    return numbers


def draws(along, *, stride=1, count=DRAWS, **changes):
    """(count, 4) numbers whose counter grows along one of its parts."""
    start = START | changes
    strides = tuple(stride if name == along else 0 for name in START)
    return run_of_draws(np.uint64(start["seed"]), tuple(start.values()), strides, count)


@compiled
def pair_counts(before, after):
    """(4, 4, CELLS, CELLS): how often any of four numbers (n, 4) goes with any of four others."""
    counts = np.zeros((4, 4, CELLS, CELLS))
    for k in range(len(before)):
        for a in range(4):
            for b in range(4):
                counts[a, b, int(before[k, a] * CELLS), int(after[k, b] * CELLS)] += 1.0
    return counts


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
    ids=["zeros", "ones", "pi"],
)
def test_philox_gives_the_published_known_answers(counter, key, expected):
    """Salmon, Moraes, Dror, Shaw: Random123, kat_vectors, philox4x32 with 10 rounds."""
    words = [tuple(np.uint64(int(word, 16)) for word in text.split()) for text in (counter, key)]
    assert " ".join(f"{int(word):08x}" for word in philox(*words)) == expected


def test_the_interval_is_open():
    assert unit(np.uint64(0)) == 2.0**-33
    assert unit(np.uint64(2**32 - 1)) == 1.0 - 2.0**-33


def test_the_counter_has_a_word_for_each_purpose():
    """A known answer: index, step, sequence and stream are the four words, the seed the key."""
    seed = np.uint64(0x299F31D0_A4093822)
    numbers = random4(seed, 0x13198A2E, 0x243F6A88, 0x03707344, 0x85A308D3)
    expected = [unit(np.uint64(word)) for word in (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)]
    assert numbers == tuple(expected)


@pytest.mark.parametrize("along", list(START))
def test_numbers_are_uniform_along_every_part_of_the_counter(along, assert_fits):
    numbers = draws(along)
    for column in numbers.T:
        assert_fits(np.histogram(column, bins=64, range=(0.0, 1.0))[0], np.full(64, DRAWS / 64))


@pytest.mark.parametrize("along", list(START))
def test_successive_numbers_are_independent(along, assert_fits):
    numbers = draws(along)
    counts = pair_counts(numbers[:-1], numbers[1:])
    for a, b in itertools.product(range(4), repeat=2):
        assert_fits(counts[a, b], np.full((CELLS, CELLS), (DRAWS - 1) / CELLS**2))


def test_the_four_numbers_of_a_draw_are_independent(assert_fits):
    numbers = draws("index")
    counts = pair_counts(numbers, numbers)
    for a, b in itertools.combinations(range(4), 2):
        assert_fits(counts[a, b], np.full((CELLS, CELLS), DRAWS / CELLS**2))


@pytest.mark.parametrize(
    "changes",
    [{"stream": STREAM_CAMERA}, {"step": 6}, {"sequence": 4}, {"seed": 8}, {"seed": 7 + 2**32}],
    ids=["stream", "step", "sequence", "seed", "seed's upper half"],
)
def test_changing_any_one_part_gives_numbers_that_know_nothing_of_the_others(changes, assert_fits):
    counts = pair_counts(draws("index"), draws("index", **changes))
    for a, b in itertools.product(range(4), repeat=2):
        assert_fits(counts[a, b], np.full((CELLS, CELLS), DRAWS / CELLS**2))
