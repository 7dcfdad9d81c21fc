"""The film: the mean of the passes of a picture, how far it may be from the truth, and what the eye meets."""

import math

import numpy as np
import numpy.typing as npt

from renderer.errors import RadianceError, RenderError
from renderer.film.layers import ALBEDO, BEAUTY, BIAS, BIAS_FACTOR, layers_of

LARGEST = float(np.finfo(np.float32).max)

#: Share of the pixels that an error of a picture leaves out, the worst ones: a few specks do not stand for the whole.
LEFT_OUT = 0.01

#: What is added to a pixel's brightness where errors are compared with it, in mean brightnesses of the picture.
FLOOR = 0.01

#: Less than any brightness but 0.
LEAST = float(np.finfo(np.float64).tiny)

Doubles = npt.NDArray[np.float64]


class Film:
    """Adds passes in the order given, in float64, so that the same passes give the same bits.

    columns: of a pass, see `layers`. passes: how many have been added. A pass is added whole or, after an interrupt,
    not at all.
    """

    def __init__(self, width: int, height: int, columns: int = BIAS) -> None:
        self.width, self.height = width, height
        black = np.zeros((height, width, columns))
        self._exposed: tuple[int, Doubles, Doubles] = 0, black, black[..., :ALBEDO]

    @property
    def passes(self) -> int:
        """How many passes have been added."""
        return self._exposed[0]

    def add(self, radiance: Doubles) -> None:
        """Add a pass: (height, width, columns), first row at the top, linear radiance in the first three.

        Raises `RadianceError`, and leaves the film as it was, where radiance is negative, not finite or beyond float32.
        """
        passes, total, squares = self._exposed
        if radiance.shape != total.shape:
            raise RenderError(f"pass {passes} has the shape {radiance.shape}; expected {total.shape}")
        _check(radiance[..., BEAUTY:BIAS], passes)
        self._exposed = passes + 1, total + radiance, squares + np.square(radiance[..., :ALBEDO])

    @property
    def linear(self) -> npt.NDArray[np.float32]:
        """(height, width, 3) float32: the mean of the passes, linear radiance; zeros before the first."""
        passes, total, _ = self._exposed
        return (total[..., BEAUTY:BIAS] / max(passes, 1)).astype(np.float32)

    @property
    def layers(self) -> dict[str, npt.NDArray[np.float32]]:
        """What `layers.layers_of` tells of the passes."""
        passes, total, _ = self._exposed
        return layers_of(total, passes)

    @property
    def noise(self) -> npt.NDArray[np.float32]:
        """(height, width) float32: standard error of `linear`, root mean square over the channels, by how much the
        passes differ; infinite before the second."""
        if self.passes < 2:
            return np.full((self.height, self.width), np.inf, np.float32)
        return np.sqrt(self._variance[..., BEAUTY:BIAS].mean(axis=2)).astype(np.float32)

    @property
    def relative_noise(self) -> float:
        """Of the whole picture, as `relative_error` measures it; infinite before the second pass."""
        if self.passes < 2:
            return float("inf")
        return relative_error(self.noise, self.linear)

    @property
    def relative_bias(self) -> float:
        """Of the photon search, over the whole picture and relative as its noise is; not a number where it was not
        looked at or there is one pass alone.

        Of each pixel the square of the mean over the passes is known, and how much of that is noise: what is left over
        all pixels is the square of the bias. Detail that is finer than the radius of the search is not noticed.
        """
        passes, total, _ = self._exposed
        if passes < 2 or total.shape[2] <= BIAS:
            return float("nan")
        squares = np.square(total[..., BIAS] / passes) - self._variance[..., BIAS]
        brightness = brightness_of(self.linear)
        relative = np.divide(squares, np.square(brightness), out=np.zeros(squares.shape), where=brightness > 0.0)
        quiet = np.argsort(self.noise / np.maximum(brightness, LEAST), axis=None)[: kept_pixels(squares.size)]
        return BIAS_FACTOR * float(np.sqrt(max(relative.ravel()[quiet].mean(), 0.0)))

    @property
    def relative_deviation(self) -> float:
        """Noise of the picture, and bias as far as it is known."""
        bias = self.relative_bias
        return math.hypot(self.relative_noise, 0.0 if math.isnan(bias) else bias)

    @property
    def _variance(self) -> Doubles:
        """(height, width, n) of the means of the picture's columns and of the bias; there must be two passes."""
        passes, total, squares = self._exposed
        kept = total[..., :ALBEDO]
        return np.maximum(squares - np.square(kept) / passes, 0.0) / (passes - 1) / passes


def relative_error(errors: npt.NDArray[np.floating], picture: npt.NDArray[np.floating]) -> float:
    """Errors of pixels, (height, width), against the brightness of a picture (height, width, 3): the root of the mean
    square over the pixels, without the share LEFT_OUT of the worst."""
    brightness = brightness_of(picture)
    relative = np.divide(errors, brightness, out=np.zeros(errors.shape), where=brightness > 0.0)
    squares = np.sort(np.square(relative), axis=None)
    return float(np.sqrt(squares[: kept_pixels(squares.size)].mean()))


def brightness_of(picture: npt.NDArray[np.floating]) -> Doubles:
    """(height, width), what errors are compared with."""
    brightness: Doubles = picture.mean(axis=2, dtype=np.float64)
    return brightness + FLOOR * brightness.mean()


def kept_pixels(pixels: int) -> int:
    """How many of so many pixels an error of a picture looks at."""
    return pixels - int(LEFT_OUT * pixels)


def _check(radiance: Doubles, pass_index: int) -> None:
    good = (radiance >= 0.0) & (radiance <= LARGEST)  # false for a NaN
    if good.all():
        return
    rows, columns = np.nonzero(~good.all(axis=2))
    y, x = int(rows[0]), int(columns[0])
    raise RadianceError(pass_index, (x, y), tuple(radiance[y, x].tolist()), len(rows))
