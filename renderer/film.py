"""The film: the mean of the passes of a picture, how far it may be from the truth, and what the eye meets."""

import numpy as np
import numpy.typing as npt

from renderer.errors import RadianceError, RenderError

LARGEST = float(np.finfo(np.float32).max)

#: Share of the pixels that an error of a picture leaves out, the worst ones: a few specks do not stand for the whole.
LEFT_OUT = 0.01

#: What is added to a pixel's brightness where errors are compared with it, in mean brightnesses of the picture.
FLOOR = 0.01

Doubles = npt.NDArray[np.float64]


class Film:
    """Adds passes in the order given, in float64, so that the same passes give the same bits.

    passes: how many have been added. A pass is added whole or, after an interrupt, not at all.
    """

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        black = np.zeros((height, width, 3))
        self._exposed: tuple[int, Doubles, Doubles] = 0, black, black

    @property
    def passes(self) -> int:
        """How many passes have been added."""
        return self._exposed[0]

    def add(self, radiance: Doubles) -> None:
        """Add a pass: (height, width, 3) linear radiance, first row at the top.

        Raises `RadianceError`, and leaves the film as it was, where a value is negative, not finite or beyond float32.
        """
        passes, total, squares = self._exposed
        if radiance.shape != total.shape:
            raise RenderError(f"pass {passes} has the shape {radiance.shape}; expected {total.shape}")
        _check(radiance, passes)
        self._exposed = passes + 1, total + radiance, squares + np.square(radiance)

    @property
    def linear(self) -> npt.NDArray[np.float32]:
        """(height, width, 3) float32: the mean of the passes, linear radiance; zeros before the first."""
        passes, total, _ = self._exposed
        return (total / max(passes, 1)).astype(np.float32)

    @property
    def noise(self) -> npt.NDArray[np.float32]:
        """(height, width) float32: standard error of `linear`, root mean square over the channels, by how much the
        passes differ; infinite before the second."""
        passes, total, squares = self._exposed
        if passes < 2:
            return np.full((self.height, self.width), np.inf, np.float32)
        variance = np.maximum(squares - np.square(total) / passes, 0.0) / (passes - 1)
        return np.sqrt(variance.mean(axis=2) / passes).astype(np.float32)

    @property
    def relative_noise(self) -> float:
        """Of the whole picture, as `relative_error` measures it; infinite before the second pass."""
        if self.passes < 2:
            return float("inf")
        return relative_error(self.noise, self.linear)


def relative_error(errors: npt.NDArray[np.floating], picture: npt.NDArray[np.floating]) -> float:
    """Errors of pixels, (height, width), against the brightness of a picture (height, width, 3): the root of the mean
    square over the pixels, without the share LEFT_OUT of the worst."""
    brightness = picture.mean(axis=2, dtype=np.float64)
    floor = FLOOR * brightness.mean()
    relative = np.divide(errors, brightness + floor, out=np.zeros(errors.shape), where=brightness + floor > 0.0)
    squares = np.sort(np.square(relative), axis=None)
    return float(np.sqrt(squares[: squares.size - int(LEFT_OUT * squares.size)].mean()))


def _check(radiance: Doubles, pass_index: int) -> None:
    good = (radiance >= 0.0) & (radiance <= LARGEST)  # false for a NaN
    if good.all():
        return
    rows, columns = np.nonzero(~good.all(axis=2))
    y, x = int(rows[0]), int(columns[0])
    raise RadianceError(pass_index, (x, y), tuple(radiance[y, x].tolist()), len(rows))
