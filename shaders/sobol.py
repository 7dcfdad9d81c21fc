"""This module makes numbers that fill the unit square evenly over the passes: Sobol's points, shuffled and scrambled
for each purpose.

Sobol: On the Distribution of Points in a Cube and the Approximate Evaluation of Integrals, 1967. Owen: Randomly
Permuted (t,m,s)-Nets and (t,s)-Sequences, 1995. Burley: Practical Hash-based Owen Scrambling, 2020, with the hash of
Laine, Karras: Stratified Sampling for Stochastic Transparency, 2011.
"""

import numpy as np

from shaders.compilation import compiled
from shaders.random import HALF_BITS, LOW, Bits4, more4, philox, unit

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
def sobol4(seed: np.uint64, sequence: int, index: int, stream: int, step: int) -> tuple[float, float, float, float]:
    """Returns four uniform numbers in (0, 1): two independent points of the unit square, each evenly spread over a
    sequence.

    Every aligned run of 2^k numbers has one point in each elementary interval of area 2^-k; the sequences of other
    indices, streams and steps are independent.

    sequence: number of the points in their sequence, 0..2^32-1. The other arguments are those of `random4`.
    """
    words = philox(
        (np.uint64(index) & LOW, np.uint64(step) & LOW, NO_PASS, np.uint64(stream)),
        (np.uint64(seed) & LOW, np.uint64(seed) >> HALF_BITS),
    )
    seeds = (np.uint32(words[0]), np.uint32(words[1]), np.uint32(words[2]), np.uint32(words[3]))
    bits = sobol_bits(np.uint32(sequence), seeds)
    return unit(np.uint64(bits[0])), unit(np.uint64(bits[1])), unit(np.uint64(bits[2])), unit(np.uint64(bits[3]))


@compiled
def sobol_bits(number: np.uint32, seeds: Bits4) -> Bits4:
    """Returns two independent points `number` of their sequences, 32 bits for each coordinate.

    seeds: random bits, by which the sequences are shuffled and scrambled.
    """
    more = more4(seeds)
    a, b = scrambled_point(number, (seeds[0], seeds[1], seeds[2]))
    c, d = scrambled_point(number, (seeds[3], more[0], more[1]))
    return a, b, c, d


@compiled
def scrambled_point(number: np.uint32, seeds: tuple[np.uint32, np.uint32, np.uint32]) -> tuple[np.uint32, np.uint32]:
    """Returns the point `number` of Sobol's first two dimensions, 32 bits for each.

    seeds: of the order of the points, and of each dimension.
    """
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
