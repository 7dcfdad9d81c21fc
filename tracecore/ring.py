"""Resident dispatch as the host sees it: slots in memory that a kernel which stays on the device reads and writes.

A slot holds the rays of one order. Its bell tells the device that they are there, its flag tells the thread that the
hits are. `kernels/resident.cuh` is the other side and checks the sizes of the records.
"""

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tracecore.compiled import compiled
from tracecore.errors import DeviceError, KernelError, RayError
from tracecore.launch import describe_faults
from tracecore.rays import BATCH_RAYS, HIT_FLOATS, RAY_FLOATS
from tracecore.tracer import Batch, Query
from tracecore.vector import address, load_acquire, store_release

#: Rays of a slot, a power of two from 32.
SLOT_RAYS = BATCH_RAYS

#: Places for orders on the device. More than slots, so that a slow order does not hold the others up.
ORDERS = 2048

#: Pointers are addresses as the device sees them.
RING = np.dtype(
    [
        ("rays", "<u8"),
        ("hits", "<u8"),
        ("bells", "<u8"),
        ("flags", "<u8"),
        ("stop", "<u8"),
        ("busy", "<u8"),
        ("desk", "<u8"),
        ("orders", "<u8"),
        ("heard", "<u8"),
        ("slots", "<u4"),
    ],
    align=True,
)
ORDER = np.dtype([(name, "<u4") for name in ("number", "slot", "count", "any_hit", "left", "complaint")])
DESK = np.dtype([(name, "<u4") for name in ("posted", "tickets", "finished", "closed")])

#: In the low half of a bell.
ANY_HIT_BIT, ENDLESS_BIT, NO_UV_BIT = 1 << 31, 1 << 30, 1 << 29
COUNT_MASK = (1 << 20) - 1
COLUMN_PAD = 32

#: In the low half of a flag: faults above, how many rays were invalid below.
FAULT_SHIFT = 24

DEFINES = {
    "SLOT_RAYS": str(SLOT_RAYS),
    "ORDERS": str(ORDERS),
    "RING_BYTES": str(RING.itemsize),
    "ORDER_BYTES": str(ORDER.itemsize),
    "DESK_BYTES": str(DESK.itemsize),
}

#: Batches in flight for each thread.
DEPTH = 4

#: Looks at a flag before the interpreter gets a chance to do other things.
LOOKS = 1 << 12

Words = npt.NDArray[np.uint64]
Allocate = Callable[[tuple[int, ...], npt.DTypeLike], npt.NDArray[Any]]


@compiled
def ring_bell(bells: Words, slot: int, number: int, low: int) -> None:
    """Tell the device that the rays of a slot are written. low: their number, and whether any hit will do."""
    store_release(address(bells) + 8 * slot, (np.uint64(number) << np.uint64(32)) | np.uint64(low))


@compiled
def flag_is_up(flags: Words, slot: int, number: int) -> bool:
    """Whether an order is done. Looks for a while."""
    looks = 0
    while looks < LOOKS and load_acquire(address(flags) + 8 * slot) >> np.uint64(32) != np.uint64(number):
        looks += 1
    return looks < LOOKS


@compiled
def ring_again(bells: Words, flags: Words, first: int, slots: int, rounds: int) -> None:
    """Have the rays of so many slots traced so many times, nothing done with the hits."""
    for turn in range(rounds + 1):
        for slot in range(first, first + slots):
            number = bells[slot] >> np.uint64(32)
            while not flag_is_up(flags, slot, number):
                pass
            if turn < rounds:
                ring_bell(bells, slot, number + np.uint64(1), BATCH_RAYS)


class RingMemory:
    """What host and device share.

    slots: how many. allocate: makes arrays of zeros, of a shape and type, in memory that both can reach.
    """

    def __init__(self, slots: int, slot_rays: int, allocate: Allocate) -> None:
        self.slots = slots
        self.slot_rays = slot_rays
        self.rays = allocate((slots, RAY_FLOATS, slot_rays + COLUMN_PAD), np.float32)
        self.hits = allocate((slots, HIT_FLOATS, slot_rays + COLUMN_PAD), np.float32)
        self.bells: Words = allocate((slots,), np.uint64)
        self.flags: Words = allocate((slots,), np.uint64)
        self.stop = allocate((1,), np.uint32)
        self.busy: Words = allocate((1,), np.uint64)
        self._lock = threading.Lock()
        self._taken = np.zeros(slots, bool)

    def take(self, count: int) -> int:
        """The first of so many slots side by side that nobody has. Raises `DeviceError` where there are none."""
        with self._lock:
            free = np.convolve(~self._taken, np.ones(count, int), "valid") == count
            if not free.any():
                raise DeviceError(f"no {count} of {self.slots} slots are free side by side; use fewer threads")
            first = int(np.argmax(free))
            self._taken[first : first + count] = True
            return first

    def give_back(self, first: int, count: int) -> None:
        """Slots that are used no more."""
        with self._lock:
            self._taken[first : first + count] = False


class RingBatch(Batch):
    """A batch in slots of a ring, one for each `SLOT_RAYS` rays."""

    def __init__(self, memory: RingMemory, capacity: int) -> None:
        self.slots = -(-capacity // SLOT_RAYS)
        self.first = memory.take(self.slots)
        self.memory = memory
        start = self.first * SLOT_RAYS
        super().__init__(memory.rays[start : start + capacity], memory.hits[start : start + capacity])
        self.in_flight = 0

    def ring(self, count: int, query: Query) -> None:
        """Start to trace `rays[:count]`, count > 0."""
        memory = self.memory
        for slot in range(self.first, self.first + self.used(count)):
            rays = min(count - (slot - self.first) * SLOT_RAYS, SLOT_RAYS)
            low = rays | (ANY_HIT_BIT if query == Query.ANY else 0)
            ring_bell(memory.bells, slot, _next_number(memory.bells, slot), low)
        self.in_flight = count

    def is_done(self) -> bool:
        """Whether all hits are there. Looks for a while."""
        memory = self.memory
        slots = range(self.first, self.first + self.used(self.in_flight))
        return all(flag_is_up(memory.flags, slot, int(memory.bells[slot] >> np.uint64(32))) for slot in slots)

    def complaints(self) -> tuple[int, int]:
        """Of a batch that is done: how many rays were invalid, and faults."""
        low = self.memory.flags[self.first : self.first + self.used(self.in_flight)].astype(np.uint32)
        return int((low % (1 << FAULT_SHIFT)).sum()), int(np.bitwise_or.reduce(low >> FAULT_SHIFT))

    @staticmethod
    def used(count: int) -> int:
        """Slots that so many rays need."""
        return -(-count // SLOT_RAYS)


def _next_number(bells: Words, slot: int) -> int:
    """Of the next order of a slot; never 0, which is no order."""
    return int(bells[slot] >> np.uint64(32)) % 0xFFFFFFFF + 1


class RingQueue:
    """A thread's queue to a kernel that stays.

    kernel: its name. timeout: seconds that an order may take. serve: sees to it that the kernel runs. count: is told of
    each batch that has come back how many rays it had and how many of them were invalid.
    """

    depth = DEPTH

    def __init__(
        self,
        memory: RingMemory,
        kernel: str,
        timeout: float,
        serve: Callable[[], None],
        count: Callable[[int, int], None],
    ) -> None:
        self._memory = memory
        self._kernel = kernel
        self._timeout = timeout
        self._serve = serve
        self._count = count
        self._batches: list[RingBatch] = []
        self._is_open = True

    def batch(self, capacity: int = BATCH_RAYS) -> Batch:
        """A new batch in the ring. Raises `RayError` where capacity is below 1, `DeviceError` where slots run out."""
        if capacity < 1:
            raise RayError(f"a batch needs a capacity of at least 1 ray, got {capacity}")
        batch = RingBatch(self._memory, capacity)
        self._batches.append(batch)
        return batch

    def submit(self, batch: Batch, count: int, query: Query) -> None:
        """Start to trace `rays[:count]`. Raises `RayError` for a count that does not fit and for a batch in flight."""
        own = _own(batch)
        if not self._is_open:
            raise KernelError("the queue is closed; open another one")
        if not 0 <= count <= own.capacity:
            raise RayError(f"a batch of capacity {own.capacity} cannot hold {count} rays")
        if own.in_flight:
            raise RayError("this batch is being traced; wait for it before submitting it again")
        if count > 0:
            self._serve()
            own.ring(count, query)

    def wait(self, batch: Batch) -> None:
        """Return once the hits are there; at once for a batch that is not in flight.

        Raises `KernelError` where the kernel complains or does not answer.
        """
        own = _own(batch)
        if own.in_flight:
            self._come_back(own)
            invalid, faults = own.complaints()
            self._count(own.in_flight, invalid)
            own.in_flight = 0
            if faults:
                raise KernelError(f"kernel {self._kernel!r} failed: {describe_faults(faults)}")

    def _come_back(self, batch: RingBatch) -> None:
        deadline = time.perf_counter() + self._timeout
        while not batch.is_done():
            if time.perf_counter() > deadline:
                raise KernelError(
                    f"kernel {self._kernel!r} has not answered in {self._timeout:g} s, so it may hang: end this "
                    "process; or raise TRACECORE_GPU_TIMEOUT if the GPU is slow or shared"
                )
            self._serve()

    def close(self) -> None:
        """Wait for what is in flight and give the slots back."""
        self._is_open = False
        batches, self._batches = self._batches, []
        for batch in batches:
            self.wait(batch)
            self._memory.give_back(batch.first, batch.slots)


def _own(batch: Batch) -> RingBatch:
    if not isinstance(batch, RingBatch):
        raise RayError("this batch is not in the ring; get one from queue.batch()")
    return batch
