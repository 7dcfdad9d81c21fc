"""How many cores and threads are of use, and threads that wait for the next work once theirs is done: a film opens a
pool for each frame, and to start sixteen threads takes longer than many a pass.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from functools import partial
from queue import SimpleQueue

#: Threads that a core can be given.
THREADS_PER_CORE = 8

log = logging.getLogger(__name__)


def usable_cores() -> int:
    """Returns how many cores this process may run on, which may be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def bounded_threads(threads: int | None) -> int | None:
    """Returns so many threads, or as many as are of use here, which a note tells: those beyond a few for each core only
    wait for one another. The picture is the same.

    threads: that are asked for, or None where it is left open.
    """
    cores = usable_cores()
    most = THREADS_PER_CORE * cores
    if threads is None or threads <= most:
        return threads
    log.warning("note: %d threads are too many for %d cores; taking %d", threads, cores, most)
    return most


class _Thread(threading.Thread):
    """Does one piece of work after another, and is among the idle ones between them. It ends with the process."""

    def __init__(self) -> None:
        super().__init__(name=f"worker_{next(_numbers)}", daemon=True)
        self.work: SimpleQueue[Callable[[], object]] = SimpleQueue()

    def run(self) -> None:
        while True:
            self.work.get()()
            _idle.append(self)


_numbers = itertools.count()
_idle: deque[_Thread] = deque()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # a forked process has none of these threads


def run_in_thread(work: Callable[[], object]) -> None:
    """Begins some work in an idle thread, or in a new one where there is none. work: lets no exception out."""
    try:
        thread = _idle.pop()
    except IndexError:
        thread = _Thread()
        thread.start()
    thread.work.put(work)


#: Where a piece of a range begins, and where it ends.
Piece = tuple[int, int]


def in_pieces(work: Callable[[Piece], object], items: int, size: int = 1 << 12) -> None:
    """Has all usable cores work on pieces of a range, and returns once all are done.

    work: called with pieces, by several threads at once, in no order.
    items: how many there are.
    size: how many a piece has at most.

    Raises the first error of a piece.
    """
    starts = iter(range(0, items, size))  # shared: each thread takes the next piece
    helpers: list[Future[None]] = [Future() for _ in range(min(usable_cores(), -(-items // size)) - 1)]
    for helper in helpers:
        run_in_thread(partial(_help, helper, partial(_take_pieces, work, starts, items, size)))
    try:
        _take_pieces(work, starts, items, size)
    finally:
        wait(helpers)
    for helper in helpers:
        helper.result()


def _take_pieces(work: Callable[[Piece], object], starts: Iterator[int], items: int, size: int) -> None:
    for first in starts:
        work((first, min(first + size, items)))


def _help(helper: Future[None], work: Callable[[], None]) -> None:
    try:
        work()
        helper.set_result(None)
    except BaseException as error:
        helper.set_exception(error)
