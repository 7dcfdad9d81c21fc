"""Whose turn it is on a device: a kernel that stays has all of it, and what waits behind one would wait for ever.

Memory set to zero waits behind it, and so does another launch. They, and another kernel that is to stay, first ask it
to leave; it starts again when its own ring is next rung. Devices do not wait for one another: each has its own `Turns`.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class PersistentKernel(Protocol):
    """A kernel that stays."""

    def end(self) -> None:
        """End when the orders are done, and move out. Raises `DeviceError` where it does not end."""


class Turns:
    """Who may run on one device. lock: is held by whoever starts or ends a kernel that stays there."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        #: More than one only where a kernel does not end; the device may still write to its memory, so that it must be
        #: kept.
        self._persistent: list[PersistentKernel] = []

    @contextmanager
    def vacant(self) -> Iterator[None]:
        """Nothing stays on the device meanwhile. Raises `DeviceError` where a kernel does not end."""
        with self.lock:
            for kernel in tuple(self._persistent):
                kernel.end()
            yield

    def add_persistent(self, kernel: PersistentKernel) -> None:
        """Be one that stays, until it has ended; nothing happens where it is one."""
        if kernel not in self._persistent:
            self._persistent.append(kernel)

    def remove_persistent(self, kernel: PersistentKernel) -> None:
        """Be one no more."""
        self._persistent.remove(kernel)
