"""Defines the records that a launch hands to a kernel and back, as in `kernels/entry_points.cuh`, which checks their
sizes.
"""

import numpy as np

from tracecore import precision
from tracecore.rays import HIT, MISS, RAY

#: What one launch traces. Pointers are addresses as the device sees them, steps is 0 unless they are counted; count is
#: in rays; kernels `with_device_count` trace as many of these as another kernel has written at device_count, int64.
LAUNCH = np.dtype(
    [
        ("rays", "<u8"),
        ("hits", "<u8"),
        ("report", "<u8"),
        ("counters", "<u8"),
        ("count", "<u4"),
        ("steps", "<u8"),
        ("device_count", "<u8"),
    ],
    align=True,
)
#: What a launch reports: nanoseconds of the device's clock, rays rejected, bits of `FAULTS`.
REPORT = np.dtype([("start", "<u8"), ("end", "<u8"), ("invalid_rays", "<u4"), ("faults", "<u4")])
#: What a launch counts on the device, for its report; all zero between launches.
LAUNCH_COUNTERS = np.dtype([("blocks_done", "<u4"), ("rays_taken", "<u4"), ("invalid_rays", "<u4"), ("faults", "<u4")])

#: Errors that a kernel can report (`kernels/fault.cuh`), and what to do about it.
FAULTS = {
    1: "its traversal stack overflowed; register the strategy with a larger stack_size",
    2: "it has not answered in time and gave up; raise TRACECORE_GPU_TIMEOUT if the GPU is slow or shared",
}

#: Named constants for every kernel.
DEFINES = {
    "RAY_BYTES": str(RAY.itemsize),
    "HIT_BYTES": str(HIT.itemsize),
    "MISS": f"{MISS:#x}u",
    "LAUNCH_BYTES": str(LAUNCH.itemsize),
    "REPORT_BYTES": str(REPORT.itemsize),
    "LAUNCH_COUNTERS_BYTES": str(LAUNCH_COUNTERS.itemsize),
    **precision.DEFINES,
}


def describe_faults(faults: int) -> str:
    """Returns the errors in a report's bits, in words."""
    words = [text for bit, text in FAULTS.items() if faults & bit]
    unknown = faults & ~sum(FAULTS)
    return "; ".join([*words, f"unknown fault bits {unknown:#x}"] if unknown else words)
