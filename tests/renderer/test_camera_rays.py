"""Views with known answers through lenses and without perspective."""

import math
from dataclasses import replace

import numba
import numpy as np
import pytest
from small_scenes import flat_snapshot, quad
from test_drivers import opened, passes

from renderer.camera_paths.camera_rays import concentric_disc
from renderer.drivers.photon import PhotonDriver
from scenes.model import Camera, Material

GLOW = Material(diffuse=(0.0, 0.0, 0.0), emission=(1.0, 1.0, 1.0))
UPRIGHT = Camera(eye=(0.0, 0.0, 0.0), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=60.0)
SIDE = 32


def square_at(x, y, distance, edge, camera):
    half, z = 0.5 * edge, -distance
    corners = [(x - half, y - half, z), (x + half, y - half, z), (x + half, y + half, z), (x - half, y + half, z)]
    return flat_snapshot(quad(*corners), [GLOW], camera=camera)


def picture(snapshot, count=256, **settings):
    """(SIDE, SIDE) mean radiance, the first row at the bottom."""
    seen = passes(snapshot, "path", count, width=SIDE, height=SIDE, max_bounces=1, **settings)
    return seen[..., 0].mean(axis=0)[::-1]


def moments(image):
    """Centroid (x, y) from the picture's middle, and standard deviation along x and y, in pixels."""
    middles = np.arange(SIDE) + 0.5 - SIDE / 2
    shares = np.stack([image.sum(axis=0), image.sum(axis=1)]) / image.sum()
    centroid = shares @ middles
    return centroid, np.sqrt((shares * (middles - centroid[:, None]) ** 2).sum(axis=1))


@pytest.mark.parametrize("height", [None, 4.0])
@pytest.mark.parametrize(("focus", "distance"), [(2.0, 4.0), (2.0, 1.25), (5.0, 3.0)])
def test_a_point_out_of_focus_is_a_disc(height, focus, distance):
    """By the thin-lens formula its radius in a picture at distance 1 is A |1/f - 1/d|, with parallel rays A |1 - d/f|;
    in the middle is where a pinhole sees the point."""
    aperture = 0.6
    camera = replace(UPRIGHT, aperture=aperture, focus=focus, height=height)
    pixel = (2.0 * math.tan(math.radians(30.0)) if height is None else height) / SIDE
    depth = distance if height is None else 1.0
    radius = aperture * abs(1.0 / focus - 1.0 / distance) * distance / depth / pixel
    small = square_at(0.1 * depth, -0.05 * depth, distance, 2.0 * pixel * depth, camera)
    image = picture(small)
    (x, y), deviations = moments(image)
    assert (x, y) == pytest.approx((0.1 / pixel, -0.05 / pixel), abs=0.15)
    # The square of a standard deviation: a disc's radius^2 / 4, and edge^2 / 12 of a box, a pixel and the square.
    np.testing.assert_allclose(deviations, math.sqrt(radius**2 / 4.0 + 1.0 / 12.0 + 4.0 / 12.0), rtol=0.06)
    rows, columns = np.mgrid[:SIDE, :SIDE] + 0.5 - SIDE / 2
    away = np.hypot(columns - x, rows - y)
    assert away[image > 0.0].max() < radius + 2.5
    assert image.sum() == pytest.approx(4.0, rel=0.1)  # as much as of a square of four pixels that is sharp


def test_what_is_in_focus_is_as_sharp_as_through_a_pinhole():
    lens = replace(UPRIGHT, aperture=0.5, focus=3.0)
    pixel = 2.0 * math.tan(math.radians(30.0)) * 3.0 / SIDE
    image = picture(square_at(0.0, 0.0, 3.0, 8.0 * pixel, lens), count=16)
    expected = np.zeros((SIDE, SIDE))
    expected[12:20, 12:20] = 1.0
    assert np.array_equal(image, expected)


@pytest.mark.parametrize("distance", [0.5, 3.0, 40.0])
def test_an_orthographic_view_shows_things_in_one_size(distance):
    camera = replace(UPRIGHT, height=4.0)
    image = picture(square_at(0.5, 0.5, distance, 1.0, camera), count=4)
    expected = np.zeros((SIDE, SIDE))
    expected[16:24, 16:24] = 1.0  # 8 pixels are a unit
    assert np.array_equal(image, expected)


def test_the_first_radius_of_an_orthographic_view_is_two_of_its_pixels():
    for distance in (1.0, 30.0):
        snapshot = square_at(0.0, 0.0, distance, 8.0, replace(UPRIGHT, height=3.0))
        with opened(snapshot, "photon", height=60, photons=10**6) as driver:
            assert isinstance(driver, PhotonDriver)
            assert driver.first_radius == pytest.approx(2.0 * 3.0 / 60)


def test_places_on_the_lens_are_uniform():
    """Chi-squared over 8 rings of one area and 8 sectors: 63 degrees of freedom."""

    @numba.njit
    def discs(numbers):
        places = np.empty_like(numbers)
        for i in range(len(numbers)):
            places[i] = concentric_disc(numbers[i, 0], numbers[i, 1])
        return places

    x, y = discs(np.random.default_rng(2).random((300_000, 2))).T
    square = x * x + y * y
    assert square.max() <= 1.0 + 1e-12
    counts = np.histogram2d(square, np.arctan2(y, x), bins=8, range=((0.0, 1.0), (-math.pi, math.pi)))[0]
    expected = len(x) / 64
    assert ((counts - expected) ** 2 / expected).sum() < 63.0 + 4.0 * math.sqrt(2.0 * 63.0)
