"""Resident dispatch as the host sees it: slots in memory that a kernel which stays on the device reads and writes.

A slot holds the rays of one batch, as a structure of arrays. Its doorbell tells the device that they are there, and its
flag tells the thread that the hits are. `kernels/resident.cuh` is the other side and checks the sizes of the records.

What orders memory on this side: a doorbell and `stop` are stored by `vector.store_release`, after the rays, and a flag
is loaded by `vector.load_acquire`, before the hits. On x86 both are plain moves, which that processor keeps in order by
itself; elsewhere LLVM emits what it takes, such as `stlr` and `ldar` on ARM. Rays and hits themselves may be written
and read in any way, also by NumPy, in the thread that rings and looks.
"""

import os
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tracecore.compilation.cached import compiled
from tracecore.compilation.clock import nanoseconds
from tracecore.compilation.vector import address, load_acquire, store_release
from tracecore.errors import DeviceError
from tracecore.kernels.ring_records import (
    COLUMN_PAD,
    LEAST_SLOT_RAYS,
    MOST_SLOT_RAYS,
    REQUEST,
    RING,
    RING_STATE,
)
from tracecore.rays import HIT, HIT_FLOATS, RAY, RAY_FLOATS

#: Rows of the rays' directions, as `RAY` has them.
DIRECTION_ROWS = slice(4, 7)

#: Looks at a flag before the interpreter gets a chance to do other things.
LOOKS = 1 << 12

Words = npt.NDArray[np.uint64]
Allocate = Callable[[tuple[int, ...], npt.DTypeLike], npt.NDArray[Any]]


@compiled
def ring_doorbell(doorbells: Words, slot: int, number: int, low: int) -> None:
    """Tell the device that the rays of a slot are written: the store is a release.

    number: of the slot's request, not 0 and not the last one.
    low: how many rays, at least 1, and what is asked of them.
    """
    store_release(address(doorbells) + 8 * slot, (np.uint64(number) << np.uint64(32)) | np.uint64(low))


@compiled
def say(stop: Words, word: int) -> None:
    """Tell the device GO_ON, END or ONCE; it hears all doorbells that have been rung before.

    stop: (1,) uint64. The store is a release, as that of `ring_doorbell`.
    """
    store_release(address(stop), np.uint64(word))


@compiled
def is_flagged(flags: Words, slot: int, number: int) -> bool:
    """Returns whether a request is done. It looks for a while.

    The load is an acquire: who has seen the flag sees the hits, which the device wrote before it.
    """
    looks = 0
    while looks < LOOKS and load_acquire(address(flags) + 8 * slot) >> np.uint64(32) != np.uint64(number):
        looks += 1
    return looks < LOOKS


@compiled
def ring_again(doorbells: Words, flags: Words, slots: tuple[int, int], rounds: int, timeout: int) -> bool:
    """Have the last requests of some slots traced so many times again, nothing done with the hits.

    slots: the first one, and how many.
    timeout: nanoseconds that a request may take.

    Returns False, without waiting for the others, where one takes longer.
    """
    first, count = slots
    for iteration in range(rounds + 1):
        for slot in range(first, first + count):
            number = doorbells[slot] >> np.uint64(32)
            deadline = nanoseconds() + timeout
            while not is_flagged(flags, slot, number):
                if nanoseconds() > deadline:
                    return False
            if iteration < rounds:
                ring_doorbell(doorbells, slot, number + np.uint64(1), doorbells[slot] & np.uint64(0xFFFFFFFF))
    return True


class RingMemory:
    """What host and device share.

    rays: (slots, 8, column) float32, rows in the order of `RAY`. hits: (slots, 4, column) float32, rows in the order of
    `HIT`. A column has room for slot_rays rays; what is behind them is not used. doorbells, flags: (slots,) uint64, an
    request's number in the high half.

    slots: how many. slot_rays: a power of two. allocate: makes arrays of a shape and type, with anything in them, in
    memory that both can reach. Raises `DeviceError` for another slot_rays, without slots, and for more than memory has
    room for.
    """

    def __init__(self, slots: int, slot_rays: int, allocate: Allocate) -> None:
        _check(slots, slot_rays)
        self.slots = slots
        self.slot_rays = slot_rays
        self.places = 1 << (2 * slots - 1).bit_length()
        column = slot_rays + COLUMN_PAD
        try:
            self.rays = allocate((slots, RAY_FLOATS, column), np.float32)
            self.hits = allocate((slots, HIT_FLOATS, column), np.float32)
        except MemoryError:
            raise _no_room(slots, slot_rays) from None
        self.doorbells: Words = allocate((slots,), np.uint64)
        self.flags: Words = allocate((slots,), np.uint64)
        self.stop: Words = allocate((1,), np.uint64)
        self.busy: Words = allocate((1,), np.uint64)
        for words in (self.doorbells, self.flags, self.stop, self.busy):
            words.fill(0)
        self.rays[:, DIRECTION_ROWS] = 0.0  # by which columns that are never used are known
        self._lock = threading.Lock()
        self._taken = np.zeros(slots, bool)

    @property
    def device_bytes(self) -> dict[str, int]:
        """Sizes of what the device keeps to itself, all zero at first, by names of `RING`.

        The FIFO has room for at least twice as many requests as there are slots, so that a slow one does not hold the
        others up.
        """
        return {
            "state": RING_STATE.itemsize,
            "requests": self.slots * REQUEST.itemsize,
            "entries": self.places * 4,
            "staged": self.slots * self.slot_rays * HIT.itemsize,
        }

    def record(self, device: Mapping[str, int], patience: float) -> npt.NDArray[np.void]:
        """What the kernel is told of this memory: (1,) `RING`.

        device: addresses of memory with `device_bytes`.
        patience: seconds; when no request has been finished for so long although there are some, the kernel raises
            their flags with the fault OVERDUE and ends.
        """
        record = np.zeros(1, RING)
        record["patience"] = int(patience * 1e9)
        for name in ("rays", "hits", "doorbells", "flags", "stop", "busy"):
            record[name] = getattr(self, name).ctypes.data
        for name, place in device.items():
            record[name] = place
        record["slots"], record["entry_count"] = self.slots, self.places
        record["slot_bits"] = self.slot_rays.bit_length() - 1
        return record

    def take(self, count: int) -> int:
        """Take so many slots side by side that nobody has, at least 1. Returns the first one.

        Raises `DeviceError` where there are none.
        """
        if count < 1:
            raise DeviceError(f"a port needs at least 1 slot, got {count}")
        with self._lock:
            free = np.convolve(~self._taken, np.ones(count, int), "valid") == count
            if not free.any():
                raise DeviceError(f"no {count} of {self.slots} slots are free side by side; use fewer threads")
            first = int(np.argmax(free))
            self._taken[first : first + count] = True
            return first

    def take_all(self) -> bool:
        """Take all slots, for good. Returns False, and takes none, where somebody has one."""
        with self._lock:
            is_free = not self._taken.any()
            self._taken |= is_free
            return is_free

    def give_back(self, first: int, count: int) -> None:
        """Slots that are used no more."""
        with self._lock:
            self._taken[first : first + count] = False


def _check(slots: int, slot_rays: int) -> None:
    if not all(isinstance(number, int | np.integer) for number in (slots, slot_rays)):
        raise DeviceError(f"slots and their rays are whole numbers, got {slots!r} slots of {slot_rays!r} rays")
    if not LEAST_SLOT_RAYS <= slot_rays <= MOST_SLOT_RAYS or slot_rays & (slot_rays - 1):
        raise DeviceError(
            f"a slot has a power of two of rays from {LEAST_SLOT_RAYS} to {MOST_SLOT_RAYS}, got {slot_rays}"
        )
    if slots < 1:
        raise DeviceError(f"a ring needs at least 1 slot, got {slots}")
    if slots * slot_rays * (RAY.itemsize + HIT.itemsize) > _memory_bytes():
        raise _no_room(slots, slot_rays)


def _no_room(slots: int, slot_rays: int) -> DeviceError:
    taken, there = slots * slot_rays * (RAY.itemsize + HIT.itemsize) / 1e9, _memory_bytes() / 1e9
    return DeviceError(
        f"{slots:,} slots of {slot_rays} rays take {taken:,.1f} GB, and this machine has {there:,.1f}; ask for fewer: "
        "for a queue of less depth"
    )


def _memory_bytes() -> int:
    """Returns how much memory this machine has; where it does not tell, as much as can be addressed."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else sys.maxsize
