"""Whose turn it is on a device: a kernel that stays has all of it, and what waits behind one would wait for ever.

Memory set to zero waits behind it, and so does another launch. They, and another kernel that is to stay, first ask it
to leave; it starts again when its own ring is next rung. Devices do not wait for one another: each has its own `Turns`.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Tenant(Protocol):
    """A kernel that stays."""

    def end(self) -> None:
        """End when the orders are done, and move out. Raises `DeviceError` where it does not end."""


class Turns:
    """Who may run on one device. lock: is held by whoever starts or ends a kernel that stays there."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        #: More than one only where a kernel does not end; the device may still write to its memory, so that it must be
        #: kept.
        self._tenants: list[Tenant] = []

    @contextmanager
    def vacant(self) -> Iterator[None]:
        """Nothing stays on the device meanwhile. Raises `DeviceError` where a kernel does not end."""
        with self.lock:
            for tenant in tuple(self._tenants):
                tenant.end()
            yield

    def move_in(self, tenant: Tenant) -> None:
        """Be one that stays, until it has ended; nothing happens where it is one."""
        if tenant not in self._tenants:
            self._tenants.append(tenant)

    def move_out(self, tenant: Tenant) -> None:
        """Be one no more."""
        self._tenants.remove(tenant)
