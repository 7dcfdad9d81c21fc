"""The samples of a pass, one of each pixel, before a film adds them: what cannot be is left out and counted, and what
is brighter than the user wants is clamped.

A sample whose radiance is no number counts as black (Pharr, Jakob, Humphreys: Physically Based Rendering, 2023, do so
too): its pixel is darker by the share of its samples that are left out. To clamp samples takes light away as well, that
of rare bright paths, which are fireflies where a picture has few passes.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.film.exact_sum import LARGEST, by_bands
from renderer.film.layers import LAYER_ALBEDO, LAYER_BEAUTY, LAYER_BIAS, LAYER_DENSITY, LAYER_LIGHT
from renderer.film.tone_mapping import luminance

#: Columns of a pass that hold light.
LIGHT_COLUMNS = (slice(LAYER_BEAUTY, LAYER_ALBEDO), slice(LAYER_LIGHT, LAYER_DENSITY))

Doubles = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


class SampleCounts(NamedTuple):
    """Counts samples that a film does not hold as they were made.

    impossible: (n, 4) float64, a row for each pass that had samples which cannot be: its index, how many they are, and
    column and row of the first one's pixel.
    clamped: how many were too bright.
    """

    impossible: Doubles = np.empty((0, 4))
    clamped: int = 0

    @property
    def left_out(self) -> int:
        """Returns how many samples could not be."""
        return int(self.impossible[:, 1].sum())


NOTHING_COUNTED = SampleCounts()


def sifted(radiance: Doubles, index: int, clamp: float | None, before: SampleCounts) -> tuple[Doubles, SampleCounts]:
    """Returns a pass as a film adds it, the very array where nothing is wrong, and the counts with its own.

    radiance: (height, width, columns) float64, see `layers`.
    index: of the pass, 0-based.
    clamp: the greatest luminance of a sample, or None.
    before: the counts of the passes before.
    """
    wrong, counts = impossible_pixels(radiance), before
    if len(wrong):
        radiance = scaled(radiance, wrong, None)
        y, x = wrong[0].tolist()
        counts = counts._replace(impossible=np.vstack([counts.impossible, (index, len(wrong), x, y)]))
    if clamp is not None:
        brightness = luminance(radiance[..., LAYER_BEAUTY:LAYER_BIAS])
        bright = np.argwhere(brightness > clamp)
        radiance = scaled(radiance, bright, clamp / brightness[tuple(bright.T)])
        counts = counts._replace(clamped=counts.clamped + len(bright))
    return radiance, counts


def impossible_pixels(radiance: Doubles) -> Indices:
    """Returns the pixels whose radiance is not a number, infinite or negative, or of which any column is not a number
    or larger than a film's sums have room for (`exact_sum.LARGEST`): (n, 2) row and column.

    radiance: (height, width, columns) float64.
    """
    least = np.full(radiance.shape[2], -LARGEST)
    least[LAYER_BEAUTY:LAYER_BIAS] = 0.0
    beauty, is_alone = radiance[..., LAYER_BEAUTY:LAYER_BIAS], radiance.shape[2] == LAYER_BIAS
    if _is_within(radiance, 0.0 if is_alone else -LARGEST) and (is_alone or _is_within(beauty, 0.0)):
        return np.empty((0, 2), np.intp)
    return np.argwhere(~((radiance >= least) & (radiance <= LARGEST)).all(axis=2))


def _is_within(values: Doubles, least: float) -> bool:
    """Tells whether all values are from `least` to `LARGEST`, which what is no number is not."""
    return all(by_bands(lambda band: bool(band.min() >= least and band.max() <= LARGEST), values))


def scaled(radiance: Doubles, pixels: Indices, factors: Doubles | None) -> Doubles:
    """Returns a pass whose light is scaled in some pixels, where other columns that cannot be are 0; itself where there
    are none.

    radiance: (height, width, columns) float64.
    pixels: (n, 2) row and column.
    factors: (n,) float64, or None for black.
    """
    if len(pixels) == 0:
        return radiance
    changed, (rows, columns) = radiance.copy(), pixels.T
    for light in LIGHT_COLUMNS:
        changed[rows, columns, light] = 0.0 if factors is None else changed[rows, columns, light] * factors[:, None]
    others = changed[rows, columns]
    changed[rows, columns] = np.where(np.abs(others) <= LARGEST, others, 0.0)  # false for a NaN
    return changed
