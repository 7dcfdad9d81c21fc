"""The loop over passes: progress, pictures from time to time, time limit, interrupts."""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Protocol

from tqdm import tqdm

from renderer.driver import Driver
from renderer.errors import UsageError
from renderer.film import Film

#: At least so long between two unfinished pictures, in seconds.
SAVE_INTERVAL = 5.0

#: And at least so many times as long as it took to write the last one.
SAVE_SPACING = 20.0


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When to stop, whichever comes first. passes: how many at most. seconds: wall time after which no pass begins."""

    passes: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.passes is None and self.seconds is None:
            raise UsageError("a render needs a number of passes or a time limit; got neither")

    def reached(self, passes: int, seconds: float) -> bool:
        """Whether to stop after so many passes and seconds; never before the first pass."""
        if passes == 0:
            return False
        return (self.passes is not None and passes >= self.passes) or (
            self.seconds is not None and seconds >= self.seconds
        )


class Results(Protocol):
    """Where pictures go."""

    def save_picture(self, film: Film) -> None:
        """Write the unfinished picture, to be looked at."""

    def save_all(self, film: Film) -> None:
        """Write the picture and all that goes with it."""


def render(driver: Driver, film: Film, limits: Limits, results: Results, *, quiet: bool = False) -> bool:
    """Add passes to a film up to the limits and save the results.

    Ctrl-C and SIGTERM end it early; then, as after an error, the passes that are finished are saved, unless there are
    none. A bar on stderr shows progress unless `quiet` or where stderr is no terminal. Returns whether it ran to
    its limits.
    """
    try:
        with interruptible(), _progress_bar(limits, quiet) as bar:
            _expose(driver, film, limits, _Observer(driver, film, results, bar))
        return True
    except KeyboardInterrupt:
        return False
    finally:
        if film.passes > 0:
            results.save_all(film)


class _Observer:
    """Looks on between two passes: moves the bar and saves a picture when it is time."""

    def __init__(self, driver: Driver, film: Film, results: Results, bar: "tqdm[None]") -> None:
        self._driver, self._film, self._results, self._bar = driver, film, results, bar
        self._start = time.perf_counter()
        self._next_save = self._start + SAVE_INTERVAL

    @property
    def seconds(self) -> float:
        """Wall time since the start."""
        return time.perf_counter() - self._start

    def after_pass(self) -> None:
        rays_per_second = self._driver.work.rays.total / max(self.seconds, 1e-9)
        self._bar.set_postfix_str(f"{rays_per_second / 1e6:.2f} Mrays/s", refresh=False)
        self._bar.update()
        if time.perf_counter() >= self._next_save:
            self._save()

    def _save(self) -> None:
        begin = time.perf_counter()
        self._results.save_picture(self._film)
        end = time.perf_counter()
        self._next_save = end + max(SAVE_INTERVAL, SAVE_SPACING * (end - begin))


def _expose(driver: Driver, film: Film, limits: Limits, observer: _Observer) -> None:
    while not limits.reached(film.passes, observer.seconds):
        film.add(driver.render_pass(film.passes))
        observer.after_pass()


def _progress_bar(limits: Limits, quiet: bool) -> "tqdm[None]":
    silent = quiet or not sys.stderr.isatty()
    return tqdm(total=limits.passes, desc="rendering", unit="pass", disable=silent, file=sys.stderr, leave=False)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM raise `KeyboardInterrupt`, as Ctrl-C does; only the main thread can, elsewhere this does nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
