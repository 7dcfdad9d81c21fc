"""Passes of a driver over a small picture, and how far they are from what is expected."""

from contextlib import contextmanager
from statistics import NormalDist

import numpy as np

import tracecore
from renderer.drivers import DRIVERS
from renderer.drivers.driver import RenderSettings
from renderer.scene.render_context import cutouts_of


@contextmanager
def opened(snapshot, driver, **settings):
    """A driver for a small picture. Its passes are independent, which z-tests need and Sobol's points are not."""
    usual = {"width": 16, "height": 12, "photons": 20_000, "threads": 2, "sampler": "random"}
    chosen = RenderSettings(**(usual | settings))  # type: ignore[arg-type]
    holes = cutouts_of(snapshot)
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=chosen.threads, cutouts=holes) as tracer:
        made = DRIVERS[driver](snapshot, tracer, chosen)
        try:
            yield made
        finally:
            made.close()


def passes(snapshot, driver, count, **settings):
    """(count, height, width, 3) radiance."""
    with opened(snapshot, driver, **settings) as made:
        return np.array([made.render_pass(i) for i in range(count)])


def independent_pictures(snapshot, driver, count, **settings):
    """(count, height, width, 3) pictures with photons of their own, also where all passes of a driver share one map."""
    if driver == "photons-only":
        return np.concatenate([passes(snapshot, driver, 1, seed=seed, **settings) for seed in range(count)])
    return passes(snapshot, driver, count, **settings)


def deviation(samples, expected, tolerance=0.0):
    """How many standard errors the mean of (n, ...) samples is away from what is expected, as absolute values."""
    return np.abs(z_scores(samples, expected, tolerance))


def block_means(image_passes, size):
    """(n, h, w, 3) -> (n, h / size, w / size, 3)."""
    n, h, w, c = image_passes.shape
    return image_passes.reshape(n, h // size, size, w // size, size, c).mean(axis=(2, 4))


def sidak_bound(comparisons, alpha=0.01):
    """|z| that the largest of so many standard normal numbers exceeds with probability alpha (Sidak 1967)."""
    return NormalDist().inv_cdf(0.5 + 0.5 * (1.0 - alpha) ** (1.0 / comparisons))


def z_scores(made, judge, tolerance=0.0):
    """How many standard errors the mean of a sample is above that of a judge, beyond what is tolerated.

    made: (n, ...) independent samples.
    judge: (m, ...) independent samples too, or (...) what is known.
    tolerance: share of the judge's mean by which the other mean may be off, beside chance. It is taken off the
    difference, which a factor on standard errors does not widen.
    """
    judge = np.asarray(judge, np.float64)
    is_known = judge.ndim < made.ndim
    expected = judge if is_known else judge.mean(axis=0)
    error2 = made.var(axis=0, ddof=1) / len(made)
    if not is_known:
        error2 = error2 + judge.var(axis=0, ddof=1) / len(judge)
    difference = made.mean(axis=0) - expected
    beyond = np.maximum(np.abs(difference) - tolerance * np.abs(expected), 0.0)
    return np.sign(difference) * beyond / np.sqrt(error2 + 1e-300)
