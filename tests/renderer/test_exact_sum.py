"""Sums of the film are those of whole numbers, and the same for any partition of what is added, in any order."""

import hashlib
import random
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache, reduce

import numpy as np
import numpy.typing as npt
import pytest

from renderer.film.exact_sum import LARGEST, LIMB, MOST_NUMBERS, STEP, ExactSum, RunningSum
from renderer.film.film import Film, Sums, joined
from renderer.film.layers import LAYER_COLUMNS

Doubles = npt.NDArray[np.float64]

#: Numbers at the ends of what is allowed, ties between two steps, and what is next to the middle of a limb.
HARD = [0.0, -0.0, STEP, 0.5 * STEP, 1.5 * STEP, -0.5 * STEP, 1e-300, LARGEST, -LARGEST, np.nextafter(LARGEST, 0.0)]
HARD += [sign * LIMB * STEP * half * (1.0 + bit) for sign in (1, -1) for half in (0.5, 1.5) for bit in (0.0, 2.0**-52)]


def steps(number: float) -> int:
    """Returns a number as the nearest whole number of steps; Python rounds a tie to the even one."""
    return round(Fraction(float(number)) / Fraction(STEP))


def whole(one: ExactSum) -> list[int]:
    """Returns sums as whole numbers of steps."""
    return [int(high) * int(LIMB) + int(low) for high, low in zip(one.high.flat, one.low.flat, strict=True)]


def summed(rows: Sequence[Doubles]) -> ExactSum:
    total = ExactSum.zeros(rows[0].shape)
    for row in rows:
        before, total = total, ExactSum.zeros(row.shape)
        total.put(before, row)
    return total


def numbers_of_all_sizes(rows: int, columns: int) -> Doubles:
    chance = np.random.default_rng(1)
    sizes = 10.0 ** chance.uniform(-20.0, 14.4, (rows, columns))
    return sizes * chance.choice([-1.0, 1.0], (rows, columns))


def test_a_sum_is_that_of_whole_numbers_in_its_one_form() -> None:
    rows = np.concatenate([numbers_of_all_sizes(60, len(HARD)), [HARD, HARD[::-1], HARD]])
    total = summed(list(rows))
    assert whole(total) == [sum(map(steps, column)) for column in rows.T.tolist()]
    assert np.all((total.low >= -LIMB / 2) & (total.low < LIMB / 2))
    expected = [float(Fraction(one) * Fraction(STEP)) for one in whole(total)]
    np.testing.assert_allclose(total.value, expected, rtol=1e-15, atol=STEP)


@pytest.mark.parametrize("sign", [1, -1])
def test_as_many_of_the_largest_as_are_promised_have_room(sign: int) -> None:
    largest = sign * steps(LARGEST)
    before, new = ExactSum.zeros((1,)), ExactSum.zeros((1,))
    before.high[:] = (MOST_NUMBERS - 1) * largest // int(LIMB)
    new.put(before, np.array([sign * LARGEST]))
    assert whole(new) == [MOST_NUMBERS * largest]
    assert new.value == sign * LARGEST * MOST_NUMBERS


PASSES, SHAPE = 11, (2, 3, LAYER_COLUMNS["all"])


@cache
def sums_of(first: int, end: int) -> Sums:
    """Returns the sums of a film of passes, two of which have a sample that is left out, all some that are clamped."""
    film = Film(SHAPE[1], SHAPE[0], SHAPE[2], clamp=50.0, first=first)
    for index in range(first, end):
        radiance = np.abs(numbers_of_all_sizes(PASSES, int(np.prod(SHAPE)))[index]).reshape(SHAPE)
        if index in (3, 7):
            radiance[1, index % 3, 0] = np.nan
        film.add(radiance)
    return film.sums()


def digest_of(arrays: Iterable[npt.NDArray[np.generic]]) -> str:
    return hashlib.sha256(b"".join(one.tobytes() for one in arrays)).hexdigest()


def picture_of(sums: Sums) -> str:
    film = Film(SHAPE[1], SHAPE[0], SHAPE[2])
    film.resume(PASSES, sums)
    return digest_of([film.linear, film.noise, np.array(film.relative_bias), *film.layers.values()])


def test_a_thousand_partitions_and_orders_have_one_sha256() -> None:
    chance, alone = random.Random(2), sums_of(0, PASSES)
    for _ in range(1000):
        cuts = sorted(chance.sample(range(1, PASSES), chance.randint(1, PASSES - 1)))
        parts = [sums_of(first, end) for first, end in zip([0, *cuts], [*cuts, PASSES], strict=True)]
        while len(parts) > 2:  # any two, as merged parts may be merged again
            chance.shuffle(parts)
            parts.append(joined(parts.pop(), parts.pop()))
        together = reduce(joined, parts)
        assert digest_of(together.values()) == digest_of(alone.values())
    assert list(together) == list(alone)
    assert picture_of(together) == picture_of(alone)
    assert together["impossible"][:, 0].tolist() == [3, 7]


def test_numbers_are_added_to_some_places_alone() -> None:
    random = np.random.default_rng(4)
    passes = random.normal(0.0, 1e6, (5, 7, 9, 3))
    places = random.permutation(7 * 9)[:20]
    shown = np.zeros(7 * 9, bool)
    shown[places] = True
    whole = some = RunningSum(ExactSum.zeros((7, 9, 3)))
    for one in passes:
        looked_at = some.now.high.copy()
        before, whole = some, whole.plus(one * shown.reshape(7, 9, 1))
        some = some.plus_at(one.reshape(-1, 3)[places], places)
        if before.is_looked_at:
            np.testing.assert_array_equal(before.now.high, looked_at)
    for part, expected in zip(some.now, whole.now, strict=True):
        np.testing.assert_array_equal(part, expected)
