"""Says how far rounding reaches: by how much boxes are widened, and what numbers rays may begin with.

`docs/correctness.md` derives the bounds. Kernels get the numbers as named constants.
"""

import numpy as np

from tracecore.rays import Floats

#: How much farther a box reaches than its triangles, relative to its own largest coordinate, and once more relative to
#: the largest one of the ray's origin: 32 roundings of 2^-24 each, of which the slab test and the triangle test take 28
#: at most. After Ize: Robust BVH Ray Traversal, 2013, who bounds the former.
PAD = np.float32(2.0**-19)

#: An origin counts as at least so much of the direction, for what underflows in the triangle test.
LEAST_REACH = np.float32(2.0**-26)

#: The largest component of a direction is at least this, the smallest number of full precision.
LEAST_DIRECTION = np.float32(2.0**-126)

#: Rays that begin farther away, in largest coordinates of the scene, are moved along themselves to this distance.
FAR = np.float32(8.0)

#: Named constants for kernels.
DEFINES = {
    "PAD": f"{PAD!s}f",
    "LEAST_REACH": f"{LEAST_REACH!s}f",
    "LEAST_DIRECTION": f"{LEAST_DIRECTION!s}f",
    "FAR": f"{FAR!s}f",
}


def padded(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Returns boxes that every ray hits which hits a triangle inside, however the tests round.

    A box takes a pad of its own, so that it stays small in large surroundings.

    lower, upper: (..., 3) float32, world units.
    """
    reach = np.maximum(np.abs(lower), np.abs(upper))
    pad = PAD * np.maximum(np.maximum(reach[..., :1], reach[..., 1:2]), reach[..., 2:])  # many times as fast as a `max`
    return lower - pad, upper + pad
