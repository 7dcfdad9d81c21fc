"""Passes of a driver over a small picture, and how far they are from what is expected."""

from contextlib import contextmanager
from statistics import NormalDist

import numpy as np

import tracecore
from renderer.drivers import DRIVERS
from renderer.drivers.driver import RenderSettings


@contextmanager
def opened(snapshot, driver, **settings):
    """A driver for a small picture. Its passes are independent, which z-tests need and Sobol's points are not."""
    usual = {"width": 16, "height": 12, "photons": 20_000, "threads": 2, "sampler": "random"}
    chosen = RenderSettings(**(usual | settings))
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=chosen.threads) as tracer:
        made = DRIVERS[driver](snapshot, tracer, chosen)
        try:
            yield made
        finally:
            made.close()


def passes(snapshot, driver, count, **settings):
    """(count, height, width, 3) radiance."""
    with opened(snapshot, driver, **settings) as made:
        return np.array([made.render_pass(i) for i in range(count)])


def deviation(samples, expected, tolerance=0.0):
    """|mean - expected| in standard errors of the mean over (n, ...) samples; a systematic error up to `tolerance` of
    what is expected is taken into the error."""
    error2 = samples.var(axis=0, ddof=1) / len(samples) + (tolerance * np.asarray(expected)) ** 2
    return np.abs(samples.mean(axis=0) - expected) / np.sqrt(error2)


def block_means(image_passes, size):
    """(n, h, w, 3) -> (n, h / size, w / size, 3)."""
    n, h, w, c = image_passes.shape
    return image_passes.reshape(n, h // size, size, w // size, size, c).mean(axis=(2, 4))


def sidak_bound(comparisons, alpha=0.01):
    """|z| that the largest of so many standard normal numbers exceeds with probability alpha (Sidak 1967)."""
    return NormalDist().inv_cdf(0.5 + 0.5 * (1.0 - alpha) ** (1.0 / comparisons))


def z_scores(made, judge, tolerance):
    """Differences of the means of two (n, ...) samples in standard errors; a systematic error of a share `tolerance` of
    the judge's mean counts as one."""
    error2 = made.var(axis=0, ddof=1) / len(made) + judge.var(axis=0, ddof=1) / len(judge)
    error2 += (tolerance * judge.mean(axis=0)) ** 2
    return (made.mean(axis=0) - judge.mean(axis=0)) / np.sqrt(error2 + 1e-300)
