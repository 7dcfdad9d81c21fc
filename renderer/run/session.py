"""This module has the loop over passes: progress, pictures from time to time, time limit, interrupts."""

import logging
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from itertools import count, takewhile
from typing import TYPE_CHECKING, Protocol

from renderer.drivers.driver import Carried, MadeShare, Work
from renderer.errors import UsageError
from renderer.film.film import Film
from renderer.interrupts import held_back, interrupted, interruptible, let_through
from renderer.plain_text import as_it_is

if TYPE_CHECKING:
    from tqdm import tqdm

#: Between two savings of a kind at least so many times as long as the last one took.
SAVE_SPACING = 20.0

#: So many passes are needed to estimate their noise.
LEAST_PASSES = 4

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class PassLimits:
    """Says when to stop, whichever comes first.

    passes: how many at most.
    seconds: wall time after which no pass begins.
    noise: of the picture and bias of the photon search, as `Film.relative_deviation`, once LEAST_PASSES show them.
    """

    passes: int | None = None
    seconds: float | None = None
    noise: float | None = None

    def __post_init__(self) -> None:
        if self.passes is None and self.seconds is None and self.noise is None:
            raise UsageError("a render needs a number of passes, a time limit or a target noise; got none")

    def allow(self, index: int, seconds: float) -> bool:
        """Returns whether pass `index` may begin after so many seconds; the first one always may."""
        if self.passes is not None and index >= self.passes:
            return False
        return index == 0 or self.seconds is None or seconds < self.seconds

    def reached(self, film: Film) -> bool:
        """Returns whether a film is as it should be, but for the time that it may take."""
        passes = film.passes
        return (self.passes is not None and passes >= self.passes) or (
            self.noise is not None and passes >= LEAST_PASSES and film.relative_deviation <= self.noise
        )

    def after(self, seconds: float) -> "PassLimits":
        """Returns the limits of a render that has taken so many seconds before."""
        return self if self.seconds is None else replace(self, seconds=self.seconds - seconds)


@dataclass(frozen=True, kw_only=True)
class Saving:
    """Describes what is saved from time to time while passes are made.

    what: its name in words.
    save: saves it; a failure is told, and is not the end of the render.
    interval: at least so many seconds between two times.
    first: seconds from the start to the first time.
    """

    what: str
    save: Callable[[Film], None]
    interval: float
    first: float


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
        """Returns what is saved from time to time."""

    def save_all(self, film: Film, *, is_finished: bool) -> None:
        """Writes the picture and all that goes with it. is_finished: whether its limits are reached."""


def render(driver: PassMaker, film: Film, limits: PassLimits, results: Results, *, quiet: bool = False) -> bool:
    """Add passes to a film up to the limits and save the results.

    Ctrl-C, SIGTERM and SIGHUP end it early; then, as after an error, the passes that are finished are saved, unless
    there are none. What comes after the first of them, or while all is being saved, changes nothing more. A bar on
    stderr shows progress unless `quiet` or where stderr is no terminal. Returns whether it ran to its limits
    undisturbed.
    """
    finished = False
    with interruptible(), held_back():
        try:
            with let_through(), _progress_bar(limits, film.passes, quiet) as bar:
                observer = _Observer(driver, film, results.savings(), bar, quiet=quiet)
                for _ in expose(driver, film, limits):
                    observer.after_pass()
            finished = True
        except KeyboardInterrupt:
            pass
        finally:
            if film.passes > 0:
                results.save_all(film, is_finished=finished)
        return finished and not interrupted()


class _Observer:
    """Looks on between two passes: moves the bar, and saves what it is time for."""

    def __init__(
        self, driver: PassMaker, film: Film, savings: Sequence[Saving], bar: "tqdm[None] | None", *, quiet: bool
    ) -> None:
        self._driver, self._film, self._bar = driver, film, bar
        self._start = time.perf_counter()
        self._savings = [_Clocked(one, self._start, quiet=quiet) for one in savings]

    @property
    def seconds(self) -> float:
        """Returns the wall time since the start, in seconds."""
        return time.perf_counter() - self._start

    def after_pass(self) -> None:
        if self._bar is not None:
            rays_per_second = self._driver.work.rays.total / max(self.seconds, 1e-9)
            self._bar.set_postfix_str(f"{rays_per_second / 1e6:.2f} Mrays/s", refresh=False)
            self._bar.update()
        for one in self._savings:
            one.save_if_due(self._film)
        if interrupted():  # where a callback of C has swallowed the exception
            raise KeyboardInterrupt


class _Clocked:
    """Saves something when it is time. start: of the render, by `time.perf_counter`."""

    def __init__(self, saving: Saving, start: float, *, quiet: bool) -> None:
        self._saving, self._next = saving, start + saving.first
        self._is_quiet, self._has_failed = quiet, False

    def save_if_due(self, film: Film) -> None:
        """Saves if it is time; says once of several failures in a row that it could not be done."""
        begin = time.perf_counter()
        if begin < self._next:
            return
        try:
            self._saving.save(film)
            self._has_failed = False
        except OSError as error:
            if not (self._is_quiet or self._has_failed):
                log.warning("note: cannot save %s now, and render on: %s", self._saving.what, error)
            self._has_failed = True
        end = time.perf_counter()
        self._next = end + max(self._saving.interval, SAVE_SPACING * (end - begin))


def expose(driver: PassMaker, film: Film, limits: PassLimits) -> Iterator[bool]:
    """Add passes to a film up to the limits, and yield after each whether it was the last; none where they are reached.

    Where time is limited, passes that are under way when it is over are added too. A pass that is finished is in the
    film before another one is waited for.
    """
    if limits.reached(film):
        return
    start = time.perf_counter()
    indices = takewhile(lambda index: limits.allow(index, time.perf_counter() - start), count(film.passes))
    with closing(driver.passes(indices, film.carried)) as passes:
        made = next(passes, None)
        while made is not None:
            film.add(made.values, made.carried)
            is_last, made = limits.reached(film), None
            if not is_last and limits.seconds is not None:  # whether another one follows is known when it is there
                made = next(passes, None)
                is_last = made is None
            yield is_last
            if not is_last and made is None:
                made = next(passes, None)


def _progress_bar(limits: PassLimits, done: int, quiet: bool) -> "AbstractContextManager[tqdm[None] | None]":
    """Returns a bar, or nothing where nobody would see it; only then nothing is loaded for it."""
    if quiet or not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        return nullcontext()
    from tqdm.auto import tqdm

    return tqdm(
        total=limits.passes, initial=done, desc="rendering", unit="pass", file=as_it_is(sys.stderr), leave=False
    )
