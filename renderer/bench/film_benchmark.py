"""This module measures how long films take, and what took the time.

A film is made as users make it, by the command `tracecore render` in a process of its own, into a folder that is
removed. So its start counts, and what went on at once is as it is there.
"""

import json
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from PIL import Image

from renderer.bench.figure_keys import FILM_ROWS
from renderer.bench.table import aligned
from renderer.errors import RenderError, UsageError
from renderer.run.picture.picture_files import statistics_path
from renderer.run.statistics import ratio
from tracecore.child_process import start_python

#: So many frames are made beforehand, which compiles everything.
WARM_UP_FRAMES = 2

#: Figures of a row, by the keys of a frame's statistics that they are.
FIGURES = ("scene", "driver", "device", "kernel", "shading", "threads", "passes", "triangles")

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class TimedFilm:
    """Holds one film that was timed.

    seconds: wall time of the command, as seen from outside.
    film: its statistics.
    frame: those of its first frame.
    size: width and height of the first frame, pixels.
    """

    seconds: float
    film: dict[str, Any]
    frame: dict[str, Any]
    size: tuple[int, int]


def film_row(words: Sequence[str], frames: range, repeats: int, device: str) -> Row:
    """Returns the row of a device: figures of the median of so many films. Raises what `make_film` raises.

    words: of the command line of `tracecore render`, without frames, device and output.
    """
    make_film(words, frames[:WARM_UP_FRAMES], device)
    made = sorted((make_film(words, frames, device) for _ in range(repeats)), key=lambda one: one.seconds)
    middle, seconds = made[(len(made) - 1) // 2], [one.seconds for one in made]
    row = {name: middle.frame[name] for name in FIGURES}
    row |= {"width": middle.size[0], "height": middle.size[1], "frames": len(frames)}
    row |= {"seconds": median(seconds), "least": seconds[0], "most": seconds[-1]}
    row["frames_per_second"] = ratio(len(frames), row["seconds"])
    row["rays_share"] = ratio(middle.film["seconds.main.rays"], middle.seconds)
    row["outside"] = middle.seconds - middle.film["seconds.wall"]
    for key in FILM_ROWS:
        _, thread, name = key.split(".")
        row.setdefault(thread, {})[name] = middle.film[key]
    return row


def make_film(words: Sequence[str], frames: range, device: str) -> TimedFilm:
    """Returns a film of these frames, which is made and removed. words: as of `film_row`.

    Raises `UsageError` or `RenderError` with what the command says, where it cannot make the film or fails.
    """
    with tempfile.TemporaryDirectory(prefix="tracecore-") as folder:
        path = Path(folder, "film.gif")
        chosen = ["--frames", f"{frames[0]}:{frames[-1]}:{frames.step}", "--device", device, "--quiet"]
        start = time.perf_counter()
        run(["render", *words, *chosen, "-o", str(path)])
        seconds = time.perf_counter() - start
        first = min(path.parent.glob("film-*.png"))
        with Image.open(first) as picture:
            size = picture.size
        film, frame = (json.loads(statistics_path(one).read_text(encoding="utf-8")) for one in (path, first))
        return TimedFilm(seconds=seconds, film=film, frame=frame, size=size)


def run(words: Sequence[str]) -> None:
    """Runs a command of this program in a process of its own, which ends where this one is interrupted. Raises what it
    says.
    """
    heard: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with start_python(["-m", "renderer", *words], text=True, start_new_session=True, **heard) as process:
        try:
            _, said = process.communicate()
        except BaseException:
            process.terminate()
            raise
    if process.returncode != 0:
        last = (said.strip().splitlines() or [f"it ended with status {process.returncode}"])[-1]
        told = last.removeprefix("tracecore: error: ")
        raise UsageError(told) if process.returncode == 2 else RenderError(f"the film failed: {told}")


def table(found: Iterable[Row]) -> str:
    """Returns films as text: a line for each, and below it what took the time."""
    found = list(found)
    head = ["scene", "driver", "device", "frames", "pixels", "passes", "seconds", "frames/s", "rays"]
    lines = [head]
    for row in found:
        cells = [row["scene"], row["driver"], row["device"], str(row["frames"]), f"{row['width']}x{row['height']}"]
        cells += [str(row["passes"]), f"{row['seconds']:.2f} ({row['least']:.2f}-{row['most']:.2f})"]
        lines.append([*cells, f"{row['frames_per_second']:.2f}", f"{row['rays_share']:.0%}"])
    spent = [["seconds of", *(name for name in found[0]["main"]), "outside"]]
    spent += [["main", *(f"{value:.2f}" for value in row["main"].values()), f"{row['outside']:.2f}"] for row in found]
    meanwhile = [
        "meanwhile: "
        + ", ".join(f"{name} {value:.2f}" for who in ("player", "opener", "writer") for name, value in row[who].items())
        for row in found
    ]
    return "\n".join([aligned(lines), aligned(spent), *meanwhile])
