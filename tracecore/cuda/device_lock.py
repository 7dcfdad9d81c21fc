"""Who may run on a device: a kernel that stays has all of it, and what waits behind one would wait for ever.

Memory set to zero waits behind it, and so does another launch. They, and another kernel that is to stay, first ask it
to leave; it starts again when its own ring is next rung. Devices do not wait for one another: each has its own
`DeviceLock`.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class PersistentKernel(Protocol):
    """A kernel that stays on its device until it is ended."""

    def end(self) -> None:
        """Ends when what has been rung is answered, and leaves. Raises `DeviceError` where it does not end."""


class DeviceLock:
    """Who may run on one device. lock: is held by whoever starts or ends a kernel that stays there."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        #: More than one only where a kernel does not end; the device may still write to its memory, so that it must be
        #: kept.
        self._persistent: list[PersistentKernel] = []

    @contextmanager
    def vacant(self) -> Iterator[None]:
        """Keeps the device free of kernels that stay meanwhile. Raises `DeviceError` where one does not end."""
        with self.lock:
            for kernel in tuple(self._persistent):
                kernel.end()
            yield

    def add_persistent(self, kernel: PersistentKernel) -> None:
        """Enters a kernel that stays, until it has ended; nothing happens where it is entered already."""
        if kernel not in self._persistent:
            self._persistent.append(kernel)

    def remove_persistent(self, kernel: PersistentKernel) -> None:
        """Takes out a kernel that has ended."""
        self._persistent.remove(kernel)
