"""Orders written straight into the slots of a ring, as compiled loops do it."""

import time

import numpy as np

from tracecore.checks.ray_cases import Floats
from tracecore.dispatch.ring import RingMemory, is_flagged, ring_doorbell
from tracecore.kernels.ring_records import ENDLESS_BIT, NO_UV_BIT

#: What no kernel writes.
SENTINEL = np.float32(-7.0)


def write_order(memory: RingMemory, slot: int, rays: Floats, bits: int = 0) -> None:
    """Ring for (n, 8) rays; all that the device is not to read is NaN, all that it is to write is the sentinel."""
    memory.rays[slot] = np.nan
    memory.rays[slot, :, : len(rays)] = rays.T
    if bits & ENDLESS_BIT:
        memory.rays[slot, 3] = memory.rays[slot, 7] = np.nan
    memory.hits[slot] = SENTINEL
    ring_doorbell(memory.doorbells, slot, int(memory.doorbells[slot] >> np.uint64(32)) + 1, len(rays) | bits)


def await_order(memory: RingMemory, slot: int, seconds: float = 60.0) -> int:
    """The low half of a slot's flag, once it is up."""
    deadline = time.perf_counter() + seconds
    while not is_flagged(memory.flags, slot, int(memory.doorbells[slot] >> np.uint64(32))):
        assert time.perf_counter() < deadline, f"the flag of slot {slot} is not up in {seconds:g} s"
    return int(memory.flags[slot]) & 0xFFFFFFFF


def assert_written(memory: RingMemory, slot: int, expected: Floats, bits: int = 0) -> None:
    """The slot holds the (n, 4) hits bit for bit, and all else is the sentinel."""
    hits = np.full(memory.hits[slot].shape, SENTINEL)
    rows = [0, 3] if bits & NO_UV_BIT else [0, 1, 2, 3]
    hits[rows, : len(expected)] = expected.T[rows]
    np.testing.assert_array_equal(memory.hits[slot].view(np.uint32), hits.view(np.uint32))
