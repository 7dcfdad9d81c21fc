"""The film: means with known answers, and radiance that cannot be."""

import copy
import math

import numpy as np
import numpy.typing as npt
import pytest

from renderer.camera_paths.coverage import PixelRays
from renderer.camera_paths.task import SAMPLERS
from renderer.film.exact_sum import LARGEST, from_arrays
from renderer.film.film import Film, half_of
from renderer.film.layers import BIAS_FACTOR, LAYER_BIAS, LAYER_COLUMNS, LAYER_DEPTH, LAYER_LIGHT
from renderer.film.relative_error import FLOOR
from renderer.scene.packed_scene import pack_camera
from scenes.model import Camera


def constant(value: float, width: int = 3, height: int = 2) -> npt.NDArray[np.float64]:
    return np.full((height, width, 3), value)


def test_mean_of_passes() -> None:
    film = Film(3, 2)
    for value in (1.0, 2.0, 6.0):
        film.add(constant(value))
    assert film.passes == 3
    assert film.linear.dtype == np.float32
    np.testing.assert_array_equal(film.linear, constant(3.0))


def test_sums_beyond_float32() -> None:
    film = Film(1, 1)
    film.add(constant(2.0**24, 1, 1))
    for _ in range(64):
        film.add(constant(1.0, 1, 1))  # float32 would drop each of these
    assert film.linear[0, 0, 0] == np.float32((2.0**24 + 64) / 65)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1e-9, 1e39])
def test_samples_that_cannot_be_are_black_and_counted(bad: float) -> None:
    """The pixel of the third column misses one channel alone; all of its light is left out, also that of layers."""
    columns = LAYER_COLUMNS["all"]
    film = Film(3, 2, columns)
    film.add(np.full((2, 3, columns), 1.0))
    radiance = np.full((2, 3, columns), 2.0)
    radiance[0, 2, 1] = bad
    radiance[1, 0, :3] = radiance[1, 0, LAYER_LIGHT] = bad
    film.add(radiance)
    expected = constant(1.5)
    expected[0, 2] = expected[1, 0] = 0.5
    np.testing.assert_array_equal(film.linear, expected)
    np.testing.assert_array_equal(film.layers["direct"], expected)
    np.testing.assert_array_equal(film.layers["density"], 1.5)
    assert film.counts.impossible.tolist() == [[1, 2, 2, 0]]
    assert film.counts.left_out == 2
    assert radiance[0, 2, 0] == 2.0  # the pass itself stays as it was


def test_bright_samples_are_clamped_only_where_that_is_asked_for() -> None:
    """Luminance is 0.2126 R + 0.7152 G + 0.0722 B: a green of 100 / 0.7152 has 100, and its hue stays."""
    columns = LAYER_COLUMNS["all"]
    bright = np.full((1, 2, columns), 0.5)
    bright[0, 1, :3] = bright[0, 1, LAYER_LIGHT : LAYER_LIGHT + 3] = (0.0, 100.0 / 0.7152, 0.0)
    plain, clamped = Film(2, 1, columns), Film(2, 1, columns, clamp=4.0)
    for film in (plain, clamped):
        film.add(bright)
    np.testing.assert_array_equal(plain.total, bright)
    assert (plain.counts.clamped, clamped.counts.clamped) == (0, 1)
    np.testing.assert_allclose(clamped.linear[0, 1], (0.0, 4.0 / 0.7152, 0.0), rtol=1e-6)
    np.testing.assert_array_equal(clamped.layers["direct"][0, 1], clamped.linear[0, 1])
    np.testing.assert_array_equal(clamped.total[0, 0], bright[0, 0])


def test_the_largest_radiance_has_room_in_the_sums_and_no_larger_one() -> None:
    film = Film(1, 1)
    film.add(constant(LARGEST, 1, 1))
    assert film.linear[0, 0, 0] == LARGEST
    film.add(constant(np.nextafter(LARGEST, np.inf), 1, 1))
    assert film.linear[0, 0, 0] == LARGEST / 2.0
    assert film.counts.left_out == 1


@pytest.mark.parametrize("bad", [np.nan, -np.inf, 2.0 * LARGEST])
def test_what_stands_beside_the_picture_has_room_in_the_sums_too(bad: float) -> None:
    film = Film(1, 1, LAYER_COLUMNS["all"])
    radiance = np.ones((1, 1, LAYER_COLUMNS["all"]))
    radiance[..., LAYER_DEPTH] = bad
    film.add(radiance)
    assert film.counts.impossible.tolist() == [[0, 1, 0, 0]]
    assert [film.layers["depth"], film.layers["density"], film.linear.max()] == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("passes", [2, 3, 7, 50])
def test_noise_is_the_standard_error_of_the_mean(passes: int) -> None:
    """Of 48 x 32 pixels and 3 channels, whose neighbours a pixel's noise counts: 1 % of the mean is two deviations."""
    random = np.random.default_rng(3)
    film = Film(48, 32)
    for _ in range(passes):
        film.add(random.normal(10.0, 1.0, (32, 48, 3)))
    assert film.noise.dtype == np.float32
    assert np.square(film.noise).mean() == pytest.approx(1.0 / passes, rel=0.06)
    assert film.relative_noise == pytest.approx(math.sqrt(1.0 / passes) / 10.1, rel=0.1)


def test_noise_is_by_how_much_the_halves_differ() -> None:
    """The passes 0, 3, 5 and 6 are one half, 1, 2, 4 and 7 the other: means 2 and 3 after four passes."""
    film = Film(3, 2)
    for value, expected in ((1.0, math.inf), (2.0, 0.5), (4.0, math.sqrt(2.0 / 9.0) * 2.0), (3.0, 0.5)):
        film.add(constant(value))
        np.testing.assert_allclose(film.noise, expected, rtol=1e-6)


def test_noise_of_a_pixel_is_a_mean_over_those_next_to_it_and_the_channels() -> None:
    film = Film(7, 6)
    for index in range(4):
        radiance = constant(1.0, 7, 6)
        radiance[2, 3, 1] += 6.0 * half_of(index)  # the halves differ by 6: off by 3 in one of three channels
        film.add(radiance)
    expected = np.zeros((6, 7))
    expected[1:4, 2:5] = math.sqrt(9.0 / 3.0 / 9.0)
    np.testing.assert_allclose(film.noise, expected, rtol=1e-6)


def places_in_pixels(sampler: str, index: int, width: int, height: int) -> npt.NDArray[np.float64]:
    """(height, width, 2) where in each pixel the camera ray of a pass goes through."""
    camera = Camera(eye=(0, 0, 0), forward=(0, 0, -1), up=(0, 1, 0), vertical_fov=0.0, height=float(height))
    size, pixels = (width, height), np.arange(width * height, dtype=np.int32)
    through = PixelRays(pack_camera(camera, *size), size, (0, 0, *size), 5, SAMPLERS[sampler])
    rays = through.through(pixels, index)
    across, down = rays[:, 0] + width / 2, height / 2 - rays[:, 1]
    return np.stack([across, down], axis=-1).reshape(height, width, 2).astype(np.float64) % 1.0


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_noise_is_honest_though_samples_keep_apart(sampler: str) -> None:
    """What is told of pictures is as large as their error, whatever the sampler: of smooth light, an edge, a corner."""
    truth = np.array([(math.e - 1.0) ** 2, 0.1 + 0.25, 0.6 * 0.7])
    film = Film(64, 48)
    for index in range(64):
        x, y = np.moveaxis(places_in_pixels(sampler, index, 64, 48), -1, 0)
        film.add(np.stack([np.exp(x + y), x + 2.0 * y < 1.2, (x < 0.6) & (y < 0.7)], axis=-1).astype(np.float64))
        if film.passes in (4, 8, 16, 64):
            error = math.sqrt(np.square(film.linear - truth).mean())
            figures = math.sqrt(np.square(film.noise).mean())
            assert figures == pytest.approx(error, rel=0.08), film.passes


def test_noise_is_relative_to_brightness() -> None:
    film = Film(3, 2)
    for index in range(4):
        film.add(constant(0.9 if half_of(index) else 1.1))
    assert film.relative_noise == pytest.approx(0.1 / (1.0 + FLOOR), rel=1e-5)


def test_specks_count_as_wrong_as_they_are() -> None:
    """One pixel of 25 shines by 25 times as much in one pass of all: the picture is off by 1 there, 24 over 16 passes,
    and by no less where the speck itself makes its pixel bright."""
    film = Film(50, 50)
    for index in range(16):
        radiance = constant(1.0, 50, 50)
        if index == 5:
            radiance[2::5, 2::5] = 1.0 + 16.0 * 24.0
        film.add(radiance)
    brightness = 1.0 + 24.0 / 25.0
    expected = 24.0 / (brightness * (1.0 + FLOOR)) * math.sqrt(75 / 2475)  # the worst hundredth are 25 specks of 100
    assert film.relative_noise == pytest.approx(expected, rel=0.02)


def bias_film(bias: float, noise: float, passes: int = 12) -> Film:
    """A picture of brightness 1 in which each pass finds the inner disc brighter by -bias and by noise."""
    random = np.random.default_rng(5)
    film = Film(80, 60, LAYER_COLUMNS["bias"])
    for _ in range(passes):
        radiance = np.ones((60, 80, LAYER_COLUMNS["bias"]))
        radiance[..., LAYER_BIAS] = bias + random.normal(0.0, noise, (60, 80))
        film.add(radiance)
    return film


def test_bias_is_told_from_noise() -> None:
    expected = BIAS_FACTOR * 0.02 / (1.0 + FLOOR)
    assert bias_film(0.02, 0.0).relative_bias == pytest.approx(expected)
    assert bias_film(0.02, 0.0, passes=2).relative_bias == pytest.approx(expected)
    assert bias_film(-0.02, 0.1).relative_bias == pytest.approx(expected, rel=0.15)
    assert bias_film(0.0, 0.1).relative_bias < 0.4 * expected


def test_deviation_is_of_noise_and_bias() -> None:
    film = bias_film(0.02, 0.0)
    assert film.relative_noise == 0.0
    assert film.relative_deviation == film.relative_bias > 0.0


def test_a_copy_stays_as_it_is():
    """Whenever it is made: sums are written to the memory of those before, but for what a copy looks at."""
    film, copies = Film(4, 3), []
    for i in range(8):
        film.add(np.full((3, 4, 3), 2.0**i))
        if i in (1, 2, 5):
            copies.append(copy.copy(film))
    for copied, passes in zip(copies, (2, 3, 6), strict=True):
        assert copied.passes == passes
        assert np.all(copied.linear == np.float32((2.0**passes - 1.0) / passes))
        second = sum(2.0**i for i in range(passes) if half_of(i) == 1)
        assert np.all(from_arrays("second", copied.sums()).value == second)
    copies[0].add(np.full((3, 4, 3), 1.0))
    assert np.all(copies[0].linear == np.float32(4.0 / 3.0))
    assert np.all(film.linear == np.float32(255.0 / 8.0))
    assert np.all(copies[1].linear == np.float32(7.0 / 3.0))


def test_empty_film_is_black() -> None:
    film = Film(3, 2)
    assert film.passes == 0
    np.testing.assert_array_equal(film.linear, constant(0.0))


def test_a_picture_with_any_light_is_not_black() -> None:
    film, faint = Film(3, 2, LAYER_COLUMNS["bias"]), np.zeros((2, 3, LAYER_COLUMNS["bias"]))
    faint[..., LAYER_BIAS] = 1.0  # which is no light
    film.add(faint)
    assert film.is_black
    faint[1, 2, 2] = 1e-9
    film.add(faint)
    assert not film.is_black
    assert film.linear.any()


def test_pass_is_not_kept_by_reference() -> None:
    film, radiance = Film(3, 2), constant(1.0)
    film.add(radiance)
    radiance[:] = 5.0
    np.testing.assert_array_equal(film.linear, constant(1.0))
