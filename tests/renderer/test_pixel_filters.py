"""Places drawn from pixel filters, and what pixels see."""

import math

import numba
import numpy as np
import pytest
from small_scenes import closed_box, flat_snapshot, quad
from test_drivers import passes

from renderer.scene.pixel_filters import FILTERS, sample_filter
from renderer.settings.picture import FILTER_NAMES
from scenes.model import Camera, Material

WHITE = Material(diffuse=(0.0, 0.0, 0.0), emission=(1.0, 0.5, 0.25))


def share_left_of(name, x):
    """How much of a filter is left of x, in pixels from the middle."""
    match name:
        case "box":
            return min(max(x + 0.5, 0.0), 1.0)
        case "tent":
            x = min(max(x, -1.0), 1.0)
            return 0.5 + x - 0.5 * x * abs(x)
        case "gaussian":
            x = min(max(x, -2.0), 2.0)
            return 0.5 + 0.5 * math.erf(x / 0.5 / math.sqrt(2.0)) / math.erf(4.0 / math.sqrt(2.0))
    z = math.pi * min(max(x / 1.5, -1.0), 1.0)
    sines = 0.48829 * math.sin(z) + 0.14128 * math.sin(2 * z) / 2 + 0.01168 * math.sin(3 * z) / 3
    return 0.5 + 0.5 * (z + sines / 0.35875) / math.pi


@numba.njit
def places(pixel_filter, numbers):
    return np.array([sample_filter(pixel_filter, u) for u in numbers])


def test_the_command_line_knows_all_filters():
    assert tuple(FILTERS) == FILTER_NAMES


@pytest.mark.parametrize("name", FILTERS)
def test_places_are_spread_as_the_filter_is(name):
    """Chi-squared of 1,000,000 places in 60 bins."""
    chosen = FILTERS[name]
    drawn = places(chosen, np.random.default_rng(3).random(1_000_000)) - 0.5
    assert np.abs(drawn).max() <= chosen.radius
    edges = np.linspace(-chosen.radius, chosen.radius, 61)
    expected = 1e6 * np.diff([share_left_of(name, x) for x in edges])
    assert expected.sum() == pytest.approx(1e6)
    counts = np.histogram(drawn, edges)[0]
    seen = expected > 5.0
    assert ((counts - expected)[seen] ** 2 / expected[seen]).sum() < 60.0 + 4.0 * math.sqrt(2.0 * 60.0)


@pytest.mark.parametrize("name", ["tent", "gaussian", "blackman-harris"])
def test_what_is_the_same_everywhere_stays_so(name):
    image = passes(flat_snapshot(closed_box(), [WHITE]), "path", 2, pixel_filter=name, max_bounces=1)
    assert np.array_equal(image, np.broadcast_to(WHITE.emission, image.shape))


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("sampler", ["sobol", "random"])
def test_an_edge_is_as_soft_as_the_filter_is_wide(name, sampler):
    """All right of the middle of the picture, 3/10 of a pixel on, glows; pixels are one unit wide."""
    camera = Camera(eye=(0, 0, 5), forward=(0, 0, -1), up=(0, 1, 0), vertical_fov=40.0, height=4.0)
    half_plane = flat_snapshot(quad((0.3, -50, 0), (50, -50, 0), (50, 50, 0), (0.3, 50, 0)), [WHITE], camera=camera)
    seen = passes(half_plane, "path", 256, width=8, height=4, pixel_filter=name, sampler=sampler, max_bounces=1)
    expected = [1.0 - share_left_of(name, 0.3 - (column - 3.5)) for column in range(8)]
    np.testing.assert_allclose(seen[..., 0].mean(axis=(0, 1)), expected, atol=0.01)
