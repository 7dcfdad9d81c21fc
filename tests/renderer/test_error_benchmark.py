"""Errors at equal time: what the measure says of pictures whose error is known."""

import numpy as np
import pytest

from renderer.bench.error_benchmark import by_driver, error_of, estimated_and_true, moment_after, pictures, slope
from renderer.drivers.driver import RenderSettings
from renderer.film.relative_error import FLOOR, WORST_SHARE
from renderer.scene.render_context import SceneView, TracerChoice, open_context


def test_a_picture_that_is_a_tenth_too_bright_is_off_by_a_tenth():
    reference = np.full((10, 20, 3), 2.0, np.float32)
    assert error_of(1.1 * reference, reference) == pytest.approx(0.1 / (1.0 + FLOOR), rel=1e-5)


def test_the_worst_hundredth_of_the_pixels_does_not_count():
    reference = np.ones((10, 20, 3), np.float32)
    picture = reference.copy()
    worst = int(WORST_SHARE * reference[..., 0].size)
    picture.reshape(-1, 3)[:worst] = 1000.0
    assert error_of(picture, reference) == 0.0
    picture.reshape(-1, 3)[worst] = 2.0
    assert error_of(picture, reference) > 0.0


def test_the_slope_is_the_exponent():
    found = [{"driver": "path", "seconds": s, "error": 3.0 * s**-0.5} for s in (1.0, 2.0, 4.0, 9.0)]
    assert slope(found) == pytest.approx(-0.5)
    assert by_driver(found) == {"path": found}


def test_estimated_noise_is_compared_with_the_error_of_one_picture():
    """Pictures of brightness 1 that are off by 0.05: by the mean of the others, whose noise is taken out."""
    random = np.random.default_rng(2)
    made = [
        (random.normal(1.0, 0.05, (40, 50, 3)).astype(np.float32), noise) for noise in (0.03, 0.04, 0.05, 0.05, 0.2)
    ]
    row = estimated_and_true(made)
    kept = 0.98  # of the error, without the worst hundredth of the pixels
    assert row["error"] == pytest.approx(kept * 0.05 / (1.0 + FLOOR), rel=0.03)
    assert [row[key] * row["error"] for key in ("least", "estimated", "most")] == pytest.approx([0.03, 0.05, 0.2])


def test_moments_double():
    assert [moment_after(s, 1.0) for s in (0.5, 1.0, 2.5, 16.0)] == [1.0, 2.0, 4.0, 32.0]


def test_the_last_picture_is_that_of_all_the_time():
    settings = RenderSettings(width=8, height=6)
    with open_context("cornell", SceneView(), TracerChoice(device="cpu")) as context:
        seen = [(seconds, film.passes) for seconds, film in pictures(context, "path", settings, 0.3, 0.1)]
    assert len(seen) >= 2
    assert seen[-1][0] >= 0.3
    assert [passes for _, passes in seen] == sorted({passes for _, passes in seen})
