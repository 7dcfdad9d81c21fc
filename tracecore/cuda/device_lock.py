"""Who may run on a device: a kernel that stays has all of it, and what waits behind one would wait for ever.

Memory set to zero waits behind it, and so does another launch. They, and another kernel that is to stay, first ask it
to leave; it starts again when its own ring is next rung, once they are done. Launches of several threads are there
together; those that no thread waits for are in queues. Devices do not wait for one another: each has its own
`DeviceLock`.
"""

import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class PersistentKernel(Protocol):
    """A kernel that stays on its device until it is ended."""

    def end(self) -> None:
        """Ends when what has been rung is answered, and leaves. Raises `DeviceError` where it does not end."""


class Finishing(Protocol):
    """Launches that are under way though no thread waits for them."""

    def finish(self) -> None:
        """Returns once they are done. Raises `KernelError` where they are not in time."""


class DeviceLock:
    """Who may run on one device. lock: is held by whoever starts or ends a kernel that stays there."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._left = threading.Condition(self.lock)
        #: How often each thread is in `vacant`, by its number.
        self._visits: Counter[int] = Counter()
        #: More than one only where a kernel does not end; the device may still write to its memory, so that it must be
        #: kept.
        self._persistent: list[PersistentKernel] = []
        self._queues: weakref.WeakSet[Finishing] = weakref.WeakSet()

    @contextmanager
    def vacant(self) -> Iterator[None]:
        """Keeps the device free of kernels that stay meanwhile. Raises `DeviceError` where one does not end."""
        thread = threading.get_ident()
        with self.lock:
            for kernel in tuple(self._persistent):
                kernel.end()
            self._visits[thread] += 1
        try:
            yield
        finally:
            with self.lock:
                self._visits -= Counter([thread])
                self._left.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Holds the lock from when no other thread is in `vacant` and what is in queues is done, so that nothing comes
        meanwhile. Raises as `Finishing.finish`.
        """
        with self.lock:
            self._left.wait_for(lambda: not self._visits.keys() - {threading.get_ident()})
            for queue in tuple(self._queues):
                queue.finish()
            yield

    def add_queue(self, queue: Finishing) -> None:
        """Enters launches for which whoever wants the device alone has to wait, as long as somebody keeps them."""
        with self.lock:
            self._queues.add(queue)

    def add_persistent(self, kernel: PersistentKernel) -> None:
        """Enters a kernel that stays, until it has ended; nothing happens where it is entered already."""
        if kernel not in self._persistent:
            self._persistent.append(kernel)

    def remove_persistent(self, kernel: PersistentKernel) -> None:
        """Takes out a kernel that has ended."""
        self._persistent.remove(kernel)
