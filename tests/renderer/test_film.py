"""The film: means with known answers, and radiance that cannot be."""

import math

import numpy as np
import numpy.typing as npt
import pytest

from renderer.errors import RadianceError, RenderError
from renderer.film.film import FLOOR, Film
from renderer.film.layers import BIAS, BIAS_FACTOR, COLUMNS


def constant(value: float, width: int = 3, height: int = 2) -> npt.NDArray[np.float64]:
    return np.full((height, width, 3), value)


def test_mean_of_passes() -> None:
    film = Film(3, 2)
    for value in (1.0, 2.0, 6.0):
        film.add(constant(value))
    assert film.passes == 3
    assert film.linear.dtype == np.float32
    np.testing.assert_array_equal(film.linear, constant(3.0))


def test_empty_film_is_black() -> None:
    film = Film(3, 2)
    assert film.passes == 0
    np.testing.assert_array_equal(film.linear, constant(0.0))


def test_sums_beyond_float32() -> None:
    film = Film(1, 1)
    film.add(constant(2.0**24, 1, 1))
    for _ in range(64):
        film.add(constant(1.0, 1, 1))  # float32 would drop each of these
    assert film.linear[0, 0, 0] == np.float32((2.0**24 + 64) / 65)


def test_pass_is_not_kept_by_reference() -> None:
    film, radiance = Film(3, 2), constant(1.0)
    film.add(radiance)
    radiance[:] = 5.0
    np.testing.assert_array_equal(film.linear, constant(1.0))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1e-9, 1e39])
def test_impossible_radiance_is_reported_and_not_added(bad: float) -> None:
    film = Film(3, 2)
    film.add(constant(1.0))
    radiance = constant(2.0)
    radiance[1, 2, 1] = bad
    radiance[1, 0] = bad
    with pytest.raises(RadianceError, match=r"pass 1: 2 pixels .* x = 0, y = 1") as caught:
        film.add(radiance)
    assert (caught.value.pass_index, caught.value.pixel, caught.value.count) == (1, (0, 1), 2)
    assert film.passes == 1
    np.testing.assert_array_equal(film.linear, constant(1.0))


def test_wrong_shape() -> None:
    with pytest.raises(RenderError, match=r"\(3, 2, 3\); expected \(2, 3, 3\)"):
        Film(3, 2).add(np.zeros((3, 2, 3)))


def test_noise_is_the_standard_error_of_the_mean() -> None:
    random = np.random.default_rng(3)
    film = Film(3, 2)
    passes = random.normal(10.0, 1.0, (50, 2, 3, 3))
    for radiance in passes:
        film.add(radiance)
    expected = np.sqrt(passes.var(axis=0, ddof=1).mean(axis=2) / 50)
    np.testing.assert_allclose(film.noise, expected, rtol=1e-5)


def test_one_pass_tells_no_noise() -> None:
    film = Film(3, 2)
    film.add(constant(1.0))
    assert np.isinf(film.noise).all()
    assert np.isinf(film.relative_noise)


def test_noise_is_relative_to_brightness() -> None:
    film = Film(3, 2)
    for value in (0.9, 1.1, 0.9, 1.1):
        film.add(constant(value))
    assert film.relative_noise == pytest.approx(math.sqrt(0.04 / 3 / 4) / (1.0 + FLOOR), rel=1e-5)


def test_a_black_picture_has_no_noise() -> None:
    film = Film(3, 2)
    for _ in range(3):
        film.add(constant(0.0))
    assert film.relative_noise == 0.0


def bias_film(bias: float, noise: float, passes: int = 12) -> Film:
    """A picture of brightness 1 in which each pass finds the inner disc brighter by -bias and by noise."""
    random = np.random.default_rng(5)
    film = Film(40, 30, COLUMNS["bias"])
    for _ in range(passes):
        radiance = np.ones((30, 40, COLUMNS["bias"]))
        radiance[..., BIAS] = bias + random.normal(0.0, noise, (30, 40))
        film.add(radiance)
    return film


def test_bias_is_told_from_noise() -> None:
    expected = BIAS_FACTOR * 0.02 / (1.0 + FLOOR)
    assert bias_film(0.02, 0.0).relative_bias == pytest.approx(expected)
    assert bias_film(-0.02, 0.1).relative_bias == pytest.approx(expected, rel=0.15)
    assert bias_film(0.0, 0.1).relative_bias < 0.4 * expected


def test_deviation_is_of_noise_and_bias() -> None:
    film = bias_film(0.02, 0.0)
    assert film.relative_noise == 0.0
    assert film.relative_deviation == film.relative_bias > 0.0


def test_bias_that_nobody_looked_at_is_not_known() -> None:
    film = Film(3, 2)
    for value in (0.9, 1.1):
        film.add(constant(value))
    assert math.isnan(film.relative_bias)
    assert film.relative_deviation == film.relative_noise
