"""Makes boxes of centres and half extents: the struct Box of `kernels/box.cuh`."""

import numpy as np

from tracecore.rays import Floats


def centre_and_half(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Returns centres, and halves that reach from them to both planes or farther: (..., 3) float32 each.

    lower, upper: (..., 3) float32, with their pads.
    """
    lower64, upper64 = lower.astype(np.float64), upper.astype(np.float64)
    centre = ((lower64 + upper64) / 2).astype(np.float32)
    half = np.maximum(centre - lower64, upper64 - centre)
    above = np.where(half > 0.0, np.nextafter(half, np.inf), half)  # the difference was rounded, unless it is 0
    rounded = above.astype(np.float32)
    return centre, np.where(rounded < above, np.nextafter(rounded, np.finfo(np.float32).max), rounded)
