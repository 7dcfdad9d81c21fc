"""This module measures how long pictures take, what took the time, and how their error falls with it.

A picture is rendered as `tracecore render` does it, with several passes under way at once; reading the scene, building
the tree and compiling come before and do not count. Its error is that of `renderer.bench.error_benchmark`, after 1, 2,
4 ... passes and at the end, and is reckoned when all is over.
"""

import copy
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from statistics import median
from typing import Any

from renderer.bench.error_benchmark import Picture, error_of
from renderer.bench.table import aligned
from renderer.drivers import DRIVERS
from renderer.drivers.driver import RenderSettings
from renderer.film.film import Film
from renderer.run import statistics
from renderer.run.session import Limits, expose
from renderer.scene.render_context import RenderContext
from tracecore.dispatch.tracer import TracerLimits

#: So many passes are rendered beforehand, which compiles everything: a driver may learn from its first one.
WARM_UP_PASSES = 2

#: Figures of a row, by the keys of the statistics that they are.
FIGURES = {
    "scene": "scene",
    "driver": "driver",
    "device": "device",
    "kernel": "kernel",
    "threads": "threads",
    "passes": "passes",
    "rays": "rays.total",
    "rays_per_second": "rays_per_second",
    "busy": "coprocessor.busy_fraction",
    "limited_by": "limited_by",
    "trace": "seconds.trace",
    "wait": "seconds.wait",
    "shade": "seconds.shade",
    "lookup": "seconds.lookup",
    "map": "seconds.map",
    "idle": "seconds.idle",
    "python": "seconds.python",
    "start": "seconds.start",
    "film": "seconds.film",
    "noise": "noise",
}

#: Columns of the table that are seconds of the threads.
THREAD_SECONDS = ("trace", "wait", "shade", "lookup", "map", "idle", "python")

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class PicturePlan:
    """Says what is measured of a driver.

    settings: of its pictures.
    passes: of a picture.
    repeats: pictures that are timed; the median counts.
    """

    settings: RenderSettings
    passes: int
    repeats: int


@dataclass(frozen=True, kw_only=True)
class TimedPicture:
    """Holds one picture that was timed.

    seconds: wall time of rendering.
    figures: its statistics.
    films: the seconds until then and the film, after 1, 2, 4 ... passes and in the end.
    """

    seconds: float
    figures: dict[str, Any]
    films: list[tuple[float, Film]]


def picture_row(context: RenderContext, name: str, plan: PicturePlan, reference: Picture) -> Row:
    """Returns the row of a driver: figures of the median picture, and its errors."""
    render_timed(context, name, plan.settings, min(plan.passes, WARM_UP_PASSES))
    made = [render_timed(context, name, plan.settings, plan.passes) for _ in range(plan.repeats)]
    seconds = [one.seconds for one in made]
    middle = sorted(made, key=lambda one: one.seconds)[(len(made) - 1) // 2]
    figures: Row = {key: middle.figures[of] for key, of in FIGURES.items()}
    size = {"width": plan.settings.width, "height": plan.settings.height, "photons": plan.settings.photons}
    times = {"seconds": median(seconds), "least": min(seconds), "most": max(seconds)}
    errors = [error_row(*film, reference) for film in middle.films]
    return figures | size | times | {"errors": errors}


def error_row(seconds: float, film: Film, reference: Picture) -> Row:
    """Returns the error of a film that took so many seconds."""
    return {"passes": film.passes, "seconds": seconds, "error": error_of(film.linear, reference)}


def render_timed(context: RenderContext, name: str, settings: RenderSettings, passes: int) -> TimedPicture:
    """Renders a picture by a driver of its own and times it."""
    before, start = context.tracer.statistics(), time.perf_counter()
    with closing(DRIVERS[name](context.snapshot, context.tracer, settings)) as driver:
        start_seconds = time.perf_counter() - start
        film, films = Film(settings.width, settings.height), []
        for is_last in expose(driver, film, Limits(passes=passes)):
            if is_last or film.passes.bit_count() == 1:
                films.append((time.perf_counter() - start, copy.copy(film)))  # which no later pass changes
        after = context.tracer.statistics()
    measured = statistics.Measured(
        work=driver.work,
        seconds=films[-1][0],
        rays=driver.work.rays.total,
        busy_seconds=after.busy_seconds - before.busy_seconds,
        limits=TracerLimits(kernel_rays_per_second=after.kernel_rays_per_second, bus_bytes_per_second=None),
        passes=film.passes,
        start_seconds=start_seconds,
        film_seconds=film.seconds,
    )
    figures = statistics.collect(context, driver.name, driver.settings, measured) | {"noise": film.relative_noise}
    return TimedPicture(seconds=measured.seconds, figures=figures, films=films)


def table(found: Iterable[Row]) -> str:
    """Returns pictures as text, a line for each."""
    head = ["scene", "driver", "device", "seconds", "passes", "Mrays", "Mrays/s", "busy", *THREAD_SECONDS]
    rows = [[*head, "limited by", "noise", "error"]]
    for row in found:
        cells = [row["scene"], row["driver"], row["device"]]
        cells += [f"{row['seconds']:.3f} ({row['least']:.3f}-{row['most']:.3f})", str(row["passes"])]
        cells += [f"{row['rays'] / 1e6:.1f}", f"{row['rays_per_second'] / 1e6:.1f}", f"{row['busy']:.0%}"]
        cells += [f"{row[name]:.3f}" for name in THREAD_SECONDS]
        rows.append([*cells, row["limited_by"], f"{row['noise']:.4f}", f"{row['errors'][-1]['error']:.4f}"])
    return aligned(rows)


def peer_table(found: Iterable[Row]) -> str:
    """Returns pictures of peers as text: a line for each, a column for each number of samples."""
    lines = []
    for row in found:
        cells = "  ".join(f"{one['seconds']:.3f} s: {one['error']:.4f} ({one['passes']})" for one in row["errors"])
        lines.append(f"{row['scene']}, {row['peer']} on the {row['device']}: {cells}")
    return "\n".join(lines)
