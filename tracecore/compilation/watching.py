"""Tells whoever watches what is made into machine code, and how far it is.

Nobody is told of code that is there already, in memory or on disk.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType, ModuleType
from typing import Any, Protocol


class Watcher(Protocol):
    """Is told what is compiled, one thing after the other."""

    def begin(self, name: str, parts: int) -> None:
        """Something is compiled from now on. name: of it. parts: of how many functions it is made, at most."""

    def move(self, done: int) -> None:
        """So many of the functions have been looked at."""

    def end(self) -> None:
        """It is compiled, or has failed."""


class _Watch:
    """Holds who watches in this process, and what is compiled.

    missing: functions that were not looked at yet, None where nothing is compiled; parts: how many there were.
    """

    lock = threading.Lock()
    watcher: Watcher | None = None
    missing: set[Any] | None = None
    parts = 0


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Has a watcher told of what is compiled during the block, unless there is one already."""
    if _Watch.watcher is not None:
        yield
        return
    _Watch.watcher = watcher
    try:
        yield
    finally:
        _Watch.watcher = None


@contextmanager
def making(name: str, parts: Callable[[], set[Any]] = set) -> Iterator[None]:
    """Tells the watcher that something is compiled during the block; of what is compiled for it, nothing more is told.

    name: what it is called.
    parts: returns the functions that it may be made of, by `reached`.
    """
    with _Watch.lock:
        watcher = _Watch.watcher if _Watch.missing is None else None
        if watcher is not None:
            _Watch.missing = parts()
            _Watch.parts = len(_Watch.missing)
    if watcher is None:
        yield
        return
    watcher.begin(name, _Watch.parts)
    try:
        yield
    finally:
        with _Watch.lock:
            _Watch.missing = None
        watcher.end()


def made(parts: Callable[[], set[Any]]) -> None:
    """Tells the watcher that functions have been looked at, where they are among those that it waits for.

    parts: returns them; it is not called if nobody wants to know.
    """
    with _Watch.lock:
        if not _Watch.missing:
            return
        before = len(_Watch.missing)
        _Watch.missing -= parts()
        watcher, done, moves = _Watch.watcher, _Watch.parts - len(_Watch.missing), len(_Watch.missing) < before
    if moves and watcher is not None:
        watcher.move(done)


def reached(function: Any, is_left_out: Callable[[Any], bool]) -> set[Any]:
    """Returns the Python functions of a function and of all that its code names and that names lead to from there, as
    far as they are to be compiled (have a `py_func`).

    is_left_out: says of such a one whether it, and what it alone leads to, is not wanted.
    """
    found: set[Any] = set()
    left = [function]
    while left:
        one = left.pop()
        one = getattr(one, "py_func", one)
        if one not in found:
            found.add(one)
            left += [other for _, other in named(one) if hasattr(other, "py_func") and not is_left_out(other)]
    return found


def named(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yields what the names of a function's code stand for: globals, what they have, and variables around it."""
    names = _names(function.__code__)
    for name in names:
        value = function.__globals__.get(name)
        yield name, value
        if isinstance(value, ModuleType):
            yield from ((f"{name}.{other}", vars(value).get(other)) for other in names)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            continue


def _names(code: CodeType) -> set[str]:
    inner = (_names(one) for one in code.co_consts if isinstance(one, CodeType))
    return set(code.co_names).union(*inner)
