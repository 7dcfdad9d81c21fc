"""Philox against its published answers, and the numbers made of it against uniformity and independence."""

import numpy as np
import pytest

from shaders.random import philox, random4, unit


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
    assert " ".join(f"{int(word):08x}" for word in philox(*words)) == expected  # type: ignore[arg-type]


def test_the_interval_is_open():
    assert unit(np.uint64(0)) == 2.0**-33
    assert unit(np.uint64(2**32 - 1)) == 1.0 - 2.0**-33


def test_the_counter_has_a_word_for_each_purpose():
    """A known answer: index, step, sequence and stream are the four words, the seed the key."""
    seed = np.uint64(0x299F31D0_A4093822)
    numbers = random4(seed, 0x13198A2E, 0x243F6A88, 0x03707344, 0x85A308D3)
    expected = [unit(np.uint64(word)) for word in (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)]
    assert numbers == tuple(expected)
