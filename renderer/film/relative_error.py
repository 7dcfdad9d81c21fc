"""How wrong a picture is, relative to its brightness: in one number that a few specks do not decide."""

from functools import reduce

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

#: Share of the pixels that an error of a picture leaves out, the worst ones: a few specks do not stand for the whole.
WORST_SHARE = 0.01

#: What is added to a pixel's brightness where errors are compared with it, in mean brightnesses of the picture.
FLOOR = 0.01

#: So many pixels to each side of a pixel tell what is bright around it.
BRIGHTNESS_REACH = 2

Doubles = npt.NDArray[np.float64]


def relative_error(errors: npt.NDArray[np.floating], picture: npt.NDArray[np.floating]) -> float:
    """Returns the root of the mean square of relative errors over the pixels, without the worst WORST_SHARE of them.

    errors: (height, width), of pixels.
    picture: (height, width, 3), with whose brightness they are compared.
    """
    return trimmed(errors, brightness_of(picture))


def mean_of_channels(columns: Doubles) -> Doubles:
    """Returns the mean of the first three columns. columns: (..., 3 or more), of which light comes first."""
    red, green, blue = np.moveaxis(columns[..., :3], -1, 0)
    mean: Doubles = (red + green + blue) / 3.0
    return mean


def brightness_of(picture: npt.NDArray[np.floating]) -> Doubles:
    """Returns what errors of a picture are compared with: (height, width)."""
    brightness = mean_of_channels(picture.astype(np.float64))
    return brightness + FLOOR * brightness.mean()


def quiet_brightness(brightness: Doubles, variance: Doubles) -> Doubles:
    """Returns the brightness with its own where a pixel is quiet, and that of the pixels around it where it is noisy.

    A speck that a rare path leaves is as bright as it is wrong; compared with itself it would count little, and a
    picture full of specks would pass for a good one. Where the pixels around differ by no more than by the noise of
    this one, it is their mean that counts. (Lee: Digital Image Enhancement and Noise Filtering by Use of Local
    Statistics, 1980.)

    brightness: (height, width), see `brightness_of`.
    variance: (height, width), the square of the standard error of the brightness.
    """
    middle = mean_around(brightness, BRIGHTNESS_REACH)
    spread = np.maximum(mean_around(np.square(brightness), BRIGHTNESS_REACH) - np.square(middle), 0.0)
    detail = np.maximum(spread - variance, 0.0)
    share = np.divide(detail, spread, out=np.zeros(spread.shape), where=spread > 0.0)
    return middle + share * (brightness - middle)


def mean_around(values: Doubles, reach: int) -> Doubles:
    """Returns the mean over the square around each pixel; beyond its edges the picture is mirrored.

    values: (height, width).
    reach: how many pixels the square has to each side.
    """
    size = 2 * reach + 1
    for axis in (0, 1):
        padding = [(reach, reach) if axis == other else (0, 0) for other in (0, 1)]
        windows = sliding_window_view(np.pad(values, padding, mode="symmetric"), size, axis=axis)
        values = reduce(np.add, np.moveaxis(windows, 2, 0)) / size  # many times as fast as a `mean` over a few
    return values


def kept_pixels(pixels: int) -> int:
    """Returns how many of so many pixels an error of a picture looks at."""
    return pixels - int(WORST_SHARE * pixels)


def trimmed(errors: npt.NDArray[np.floating], brightness: Doubles) -> float:
    """Returns the root of the mean square of errors over a brightness, (height, width) both, without the worst ones."""
    relative = np.divide(errors, brightness, out=np.zeros(errors.shape), where=brightness > 0.0)
    squares = np.sort(np.square(relative), axis=None)
    return float(np.sqrt(squares[: kept_pixels(squares.size)].mean()))
