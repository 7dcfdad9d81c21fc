"""Denoising: closer to the truth than what it is made of, and nothing where there is no noise."""

import numpy as np
import pytest
from driver_passes import opened
from small_scenes import lamp_in_box

from renderer.drivers.driver import RenderSettings
from renderer.film.denoising import denoised
from renderer.film.film import Film
from renderer.film.layers import LAYER_COLUMNS

pytest.importorskip("pyoidn", reason="the extra [denoise] is not installed")

FEATURES = {"albedo": np.full((48, 64, 3), 0.5, np.float32), "normal": np.full((48, 64, 3), 0.577, np.float32)}


@pytest.mark.parametrize("value", [0.1, 1.0, 50.0])
def test_a_constant_picture_stays_as_it_is(value):
    picture = np.full((48, 64, 3), value, np.float32)
    error = np.abs(denoised(picture, FEATURES) / value - 1.0)
    assert error.mean() < 0.005
    assert error[8:-8, 8:-8].max() < 0.01  # the network is less sure of itself at the rim


def exposed(driver, passes):
    settings: RenderSettings = driver.settings
    film = Film(settings.width, settings.height, LAYER_COLUMNS[settings.layers])
    for index in range(passes):
        film.add(driver.render_pass(index))
    return film


def test_a_denoised_picture_is_closer_to_a_long_one():
    with opened(lamp_in_box(), "path", width=64, height=48, layers="features") as driver:
        short, long = exposed(driver, 4), exposed(driver, 128)
    error, left = (
        np.abs(picture - long.linear).mean() for picture in (short.linear, denoised(short.linear, short.layers))
    )
    assert left < 0.6 * error
