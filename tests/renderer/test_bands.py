"""Large pictures are worked on in bands by several threads, with the bits that small ones have."""

import threading

import numpy as np
import numpy.typing as npt
import pytest

from renderer.film.bands import BAND_BYTES, by_bands
from renderer.film.film import Film

#: A film of many bands, whose rows are no multiple of them.
WIDTH, HEIGHT, PASSES = 400, 1021, 5
COLUMNS = 3
CUTS = (slice(0, 50), slice(497, 560), slice(HEIGHT - 40, HEIGHT))

Doubles = npt.NDArray[np.float64]


def radiance(index: int) -> Doubles:
    return np.random.default_rng(index).lognormal(0.0, 4.0, (HEIGHT, WIDTH, COLUMNS))


def film_of(rows: slice, spoilt: tuple[int, int] | None = None) -> Film:
    """Returns a film of some rows of all passes. spoilt: row and column of a sample that is no number."""
    height = len(range(HEIGHT)[rows])
    film = Film(WIDTH, height, COLUMNS, clamp=500.0)
    for index in range(PASSES):
        one = radiance(index)
        if spoilt is not None and index == 2:
            one[spoilt] = np.nan
        film.add(one[rows])
    return film


def test_a_large_film_is_of_many_bands_and_a_small_one_of_one() -> None:
    assert HEIGHT * WIDTH * COLUMNS * 8 // BAND_BYTES > 5
    assert max(len(range(HEIGHT)[cut]) for cut in CUTS) * WIDTH * COLUMNS * 8 // BAND_BYTES <= 1


@pytest.mark.parametrize("spoilt", [None, (500, 17)])
def test_a_large_film_has_the_sums_of_small_ones_cut_from_it(spoilt: tuple[int, int] | None) -> None:
    whole = film_of(slice(None), spoilt)
    for rows in CUTS:
        cut = film_of(rows, spoilt)
        for name in ("first.high", "first.low", "second.high", "second.low"):
            assert whole.sums()[name][rows].tobytes() == cut.sums()[name].tobytes(), name
        assert whole.linear[rows].tobytes() == cut.linear.tobytes()
    assert whole.counts.left_out == (spoilt is not None)


def test_bands_are_all_rows_once_from_the_top() -> None:
    rows = np.repeat(np.arange(HEIGHT, dtype=np.float64), WIDTH).reshape(HEIGHT, WIDTH)
    both = by_bands(lambda one, other: (one[:, 0].copy(), other.sum()), rows, np.ones((HEIGHT, 1)))
    assert len(both) == rows.nbytes // BAND_BYTES > 1
    assert np.array_equal(np.concatenate([own for own, _ in both]), np.arange(HEIGHT))
    assert sum(count for _, count in both) == HEIGHT


def test_small_pictures_are_worked_on_in_the_calling_thread() -> None:
    assert by_bands(lambda band: threading.current_thread(), np.zeros((4, 4))) == [threading.current_thread()]
    assert threading.current_thread() not in by_bands(
        lambda band: threading.current_thread(), np.zeros((2, BAND_BYTES // 8))
    )


def test_what_fails_in_a_band_is_raised() -> None:
    def fail(band: Doubles) -> None:
        raise FloatingPointError("no sum")

    with pytest.raises(FloatingPointError, match="no sum"):
        by_bands(fail, np.zeros((2, BAND_BYTES // 8)))
