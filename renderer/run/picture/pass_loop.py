"""This module has the loop over passes: progress, pictures from time to time, time limit, interrupts."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from itertools import count, takewhile
from typing import TYPE_CHECKING, Protocol

from renderer.interrupts import held_back, interrupted, interruptible, let_through
from renderer.run.picture.progress import TELL_ALL, Told, progress, tell_end

if TYPE_CHECKING:
    from renderer.drivers.driver import Carried, MadeShare, Work
    from renderer.film.film import Film
    from renderer.run.plan import PassLimits

#: Between two savings of a kind at least so many times as long as the last one took.
SAVE_SPACING = 20.0

log = logging.getLogger(__name__)


class PassMaker(Protocol):
    """Makes passes: a driver, or what has drivers make them."""

    @property
    def work(self) -> Work:
        """Returns what has been done so far."""

    def passes(self, indices: Iterator[int], carried: Carried | None = None) -> Generator[MadeShare]:
        """Yields passes, as `Driver.passes` does."""


class Saving:
    """Saves something from time to time while passes are made, which begin now.

    what: its name in words.
    save: saves it; a failure is told, and is not the end of the render.
    interval: at least so many seconds between two times.
    first: seconds from now to the first time.
    """

    def __init__(self, what: str, save: Callable[[Film], None], interval: float, first: float) -> None:
        self._what, self._save, self._interval = what, save, interval
        self._next, self._has_failed = time.perf_counter() + first, False

    def save_if_due(self, film: Film, *, quiet: bool) -> None:
        """Saves if it is time; says once of several failures in a row that it could not be done, unless `quiet`."""
        begin = time.perf_counter()
        if begin < self._next:
            return
        try:
            self._save(film)
            self._has_failed = False
        except OSError as error:
            if not (quiet or self._has_failed):
                log.warning("note: cannot save %s now, and render on: %s", self._what, error)
            self._has_failed = True
        end = time.perf_counter()
        self._next = end + max(self._interval, SAVE_SPACING * (end - begin))


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
    start = time.perf_counter()
    indices = takewhile(lambda index: limits.allow(index, time.perf_counter() - start), count(film.end))
    with closing(maker.passes(indices, film.carried)) as passes:
        made = next(passes, None)
        while made is not None:
            if made.passes == 1:
                film.add(made.values, made.carried)
            else:
                film.join(made.values, made.passes)
            is_last, made = limits.reached(film), None
            if not is_last and limits.seconds is not None:  # whether another one follows is known when it is there
                made = next(passes, None)
                is_last = made is None
            yield is_last
            if not is_last and made is None:
                made = next(passes, None)
