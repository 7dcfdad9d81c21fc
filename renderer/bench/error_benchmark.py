"""This module measures the error of drivers at equal time, and how honest their pictures are about their noise, as the
help of `renderer.commands.bench_error` says.

The error is relative: of a pixel the root of the mean square over the channels, over its brightness in the reference
(plus a hundredth of the mean brightness, for dark pixels); of a picture the root of the mean square over the pixels, of
which the worst hundredth is left out, so that a few bright specks do not stand for the whole. The noise that pictures
estimate of themselves is `Film.relative_noise`.
"""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from renderer.drivers import DRIVERS
from renderer.drivers.driver import RenderSettings
from renderer.errors import UsageError
from renderer.film.film import Film
from renderer.film.image_file import write_array
from renderer.film.picture_file import read_picture, size_words
from renderer.film.relative_error import relative_error
from renderer.scene.render_context import RenderContext

#: The seed of references; those of what is compared count from 0.
REFERENCE_SEED = 1 << 32

Picture = npt.NDArray[np.float32]
Row = dict[str, Any]


def moment_after(seconds: float, first: float) -> float:
    """Returns the first moment after so many seconds of those at which pictures are compared: `first`, twice as late,
    and so on.
    """
    while first <= seconds:
        first *= 2.0
    return first


def error_of(picture: Picture, reference: Picture) -> float:
    """Returns the relative error of a picture (height, width, 3) against a reference, as the head of this file defines
    it.
    """
    squares = np.square(picture.astype(np.float64) - reference).mean(axis=2)
    return relative_error(np.sqrt(squares), reference)


def warm_up(context: RenderContext, name: str, settings: RenderSettings) -> None:
    """Has everything compiled that a driver needs."""
    with closing(DRIVERS[name](context.snapshot, context.tracer, settings)) as driver:
        driver.render_pass(0)


def pictures(
    context: RenderContext, name: str, settings: RenderSettings, last: float, first: float = 1.0
) -> Iterator[tuple[float, Film]]:
    """Yields the picture of a driver after `first` seconds, after twice as many each time, and after `last`, or as soon
    as a pass is finished then, with the seconds until then.

    As in renders several passes are under way at once; those that are so after the last moment are given up. A pass
    beforehand, which does not count, has everything compiled.
    """
    settings = replace(settings, adds_up=False)  # each pass is looked at
    warm_up(context, name, settings)
    start = time.perf_counter()
    with closing(DRIVERS[name](context.snapshot, context.tracer, settings)) as driver:
        film, moment = Film(settings.width, settings.height), first
        with closing(driver.passes(count())) as passes:
            for made in passes:
                film.add(made.values)
                seconds = time.perf_counter() - start
                if seconds >= min(moment, last):
                    yield seconds, film
                    moment = moment_after(seconds, first)
                if seconds >= last:
                    return


def rows(
    context: RenderContext, names: list[str], settings: RenderSettings, last: float, reference: Picture
) -> list[Row]:
    """Returns a row of errors for each driver and moment, the last of which is after so many seconds."""
    return [
        {"driver": name, "seconds": seconds, "passes": film.passes, "error": error_of(film.linear, reference)}
        for name in names
        for seconds, film in pictures(context, name, settings, last)
    ]


def noise_rows(
    context: RenderContext, names: list[str], settings: RenderSettings, passes: list[int], seeds: int
) -> list[Row]:
    """Returns a row for each driver and number of passes: the noise that pictures of so many seeds estimate, and the
    noise that they have.
    """
    return [
        {"driver": name, "passes": number} | estimated_and_true(films)
        for name in names
        for number, films in films_of_seeds(context, name, settings, passes, seeds).items()
    ]


def films_of_seeds(
    context: RenderContext, name: str, settings: RenderSettings, passes: list[int], seeds: int
) -> dict[int, list[tuple[Picture, float]]]:
    """Returns, for each number of passes, the pictures of seeds 0 to `seeds` - 1 and the noise that
    each one estimates.
    """
    made: dict[int, list[tuple[Picture, float]]] = {number: [] for number in sorted(passes)}
    for seed in range(seeds):
        with closing(DRIVERS[name](context.snapshot, context.tracer, replace(settings, seed=seed))) as driver:
            film = Film(settings.width, settings.height)
            for number, films in made.items():
                while film.passes < number:
                    film.add(driver.render_pass(film.passes))
                films.append((film.linear, film.relative_noise))
    return made


def estimated_and_true(films: list[tuple[Picture, float]]) -> Row:
    """Returns the error of pictures that differ by their seeds alone, and their estimates over it: median and range.

    The error of a picture is that against the mean of the n - 1 others, made less by the noise which that mean has: the
    root of (n - 1) / n. The root of the mean square over the pictures stands for all.

    films: of each picture its pixels, (height, width, 3), and the noise that it estimates.
    """
    seen = np.array([picture for picture, _ in films], np.float64)
    count, total = len(seen), seen.sum(axis=0)
    squares = [error_of(picture, (total - picture) / (count - 1)) ** 2 for picture in seen]
    error = float(np.sqrt(np.mean(squares) * (count - 1) / count))
    ratios = np.array([figures for _, figures in films]) / error
    return {"error": error, "estimated": float(np.median(ratios)), "least": ratios.min(), "most": ratios.max()}


def noise_table(found: list[Row]) -> str:
    """Returns a line for each driver: after so many passes the error, and the estimate over it, with its range."""
    lines = []
    for name, own in by_driver(found).items():
        cells = (
            f"{row['passes']}: {row['error']:.4f}, {row['estimated']:.2f} ({row['least']:.2f} to {row['most']:.2f})"
            for row in own
        )
        lines.append(f"{name:>14}  {'  '.join(cells)}")
    return "\n".join(lines)


def slope(found: list[Row]) -> float:
    """Returns the exponent with which the error falls with time: the slope of the line through the logarithms."""
    seconds, errors = np.log([row["seconds"] for row in found]), np.log([row["error"] for row in found])
    return float(np.polyfit(seconds, errors, 1)[0]) if len(found) > 1 else float("nan")


def by_driver(found: list[Row]) -> dict[str, list[Row]]:
    """Returns the rows of each driver, in the order in which the drivers come."""
    return {row["driver"]: [other for other in found if other["driver"] == row["driver"]] for row in found}


def table(found: list[Row]) -> str:
    """Returns the errors as text: a line for each driver, a column for each moment."""
    lines = []
    for name, own in by_driver(found).items():
        cells = "  ".join(f"{row['seconds']:.1f} s: {row['error']:.4f} ({row['passes']})" for row in own)
        lines.append(f"{name:>14}  {cells}  slope {slope(own):.2f}")
    return "\n".join(lines)


def reference_picture(
    context: RenderContext, settings: RenderSettings, path: Path | None, driver: str, seconds: float
) -> Picture:
    """Returns the reference picture if its file is there; otherwise has a driver make one for so many seconds, and
    keeps it in that file, if it has a name.

    path: `.npy` or `.exr`.

    Raises `UsageError` where the file's picture has another size.
    """
    if path is not None and path.is_file():
        kept = read_picture(path).image
        if kept.shape != (settings.height, settings.width, 3):
            wanted = f"{settings.width}x{settings.height}"
            raise UsageError(f"the reference '{path}' is of {size_words(kept)} pixels; expected {wanted}")
        return kept
    ((_, film),) = pictures(context, driver, replace(settings, seed=REFERENCE_SEED), seconds, seconds)
    if path is not None:
        write_array(path, film.linear)
    return film.linear
