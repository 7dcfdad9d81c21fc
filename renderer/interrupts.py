"""This module handles Ctrl-C, SIGTERM and SIGHUP, which a terminal sends that is closed: the first one interrupts,
further ones are held back until everything is saved and closed.

Signals belong to the process, and so does the state here. Python hands them to the main thread alone: in any other
thread nothing of this does anything.
"""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: Those that interrupt; not every system knows all of them.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))

#: What an interrupt says that comes before there is a picture.
NOTHING_SAVED = "before the first pass was finished; nothing is saved"

#: What a shell adds to the number of the signal that ended a program.
SIGNAL_STATUS = 128


class _State:
    """Holds the state of signals in this process.

    installed: whether the program is inside `interruptible`.
    held: whether a first signal would wait too.
    came: the number of the first one, or 0 where there was none.
    """

    installed = False
    held = False
    came = 0


@contextmanager
def interruptible() -> Iterator[None]:
    """Let the first signal raise `KeyboardInterrupt`, and hold all further ones back to the end of this.

    A signal that the process ignores stays ignored. One that comes where no exception can leave, as in `__del__`,
    raises nothing and prints nothing; `interrupted` knows of it. Blocks inside one another are one block.
    """
    if _State.installed or not _in_main_thread():
        yield
        return
    before, hook = {number: signal.getsignal(number) for number in SIGNALS}, sys.unraisablehook
    try:
        _State.installed = True
        sys.unraisablehook = lambda lost: None if isinstance(lost.exc_value, KeyboardInterrupt) else hook(lost)
        for number in SIGNALS:
            if before[number] != signal.SIG_IGN:
                signal.signal(number, _interrupt)
        yield
    finally:
        for number in SIGNALS:
            if signal.getsignal(number) == _interrupt:
                signal.signal(number, before[number])
        sys.unraisablehook = hook
        _State.installed, _State.held, _State.came = False, False, 0


@contextmanager
def held_back(*, held: bool = True) -> Iterator[None]:
    """Holds the first signal back too, for work that must not be lost; `interrupted` says whether there was one."""
    if not _in_main_thread():
        yield
        return
    before = _State.held
    try:
        _State.held = held
        yield
    finally:
        _State.held = before


@contextmanager
def let_through() -> Iterator[None]:
    """Lets, inside `held_back`, the first signal raise `KeyboardInterrupt` again, also one that came before."""
    with held_back(held=False):
        if interrupted():
            raise KeyboardInterrupt
        yield


@contextmanager
def nothing_saved() -> Iterator[None]:
    """Has an interrupt within the block say that it leaves nothing."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        raise KeyboardInterrupt(NOTHING_SAVED) from interrupt


def interrupted() -> bool:
    """Returns whether a signal came since `interruptible` began."""
    return _in_main_thread() and _State.came != 0


def interrupted_status() -> int:
    """Returns the exit status of a program that the first signal has ended: 130 for Ctrl-C, also where none came."""
    return SIGNAL_STATUS + (_State.came or signal.SIGINT)


def ignore_from_now_on() -> None:
    """Ignore all further signals for the rest of the process, which is about to end by itself."""
    if _in_main_thread():
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    is_first = _State.came == 0
    if is_first:
        _State.came = number
    if is_first and not _State.held:
        raise KeyboardInterrupt


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
