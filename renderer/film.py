"""The film: the mean of the passes of a picture."""

import numpy as np
import numpy.typing as npt

from renderer.errors import RadianceError, RenderError

LARGEST = float(np.finfo(np.float32).max)


class Film:
    """Adds passes in the order given, in float64, so that the same passes give the same bits.

    passes: how many have been added. A pass is added whole or, after an interrupt, not at all.
    """

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._exposed: tuple[int, npt.NDArray[np.float64]] = 0, np.zeros((height, width, 3))

    @property
    def passes(self) -> int:
        """How many passes have been added."""
        return self._exposed[0]

    def add(self, radiance: npt.NDArray[np.float64]) -> None:
        """Add a pass: (height, width, 3) linear radiance, first row at the top.

        Raises `RadianceError`, and leaves the film as it was, where a value is negative, not finite or beyond float32.
        """
        passes, total = self._exposed
        if radiance.shape != total.shape:
            raise RenderError(f"pass {passes} has the shape {radiance.shape}; expected {total.shape}")
        _check(radiance, passes)
        self._exposed = passes + 1, total + radiance

    @property
    def linear(self) -> npt.NDArray[np.float32]:
        """(height, width, 3) float32: the mean of the passes, linear radiance; zeros before the first."""
        passes, total = self._exposed
        return (total / max(passes, 1)).astype(np.float32)


def _check(radiance: npt.NDArray[np.float64], pass_index: int) -> None:
    good = (radiance >= 0.0) & (radiance <= LARGEST)  # false for a NaN
    if good.all():
        return
    rows, columns = np.nonzero(~good.all(axis=2))
    y, x = int(rows[0]), int(columns[0])
    raise RadianceError(pass_index, (x, y), tuple(radiance[y, x].tolist()), len(rows))
