"""Whose turn it is on the device: a kernel that stays has all of it, and what waits behind one would wait for ever.

Memory set to zero waits behind it, and so does another launch. They, and another kernel that is to stay, first ask it
to leave; it starts again when its own ring is next rung.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

#: Held by whoever starts or ends a kernel that stays.
turn = threading.RLock()


class Tenant(Protocol):
    """A kernel that stays."""

    def end(self) -> None:
        """End when the orders are done, and move out. Raises `DeviceError` where it does not end."""


#: More than one only where a kernel does not end; the device may still write to its memory, so that it must be kept.
_tenants: list[Tenant] = []


@contextmanager
def vacant_device() -> Iterator[None]:
    """Nothing stays on the device meanwhile. Raises `DeviceError` where a kernel does not end."""
    with turn:
        for tenant in tuple(_tenants):
            tenant.end()
        yield


def move_in(tenant: Tenant) -> None:
    """Be one that stays, until it has ended; nothing happens where it is one."""
    if tenant not in _tenants:
        _tenants.append(tenant)


def move_out(tenant: Tenant) -> None:
    """Be one no more."""
    _tenants.remove(tenant)
