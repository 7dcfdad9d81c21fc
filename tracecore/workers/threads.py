"""Threads that wait for the next work once theirs is done: a film opens a pool for each frame, and to start sixteen
threads takes longer than many a pass.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue


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
