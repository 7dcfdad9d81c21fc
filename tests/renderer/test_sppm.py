"""Radii that shrink pixel by pixel, as Hachisuka and Jensen have published it, and how errors fall."""

import math
import threading

import numpy as np
import pytest
from driver_passes import opened, passes
from small_scenes import furnace, lamp_in_box

from renderer.drivers import sppm
from renderer.drivers.search_radius import SHRINK_ALPHA
from renderer.drivers.sppm import Discs, StochasticDriver, shrunk, shrunk_by
from renderer.errors import RenderError
from tracecore.workers.pool import CallingThread

#: Numbers of passes at which errors are looked at.
COUNTS = (4, 8, 16, 32, 64)


def test_the_density_within_a_disc_is_kept_as_it_shrinks():
    """Photons that stay are alpha of those found, and so is the area: N / r^2 is what N + M was to the disc before."""
    rng = np.random.default_rng(1)
    discs = Discs(0, np.full(50, 0.25), np.zeros(50))
    for i in range(5):
        found = rng.poisson(3.0, 50).astype(np.float64)
        after = shrunk(discs, found)
        assert after.passes == i + 1
        np.testing.assert_allclose(after.photons, discs.photons + SHRINK_ALPHA * found)
        np.testing.assert_allclose(after.radius2 * (discs.photons + found), discs.radius2 * after.photons)
        assert np.all(after.radius2 <= discs.radius2)
        discs = after


def test_the_mean_of_the_passes_is_the_published_estimate(monkeypatch):
    """tau, kept as the paper has it, over the last disc and all photons sent out."""
    monkeypatch.setattr(StochasticDriver, "_light_samples", lambda self: 0)  # no direct light: all comes by photons
    images, tau = [], 0.0
    with opened(lamp_in_box(), "sppm", radius=0.2, photons=2_000) as made:
        for i in range(6):
            before = made.discs.radius2 if i else np.full(16 * 12, 0.04)
            images.append(made.render_pass(i).reshape(-1, 3))
            flux = images[-1] * math.pi * before[:, None]  # what was found, per pass
            tau = (tau + flux) * (made.discs.radius2 / before)[:, None]
        published = tau / (math.pi * made.discs.radius2[:, None]) / 6.0
    np.testing.assert_allclose(np.mean(images, axis=0), published, rtol=1e-12)
    assert published.min() > 0.0
    assert made.discs.radius2.max() < 0.04 * 0.8


def test_evenly_spread_photons_shrink_all_discs_as_the_global_radius():
    """Where photons lie evenly a pass finds as many as its disc is large, however densely they lie. Then r^2 is that of
    Knaus and Zwicker, of passes counted from 0: Gamma(n + alpha) / (Gamma(alpha) n!), which falls as n^-1/3."""
    discs = Discs(0, np.full(2, 0.25), np.zeros(2))
    areas = [discs.radius2 / 0.25]
    for _ in range(800):
        discs = shrunk(discs, np.array([3.0, 70.0]) * discs.radius2)
        areas.append(discs.radius2 / 0.25)
    for n in (1, 2, 5, 800):
        logarithm = math.lgamma(n + SHRINK_ALPHA) - math.lgamma(SHRINK_ALPHA) - math.lgamma(n + 1.0)
        assert areas[n] == pytest.approx(np.full(2, math.exp(logarithm)), rel=1e-9)
    assert areas[800] / areas[100] == pytest.approx(np.full(2, 0.5), rel=2e-3)


def test_photons_of_a_pixel_are_those_within_its_own_disc():
    """A pixel with twice the radius finds four times as many, and the same light."""
    with opened(furnace(), "sppm", radius=0.05, photons=60_000, max_bounces=60) as made:
        made.render_pass(0)
        wide = np.arange(16 * 12) % 2 == 0
        made.discs = Discs(1, np.where(wide, 0.1**2, 0.05**2), np.zeros(16 * 12))
        image = made.render_pass(1).reshape(-1, 3)
        found = made.discs.photons / SHRINK_ALPHA
    assert found[wide].sum() / found[~wide].sum() == pytest.approx(4.0, rel=0.1)
    assert image[wide].mean() == pytest.approx(image[~wide].mean(), rel=0.05)


def test_discs_shrink_alike_in_parts(monkeypatch):
    monkeypatch.setattr(sppm, "PART_PIXELS", 7)
    rng = np.random.default_rng(2)
    discs, found = Discs(3, rng.random(50), rng.random(50)), rng.integers(0, 9, 50)
    whole, parts = shrunk(discs, found.astype(np.float64)), shrunk_by(discs, found, CallingThread())
    assert parts.passes == whole.passes == 4
    assert np.array_equal(parts.radius2, whole.radius2)
    assert np.array_equal(parts.photons, whole.photons)


def test_passes_begin_before_those_that_they_need_are_done(monkeypatch):
    """The first pass looks up its photons only when those of the second one are sorted; the bits are those of one after
    the other."""
    few = {"photons": 2_000, "radius": 0.2}
    with opened(lamp_in_box(), "sppm", **few) as made:
        alone = [made.render_pass(i) for i in range(4)]
    sorted_maps, trace = threading.Semaphore(0), StochasticDriver.trace_eye_paths
    build_map = StochasticDriver.build_map

    def sort(driver, *arguments):
        result = build_map(driver, *arguments)
        sorted_maps.release()
        return result

    def wait_and_trace(driver, site, task, lookup):
        assert task.sequence > 0 or all(sorted_maps.acquire(timeout=30.0) for _ in range(2))
        return trace(driver, site, task, lookup)

    monkeypatch.setattr(StochasticDriver, "build_map", sort)
    monkeypatch.setattr(StochasticDriver, "trace_eye_paths", wait_and_trace)
    with opened(lamp_in_box(), "sppm", **few) as made:
        assert np.array_equal([one.values for one in made.passes(iter(range(4)))], alone)


def test_passes_come_in_order():
    with opened(lamp_in_box(), "sppm", radius=0.2, photons=100) as made:
        first = made.render_pass(0)
        made.render_pass(1)
        with pytest.raises(RenderError, match="pass 3 of sppm needs the one before it; 2 are done"):
            made.render_pass(3)
        assert np.array_equal(made.render_pass(0), first)  # from the start


@pytest.mark.parametrize(("driver", "slope"), [("path", -1.0 / 2.0), ("photon", -1.0 / 3.0), ("sppm", -1.0 / 3.0)])
def test_errors_fall_as_published(driver, slope):
    """With alpha = 2/3 variance falls as n^-2/3; in the furnace the radiance is 1."""
    settings = {"width": 24, "height": 16, "photons": 1_000, "radius": 0.05, "max_bounces": 20, "threads": 1}
    made = passes(furnace(), driver, max(COUNTS), **settings)
    errors = [np.std(made[:n].mean(axis=0), axis=(0, 1)).mean() for n in COUNTS]
    assert np.polyfit(np.log(COUNTS), np.log(errors), 1)[0] == pytest.approx(slope, abs=0.05)


def test_a_disc_without_photons_stays():
    discs = shrunk(Discs(0, np.full(2, 0.25), np.array([0.0, 4.0])), np.zeros(2))
    assert discs.radius2.tolist() == [0.25, 0.25]
    assert shrunk(discs, np.array([3.0, 0.0])).radius2.tolist() == pytest.approx([0.25 * SHRINK_ALPHA, 0.25])
