"""This module measures how long pictures take until no part of them is noisier than wanted: by passes over the whole
picture, and by passes that leave out what is quiet (`renderer.film.adaptive`).

Pictures that differ by their seeds alone tell how noisy each tile is: the root of the mean variance of its pixels, over
its brightness (plus a hundredth of that of the picture). What counts is the noisiest tile, but for a hundredth of them.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from statistics import fmean
from typing import NamedTuple

import numpy as np

from renderer.bench.error_benchmark import Picture, Row, by_driver, warm_up
from renderer.drivers import DRIVERS
from renderer.drivers.driver import RenderSettings
from renderer.film.adaptive import relative_to
from renderer.film.relative_error import WORST_SHARE, mean_of_channels
from renderer.run.picture.make_picture import expose, new_film
from renderer.run.plan import PassLimits
from renderer.scene.render_context import RenderContext

#: Passes over the whole picture are looked at when there are so many times as many as before, up to so many times as
#: many as adaptive pictures have samples; and how many passes these may have.
STEP, MOST_TIMES, MOST_PASSES = 2.0**0.5, 5.0, 1 << 10


class Made(NamedTuple):
    """Is a picture: its pixels, the samples of a pixel on the mean, and the wall time of its passes."""

    picture: Picture
    samples: float
    seconds: float


def rows(
    context: RenderContext, names: Sequence[str], settings: RenderSettings, noises: Sequence[float], seeds: int
) -> list[Row]:
    """Returns a row for each driver and noise: what adaptive pictures take and reach, and what whole passes take until
    they are as quiet everywhere."""
    settings = replace(settings, layers="bias")
    found = []
    for name in names:
        warm_up(context, name, settings)
        for noise in sorted(noises, reverse=True):
            made = [adaptive(context, name, replace(settings, seed=seed), noise) for seed in range(seeds)]
            reached = worst_noise([one.picture for one in made])
            samples, seconds = fmean([one.samples for one in made]), fmean([one.seconds for one in made])
            passes, whole = whole_passes(context, name, settings, (seeds, reached, samples))
            row = {"driver": name, "noise": noise, "reached": reached, "samples": samples, "seconds": seconds}
            found.append(row | {"whole_passes": passes, "whole_seconds": whole})
    return found


def adaptive(context: RenderContext, name: str, settings: RenderSettings, noise: float) -> Made:
    """Returns an adaptive picture of a driver."""
    settings = replace(settings, adaptive=True)
    film, limits = new_film(settings, None), PassLimits(noise=noise, passes=MOST_PASSES)
    start = time.perf_counter()
    with closing(DRIVERS[name](context.snapshot, context.tracer, settings)) as driver:
        for _ in expose(driver, film, limits):
            pass
    return Made(film.linear, float(film.samples.mean()), time.perf_counter() - start)


def whole_passes(
    context: RenderContext, name: str, settings: RenderSettings, own: tuple[int, float, float]
) -> tuple[float, float]:
    """Returns how many passes over the whole picture are as quiet everywhere as adaptive pictures, MOST_TIMES as many
    as these have samples at most, and how long they take. Between two numbers of passes noise is taken for a power.

    own: how many adaptive pictures there are, their noise and samples.
    """
    seeds, noise, samples = own
    by_seed = [
        list(uniform(context, name, replace(settings, seed=seed), round(MOST_TIMES * samples))) for seed in range(seeds)
    ]
    by_passes = list(zip(*by_seed, strict=True))
    noises = [worst_noise([one.picture for one in made]) for made in by_passes]
    quiet = np.maximum.accumulate(-np.log(noises))
    passes = np.log([made[0].samples for made in by_passes])
    seconds = np.log([fmean([one.seconds for one in made]) for made in by_passes])
    found = [float(np.exp(np.interp(-np.log(noise), quiet, values))) for values in (passes, seconds)]
    return found[0], found[1]


def uniform(context: RenderContext, name: str, settings: RenderSettings, most: int) -> Iterator[Made]:
    """Yields pictures of more and more passes over the whole picture, up to a number of them."""
    film, wanted = new_film(settings, None), 4.0
    start = time.perf_counter()
    with closing(DRIVERS[name](context.snapshot, context.tracer, settings)) as driver:
        for made in driver.passes(iter(range(most))):
            film.add(made.values)
            if film.passes >= round(wanted):
                yield Made(film.linear, float(film.passes), time.perf_counter() - start)
                wanted *= STEP


def worst_noise(pictures: Sequence[Picture]) -> float:
    """Returns the noise of the noisiest tile of pictures that differ by their seeds alone, but for a few."""
    seen = np.array(pictures, np.float64)
    relative = relative_to(mean_of_channels(seen.mean(axis=0)), mean_of_channels(seen.var(axis=0, ddof=1)))
    return float(np.quantile(np.sqrt(relative), 1.0 - WORST_SHARE))


def table(found: list[Row]) -> str:
    """Returns a line for each driver and noise."""
    lines = []
    for name, own in by_driver(found).items():
        for row in own:
            ratio = row["seconds"] / row["whole_seconds"]
            lines.append(
                f"{name:>14}  {row['noise']:.3f}: reached {row['reached']:.4f}, {row['samples']:.1f} samples, "
                f"{row['seconds']:.2f} s; whole passes {row['whole_passes']:.0f}, {row['whole_seconds']:.2f} s: "
                f"{ratio:.2f} of the time, {row['samples'] / row['whole_passes']:.2f} of the samples"
            )
    return "\n".join(lines)
