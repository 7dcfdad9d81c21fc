"""Defines the records of a ring of slots, as in `resident.cuh`, which checks their sizes.

RING says where everything is. A REQUEST is what a slot's doorbell asks for. RING_STATE counts the requests of a launch,
and the tickets that warps have drawn.
"""

import numpy as np

#: Rays that a slot may be made for: powers of two.
LEAST_SLOT_RAYS, MOST_SLOT_RAYS = 1 << 8, 1 << 16
#: Words behind each column, so that columns begin in other sets of a cache, and at a multiple of 128 bytes.
COLUMN_PAD = 32
#: Pointers are addresses as the device sees them. patience: nanoseconds. slot_bits: a slot has 2^slot_bits rays.
RING = np.dtype(
    [
        ("rays", "<u8"),
        ("hits", "<u8"),
        ("doorbells", "<u8"),
        ("flags", "<u8"),
        ("stop", "<u8"),
        ("busy", "<u8"),
        ("patience", "<u8"),
        ("state", "<u8"),
        ("requests", "<u8"),
        ("entries", "<u8"),
        ("staged", "<u8"),
        ("slots", "<u4"),
        ("entry_count", "<u4"),
        ("slot_bits", "<u4"),
    ],
    align=True,
)
REQUEST = np.dtype([("claim", "<u8"), ("number", "<u4"), ("left", "<u4"), ("error", "<u4")], align=True)
RING_STATE = np.dtype([(name, "<u8") for name in ("queued", "tickets", "finished", "closed")])
#: The low half of a doorbell: how many rays, and what is asked of them. ENDLESS: t_min is 0 and t_max infinite for all,
#: and rows 3 and 7 of the rays are not read. NO_UV: rows 1 and 2 of the hits are not written.
COUNT_MASK = (1 << 20) - 1
ANY_HIT_BIT, ENDLESS_BIT, NO_UV_BIT = 1 << 31, 1 << 30, 1 << 29
#: The low half of a completion flag: faults from this bit on, how many rays were invalid below.
FAULT_SHIFT = 24
#: What the host says by `stop`: go on, end when all is done, or answer only what has been rung when the kernel starts.
GO_ON, END, ONCE = range(3)
DEFINES = {
    "ONCE": f"{ONCE}u",
    "COLUMN_PAD": f"{COLUMN_PAD}u",
    "COUNT_MASK": f"{COUNT_MASK:#x}u",
    "ANY_HIT_BIT": f"{ANY_HIT_BIT:#x}u",
    "ENDLESS_BIT": f"{ENDLESS_BIT:#x}u",
    "NO_UV_BIT": f"{NO_UV_BIT:#x}u",
    "FAULT_SHIFT": str(FAULT_SHIFT),
    "RING_BYTES": str(RING.itemsize),
    "REQUEST_BYTES": str(REQUEST.itemsize),
    "RING_STATE_BYTES": str(RING_STATE.itemsize),
}
