"""This module makes one picture: a driver runs to its limits, and files are written of it.

The loop over passes has pictures from time to time, a time limit, and interrupts, and tells how far it is, by a bar for
people or lines of JSON for programs that wait for it.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from renderer.atomic_file import write_each
from renderer.film.film import Film
from renderer.film.layers import columns_of
from renderer.film.picture import Picture
from renderer.interrupts import held_back, interrupted, interruptible, let_through
from renderer.plain_text import as_it_is
from renderer.run.picture.pass_source import PassSource
from renderer.run.picture.picture_files import PictureFiles, Saving, write_others
from renderer.run.picture.picture_record import PictureRecord
from renderer.run.plan import Plan
from renderer.run.resuming.checkpoints import Checkpoints
from scenes.files.written_file import target_of

if TYPE_CHECKING:
    from renderer.drivers.driver import Carried, MadeShare, RenderSettings, Work
    from renderer.run.plan import PassLimits
    from renderer.scene.render_context import RenderContext

log = logging.getLogger(__name__)

#: Is told how many passes there are and how many rays were traced for them.
Move = Callable[[int, int], None]


class BegunPicture(NamedTuple):
    """Is a picture whose driver has been made.

    source: of its passes, to be closed.
    checkpoints: of the picture.
    seconds: wall time that all this took.
    """

    source: PassSource
    checkpoints: Checkpoints
    seconds: float


def make_picture(context: RenderContext, plan: Plan, path: Path | None) -> Picture | None:
    """Makes a picture, and writes its files unless `path` is None.

    context: the scene at the picture's moment, with a tracer of the plan's choice.

    Returns the picture, or None where no pass was finished. Raises `CheckpointError` where it is to go on from a
    checkpoint and cannot.
    """
    return finish_picture(begin_picture(context, plan, path), path)


def begin_picture(context: RenderContext, plan: Plan, path: Path | None) -> BegunPicture:
    """Makes the driver of a picture. context, path: as of `make_picture`; no checkpoint is kept without a path."""
    start, chosen = time.perf_counter(), plan.settings
    adds_up = plan.limits.is_of_passes_alone and chosen.clamp is None  # nobody looks at each pass
    settings = replace(plan.driver_settings(context.snapshot), adds_up=adds_up)
    is_to_a_file = path is not None and target_of(path) is not None  # and no device or pipe

    def key_of(passes: int) -> str:
        from renderer.run.resuming.frame_key import frame_key

        return frame_key(plan, context.snapshot, passes)

    checkpoints = Checkpoints(path if is_to_a_file else None, chosen, key_of)
    source = PassSource(context, plan, settings, is_contained=True)
    return BegunPicture(source, checkpoints, time.perf_counter() - start)


def finish_picture(begun: BegunPicture, path: Path | None, *, is_frame: bool = False) -> Picture | None:
    """Makes the passes of a picture, writes its files unless `path` is None, and closes its source.

    is_frame: whether it is a frame of a sequence: no linear radiance is written beside a .png, and the files of a
    finished one are left to the caller.

    Returns and raises as `make_picture` does.
    """
    source, checkpoints, seconds = begun
    start, plan = time.perf_counter() - seconds, source.plan
    settings, chosen = source.driver.settings, plan.settings
    limits = plan.limits.after(checkpoints.spent.seconds)
    with closing(source), held_back():
        film = new_film(settings, chosen.clamp, limits.first)
        checkpoints.take_up(source.driver, film)
        record = PictureRecord(source, start, checkpoints.spent)
        files = PictureFiles(path, record, checkpoints, is_frame=is_frame)
        name = "-" if plan.pipe else None if path is None else str(path)
        told = Told(name, chosen.progress, chosen.quiet)
        ends = list[bool]()
        write_each(
            lambda: ends.append(expose_and_save(source, film, limits, files, told)),
            partial(write_others, source, film),
        )
        if files.picture is None or files.picture.is_finished == ends[0]:
            return files.picture
        return replace(files.picture, is_finished=ends[0])


def new_film(settings: RenderSettings, clamp: float | None, first: int = 0) -> Film:
    """Returns a film for the passes of a driver with some settings. clamp, first: as `Film` has them."""
    made_of = *settings.film_size, columns_of(settings), clamp, first
    if not settings.adaptive:
        return Film(*made_of)
    from renderer.film.adaptive import AdaptiveFilm

    return AdaptiveFilm(*made_of)


def picture_by_pass(context: RenderContext, plan: Plan) -> Iterator[Picture]:
    """Yields the picture after each pass, up to its limits; no file is written."""
    start = time.perf_counter()
    settings = plan.driver_settings(context.snapshot)
    with closing(PassSource(context, plan, settings, is_contained=True)) as source:
        record = PictureRecord(source, start)
        film = new_film(settings, plan.settings.clamp)
        for is_last in expose(source, film, plan.limits):
            yield replace(record.picture(film), is_finished=is_last)


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


class PassMaker(Protocol):
    """Makes passes: a driver, or what has drivers make them."""

    @property
    def work(self) -> Work:
        """Returns what has been done so far."""

    def passes(self, indices: Iterator[int], carried: Carried | None = None) -> Generator[MadeShare]:
        """Yields passes, as `Driver.passes` does."""


class Results(Protocol):
    """Writes what comes of a render."""

    def savings(self) -> Sequence[Saving]:
        """Returns what is saved from time to time, from now on."""

    def save_all(self, film: Film, *, is_finished: bool) -> None:
        """Writes the picture and all that goes with it. is_finished: whether its limits are reached."""


def expose_and_save(maker: PassMaker, film: Film, limits: PassLimits, results: Results, told: Told = TELL_ALL) -> bool:
    """Adds passes to a film up to the limits and saves the results.

    Ctrl-C, SIGTERM and SIGHUP end it early; then, as after an error, the passes that are finished are saved, unless
    there are none. What comes after the first of them, or while all is being saved, changes nothing more.

    told: what is told meanwhile.

    Returns whether it ran to its limits undisturbed.
    """
    finished = False
    with interruptible(), held_back():
        try:
            with let_through(), progress(told, limits, film.end) as move:
                savings = results.savings()
                for _ in expose(maker, film, limits):
                    move(film.end, maker.work.rays.total)
                    for saving in savings:
                        saving.save_if_due(film, quiet=told.quiet)
                    if interrupted():  # where a callback of C has swallowed the exception
                        raise KeyboardInterrupt
            finished = True
        except KeyboardInterrupt:
            pass
        finally:
            if film.passes > 0:
                results.save_all(film, is_finished=finished)
                tell_end(told, film, finished=finished)
        return finished and not interrupted()


def expose(maker: PassMaker, film: Film, limits: PassLimits) -> Iterator[bool]:
    """Adds passes to a film up to the limits, and yields after each whether it was the last, or after several that a
    member of a fleet has added up; none where they are reached.

    Where time is limited, passes that are under way when it is over are added too. A pass that is finished is in the
    film before another one is waited for.
    """
    if limits.reached(film):
        return
    with closing(allotted_passes(maker, film, limits)) as passes:
        made = next(passes, None)
        while made is not None:
            if made.passes == 1:
                film.add(made.values, made.carried)
            else:
                film.join(made.values, made.passes)
            is_last, made = limits.reached(film), None
            # Whether another one follows may be known only when it is there.
            if not is_last and (limits.seconds is not None or film.is_adaptive):
                made = next(passes, None)
                is_last = made is None
            yield is_last
            if not is_last and made is None:
                made = next(passes, None)


def allotted_passes(maker: PassMaker, film: Film, limits: PassLimits) -> Generator[MadeShare]:
    """Yields the passes of a film up to the limits; each samples the pixels that the film allots, and is in the film
    before the next one is asked for."""
    start = time.perf_counter()

    def may_begin(index: int) -> bool:
        return index < end and limits.allow(index, time.perf_counter() - start)

    while (end := film.allot(limits.noise)) > film.end:
        with closing(maker.passes(takewhile(may_begin, count(film.end)), film.carried)) as passes:
            yield from passes
        if film.end < end:
            return
