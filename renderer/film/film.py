"""The film: the mean of the passes of a picture, how far it may be from the truth, and what the eye meets.

Passes are no independent samples, as numbers that fill their range evenly have them keep apart. But the two halves of
the passes that `half_of` deals out are independent pictures. Half of their difference is, on average of its square, as
large as the error of their mean, whatever the sampler. One pixel has one difference alone: what is told of it is a mean
over its neighbours, and what is told of the whole picture a mean over all pixels.

A sample, one of each pixel and pass, whose radiance is no number counts as black (Pharr, Jakob, Humphreys: Physically
Based Rendering, 2023, do so too): its pixel is darker by the share of its samples that are left out. What is brighter
than the user wants is clamped, which takes light away as well, that of rare bright paths, which are fireflies where a
picture has few passes.
"""

import math
import time
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.errors import RenderError
from renderer.film.bands import by_bands
from renderer.film.exact_sum import LARGEST, MOST_NUMBERS, ExactSum, RunningSum, from_arrays, to_arrays
from renderer.film.layers import (
    BIAS_FACTOR,
    LAYER_ALBEDO,
    LAYER_BEAUTY,
    LAYER_BIAS,
    LAYER_DENSITY,
    LAYER_END,
    LAYER_LIGHT,
    groups_of,
    layers_of,
)
from renderer.film.relative_error import (
    brightness_of,
    kept_pixels,
    mean_around,
    mean_of_channels,
    quiet_brightness,
    trimmed,
)
from renderer.film.tone_mapping import luminance

#: Less than any brightness but 0.
LEAST = float(np.finfo(np.float64).tiny)

#: So many pixels to each side of a pixel tell its noise.
NOISE_REACH = 1

#: Columns of a pass that hold light.
LIGHT_COLUMNS = (slice(LAYER_BEAUTY, LAYER_ALBEDO), slice(LAYER_LIGHT, LAYER_DENSITY), slice(LAYER_END, None))

#: Names of the exact sums of a film: of the picture over either half of the passes, and of what stands beside it.
EXACT_SUMS = ("first", "second", "features")

Doubles = npt.NDArray[np.float64]
#: The sums of either half of the passes.
Halves = tuple[RunningSum, RunningSum]
#: The sums of a film by name, int64 or float64.
Sums = dict[str, npt.NDArray[Any]]
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


class Exposure(NamedTuple):
    """Holds what a film has been exposed to.

    passes: how many have been added.
    halves: the sums of the picture and of its bias over either half of the passes, (height, width, n).
    features: the sum of all other columns over all passes, (height, width, n), n may be 0.
    counts: of samples that it does not hold as they were made.
    carried: what the next pass needs of those before it, by name.
    """

    passes: int
    halves: Halves
    features: RunningSum
    counts: SampleCounts = NOTHING_COUNTED
    carried: Mapping[str, Doubles] | None = None


class Film:
    """Adds passes, by sums that are exact (`exact_sum`): the same passes give the same bits in any order, and so do
    films of some of them each that are `joined`.

    columns: of a pass, see `layers`. passes: how many have been added. A pass is added whole or, after an interrupt,
    not at all. seconds: wall time that adding has taken. clamp: the greatest luminance of a sample, one of a pixel and
    pass; brighter ones are scaled down to it. None leaves all as they are. first: index of the pass that is added
    first, 0 but for a part of a picture.
    """

    #: How many columns its halves have behind those of the picture.
    more_columns: ClassVar[int] = 0
    #: Whether passes may leave pixels out.
    is_adaptive: ClassVar[bool] = False

    def __init__(
        self, width: int, height: int, columns: int = LAYER_BIAS, clamp: float | None = None, first: int = 0
    ) -> None:
        self.width, self.height, self._clamp, self._first = width, height, clamp, first
        self.seconds = 0.0
        of_half = min(columns, LAYER_ALBEDO) + self.more_columns
        black = [ExactSum.zeros((height, width, n)) for n in (of_half, of_half)]
        features = ExactSum.zeros((height, width, max(0, columns - LAYER_ALBEDO)))
        self._exposed = Exposure(0, (RunningSum(black[0]), RunningSum(black[1])), RunningSum(features))

    def __copy__(self) -> "Film":
        """Returns a film that stays as this one is now, and does not go on."""
        copied = type(self)(self.width, self.height, 0, first=self._first)
        copied.seconds = self.seconds
        (one, other), features = self._exposed.halves, self._exposed.features
        kept = (RunningSum(one.now), RunningSum(other.now))  # whose memory is not written to again
        self._exposed = self._exposed._replace(halves=kept, features=RunningSum(features.now))
        copied._exposed = self._exposed._replace(carried=None)
        return copied

    @property
    def passes(self) -> int:
        """Returns how many passes have been added."""
        return self._exposed[0]

    @property
    def end(self) -> int:
        """Returns the index of the pass that is added next."""
        return self._first + self.passes

    def add(self, radiance: Doubles, carried: Mapping[str, Doubles] | None = None) -> None:
        """Add a pass.

        radiance: (height, width, columns), first row at the top, linear radiance in the first three.
        carried: what the next pass needs of this one and of those before.

        A sample whose radiance is negative, not finite or beyond `exact_sum.LARGEST` is left out and counted.
        """
        start, index = time.perf_counter(), self.end
        passes, halves, features, counts, _ = self._exposed
        columns = halves[0].now.low.shape[2] - self.more_columns + features.now.low.shape[2]
        if radiance.shape != (self.height, self.width, columns):
            expected = (self.height, self.width, columns)
            raise RenderError(f"pass {index} has the shape {radiance.shape}; expected {expected}")
        self._check_room(1)
        radiance, counts = sifted(radiance, index, self._clamp, counts)
        halves = self._added(halves, radiance, carried)
        if columns > LAYER_ALBEDO:
            features = features.plus(radiance, LAYER_ALBEDO)
        self._exposed = Exposure(passes + 1, halves, features, counts, carried)
        self.seconds += time.perf_counter() - start

    def _added(self, halves: Halves, radiance: Doubles, carried: Mapping[str, Doubles] | None) -> Halves:
        """Returns the sums of the halves with the next pass. radiance, carried: see `add`."""
        one, other = halves
        return (one.plus(radiance), other) if half_of(self.end) == 0 else (one, other.plus(radiance))

    def allot(self, noise: float | None) -> int:
        """Decides which pixels the next passes sample, to bring a picture to a relative noise. Returns before which
        pass to decide again, or `end` where none is needed; here they sample all, as long as there is room."""
        return MOST_NUMBERS

    def join(self, sums: Sums, passes: int) -> None:
        """Add the passes of another film, which come next. sums: of the film. passes: how many it has."""
        start = time.perf_counter()
        self._check(sums)
        self._check_room(passes)
        before, (one, other) = self._exposed, self._exposed.halves
        first, second, features = (from_arrays(name, sums) for name in EXACT_SUMS)
        self._exposed = Exposure(
            self.passes + passes,
            (one.joined(first), other.joined(second)),
            before.features.joined(features),
            both_counted(before.counts, counts_of(sums)),
        )
        self.seconds += time.perf_counter() - start

    @property
    def is_black(self) -> bool:
        """Returns whether no light is in the picture."""
        parts = [part[..., LAYER_BEAUTY:LAYER_BIAS] for half in self._exposed.halves for part in half.now]
        return not any(map(np.any, parts))

    @property
    def counts(self) -> SampleCounts:
        """Returns the counts of samples that are not held as they were made."""
        return self._exposed.counts

    def sums(self) -> Sums:
        """Returns the sums of the passes by name, of which `resume` makes a film that goes on with the same bits. They
        hold until the next pass is added.
        """
        _, halves, features, counts, _ = self._exposed
        return sums_of({"first": halves[0].now, "second": halves[1].now, "features": features.now}, counts)

    @property
    def carried(self) -> dict[str, Doubles]:
        """Returns what the next pass needs of those before it."""
        return dict(self._exposed.carried or {})

    def resume(self, passes: int, sums: Sums, carried: Mapping[str, Doubles] | None = None) -> None:
        """Make this film, which is as large, the one that had these sums after so many passes.

        carried: what the next pass needs of them.

        Raises `ValueError` where the sums are not of such a film.
        """
        self._check(sums)
        first, second, features = (RunningSum(from_arrays(name, sums)) for name in EXACT_SUMS)
        self._exposed = Exposure(passes, (first, second), features, counts_of(sums), carried)

    def _check_room(self, passes: int) -> None:
        """Raises `RenderError` where there is no room for so many passes more."""
        if self.passes + passes > MOST_NUMBERS:
            raise RenderError(f"a film has room for {MOST_NUMBERS} passes, {self.passes} of which have been added")

    def _check(self, sums: Sums) -> None:
        """Raises `ValueError` where sums are not of a film as large as this one."""
        for name, own in self.sums().items():
            expected = (*sums[name].shape[:1], 4) if name == "impossible" and name in sums else own.shape
            if name not in sums or sums[name].shape != expected:
                raise ValueError(f"expected the sum '{name}' with the shape {expected}")

    @property
    def total(self) -> Doubles:
        """Returns the sum of the passes: (height, width, columns)."""
        return np.concatenate([self._total[..., :LAYER_ALBEDO], self._exposed.features.now.value], axis=2)

    @property
    def _total(self) -> Doubles:
        """Returns the sum of the passes, the picture and its bias alone: (height, width, n)."""
        one, other = self._exposed.halves
        total: Doubles = one.now.value + other.now.value
        return total

    @property
    def linear(self) -> npt.NDArray[np.float32]:
        """Returns the mean of the passes, linear radiance: (height, width, 3) float32; zeros before the first."""
        return self._mean[..., LAYER_BEAUTY:LAYER_BIAS].astype(np.float32)

    @property
    def layers(self) -> dict[str, npt.NDArray[np.float32]]:
        """Returns the layers of the passes, see `layers.layers_of`."""
        return layers_of(self.total, self.passes)

    @property
    def light_groups(self) -> npt.NDArray[np.float32]:
        """Returns the radiance of the light groups, (height, width, groups, 3)."""
        return groups_of(self.total, self.passes)

    @property
    def samples(self) -> Doubles:
        """Returns how many samples each pixel has in the picture: (height, width)."""
        return np.full((self.height, self.width), float(self.passes))

    @property
    def noise(self) -> npt.NDArray[np.float32]:
        """Returns the standard error of `linear`: (height, width) float32, infinite before the second pass.

        It is the root mean square over the channels and the pixels next to a pixel, by how much the halves of the
        passes differ. What is the same in all passes is not seen: the photon map of `photons-only`, and the bias of
        the photon search.
        """
        if self.passes < 2:
            return np.full((self.height, self.width), np.inf, np.float32)
        return np.sqrt(mean_around(self._squared_errors, NOISE_REACH)).astype(np.float32)

    @property
    def relative_noise(self) -> float:
        """Returns the noise of the whole picture, infinite before the second pass.

        It is measured as `relative_error` measures the error of a picture against a better one. Half the difference of
        two halves is spread as the error of their mean is, so that what is left out of both as the worst is alike. The
        brightness of the better picture is guessed by `quiet_brightness`.
        """
        if self.passes < 2:
            return float("inf")
        squares = self._squared_errors
        return trimmed(np.sqrt(squares), self._quiet_brightness(squares))

    @property
    def relative_bias(self) -> float:
        """Returns the bias of the photon search over the whole picture, relative as its noise is.

        It is not a number where nobody looked at it or there is one pass alone. Of each pixel the square of the mean
        over the passes is known, and how much of that is noise: what is left over all pixels is the square of the bias.
        Detail that is finer than the radius of the search is not noticed.
        """
        if self.passes < 2 or self._exposed.halves[0].now.low.shape[2] <= LAYER_BIAS:
            return float("nan")
        squares = np.square(self._mean[..., LAYER_BIAS]) - self._variance[..., LAYER_BIAS]
        brightness = self._quiet_brightness(self._squared_errors)
        relative = np.divide(squares, np.square(brightness), out=np.zeros(squares.shape), where=brightness > 0.0)
        quiet = np.argsort(self.noise / np.maximum(brightness, LEAST), axis=None)[: kept_pixels(squares.size)]
        return BIAS_FACTOR * float(np.sqrt(max(relative.ravel()[quiet].mean(), 0.0)))

    @property
    def relative_deviation(self) -> float:
        """Returns noise of the picture and bias, as far as it is known, in one number."""
        bias = self.relative_bias
        return math.hypot(self.relative_noise, 0.0 if math.isnan(bias) else bias)

    @property
    def _squared_errors(self) -> Doubles:
        """Returns the variance of the picture's mean by the halves, mean over the channels: (height, width)."""
        return mean_of_channels(self._variance)

    def _quiet_brightness(self, squared_errors: Doubles) -> Doubles:
        return quiet_brightness(brightness_of(self.linear), squared_errors)

    @property
    def _variance(self) -> Doubles:
        """Returns the variance of the means of the picture's columns and of the bias: (height, width, n), one degree of
        freedom each; there must be two passes.

        Of two independent means with the shares a and b = 1 - a of the passes, and variances in inverse proportion,
        their mean weighted by a and b has a b times the mean square of their difference.
        """
        (one, other), (in_first, in_second) = self._half_means, self._half_passes
        return np.square(one - other) * (in_first * in_second / self.passes**2)

    @property
    def _mean(self) -> Doubles:
        """Returns the mean of the passes, the picture and its bias alone: (height, width, n)."""
        mean: Doubles = self._total / max(self.passes, 1)
        return mean

    @property
    def _half_means(self) -> tuple[Doubles, Doubles]:
        """Returns the means of either half, (height, width, n) each; there must be two passes."""
        one, other = (half.now.value for half in self._exposed.halves)
        return one / self._half_passes[0], other / self._half_passes[1]

    @property
    def _half_passes(self) -> tuple[int, int]:
        """Returns how many passes either half has."""
        in_second = in_second_half(self.end) - in_second_half(self._first)
        return self.passes - in_second, in_second


def joined(one: Sums, other: Sums) -> Sums:
    """Returns the sums of all passes of two films that have none in common, as `Film.sums` has them."""
    exact = {name: from_arrays(name, one).joined(from_arrays(name, other)) for name in EXACT_SUMS}
    return sums_of(exact, both_counted(counts_of(one), counts_of(other)))


def sums_of(exact: Mapping[str, ExactSum], counts: SampleCounts = NOTHING_COUNTED) -> Sums:
    """Returns sums as `Film.sums` has them. exact: by the names in EXACT_SUMS."""
    return {**to_arrays(exact), "impossible": counts.impossible, "clamped": np.array([float(counts.clamped)])}


def counts_of(sums: Sums) -> SampleCounts:
    """Returns the counts of samples among the sums of a film."""
    return SampleCounts(sums["impossible"], int(sums["clamped"][0]))


def both_counted(one: SampleCounts, other: SampleCounts) -> SampleCounts:
    """Returns the counts of passes of two films together, by their indices."""
    impossible = np.vstack([one.impossible, other.impossible])
    return SampleCounts(impossible[np.argsort(impossible[:, 0])], one.clamped + other.clamped)


def half_of(index: int) -> int:
    """Returns the half, 0 or 1, of a picture's passes to which a pass belongs.

    Passes 2 k and 2 k + 1 lie in different halves, so that a pass is number `index // 2` of its half; the halves are
    independent pictures. They follow the sequence of Thue and Morse, the parity of the ones among the binary digits,
    and not that of the last digit alone: whatever goes on slowly from pass to pass, or takes its turns by powers of two
    as the times of motion blur do, is shared evenly. (Allouche, Shallit: The Ubiquitous Prouhet-Thue-Morse Sequence,
    1999.) The sampler has the same function compiled.

    index: of the pass, 0..2^32-1.
    """
    ones = index ^ (index >> 16)
    ones ^= ones >> 8
    ones ^= ones >> 4
    ones ^= ones >> 2
    return (ones ^ (ones >> 1)) & 1


def in_second_half(passes: int) -> int:
    """Returns how many of the first so many passes of a picture belong to half 1."""
    return passes // 2 + passes % 2 * half_of(passes - 1)
