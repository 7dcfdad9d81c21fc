"""This module handles Ctrl-C and SIGTERM: the first one interrupts, further ones are held back until everything is
saved and closed.

Signals belong to the process, and so does the state here. Python hands them to the main thread alone: in any other
thread nothing of this does anything.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _State:
    """Holds the state of signals in this process.

    installed: whether the program is inside `interruptible`.
    held: whether a first signal would wait too.
    came: whether there was one.
    """

    installed = False
    held = False
    came = False


@contextmanager
def interruptible() -> Iterator[None]:
    """Let the first Ctrl-C or SIGTERM raise `KeyboardInterrupt`, and hold all further ones back to the end of this.

    A signal that the process ignores stays ignored. Blocks inside one another are one block.
    """
    if _State.installed or not _in_main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        _State.installed = True
        for number in SIGNALS:
            if before[number] != signal.SIG_IGN:
                signal.signal(number, _interrupt)
        yield
    finally:
        for number in SIGNALS:
            if signal.getsignal(number) == _interrupt:
                signal.signal(number, before[number])
        _State.installed, _State.held, _State.came = False, False, False


@contextmanager
def held_back() -> Iterator[None]:
    """Holds the first signal back too, for work that must not be lost; `interrupted` says whether there was one."""
    with _holding(held=True):
        yield


@contextmanager
def let_through() -> Iterator[None]:
    """Lets, inside `held_back`, the first signal raise `KeyboardInterrupt` again, also one that came before."""
    with _holding(held=False):
        if interrupted():
            raise KeyboardInterrupt
        yield


def interrupted() -> bool:
    """Returns whether a signal came since `interruptible` began."""
    return _in_main_thread() and _State.came


def ignore_from_now_on() -> None:
    """Ignore all further signals for the rest of the process, which is about to end by itself."""
    if _in_main_thread():
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)


@contextmanager
def _holding(*, held: bool) -> Iterator[None]:
    if not _in_main_thread():
        yield
        return
    before = _State.held
    try:
        _State.held = held
        yield
    finally:
        _State.held = before


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    first, _State.came = not _State.came, True
    if first and not _State.held:
        raise KeyboardInterrupt


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
