"""This module makes counter-based random numbers by Philox4x32-10, and by a hash that costs a seventh of it where
numbers limit the speed.

Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3, 2011. A number is a function of its key (the
seed) and its counter (what it is for), so that results depend on no order of work.
"""

import numpy as np

from shaders.compilation import compiled
from shaders.float32 import Float32
from shaders.fma import fma

MULTIPLIER_0 = np.uint64(0xD2511F53)
MULTIPLIER_1 = np.uint64(0xCD9E8D57)
WEYL_0 = np.uint64(0x9E3779B9)
WEYL_1 = np.uint64(0xBB67AE85)
LOW = np.uint64(0xFFFFFFFF)
HALF_BITS = np.uint64(32)
PHILOX_ROUNDS = 10

#: Multiplier and increment of the hash's linear congruential steps (Numerical Recipes).
MULTIPLIER, INCREMENT = np.uint32(1664525), np.uint32(1013904223)
SIXTEEN = np.uint32(16)

#: How many of 32 random bits, the lowest, `unit32` makes no use of.
LOWER_BITS = np.uint32(9)
UNIT_STEP, HALF_STEP = Float32(2.0**-23), Float32(2.0**-24)

Bits2 = tuple[np.uint32, np.uint32]
Bits4 = tuple[np.uint32, np.uint32, np.uint32, np.uint32]

#: What a number is for: each purpose has counters of its own.
STREAM_CAMERA, STREAM_LIGHT, STREAM_SCATTER, STREAM_EMISSION, STREAM_PHOTON = range(5)


@compiled
def philox(
    counter: tuple[np.uint64, np.uint64, np.uint64, np.uint64], key: tuple[np.uint64, np.uint64]
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Returns the four 32-bit numbers, each held in a uint64, that ten rounds of Philox make of a counter and a key."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(PHILOX_ROUNDS):
        product_0 = MULTIPLIER_0 * c0
        product_1 = MULTIPLIER_1 * c2
        c0, c1, c2, c3 = (
            (product_1 >> HALF_BITS) ^ c1 ^ k0,
            product_1 & LOW,
            (product_0 >> HALF_BITS) ^ c3 ^ k1,
            product_0 & LOW,
        )
        k0 = (k0 + WEYL_0) & LOW
        k1 = (k1 + WEYL_1) & LOW
    return c0, c1, c2, c3


@compiled
def unit(word: np.uint64) -> float:
    """Returns 32 random bits as a number in the open interval (0, 1)."""
    return (np.float64(word) + 0.5) * 2.0**-32


@compiled
def random4(seed: np.uint64, sequence: int, index: int, stream: int, step: int) -> tuple[float, float, float, float]:
    """Returns four independent uniform numbers in (0, 1).

    seed: of the run.
    sequence: pass, in 0..2^32-1.
    index: path, in 0..2^32-1.
    stream: one of the STREAM constants.
    step: bounce and dimension, in 0..2^32-1.
    """
    bits = philox(
        (np.uint64(index) & LOW, np.uint64(step) & LOW, np.uint64(sequence) & LOW, np.uint64(stream)),
        (np.uint64(seed) & LOW, np.uint64(seed) >> HALF_BITS),
    )
    return unit(bits[0]), unit(bits[1]), unit(bits[2]), unit(bits[3])


@compiled
def hash_key(seed: np.uint64, sequence: int, stream: int) -> Bits4:
    """Returns the key of `hash4` for a seed, a pass and a purpose: Philox spreads every bit of them over the whole
    key."""
    bits = philox(
        (LOW, LOW, np.uint64(sequence) & LOW, np.uint64(stream)), (np.uint64(seed) & LOW, np.uint64(seed) >> HALF_BITS)
    )
    return np.uint32(bits[0]), np.uint32(bits[1]), np.uint32(bits[2]), np.uint32(bits[3])


@compiled
def hash4(key: Bits4, index: np.uint32, step: np.uint32) -> Bits4:
    """Returns four times 32 random bits for a path and its bounce or dimension, under a key.

    PCG4D of Jarzynski, Olano: Hash Functions for GPU Rendering, 2020: products of 32 bits alone, which every vector
    unit has, where Philox needs those of 64.
    """
    x = _step_on(np.uint32(index + key[0]))
    y = _step_on(np.uint32(step + key[1]))
    return more4(_stir(x, y, _step_on(key[2]), _step_on(key[3])))


@compiled
def _step_on(x: np.uint32) -> np.uint32:
    """Returns the next state of a linear congruential generator."""
    return np.uint32(np.uint32(x * MULTIPLIER) + INCREMENT)


@compiled
def more4(bits: Bits4) -> Bits4:
    """Returns four times 32 more bits from those of `hash4`: the lower bits that `unit32` leaves are not random
    enough."""
    return _stir(_folded(bits[0]), _folded(bits[1]), _folded(bits[2]), _folded(bits[3]))


@compiled
def _folded(x: np.uint32) -> np.uint32:
    """Returns 32 bits with the upper half of them mixed into the lower one."""
    return np.uint32(x ^ np.uint32(x >> SIXTEEN))


@compiled
def _stir(x: np.uint32, y: np.uint32, z: np.uint32, w: np.uint32) -> Bits4:
    """Adds to each of four numbers the product of two others, one after the other.

    Numba's products of 32 bits have 64, three times as slow in vectors unless they are cut at once.
    """
    x = np.uint32(x + np.uint32(y * w))
    y = np.uint32(y + np.uint32(z * x))
    z = np.uint32(z + np.uint32(x * y))
    w = np.uint32(w + np.uint32(y * z))
    return x, y, z, w


@compiled
def unit32(word: np.uint32) -> float:
    """Returns the upper ones of 32 random bits as a float32 in the open interval (0, 1): an odd multiple of 2^-24."""
    return fma(Float32(np.int32(word >> LOWER_BITS)), UNIT_STEP, HALF_STEP)
