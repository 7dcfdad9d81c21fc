"""A report shows whole pictures side by side: who reaches which error first, and what took the time.

It is a page like that of kernels (`renderer.bench.report`), made of the same parts.
"""

from collections.abc import Sequence
from typing import Any

from renderer.bench.page import MISSING, Cell, Circumstances, Figure, Page, Section, Table
from renderer.bench.page import Row as TableRow
from renderer.bench.picture_answer import answer, duration, least_error, maker_of, name_of, seconds_until, target_of
from renderer.bench.picture_benchmark import THREAD_SECONDS

Row = dict[str, Any]

#: What the answer rests on.
ANSWER = (
    "Errors are relative, against the same reference on all devices. Times are wall time of rendering the median "
    "picture; reading the scene, building the tree and compiling do not count. The error that all reach is the largest "
    "of the least errors of our drivers; between two pictures the logarithm of the error is taken as linear in that of "
    "the time. The best of each column is marked with a star."
)

#: What the columns mean.
PICTURES = (
    "Time to the error: that all of our drivers reach on this scene. Seconds: the median of the pictures, below it the "
    "range. Error: the least. Noise: what the picture estimates of itself. Busy: share of the time in which the device "
    "traced."
)
THREADS = "Seconds of the threads, their mean, of the median picture; limited by: what to make faster first."

#: Which value is best in the columns of pictures, by their index; the first has names.
BEST = {1: min, 2: min, 3: min, 4: min, 6: max}


def page(found: Sequence[Row], about: Circumstances, plot: Figure) -> str:
    """Returns the page as HTML.

    found: rows of drivers and of peers, as `renderer.bench.figure_keys.PICTURES` has them.
    about: how they were measured.
    plot: of their errors over time.
    """
    scenes = list(dict.fromkeys(row["scene"] for row in found))
    ours = [row for row in found if "driver" in row]
    sections = [
        Section(title="Error over time", figures=[plot]),
        Section(title="Pictures", texts=[PICTURES], tables=[_pictures(scene, found) for scene in scenes]),
        Section(title="What took the time", texts=[THREADS], tables=[_threads(scene, ours) for scene in scenes]),
        Section(title="All errors", tables=[_errors(found)], folded="each number of passes"),
    ]
    return Page(
        title=f"Pictures of {about.scene}",
        about=about,
        answer=answer(found),
        rests_on=ANSWER,
        legend="drivers and peers",
        groups=list(dict.fromkeys(map(name_of, found))),
        group=_group,
        sections=sections,
    ).html()


def _group(maker: str) -> str:
    """Returns the driver or peer that is named by the first cell of a row."""
    return maker.rpartition(" on the ")[0]


def _pictures(scene: str, found: Sequence[Row]) -> Table:
    own = [row for row in found if row["scene"] == scene]
    error = target_of(own)
    head = ["", f"time to {error:.2%}", "seconds", "error", "noise", "passes", "Mrays/s", "busy"]
    rows = [[maker_of(row), _until(row, error), *_figures(row)] for row in own]
    return Table(caption=scene, head=head, rows=rows, best=BEST)


def _until(row: Row, error: float) -> Cell:
    seconds = seconds_until(row, error)
    return Cell(text=MISSING) if seconds is None else Cell(text=duration(seconds), value=seconds)


def _figures(row: Row) -> list[str | Cell]:
    """Returns the cells of a row after the first two; of a peer those that are known."""
    last = row["errors"][-1]
    passes, error = f"{last['passes']}", Cell(text=f"{least_error(row):.2%}", value=least_error(row))
    if "driver" not in row:
        return [Cell(text=duration(last["seconds"])), error, MISSING, passes, MISSING, MISSING]
    spread = f"{row['least']:.3g} – {row['most']:.3g}"
    rate = row["rays_per_second"] / 1e6
    return [
        Cell(text=duration(row["seconds"]), value=row["seconds"], note=spread),
        error,
        Cell(text=f"{row['noise']:.2%}", value=row["noise"]),
        passes,
        Cell(text=f"{rate:.3g}", value=rate),
        f"{row['busy']:.0%}",
    ]


def _threads(scene: str, ours: Sequence[Row]) -> Table:
    rows: list[TableRow] = [
        [maker_of(row), row["limited_by"], *(f"{row[name]:.3g}" for name in THREAD_SECONDS)]
        for row in ours
        if row["scene"] == scene
    ]
    return Table(caption=scene, head=["", "limited by", *THREAD_SECONDS], rows=rows)


def _errors(found: Sequence[Row]) -> Table:
    rows: list[TableRow] = [
        [maker_of(row), row["scene"], f"{one['passes']}", duration(one["seconds"]), f"{one['error']:.3%}"]
        for row in found
        for one in row["errors"]
    ]
    return Table(head=["", "scene", "passes", "seconds", "error"], rows=rows)
