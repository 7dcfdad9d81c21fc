"""Pixel filters: what a pixel sees of the picture around its middle.

Ernst, Stamminger, Greiner: Filter Importance Sampling, 2006: places are drawn from the filter, so that a pixel is the
plain mean of its samples. A filter with negative lobes would need weights of both signs, and there is none.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shaders.compilation import compiled as inlined

#: Steps of a filter's table, from its left end to its right end.
STEPS = 512

#: Standard deviation of the gaussian, and where it is cut off, in pixels.
DEVIATION, CUT = 0.5, 2.0

#: Terms of the window of Harris: On the Use of Windows for Harmonic Analysis with the Discrete Fourier Transform, 1978,
#: the one with four terms and the least side lobes.
BLACKMAN_HARRIS = (0.35875, 0.48829, 0.14128, 0.01168)


class PixelFilter(NamedTuple):
    """The product of a curve across and the same one down. radius: half its width in pixels. shares: (STEPS + 1,)
    float64, how much of the curve lies left of each of so many places from end to end; (0,) of the pixel itself."""

    radius: float
    shares: npt.NDArray[np.float64]


@inlined
def place_in_filter(pixel_filter: PixelFilter, u: float) -> float:
    """A place drawn from the curve by u in (0, 1), in pixels from the pixel's left end."""
    shares = pixel_filter.shares
    if len(shares) == 0:
        return u
    step = np.searchsorted(shares, u, side="right") - 1
    part = (u - shares[step]) / (shares[step + 1] - shares[step])
    return 0.5 + pixel_filter.radius * (2.0 * (step + part) / STEPS - 1.0)


def tent(x: float) -> float:
    """x, -1..1, in radii."""
    return 1.0 - abs(x)


def gaussian(x: float) -> float:
    """Likewise."""
    return math.exp(-0.5 * (x * CUT / DEVIATION) ** 2)


def blackman_harris(x: float) -> float:
    """Likewise."""
    return sum(term * math.cos(math.pi * number * x) for number, term in enumerate(BLACKMAN_HARRIS))


def tabulated(curve: Callable[[float], float], radius: float) -> PixelFilter:
    """A filter from its curve, which is not negative; between the places of the table its share grows evenly."""
    middles = (np.arange(STEPS) + 0.5) * (2.0 / STEPS) - 1.0
    shares = np.cumsum([0.0, *map(curve, middles.tolist())])
    return PixelFilter(radius=radius, shares=shares / shares[-1])


#: By name.
FILTERS = {
    "box": PixelFilter(radius=0.5, shares=np.zeros(0)),
    "tent": tabulated(tent, 1.0),
    "gaussian": tabulated(gaussian, CUT),
    "blackman-harris": tabulated(blackman_harris, 1.5),
}
