"""Resident dispatch as the host sees it: slots in memory that a kernel which stays on the device reads and writes.

A slot holds the rays of one order, in columns. Its doorbell tells the device that they are there, its flag tells the thread
that the hits are. `kernels/resident.cuh` is the other side and checks the sizes of the records.

What orders memory on this side: a doorbell and `stop` are stored by `vector.store_release`, after the rays, and a flag is
loaded by `vector.load_acquire`, before the hits. On x86 both are plain moves, which that processor keeps in order by
itself; elsewhere LLVM emits what it takes, such as `stlr` and `ldar` on ARM. Rays and hits themselves may be written
and read in any way, also by NumPy, in the thread that rings and looks.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tracecore.compilation.cached import compiled
from tracecore.compilation.clock import nanoseconds
from tracecore.compilation.vector import address, load_acquire, store_release
from tracecore.dispatch.in_flight import FlightBatch, FlightQueue
from tracecore.errors import DeviceError, KernelError
from tracecore.kernels.launch_records import describe_faults
from tracecore.kernels.ring_records import (
    ANY_HIT_BIT,
    COLUMN_PAD,
    FAULT_SHIFT,
    LEAST_SLOT_RAYS,
    MOST_SLOT_RAYS,
    REQUEST,
    RING,
    RING_STATE,
)
from tracecore.rays import HIT, HIT_FLOATS, RAY_FLOATS, Query

#: Looks at a flag before the interpreter gets a chance to do other things.
LOOKS = 1 << 12

Words = npt.NDArray[np.uint64]
Allocate = Callable[[tuple[int, ...], npt.DTypeLike], npt.NDArray[Any]]


@compiled
def ring_doorbell(doorbells: Words, slot: int, number: int, low: int) -> None:
    """Tell the device that the rays of a slot are written: the store is a release.

    number: of the slot's order, not 0 and not the last one. low: how many rays, at least 1, and what is asked of them.
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
    """Whether an order is done. Looks for a while.

    The load is an acquire: who has seen the flag sees the hits, which the device wrote before it.
    """
    looks = 0
    while looks < LOOKS and load_acquire(address(flags) + 8 * slot) >> np.uint64(32) != np.uint64(number):
        looks += 1
    return looks < LOOKS


@compiled
def ring_again(doorbells: Words, flags: Words, slots: tuple[int, int], rounds: int, timeout: int) -> bool:
    """Have the last orders of some slots traced so many times again, nothing done with the hits.

    slots: the first one, and how many. timeout: nanoseconds that an order may take. Returns False, without waiting for
    the others, where one takes longer.
    """
    first, count = slots
    for device_lock in range(rounds + 1):
        for slot in range(first, first + count):
            number = doorbells[slot] >> np.uint64(32)
            deadline = nanoseconds() + timeout
            while not is_flagged(flags, slot, number):
                if nanoseconds() > deadline:
                    return False
            if device_lock < rounds:
                ring_doorbell(doorbells, slot, number + np.uint64(1), doorbells[slot] & np.uint64(0xFFFFFFFF))
    return True


class RingMemory:
    """What host and device share.

    rays: (slots, 8, column) float32, rows in the order of `RAY`. hits: (slots, 4, column) float32, rows in the order of
    `HIT`. A column has room for slot_rays rays; what is behind them is not used. doorbells, flags: (slots,) uint64, an
    order's number in the high half.

    slots: how many. slot_rays: a power of two. allocate: makes arrays of zeros, of a shape and type, in memory that
    both can reach. Raises `DeviceError` for another slot_rays, and without slots.
    """

    def __init__(self, slots: int, slot_rays: int, allocate: Allocate) -> None:
        _check(slots, slot_rays)
        self.slots = slots
        self.slot_rays = slot_rays
        self.places = 1 << (2 * slots - 1).bit_length()
        column = slot_rays + COLUMN_PAD
        self.rays = allocate((slots, RAY_FLOATS, column), np.float32)
        self.hits = allocate((slots, HIT_FLOATS, column), np.float32)
        self.doorbells: Words = allocate((slots,), np.uint64)
        self.flags: Words = allocate((slots,), np.uint64)
        self.stop: Words = allocate((1,), np.uint64)
        self.busy: Words = allocate((1,), np.uint64)
        self._lock = threading.Lock()
        self._taken = np.zeros(slots, bool)

    @property
    def device_bytes(self) -> dict[str, int]:
        """Sizes of what the device keeps to itself, all zero at first, by names of `RING`.

        There are at least twice as many places for orders to wait in as slots, so that a slow order does not hold the
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

        device: addresses of memory with `device_bytes`. patience: seconds; when no order has been finished for so long
        although there are some, the kernel raises their flags with the fault OVERDUE and ends.
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
        """The first of so many slots side by side that nobody has. Raises `DeviceError` where there are none."""
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
    if not LEAST_SLOT_RAYS <= slot_rays <= MOST_SLOT_RAYS or slot_rays & (slot_rays - 1):
        raise DeviceError(
            f"a slot has a power of two of rays from {LEAST_SLOT_RAYS} to {MOST_SLOT_RAYS}, got {slot_rays}"
        )
    if slots < 1:
        raise DeviceError(f"a ring needs at least 1 slot, got {slots}")


class RingBatch(FlightBatch):
    """A batch in plain memory, and as many slots of a ring as its rays fill."""

    def __init__(self, memory: RingMemory, capacity: int) -> None:
        self.slots = -(-capacity // memory.slot_rays)
        self.first = memory.take(self.slots)
        self.memory = memory
        super().__init__(np.zeros((capacity, RAY_FLOATS), np.float32), np.zeros((capacity, HIT_FLOATS), np.float32))

    def start(self, count: int, query: Query) -> None:
        """Start to trace `rays[:count]`, count > 0."""
        memory = self.memory
        asked = ANY_HIT_BIT if query == Query.ANY else 0
        for slot, part in self._parts(count):
            rays = self.rays[part]
            memory.rays[slot, :, : len(rays)] = rays.T
            ring_doorbell(memory.doorbells, slot, _next_number(memory.doorbells, slot), len(rays) | asked)

    def is_done(self) -> bool:
        """Whether all hits are there. Looks for a while."""
        memory = self.memory
        slots = (slot for slot, _ in self._parts(self.in_flight))
        return all(is_flagged(memory.flags, slot, int(memory.doorbells[slot] >> np.uint64(32))) for slot in slots)

    def land(self) -> tuple[int, int]:
        """Copy the hits, which are there. Returns how many rays were invalid, and faults."""
        invalid = faults = 0
        for slot, part in self._parts(self.in_flight):
            hits = self.hits[part]
            hits[:] = self.memory.hits[slot, :, : len(hits)].T
            low = int(self.memory.flags[slot]) & 0xFFFFFFFF
            invalid += low % (1 << FAULT_SHIFT)
            faults |= low >> FAULT_SHIFT
        self.in_flight = 0
        return invalid, faults

    def _parts(self, count: int) -> Iterator[tuple[int, slice]]:
        """Slots, and which of so many rays are theirs."""
        size = self.memory.slot_rays
        for i, start in enumerate(range(0, count, size)):
            yield self.first + i, slice(start, min(start + size, count))


def _next_number(doorbells: Words, slot: int) -> int:
    """Of the next order of a slot; never 0, which is no order."""
    return int(doorbells[slot] >> np.uint64(32)) % 0xFFFFFFFF + 1


class RingQueue(FlightQueue[RingBatch]):
    """A thread's queue to a kernel that stays.

    ring: gives a ring with room for so many rays. kernel: its name. timeout: seconds that an order may take. serve:
    sees to it that the kernel runs. count: is told of each batch that has come back how many rays it had and how many
    of them were invalid.
    """

    def __init__(
        self,
        ring: Callable[[int], RingMemory],
        kernel: str,
        timeout: float,
        serve: Callable[[], None],
        count: Callable[[int, int], None],
    ) -> None:
        super().__init__(RingBatch)
        self._ring = ring
        self._kernel = kernel
        self._timeout = timeout
        self._serve = serve
        self._count = count
        self._failure = ""

    def _make(self, capacity: int) -> RingBatch:
        return RingBatch(self._ring(capacity), capacity)

    def _start(self, batch: RingBatch, count: int, query: Query) -> None:
        self._see_to_kernel()
        batch.start(count, query)

    def _land(self, batch: RingBatch) -> None:
        self._come_back(batch)
        count = batch.in_flight
        invalid, faults = batch.land()
        self._count(count, invalid)
        if faults:
            raise KernelError(f"kernel {self._kernel!r} failed: {describe_faults(faults)}")

    def _come_back(self, batch: RingBatch) -> None:
        deadline = time.perf_counter() + self._timeout
        while not batch.is_done():
            if time.perf_counter() > deadline and not self._failure:
                self._failure = (
                    f"kernel {self._kernel!r} has not answered in {self._timeout:g} s, so it may hang: end this "
                    "process; or raise TRACECORE_GPU_TIMEOUT if the GPU is slow or shared"
                )
            self._see_to_kernel()

    def _see_to_kernel(self) -> None:
        """Raises `KernelError` where the kernel has failed or does not answer; at once where that is known."""
        if self._failure:
            raise KernelError(self._failure)
        try:
            self._serve()
        except KernelError as error:
            self._failure = str(error)
            raise

    def _give_up(self, batch: RingBatch) -> None:
        if batch.in_flight and self._failure and not batch.is_done():
            return  # the device may still write there: nobody gets these slots
        self.wait(batch)
        batch.memory.give_back(batch.first, batch.slots)
