"""This module shows what a first run compiles, and has another process help.

Drivers that look at photons need two large loops, that over photons and then that over eye paths. Another process
begins to compile the second meanwhile.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, cast

from renderer.plain_text import as_it_is
from tracecore.compilation.watching import watched_by

if TYPE_CHECKING:
    from tqdm import tqdm

    from tracecore.compilation.cached import Cached

#: Seconds for which something is compiled until it is shown, and from one look at the bar to the next.
PATIENCE, STEP = 1.0, 0.25

#: Machine code that passes of a driver call, see `Driver.code`.
Code = tuple[Callable[..., Any], ...]

#: A program that does a little of what needs no loop but that over eye paths.
HELPER = "import renderer; renderer.render('cornell', driver='path', size=(8, 8), passes=1, device='cpu', quiet=True)"


def shown(*, quiet: bool) -> AbstractContextManager[None]:
    """Shows on stderr what is compiled during the block, unless it is there within a second: on a terminal by a bar
    that moves, elsewhere by a line each.
    """
    return nullcontext() if quiet else watched_by(CompilerBar())


def helped(code: Code) -> AbstractContextManager[None]:
    """Has another process compile the loop over eye paths while the block does its work, if neither this loop nor that
    over photons was ever compiled, a driver needs both, and there are cores for it. code: of the driver.
    """
    from renderer.camera_paths.loops import run_eye_paths
    from renderer.photons.tracing import run_photons
    from tracecore.compilation.unit_calls import beside, processes

    loops = cast("tuple[Cached, ...]", (run_eye_paths, run_photons))
    needs_both = set(loops) <= set(code)
    if not needs_both or any(loop.has_any_code() for loop in loops) or processes() == 1:
        return nullcontext()
    return beside([(HELPER, b"")])


class CompilerBar:
    """Watches what is compiled (`tracecore.compilation.watching.Watcher`) and shows it on stderr."""

    def __init__(self) -> None:
        self._done, self._parts, self._name = 0, 0, ""
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, name: str, parts: int) -> None:
        """Shows, from a thread of its own, what is compiled, if it takes a while."""
        self._done, self._parts, self._name = 0, parts, name
        self._ended.clear()
        self._thread = threading.Thread(target=self._show, name="compiler bar", daemon=True)
        self._thread.start()

    def move(self, done: int) -> None:
        """Notes how many of the functions have been looked at."""
        self._done = done

    def end(self) -> None:
        """Removes the bar."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _show(self) -> None:
        if self._ended.wait(PATIENCE):
            return
        if not (sys.stderr.isatty() or "ipykernel" in sys.modules):
            print(f"tracecore: {self._words()}", file=sys.stderr, flush=True)
            return
        with self._bar() as bar:
            while not self._ended.wait(STEP):
                bar.n = self._done
                bar.refresh()

    def _words(self) -> str:
        """Returns what is compiled."""
        size = f", up to {self._parts} functions" if self._parts > 1 else ""
        return f"compiling {self._name} for this machine, first run only{size}"

    def _bar(self) -> tqdm[None]:
        from tqdm.auto import tqdm

        shape = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}]" if self._parts > 1 else "{desc} [{elapsed}]"
        words = f"compiling {self._name}, first run only"
        return tqdm(total=self._parts, desc=words, bar_format=shape, file=as_it_is(sys.stderr), leave=False)
