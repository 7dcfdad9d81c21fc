"""Adaptive pictures: samples go where noise is, and say nothing else than whole passes do."""

import json
from typing import Any

import numpy as np
import pytest
from command_line import run

import renderer
from renderer.drivers.driver import MadeShare, Work
from renderer.errors import UsageError
from renderer.film.adaptive import (
    ENDS,
    FIRST_LOOK,
    TILE,
    AdaptiveFilm,
    SampledPixels,
    next_look,
    tile_means,
)
from renderer.film.film import Film, half_of
from renderer.film.layers import LAYER_ALBEDO
from renderer.film.relative_error import mean_of_channels
from renderer.run import memory
from renderer.run.picture.make_picture import allotted_passes
from renderer.run.plan import PassLimits

#: Tiles along each side of a synthetic picture.
SIDE = 20


class Samples:
    """Makes passes of random numbers. draw: returns those of a whole picture, (height, width), by a generator."""

    work = Work()

    def __init__(self, draw, seed=0):
        self.draw, self.random = draw, np.random.default_rng(seed)

    def passes(self, indices, carried=None):
        for index in indices:
            sampled = np.ones((SIDE, SIDE)) if not carried else (carried[ENDS] > index).any(axis=2)
            values = self.draw(self.random) * np.kron(sampled, np.ones((TILE, TILE)))
            image = np.zeros((*values.shape, LAYER_ALBEDO))
            image[..., :3] = values[..., None]
            yield MadeShare(image, Work(), dict(carried or {}))


def exposed(draw, noise, passes=1 << 12, seed=0):
    film = AdaptiveFilm(SIDE * TILE, SIDE * TILE, LAYER_ALBEDO)
    for made in allotted_passes(Samples(draw, seed), film, PassLimits(noise=noise, passes=passes)):
        film.add(made.values, made.carried)
    return film


def of_tiles(pixels):
    return pixels.reshape(SIDE, TILE, SIDE, TILE).mean(axis=(1, 3))


def test_every_tile_gets_the_samples_that_its_noise_needs():
    deviations = np.linspace(0.1, 0.8, 4)  # of strips of the picture
    of_pixels = np.repeat(deviations, SIDE // 4 * TILE)

    film = exposed(lambda random: random.gamma(of_pixels**-2, of_pixels**2, (SIDE * TILE, SIDE * TILE)), 0.05)

    samples = of_tiles(film.samples)
    for strip in range(4):
        inside = samples[:, 5 * strip + 1 : 5 * strip + 4]  # tiles next to a noisier strip have as many as that
        needed = max((deviations[strip] / 0.05 / 1.01) ** 2, FIRST_LOOK)
        assert inside.mean() == pytest.approx(needed, rel=0.15)
    assert samples[:, 4].mean() > 1.1 * FIRST_LOOK  # a quiet tile has more where the next one is noisy
    errors = np.sqrt(of_tiles(np.square(film.linear[..., 0] - 1.0)))
    assert errors[:, 5:].mean() == pytest.approx(0.05, rel=0.08)
    assert film.passes > FIRST_LOOK


def rare(random):
    """Draws samples of mean 1, of which one in two thousand is 2,000: many tiles have seen none when it is decided."""
    return np.where(random.random((SIDE * TILE, SIDE * TILE)) < 1 / 2000, 2000.0, 0.0)


def test_samples_have_no_say_in_how_many_they_are():
    films = [exposed(rare, 3.0, passes=128, seed=seed) for seed in range(12)]

    assert all(np.ptp(film.samples) > 0 for film in films)
    means = np.array([film.linear.mean(dtype=np.float64) for film in films])
    error = means.std(ddof=1) / np.sqrt(len(means))
    assert error < 0.03  # as large as if each half decided on its own samples, it would be 0.7
    assert abs(means.mean() - 1.0) < 4.0 * error


def test_halves_count_as_much_as_they_have_passes_whatever_samples_they_have():
    film, values = AdaptiveFilm(TILE, TILE, LAYER_ALBEDO), {0: 2.0, 1: 6.0}
    ends = np.full((1, 1, 2), 100.0)
    ends[..., 1] = 4.0
    for index in range(8):
        film.add(np.full((TILE, TILE, LAYER_ALBEDO), values[half_of(index)]), {ENDS: ends})

    np.testing.assert_allclose(film.linear, 4.0, rtol=1e-6)
    np.testing.assert_array_equal(film.samples, 6.0)
    np.testing.assert_allclose(film.relative_noise, 2.0 / 4.04, rtol=1e-6)


def test_a_film_that_leaves_nothing_out_is_the_mean_of_its_passes():
    random = np.random.default_rng(5)
    passes = random.random((7, 5, 6, LAYER_ALBEDO))
    adaptive, plain = AdaptiveFilm(6, 5, LAYER_ALBEDO), Film(6, 5, LAYER_ALBEDO)
    for one in passes:
        adaptive.add(one)
        plain.add(one)

    np.testing.assert_allclose(adaptive.linear, plain.linear, rtol=1e-6)
    np.testing.assert_allclose(adaptive.noise, plain.noise, rtol=1e-6)
    assert adaptive.relative_noise == pytest.approx(plain.relative_noise)
    assert adaptive.relative_bias == pytest.approx(plain.relative_bias)


def test_a_picture_without_noise_ends_at_the_first_look():
    film = exposed(lambda random: np.ones((SIDE * TILE, SIDE * TILE)), 0.01)

    assert film.passes == FIRST_LOOK


def test_memory_is_reckoned_for_all_columns():
    assert AdaptiveFilm.more_columns == memory.ADAPTIVE_COLUMNS


def test_looks_are_twice_as_far_apart_each_time():
    assert [next_look(index) for index in (0, 15, 16, 31, 32, 100)] == [16, 16, 32, 32, 64, 128]


def test_each_pass_samples_the_pixels_of_tiles_that_have_not_ended():
    random = np.random.default_rng(1)
    width, height = 20, 13
    ends = random.integers(0, 40, (2, 3, 2)).astype(float)
    pixels = random.permutation(width * height).astype(np.int32)

    sampled = SampledPixels.of(pixels, width, {ENDS: ends})

    rows, columns = np.divmod(pixels, width)
    for index in range(40):
        expected = pixels[ends[rows // TILE, columns // TILE].max(axis=1) > index]
        assert set(sampled.of_pass(index)) == set(expected)
        assert len(sampled.of_pass(index)) == len(expected) == len(pixels) - sampled.left_out(index)


#: Noises for which some tiles of a small picture of the Cornell box have more than the first passes, and others do not.
NOISES = {
    "path": 0.3,
    "photon": 0.1,
    "path+caustics": 0.17,
    "gather": 0.15,
    "whitted": 0.2,
    "photons-only": 0.45,
    "ao": 0.105,
}


def rendered(driver, **more):
    own: dict[str, Any] = {} if driver in ("path", "whitted", "ao") else {"photons": 8000}
    return renderer.render("cornell", driver=driver, size=(48, 32), device="cpu", quiet=True, seed=3, **own, **more)


def test_a_layer_and_the_statistics_tell_where_samples_went():
    picture = rendered("path", adaptive=True, target_noise=0.3, passes=40, layers=("samples", "noise"))
    np.testing.assert_array_equal(picture.layers["samples"], picture.film.samples)
    assert picture.statistics["samples.mean"] == picture.film.samples.mean() < 40
    assert rendered("path", passes=3).statistics["samples.mean"] == 3


@pytest.mark.parametrize("driver", NOISES)
def test_adaptive_pictures_show_what_whole_passes_show(driver):
    adaptive = rendered(driver, adaptive=True, target_noise=NOISES[driver], passes=40).film
    whole = rendered(driver, passes=40).film

    assert adaptive.samples.min() == FIRST_LOOK < adaptive.samples.max()
    difference = tile_means(mean_of_channels(adaptive.linear.astype(np.float64) - whole.linear))
    variance = tile_means(np.square(adaptive.noise, dtype=np.float64) + np.square(whole.noise)) / TILE**2
    assert np.abs(difference).max() > 0.0
    assert np.abs(difference / np.sqrt(variance + 1e-12)).max() < 5.0


COMMAND = ("render", "cornell", "--driver", "path", "--size", "48x32", "--device", "cpu", "--passes", "40")


@pytest.mark.parametrize("at", [16, 23, 32])
def test_an_adaptive_picture_goes_on_with_the_same_bits(at, tmp_path, monkeypatch):
    whole, resumed, asked = tmp_path / "a.npy", tmp_path / "b.npy", ("--adaptive", "--target-noise", "0.3")
    assert run(*COMMAND, *asked, "-o", whole) == 0
    with monkeypatch.context() as patched:
        patched.setattr(AdaptiveFilm, "add", interrupting(AdaptiveFilm.add, at))
        assert run(*COMMAND, *asked, "-o", resumed, "--checkpoint", "1000") == 130
    assert run(*COMMAND, *asked, "-o", resumed, "--resume", "--threads", "1", "--batch-rays", "256") == 0
    assert resumed.read_bytes() == whole.read_bytes()


def interrupting(add, at):
    def add_or_interrupt(film, *given):
        if film.end == at:
            raise KeyboardInterrupt
        add(film, *given)

    return add_or_interrupt


def test_a_film_of_frames_has_adaptive_ones(tmp_path):
    shared = ("--frames", "0:1", "--film-noise", "0.3")
    assert run(*COMMAND, *shared, "--adaptive", "-o", tmp_path / "a.png") == 0
    assert run(*COMMAND, *shared, "-o", tmp_path / "b.png") == 0
    adaptive, whole = (json.loads((tmp_path / f"{name}-0000.png.json").read_text()) for name in "ab")
    assert 16 < adaptive["samples.mean"] < adaptive["passes"] == 40
    assert whole["samples.mean"] == whole["passes"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"driver": "sppm", "target_noise": 0.1}, "driver sppm makes whole passes; leave out --adaptive"),
        ({}, "--adaptive needs to know which noise is low enough; add --target-noise, such as 0.02"),
        (
            {"target_noise": 0.1, "crop": (0, 0, 4, 4)},
            "--adaptive looks at whole pictures of one process; leave out --crop",
        ),
        (
            {"target_noise": 0.1, "cluster": "local:2"},
            "--adaptive looks at whole pictures of one process; leave out --cluster",
        ),
        (
            {"target_noise": 0.1, "layers": True},
            "--adaptive does not tell kinds of light apart; leave them out of --layers",
        ),
    ],
)
def test_what_an_adaptive_picture_cannot_have_is_refused(more, message):
    with pytest.raises(UsageError, match=message):
        renderer.render("cornell", adaptive=True, device="cpu", **more)
