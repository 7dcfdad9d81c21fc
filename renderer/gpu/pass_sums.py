"""Sums of passes that lie on a GPU, exact as those of a film: several passes come to the host as one."""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from renderer.camera_paths.sampler import half_of_pass
from renderer.film.exact_sum import LARGEST, ExactSum, plus
from renderer.film.film import EXACT_SUMS, Sums, sums_of
from renderer.film.layers import LAYER_ALBEDO, LAYER_BEAUTY, LAYER_BIAS
from renderer.gpu.waves import launch_of
from renderer.simd.loops import each_alone
from shaders.float32 import Doubles, Longs
from tracecore.compilation.cached import inlined
from tracecore.compilation.gpu_code import warp_index
from tracecore.compilation.lanes import NO_PARTS
from tracecore.cuda.device import Stream, cuda_errors
from tracecore.cuda.device_arrays import DeviceArrays
from tracecore.cuda.warp_kernel import WarpKernel
from tracecore.tracers.gpu import GpuTracer

#: Columns of pixels that a warp adds up.
PART = 1024


class PassSums(NamedTuple):
    """Passes and their sums, all on a GPU.

    images: (passes, width * height, columns) float64, as `EyeWave` has them.
    sequences: (passes,) int64, numbers of the passes.
    width: of a whole image, pixels.
    crop: left column, upper row, width and height of what is added up.
    halves: (2, 2, pixels, n) int64, high and low parts of the sums over either half of the passes, see `film.Film`.
    features: (2, pixels, columns - n) int64, those over all passes of what stands beside the picture.
    wrong: (1,) int64, 1 where a sample is none that a film holds as it is, and the sums are nothing.
    """

    images: Doubles
    sequences: Longs
    width: int
    crop: tuple[int, int, int, int]
    halves: Longs
    features: Longs
    wrong: Longs


def add_passes(work: PassSums) -> None:
    """Add up the part of the pixels that this warp has."""
    first, _, _, columns, rows = PART * warp_index(), *work.crop
    each_alone(add_column, min(PART, columns * rows * work.images.shape[2] - first), (work, first))


@inlined
def add_column(i: int, data: tuple[PassSums, int]) -> None:
    """Write the sums of a column of a pixel."""
    work, first = data
    columns, both = work.images.shape[2], work.halves.shape[3]
    pixel, column = (first + i) // columns, (first + i) % columns
    left, upper, width, _ = work.crop
    place = (upper + pixel // width) * work.width + left + pixel % width
    least = 0.0 if LAYER_BEAUTY <= column < LAYER_BIAS else -LARGEST
    high, low, high_of_second, low_of_second = 0, 0, 0, 0
    for k in range(len(work.sequences)):
        sample = work.images[k, place, column]
        if not least <= sample <= LARGEST:
            work.wrong[0] = 1
        elif column < both and half_of_pass(work.sequences[k]) == 1:
            high_of_second, low_of_second = plus(high_of_second, low_of_second, sample)
        else:
            high, low = plus(high, low, sample)
    if column < both:
        work.halves[0, 0, pixel, column], work.halves[0, 1, pixel, column] = high, low
        work.halves[1, 0, pixel, column], work.halves[1, 1, pixel, column] = high_of_second, low_of_second
    else:
        work.features[0, pixel, column - both], work.features[1, pixel, column - both] = high, low


def new_sums(arrays: Any, images: Doubles, sequences: Longs, width: int, crop: tuple[int, int, int, int]) -> PassSums:
    """Returns passes with room for their sums. arrays: whose `zeros` makes it, see `eye_waves.new_wave`."""
    columns, pixels = images.shape[2], crop[2] * crop[3]
    both = min(columns, LAYER_ALBEDO)
    return PassSums(
        images=images,
        sequences=sequences,
        width=width,
        crop=crop,
        halves=arrays.zeros((2, 2, pixels, both), np.int64),
        features=arrays.zeros((2, pixels, columns - both), np.int64),
        wrong=arrays.zeros((1,), np.int64),
    )


class PassAdder:
    """Adds passes up on a tracer's GPU, while others may be under way there.

    The calling thread is attached to it. new: what the passes are like, and room for their sums.
    """

    def __init__(self, tracer: GpuTracer, arrays: DeviceArrays, new: PassSums) -> None:
        self._device, self._arrays, self._new, self._stream = tracer.gpu, arrays, new, Stream(tracer.gpu)
        self._kernel = WarpKernel(self._device, launch_of(add_passes, new), NO_PARTS, 0)
        self._host = {
            name: self._device.pinned(array.shape, np.int64) if array.size else np.empty(array.shape, np.int64)
            for name, array in (("halves", new.halves), ("features", new.features), ("wrong", new.wrong))
        }

    def sums(self, images: Doubles, sequences: Longs) -> Sums | None:
        """Returns the sums of passes that are done, as `Film.sums` has them, until others are asked for; or None where
        a film has to look at the samples of each.

        images, sequences: of the passes, on the GPU.

        Raises `DeviceError` where the GPU does not answer.
        """
        self._device.attach()
        new, (_, _, width, height) = self._new._replace(images=images, sequences=sequences), self._new.crop
        with cuda_errors("cannot add up passes"):
            record = self._arrays.structure(new)
            self._stream.clear(new.wrong.ctypes.data, new.wrong.nbytes)
            self._kernel.start(-(-width * height * images.shape[2] // PART), record, self._stream)
            for name, here in self._host.items():
                if here.nbytes > 0:
                    self._stream.copy_down(here.ctypes.data, getattr(new, name).ctypes.data, here.nbytes)
            self._stream.finish(self)
        return None if self._host["wrong"][0] else as_film(self._host["halves"], self._host["features"], width)


def as_film(halves: Longs, features: Longs, width: int) -> Sums:
    """Returns sums as `Film.sums` has them. halves, features: of `PassSums`. width: of the picture, pixels."""
    exact = (ExactSum(*one.reshape(2, one.shape[1] // width, width, one.shape[-1])) for one in (*halves, features))
    return sums_of(dict(zip(EXACT_SUMS, exact, strict=True)))
