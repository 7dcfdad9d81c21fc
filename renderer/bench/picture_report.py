"""A report shows whole pictures side by side: who reaches which error first, and what took the time.

It is a page like that of kernels (`renderer.bench.report`), made of the same parts.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from renderer.bench.page import MISSING, Circumstances, Figure, Page, PageCell, PageTable, Section
from renderer.bench.page import Row as TableRow
from renderer.bench.picture_scenes import THREAD_SECONDS
from renderer.plain_text import rounded

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

#: Times that differ by less than this share are taken as alike.
ALIKE = 0.05


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
        group=lambda maker: maker.rpartition(" on the ")[0],
        sections=sections,
    ).html()


def _pictures(scene: str, found: Sequence[Row]) -> PageTable:
    own = [row for row in found if row["scene"] == scene]
    error = target_of(own)
    head = ["", f"time to {error:.2%}", "seconds", "error", "noise", "passes", "Mrays/s", "busy"]
    rows = [[maker_of(row), _until(row, error), *_figures(row)] for row in own]
    return PageTable(caption=scene, head=head, rows=rows, best=BEST)


def _until(row: Row, error: float) -> PageCell:
    seconds = seconds_until(row, error)
    return PageCell(text=MISSING) if seconds is None else PageCell(text=duration(seconds), value=seconds)


def _figures(row: Row) -> list[str | PageCell]:
    """Returns the cells of a row after the first two; of a peer those that are known."""
    last = row["errors"][-1]
    passes, error = f"{last['passes']}", PageCell(text=f"{least_error(row):.2%}", value=least_error(row))
    if "driver" not in row:
        return [PageCell(text=duration(last["seconds"])), error, MISSING, passes, MISSING, MISSING]
    spread = f"{rounded(row['least'], 3)} – {rounded(row['most'], 3)}"
    rate = row["rays_per_second"] / 1e6
    return [
        PageCell(text=duration(row["seconds"]), value=row["seconds"], note=spread),
        error,
        PageCell(text=f"{row['noise']:.2%}", value=row["noise"]),
        passes,
        PageCell(text=rounded(rate, 3), value=rate),
        f"{row['busy']:.0%}",
    ]


def _threads(scene: str, ours: Sequence[Row]) -> PageTable:
    rows: list[TableRow] = [
        [maker_of(row), row["limited_by"], *(rounded(row[name], 3) for name in THREAD_SECONDS)]
        for row in ours
        if row["scene"] == scene
    ]
    return PageTable(caption=scene, head=["", "limited by", *THREAD_SECONDS], rows=rows)


def _errors(found: Sequence[Row]) -> PageTable:
    rows: list[TableRow] = [
        [maker_of(row), row["scene"], f"{one['passes']}", duration(one["seconds"]), f"{one['error']:.3%}"]
        for row in found
        for one in row["errors"]
    ]
    return PageTable(head=["", "scene", "passes", "seconds", "error"], rows=rows)


@dataclass(frozen=True, kw_only=True)
class Reached:
    """Says when a driver, or a peer, on a device has reached an error.

    maker: who, in words.
    seconds: until then.
    is_peer: whether it is a peer, which stands beside ours and never wins.
    """

    maker: str
    seconds: float
    is_peer: bool


def name_of(row: Row) -> str:
    """Returns what made a row's pictures: a driver, or a peer."""
    name: str = row.get("driver") or row["peer"]
    return name


def maker_of(row: Row) -> str:
    """Returns what made the pictures of a row, in words."""
    return f"{name_of(row)} on the {row['device']}"


def least_error(row: Row) -> float:
    """Returns the least error that the pictures of a row have had."""
    return float(min(one["error"] for one in row["errors"]))


def target_of(found: Iterable[Row]) -> float:
    """Returns the least error of a scene that all of our drivers have reached on all devices."""
    return max(least_error(row) for row in found if "driver" in row)


def seconds_until(row: Row, error: float) -> float | None:
    """Returns the seconds after which a row has an error, or None where it has never had it.

    Between two of its pictures the logarithm of the error is linear in that of the seconds, as in the plot.
    """
    points = [(float(one["seconds"]), float(one["error"])) for one in row["errors"]]
    if points[0][1] <= error:
        return points[0][0]
    for (before, above), (after, below) in pairwise(points):
        if below <= error:
            if below <= 0.0 or before <= 0.0:
                return after
            share = math.log(above / error) / math.log(above / below)
            return before * (after / before) ** share
    return None


def answer(found: Sequence[Row]) -> list[str]:
    """Returns the answer of a benchmark of pictures: a sentence on who is first where, then a text for each scene.

    found: rows of drivers and of peers, of all scenes.
    """
    scenes = list(dict.fromkeys(row["scene"] for row in found if "driver" in row))
    if not scenes:
        return []
    races = {scene: race([row for row in found if row["scene"] == scene]) for scene in scenes}
    places: dict[str, list[str]] = {}
    for scene, reached in races.items():
        first = next(one for one in reached if not one.is_peer)
        places.setdefault(first.maker, []).append(scene)
    lead = "; ".join(f"{maker} in {', '.join(own)}" for maker, own in places.items())
    texts = [_of_scene(scene, [row for row in found if row["scene"] == scene], races[scene]) for scene in scenes]
    return [f"First to the error that all reach: {lead}.", *texts]


def race(found: Sequence[Row]) -> list[Reached]:
    """Returns who of a scene has reached the error that all of ours reach, the fastest first."""
    error = target_of(found)
    times = ((row, seconds_until(row, error)) for row in found)
    reached = [
        Reached(maker=maker_of(row), seconds=seconds, is_peer="peer" in row)
        for row, seconds in times
        if seconds is not None
    ]
    return sorted(reached, key=lambda one: one.seconds)


def _of_scene(scene: str, found: Sequence[Row], reached: Sequence[Reached]) -> str:
    """Returns who of a scene is first, by how much, who has the least error, and the fastest peer."""
    ours = [one for one in reached if not one.is_peer]
    peers = [one for one in reached if one.is_peer]
    first, error = ours[0], target_of(found)
    text = f"{scene}: {first.maker} has an error of {error:.2%} after {duration(first.seconds)}"
    text += "; nothing else was measured." if len(ours) == 1 else f", {_lead(first, ours[1])}."
    row = min((row for row in found if "driver" in row), key=least_error)
    if len(ours) > 1 and least_error(row) < error:
        seconds = seconds_until(row, least_error(row))
        assert seconds is not None
        text += f" The least error is that of {maker_of(row)}, {least_error(row):.2%} after {duration(seconds)}."
    if peers:
        text += f" The fastest peer, {peers[0].maker}, takes {peers[0].seconds / first.seconds:.2f} times as long."
    elif any("peer" in row for row in found):
        text += " No peer has reached it."
    return text


def _lead(first: Reached, second: Reached) -> str:
    """Returns by how much one is ahead of another."""
    if second.seconds < (1.0 + ALIKE) * first.seconds:
        return f"and {second.maker} is as fast"
    return f"{second.seconds / first.seconds:.2f} times as fast as {second.maker}"


def duration(seconds: float) -> str:
    """Returns seconds for people to read, three digits of them."""
    return f"{rounded(seconds, 3)} s"
