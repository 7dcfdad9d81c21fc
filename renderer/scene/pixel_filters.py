"""A pixel filter says what a pixel sees of the picture around its middle.

Ernst, Stamminger, Greiner: Filter Importance Sampling, 2006: offsets are drawn from the filter, so that a pixel is the
plain mean of its samples. A filter with negative lobes would need weights of both signs, and there is none.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shaders.compilation import compiled as inlined
from shaders.elementary import cosine, exponential

Doubles = npt.NDArray[np.float64]

#: Steps of a filter's table, from its left end to its right end.
TABLE_STEPS = 512

#: Standard deviation of the gaussian, and where it is cut off, in pixels.
DEVIATION, CUT = 0.5, 2.0

#: Terms of the window of Harris: On the Use of Windows for Harmonic Analysis with the Discrete Fourier Transform, 1978,
#: the one with four terms and the least side lobes.
BLACKMAN_HARRIS = (0.35875, 0.48829, 0.14128, 0.01168)


class PixelFilter(NamedTuple):
    """This is the product of a horizontal curve and the same one vertically.

    radius: half the width of the curve in pixels.
    shares: (TABLE_STEPS + 1,) float64, how much of the curve lies left of each of so many points from end to end;
        (0,) of the pixel itself.
    """

    radius: float
    shares: Doubles


@inlined
def sample_filter(pixel_filter: PixelFilter, u: float) -> float:
    """Returns an offset drawn from the curve, in pixels from the pixel's left end.

    u: uniform in (0, 1).
    """
    shares = pixel_filter.shares
    if len(shares) == 0:
        return u
    step = np.searchsorted(shares, u, side="right") - 1
    part = (u - shares[step]) / (shares[step + 1] - shares[step])
    return 0.5 + pixel_filter.radius * (2.0 * (step + part) / TABLE_STEPS - 1.0)


def tent(x: Doubles) -> Doubles:
    """Returns the tent filter at x, -1..1, in radii."""
    return 1.0 - np.abs(x)


def gaussian(x: Doubles) -> Doubles:
    """Returns the Gaussian filter at x, -1..1, in radii."""
    values: Doubles = exponential(-0.5 * (x * CUT / DEVIATION) ** 2)
    return values


def blackman_harris(x: Doubles) -> Doubles:
    """Returns the Blackman-Harris filter at x, -1..1, in radii."""
    values: Doubles = sum(term * cosine(0.5 * number * x) for number, term in enumerate(BLACKMAN_HARRIS))
    return values


def tabulated(curve: Callable[[Doubles], Doubles], radius: float) -> PixelFilter:
    """Returns the filter of a curve that is not negative; between the points of the table its share grows evenly."""
    middles = (np.arange(TABLE_STEPS, dtype=np.float64) + 0.5) * (2.0 / TABLE_STEPS) - 1.0
    shares = np.concatenate([[0.0], np.cumsum(curve(middles))])
    return PixelFilter(radius=radius, shares=shares / shares[-1])


#: The filters by name.
FILTERS = {
    "box": PixelFilter(radius=0.5, shares=np.zeros(0)),
    "tent": tabulated(tent, 1.0),
    "gaussian": tabulated(gaussian, CUT),
    "blackman-harris": tabulated(blackman_harris, 1.5),
}
