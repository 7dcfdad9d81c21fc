"""The exposure of pictures by what is in them: closed forms."""

import numpy as np
import pytest

from renderer.film.tone_mapping import MOST_WHITE, ToneMapping, metered


def picture(*values: float) -> np.ndarray:
    """A grey picture whose rows are of one value each."""
    return np.repeat(np.array(values, np.float32), 300).reshape(len(values), 100, 3)


@pytest.mark.parametrize("stops", [-7.0, -0.5, 0.0, 3.3])
def test_an_even_picture_becomes_middle_grey(stops: float) -> None:
    assert metered(picture(0.18 * 2.0**-stops), "reinhard") == ToneMapping(exposure=stops)


def test_the_mean_is_of_logarithms() -> None:
    assert metered(picture(0.18 / 8.0, 0.18 * 8.0), "reinhard").exposure == 0.0


def test_white_is_as_bright_as_a_bright_ceiling() -> None:
    light = picture(*[0.18] * 94, *[9.0] * 6)
    mapping = metered(light, "reinhard")
    assert mapping.white == pytest.approx(9.0 * 2.0**mapping.exposure, rel=0.05)
    assert mapping(light)[-1, 0, 0] >= 253
    assert metered(picture(*[0.18] * 94, *[900.0] * 6), "reinhard").white == MOST_WHITE


def test_without_a_curve_it_is_darker_rather_than_burnt() -> None:
    light = picture(*[0.18] * 90, *[3.0] * 10)
    mapping = metered(light, "linear")
    assert mapping.exposure == pytest.approx(-np.log2(3.0), abs=0.06)


def test_black_does_not_count_and_black_alone_stays() -> None:
    assert metered(picture(0.0, 0.18, 0.0), "reinhard").exposure == 0.0
    assert metered(picture(0.0), "linear") == ToneMapping(curve="linear")


def test_a_few_very_bright_pixels_change_little() -> None:
    light = picture(*[0.18] * 50)
    light[0, :20] = 1e9
    assert metered(light, "reinhard") == ToneMapping()
