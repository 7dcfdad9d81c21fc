"""Counter-based random numbers: Philox4x32-10.

Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3, 2011. A number is a function of its key (the
seed) and its counter (what it is for), so that results depend on no order of work.
"""

import numpy as np

from shaders.compilation import compiled

MULTIPLIER_0 = np.uint64(0xD2511F53)
MULTIPLIER_1 = np.uint64(0xCD9E8D57)
WEYL_0 = np.uint64(0x9E3779B9)
WEYL_1 = np.uint64(0xBB67AE85)
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
ROUNDS = 10

#: What a number is for: each purpose has counters of its own.
STREAM_CAMERA, STREAM_LIGHT, STREAM_SCATTER, STREAM_EMISSION, STREAM_PHOTON, STREAM_ROUNDING = range(6)


@compiled
def philox(
    counter: tuple[np.uint64, np.uint64, np.uint64, np.uint64], key: tuple[np.uint64, np.uint64]
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Ten rounds over four 32-bit words, each held in a uint64."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(ROUNDS):
        product_0 = MULTIPLIER_0 * c0
        product_1 = MULTIPLIER_1 * c2
        c0, c1, c2, c3 = (product_1 >> HALF) ^ c1 ^ k0, product_1 & LOW, (product_0 >> HALF) ^ c3 ^ k1, product_0 & LOW
        k0 = (k0 + WEYL_0) & LOW
        k1 = (k1 + WEYL_1) & LOW
    return c0, c1, c2, c3


@compiled
def unit(word: np.uint64) -> float:
    """A 32-bit word as a number in the open interval (0, 1)."""
    return (np.float64(word) + 0.5) * 2.0**-32


@compiled
def random4(seed: np.uint64, sequence: int, index: int, stream: int, step: int) -> tuple[float, float, float, float]:
    """Four independent uniform numbers in (0, 1).

    seed: of the run. sequence: pass, in 0..2^32-1. index: path, in 0..2^32-1. stream: one of the STREAM constants.
    step: bounce and dimension, in 0..2^32-1.
    """
    words = philox(
        (np.uint64(index) & LOW, np.uint64(step) & LOW, np.uint64(sequence) & LOW, np.uint64(stream)),
        (np.uint64(seed) & LOW, np.uint64(seed) >> HALF),
    )
    return unit(words[0]), unit(words[1]), unit(words[2]), unit(words[3])
