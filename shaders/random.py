"""This module makes counter-based random numbers by Philox4x32-10, and by a hash that costs a seventh of it where
numbers limit the speed; and numbers that fill the unit square evenly over the passes: Sobol's points, shuffled and
scrambled for each purpose.

Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3, 2011. A number is a function of its key (the
seed) and its counter (what it is for), so that results depend on no order of work.

Sobol: On the Distribution of Points in a Cube and the Approximate Evaluation of Integrals, 1967. Owen: Randomly
Permuted (t,m,s)-Nets and (t,s)-Sequences, 1995. Burley: Practical Hash-based Owen Scrambling, 2020, with the hash of
Laine, Karras: Stratified Sampling for Stochastic Transparency, 2011.
"""

import numpy as np

from shaders.compilation import compiled
from shaders.elementary import fma
from shaders.float32 import Float32

MULTIPLIER_0 = np.uint64(0xD2511F53)
MULTIPLIER_1 = np.uint64(0xCD9E8D57)
WEYL_0 = np.uint64(0x9E3779B9)
WEYL_1 = np.uint64(0xBB67AE85)
LOW = np.uint64(0xFFFFFFFF)
HALF_BITS = np.uint64(32)
PHILOX_ROUNDS = 10

#: Multiplier and increment of the hash's linear congruential steps (Numerical Recipes).
MULTIPLIER, INCREMENT = np.uint32(1664525), np.uint32(1013904223)

#: How many of 32 random bits, the lowest, `unit32` makes no use of.
LOWER_BITS = np.uint32(9)
UNIT_STEP, HALF_STEP = Float32(2.0**-23), Float32(2.0**-24)

Bits2 = tuple[np.uint32, np.uint32]
Bits4 = tuple[np.uint32, np.uint32, np.uint32, np.uint32]

#: What a number is for: each purpose has counters of its own.
STREAM_CAMERA, STREAM_LIGHT, STREAM_SCATTER, STREAM_EMISSION, STREAM_PHOTON, STREAM_MEDIUM, STREAM_CONNECTION = range(7)

#: A pass that there never is: its counters are those of seeds.
NO_PASS = LOW

#: Bits whose number lacks the bit 1, 2, 4, 8 or 16.
LACKING_1, LACKING_2, LACKING_4 = np.uint32(0x55555555), np.uint32(0x33333333), np.uint32(0x0F0F0F0F)
LACKING_8, LACKING_16 = np.uint32(0x00FF00FF), np.uint32(0x0000FFFF)
ONE, TWO, FOUR, EIGHT, SIXTEEN = np.uint32(1), np.uint32(2), np.uint32(4), np.uint32(8), np.uint32(16)

#: Even multipliers: in x ^ x m no bit of x has an effect on a lower one. They are Burley's.
EVEN_1, EVEN_2 = np.uint32(0x6C50B47C), np.uint32(0xB82F1E52)
EVEN_3, EVEN_4 = np.uint32(0xC7AFE638), np.uint32(0x8D22F6E6)


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
    """Returns four independent uniform numbers in (0, 1). seed: of the run. sequence: pass, in 0..2^32-1.
    index: path, in 0..2^32-1. stream: one of the STREAM constants. step: bounce and dimension, in 0..2^32-1."""
    bits = philox(
        (np.uint64(index) & LOW, np.uint64(step) & LOW, np.uint64(sequence) & LOW, np.uint64(stream)),
        (np.uint64(seed) & LOW, np.uint64(seed) >> HALF_BITS),
    )
    return unit(bits[0]), unit(bits[1]), unit(bits[2]), unit(bits[3])


@compiled
def hash_key(seed: np.uint64, sequence: int, stream: int) -> Bits4:
    """Returns the key of `hash4` for a seed, a pass and a purpose, which Philox spreads over the whole key."""
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
    """Returns 4 x 32 more bits from those of `hash4`: the lower bits that `unit32` leaves are not random enough."""
    return _stir(_folded(bits[0]), _folded(bits[1]), _folded(bits[2]), _folded(bits[3]))


@compiled
def _folded(x: np.uint32) -> np.uint32:
    """Returns 32 bits with the upper half of them mixed into the lower one."""
    return np.uint32(x ^ np.uint32(x >> SIXTEEN))


@compiled
def _stir(x: np.uint32, y: np.uint32, z: np.uint32, w: np.uint32) -> Bits4:
    """Adds to each of four numbers the product of two others, one after the other. Numba's products of 32 bits have 64,
    three times as slow in vectors unless they are cut at once."""
    x = np.uint32(x + np.uint32(y * w))
    y = np.uint32(y + np.uint32(z * x))
    z = np.uint32(z + np.uint32(x * y))
    w = np.uint32(w + np.uint32(y * z))
    return x, y, z, w


@compiled
def unit32(word: np.uint32) -> float:
    """Returns the upper ones of 32 random bits as a float32 in the open interval (0, 1): an odd multiple of 2^-24."""
    return fma(Float32(np.int32(word >> LOWER_BITS)), UNIT_STEP, HALF_STEP)


@compiled
def sobol_bits(number: np.uint32, seeds: Bits4) -> Bits4:
    """Returns two independent points `number` of their sequences, 32 bits for each coordinate: every aligned run of 2^k
    numbers has one point in each elementary interval of area 2^-k.

    seeds: random bits, by which the sequences are shuffled and scrambled.
    """
    more = more4(seeds)
    a, b = scrambled_point(number, (seeds[0], seeds[1], seeds[2]))
    c, d = scrambled_point(number, (seeds[3], more[0], more[1]))
    return a, b, c, d


@compiled
def scrambled_point(number: np.uint32, seeds: tuple[np.uint32, np.uint32, np.uint32]) -> tuple[np.uint32, np.uint32]:
    """Returns the point `number` of Sobol's first two dimensions, 32 bits for each.
    seeds: of the order of the points, and of each dimension."""
    shuffled = reversed_bits(scrambled(reversed_bits(number), seeds[0]))
    x = reversed_bits(scrambled(shuffled, seeds[1]))
    y = reversed_bits(scrambled(pascal(shuffled), seeds[2]))
    return x, y


@compiled
def scrambled(x: np.uint32, seed: np.uint32) -> np.uint32:
    """Flips each bit or not, by what a hash of the seed makes of the lower ones: Owen's scrambling, bits reversed."""
    x = np.uint32(x + seed)
    x = np.uint32(x ^ np.uint32(x * EVEN_1))
    x = np.uint32(x ^ np.uint32(x * EVEN_2))
    x = np.uint32(x ^ np.uint32(x * EVEN_3))
    return np.uint32(x ^ np.uint32(x * EVEN_4))


@compiled
def pascal(x: np.uint32) -> np.uint32:
    """Multiplies by the matrix of Sobol's second dimension: bit j of the result is the sum modulo 2 of all bits k of x
    with k choose j odd.

    By Lucas' theorem those are the k that have all bits of j, so that the sums are made bit after bit of j.
    """
    x = np.uint32(x ^ (np.uint32(x >> ONE) & LACKING_1))
    x = np.uint32(x ^ (np.uint32(x >> TWO) & LACKING_2))
    x = np.uint32(x ^ (np.uint32(x >> FOUR) & LACKING_4))
    x = np.uint32(x ^ (np.uint32(x >> EIGHT) & LACKING_8))
    return np.uint32(x ^ (np.uint32(x >> SIXTEEN) & LACKING_16))


@compiled
def reversed_bits(x: np.uint32) -> np.uint32:
    """Returns 32 bits in the opposite order."""
    x = np.uint32((np.uint32(x >> ONE) & LACKING_1) | np.uint32((x & LACKING_1) << ONE))
    x = np.uint32((np.uint32(x >> TWO) & LACKING_2) | np.uint32((x & LACKING_2) << TWO))
    x = np.uint32((np.uint32(x >> FOUR) & LACKING_4) | np.uint32((x & LACKING_4) << FOUR))
    x = np.uint32((np.uint32(x >> EIGHT) & LACKING_8) | np.uint32((x & LACKING_8) << EIGHT))
    return np.uint32(np.uint32(x >> SIXTEEN) | np.uint32(x << SIXTEEN))
