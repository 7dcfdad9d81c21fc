"""Errors at equal time: what the measure says of pictures whose error is known."""

import numpy as np
import pytest

from renderer.bench.error_benchmark import Moments, by_driver, error_of, pictures, slope
from renderer.drivers.driver import RenderSettings
from renderer.film.film import FLOOR, LEFT_OUT
from renderer.scene.render_context import Moment, TracerChoice, open_stage


def test_a_picture_that_is_a_tenth_too_bright_is_off_by_a_tenth():
    reference = np.full((10, 20, 3), 2.0, np.float32)
    assert error_of(1.1 * reference, reference) == pytest.approx(0.1 / (1.0 + FLOOR), rel=1e-5)


def test_the_worst_hundredth_of_the_pixels_does_not_count():
    reference = np.ones((10, 20, 3), np.float32)
    picture = reference.copy()
    worst = int(LEFT_OUT * reference[..., 0].size)
    picture.reshape(-1, 3)[:worst] = 1000.0
    assert error_of(picture, reference) == 0.0
    picture.reshape(-1, 3)[worst] = 2.0
    assert error_of(picture, reference) > 0.0


def test_the_slope_is_the_exponent():
    found = [{"driver": "path", "seconds": s, "error": 3.0 * s**-0.5} for s in (1.0, 2.0, 4.0, 9.0)]
    assert slope(found) == pytest.approx(-0.5)
    assert by_driver(found) == {"path": found}


def test_moments_double():
    moments = Moments(first=1.0, last=30.0)
    assert [moments.after(s) for s in (0.5, 1.0, 2.5, 16.0)] == [1.0, 2.0, 4.0, 32.0]


def test_the_last_picture_is_that_of_all_the_time():
    settings = RenderSettings(width=8, height=6)
    with open_stage("cornell", Moment(), TracerChoice(device="cpu")) as stage:
        seen = [
            (seconds, film.passes) for seconds, film in pictures(stage, "path", settings, Moments(first=0.1, last=0.3))
        ]
    assert len(seen) >= 2
    assert seen[-1][0] >= 0.3
    assert [passes for _, passes in seen] == sorted({passes for _, passes in seen})
