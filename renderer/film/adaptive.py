"""An adaptive film: passes leave out tiles that are quiet enough, so that in the end no tile is noisier than wanted.

After 16 passes, 32, 64 and so on, or sooner where all tiles have what they need, the film is looked at, and either half
of the passes says by its own samples how many it takes until a tile is quiet. The picture has as many samples of a half
as the other half says: so the values of samples have no say in how many of them there are, and their mean is as right
as that of any number. A tile that stopped as soon as its own samples look quiet would be too dark, as bright rare ones
come late (Kirk, Arvo: Unbiased Sampling Techniques for Image Synthesis, 1991). Where the halves disagree, some samples
are seen by one of the two alone: by the picture, or by what decides. The halves count as much as they have passes,
whatever samples they have.
"""

import math
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.film.exact_sum import LARGEST
from renderer.film.film import Film, Halves, half_of
from renderer.film.layers import LAYER_ALBEDO
from renderer.film.relative_error import FLOOR, WORST_SHARE, mean_around, mean_of_channels
from renderer.interrupts import held_back

#: Edge of a tile, pixels.
TILE = 8

#: Passes after which a film is looked at for the first time; then whenever there are twice as many.
FIRST_LOOK = 16

#: Columns of a half behind those of the picture and its bias: how many samples the picture has; and of those that
#: decide, number, brightness and its square.
SAMPLES, DECIDING, BRIGHTNESS, SQUARES, COLUMNS = range(LAYER_ALBEDO, LAYER_ALBEDO + 5)

#: What passes carry on of a film: before which pass tiles are quiet by either half, (rows, columns, 2) float64.
ENDS = "ends"

Doubles = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class HalfSeen(NamedTuple):
    """Is what a half of the passes shows of each tile, (rows, columns) float64 each.

    samples: of a pixel in the picture.
    deciding: of a pixel, by which it decides.
    variance: of one sample, relative to the square of the tile's brightness.
    """

    samples: Doubles
    deciding: Doubles
    variance: Doubles


class AdaptiveFilm(Film):
    """Adds passes as `Film` does, of which a pixel has no sample where its tile has ended (`allot`)."""

    more_columns: ClassVar[int] = COLUMNS - LAYER_ALBEDO
    is_adaptive: ClassVar[bool] = True

    def allot(self, noise: float | None) -> int:
        """Decides which tiles the next passes sample, where it is time to or none is left that they would, to bring all
        of them to a relative noise. Returns before which pass to decide again, or `end` where they are as quiet as
        that, but for a few."""
        end, ends = self.end, self.carried.get(ENDS)
        is_time = end >= FIRST_LOOK and (end & (end - 1) == 0 or (ends is not None and not (ends > end).any()))
        if noise is not None and is_time:
            ends = self._ends_for(noise)
            if not (ends > end).any():
                return end
            self._exposed = self._exposed._replace(carried={**self.carried, ENDS: ends})
        return next_look(end) if ends is None else min(next_look(end), int(ends.max()))

    @property
    def samples(self) -> Doubles:
        """Returns how many samples each pixel has in the picture: (height, width)."""
        one, other = self._exposed.halves
        samples: Doubles = one.now.value[..., SAMPLES] + other.now.value[..., SAMPLES]
        return samples

    def add(self, radiance: Doubles, carried: Mapping[str, Doubles] | None = None) -> None:
        """Add a pass as `Film.add` does. An interrupt waits until it is done."""
        with held_back():
            super().add(radiance, carried)

    def _added(self, halves: Halves, radiance: Doubles, carried: Mapping[str, Doubles] | None) -> Halves:
        own, both = half_of(self.end), list(halves)
        samples = radiance.reshape(self.width * self.height, -1)
        if not carried:
            numbers = columns_of_half(samples, np.ones(len(samples)), np.ones(len(samples)))
            both[own] = both[own].plus(numbers.reshape(self.height, self.width, COLUMNS))
        else:
            going_on: Flags = carried[ENDS] > self.end
            places = np.flatnonzero(self._of_pixels(going_on[..., 0] | going_on[..., 1]))
            seen, decides = (self._of_pixels(going_on[..., half]).ravel()[places] for half in (1 - own, own))
            both[own] = both[own].plus_at(columns_of_half(samples[places], seen, decides), places)
        return both[0], both[1]

    def _ends_for(self, noise: float) -> Doubles:
        """Returns before which pass tiles are quiet by either half, (rows, columns, 2), until they are looked at again;
        0 where they are quiet by both, but for a few.

        A tile is as noisy as itself or as those around it.
        """
        look, halves = float(next_look(self.end)), [self._seen(half) for half in (0, 1)]
        bias = self.relative_bias
        allowed = noise**2 - (0.0 if math.isnan(bias) else bias**2)
        if allowed <= 0.0:  # more passes are to have smaller discs everywhere
            return np.full((*halves[0].samples.shape, 2), look)
        of_picture = (halves[0].variance / halves[0].samples + halves[1].variance / halves[1].samples) / 4.0
        if (of_picture > allowed).mean() <= WORST_SHARE:
            return np.zeros((*halves[0].samples.shape, 2))
        ends = []
        for half in halves:
            variance = np.maximum(half.variance, mean_around(half.variance, 1))
            ends.append(self.end + 2.0 * np.ceil(np.maximum(variance / (2.0 * allowed) - half.deciding, 0.0)))
        return np.minimum(np.stack(ends, axis=2), look)

    def _seen(self, half: int) -> HalfSeen:
        """Returns what a half, 0 or 1, shows of the tiles."""
        sums = self._exposed.halves[half].now.value
        deciding = np.maximum(sums[..., DECIDING], 1.0)
        mean, squares = sums[..., BRIGHTNESS] / deciding, sums[..., SQUARES] / deciding
        variance = np.maximum(squares - np.square(mean), 0.0) * (deciding / np.maximum(deciding - 1.0, 1.0))
        return HalfSeen(tile_means(sums[..., SAMPLES]), tile_means(deciding), relative_to(mean, variance))

    def _of_pixels(self, tiles: Flags) -> Flags:
        """Returns what tiles, (rows, columns), have for each of their pixels: (height, width)."""
        pixels: Flags = np.repeat(np.repeat(tiles, TILE, axis=0), TILE, axis=1)
        return pixels[: self.height, : self.width]

    @property
    def _mean(self) -> Doubles:
        if self.passes < 2:
            return super()._mean
        (one, other), (in_first, in_second) = self._half_means, self._half_passes
        mean: Doubles = one * (in_first / self.passes) + other * (in_second / self.passes)
        return mean

    @property
    def _half_means(self) -> tuple[Doubles, Doubles]:
        one, other = (half.now.value for half in self._exposed.halves)
        seen = slice(SAMPLES, SAMPLES + 1)
        return one / np.maximum(one[..., seen], 1.0), other / np.maximum(other[..., seen], 1.0)


def next_look(index: int) -> int:
    """Returns before which pass a film is looked at again that is at pass `index`."""
    return max(FIRST_LOOK, 1 << index.bit_length())


class SampledPixels(NamedTuple):
    """Says which pixels passes sample.

    pixels: (n,) int32, row * width + column, those first that end first.
    ends: (n,) float64, before which pass these have no more samples.
    carried: of which it was made.
    """

    pixels: npt.NDArray[np.int32]
    ends: Doubles
    carried: dict[str, Doubles]

    @classmethod
    def of(cls, pixels: npt.NDArray[np.int32], width: int, carried: Mapping[str, Doubles]) -> "SampledPixels":
        """Returns what passes sample of some pixels, (n,) int32, of a picture of a width.
        carried: what passes carry on."""
        rows, columns = np.divmod(pixels, width)
        ends = carried[ENDS].max(axis=2)[rows // TILE, columns // TILE]
        order = np.argsort(ends, kind="stable")
        return cls(pixels[order], ends[order], dict(carried))

    def left_out(self, index: int) -> int:
        """Returns how many of the first pixels a pass leaves out."""
        return int(np.searchsorted(self.ends, index, side="right"))

    def of_pass(self, index: int) -> npt.NDArray[np.int32]:
        """Returns the pixels that a pass samples."""
        return self.pixels[self.left_out(index) :]


def columns_of_half(samples: Doubles, seen: Flags | Doubles, decides: Flags | Doubles) -> Doubles:
    """Returns what samples add to their half: (n, COLUMNS).

    samples: (n, columns), of a pass.
    seen, decides: (n,), whether they are in the picture, and whether they decide.
    """
    brightness, numbers = mean_of_channels(samples), np.empty((len(samples), COLUMNS))
    np.multiply(samples[:, :LAYER_ALBEDO], seen[:, None], out=numbers[:, :LAYER_ALBEDO])
    numbers[:, SAMPLES], numbers[:, DECIDING] = seen, decides
    numbers[:, BRIGHTNESS] = brightness * decides
    numbers[:, SQUARES] = np.minimum(np.square(brightness), LARGEST) * decides
    return numbers


def relative_to(brightness: Doubles, variance: Doubles) -> Doubles:
    """Returns the variance of tiles relative to the square of their brightness, (rows, columns), of pixels, (height,
    width) both."""
    square = np.square(tile_means(brightness) + FLOOR * brightness.mean())
    return np.divide(tile_means(variance), square, out=np.zeros(square.shape), where=square > 0.0)


def tile_means(values: Doubles) -> Doubles:
    """Returns the mean of each tile: (rows, columns). values: of pixels, (height, width)."""
    for axis in (0, 1):
        starts = np.arange(0, values.shape[axis], TILE)
        counts = np.diff(starts, append=values.shape[axis])
        values = np.add.reduceat(values, starts, axis=axis) / (counts[:, None] if axis == 0 else counts)
    return values
