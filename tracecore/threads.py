"""Threads that wait for the next work once theirs is done: a film opens a pool for each frame, and to start sixteen
threads takes longer than many a pass.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from functools import partial
from queue import SimpleQueue

from tracecore.cores import usable_cores


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
