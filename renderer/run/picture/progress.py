"""How far a picture is: a bar for people, or lines of JSON for programs that wait for it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from renderer.plain_text import as_it_is

if TYPE_CHECKING:
    from renderer.film.film import Film
    from renderer.run.plan import PassLimits

#: Is told how many passes there are and how many rays were traced for them.
Move = Callable[[int, int], None]


class Told(NamedTuple):
    """Says what is told on stderr while a picture is made.

    picture: its file, as it was asked for.
    progress: "bar", on a terminal alone, or "json".
    quiet: whether nothing is told but errors, and what was asked for by `progress`.
    """

    picture: str | None = None
    progress: str = "bar"
    quiet: bool = False


#: What is told where nobody said what.
TELL_ALL = Told()


@contextmanager
def progress(told: Told, limits: PassLimits, done: int) -> Iterator[Move]:
    """Gives a function to call after each pass. done: passes that are there already."""
    if told.progress == "json":
        yield json_lines(told, limits)
    elif told.quiet or not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        yield lambda passes, rays: None  # nobody would see a bar, and nothing is loaded for it
    else:
        from tqdm.auto import tqdm

        with tqdm(
            total=limits.passes, initial=done, desc="rendering", unit="pass", file=as_it_is(sys.stderr), leave=False
        ) as bar:
            start = time.perf_counter()

            def move(passes: int, rays: int) -> None:
                bar.n = passes - 1
                bar.set_postfix_str(f"{rays / since(start) / 1e6:.2f} Mrays/s", refresh=False)
                bar.update()

            yield move


def json_lines(told: Told, limits: PassLimits) -> Move:
    """Returns a function that writes a line after each pass: which picture, passes that there are and that are wanted
    (null where time or noise decides), seconds, rays, and rays a second."""
    start = time.perf_counter()

    def move(passes: int, rays: int) -> None:
        seconds = since(start)
        figures = {"passes": passes, "of": limits.passes, "seconds": round(seconds, 3), "rays": rays}
        write_line({"event": "pass", "picture": told.picture, **figures, "rays_per_second": round(rays / seconds)})

    return move


def tell_end(told: Told, film: Film, *, finished: bool) -> None:
    """Writes the last line of JSON, where lines were asked for: a picture that has been saved, and whether it is
    finished."""
    if told.progress == "json":
        write_line({"event": "saved", "picture": told.picture, "passes": film.passes, "finished": finished})


def write_line(figures: dict[str, Any]) -> None:
    """Writes a line of JSON to stderr, all of it at once, so that no other thread writes within it."""
    print(json.dumps(figures) + "\n", end="", file=as_it_is(sys.stderr), flush=True)


def since(start: float) -> float:
    """Returns seconds since a time, more than none."""
    return max(time.perf_counter() - start, 1e-9)
