"""The numbers of eye paths: of the place in the picture and on the lens, of lights, of the way on.

Those up to the first surface, where numbers that fill their range evenly pay, are Sobol's. All others are random.

Numbers that fill their range evenly over the passes make passes depend on each other, so that their differences do not
tell the error of their mean. Hence passes are dealt out to two halves of a picture, each with a sequence of its own:
the halves are independent, and how much they differ tells the error, as with any replicates of a randomised sequence
(L'Ecuyer, Lemieux: Recent Advances in Randomized Quasi-Monte Carlo Methods, 2002).
"""

from typing import NamedTuple

import numpy as np

from renderer.camera_paths.paths import DEPTH_MASK, EyeChunk
from renderer.camera_paths.task import SOBOL, EyeTask
from renderer.film.film import half_of
from renderer.simd.loops import each, whole
from shaders.random import HALF_BITS, LOW, NO_PASS, STREAM_CAMERA, philox, random4, sobol_bits
from tracecore.compilation.cached import compiled, inlined

#: Steps of an additive sequence that fills the unit square evenly: powers of the inverse of the plastic number.
#: Roberts: The Unreasonable Effectiveness of Quasirandom Sequences, 2018.
PLASTIC_1, PLASTIC_2 = 0.7548776662466927, 0.5698402909980532

#: The second half of the passes has the streams of the first half, raised by this.
SECOND_HALF = 1 << 16

Pair = tuple[float, float]

#: The same, as compiled loops call it.
half_of_pass = inlined(half_of)


@inlined
def camera_numbers(task: EyeTask, pixel: int) -> tuple[Pair, Pair]:
    """Returns a point of the unit square for the place in the pixel, and one for that on the lens; not for SOBOL."""
    offset = random4(task.seed, half_of_pass(task.sequence), pixel, STREAM_CAMERA, 0)
    number = task.sequence >> 1
    x = (offset[0] + number * PLASTIC_1) % 1.0
    y = (offset[1] + number * PLASTIC_2) % 1.0
    lens = random4(task.seed, task.sequence, pixel, STREAM_CAMERA, 1)
    return (x, y), (lens[0], lens[1])


class Draw(NamedTuple):
    """What loops over random numbers read.

    key: of Philox.
    sequences, streams: of Philox too, first of paths on their way, then of those that have met no surface yet.
    steps, step: numbers of a path are those of the step depth * steps + step.
    """

    chunk: EyeChunk
    key: tuple[np.uint64, np.uint64]
    sequences: tuple[np.uint64, np.uint64]
    streams: tuple[np.uint64, np.uint64]
    steps: np.uint64
    step: np.uint64


@compiled
def draw(task: EyeTask, chunk: EyeChunk, count: int, has_first: bool, purpose: tuple[int, int, int]) -> None:
    """Write the random bits of the first `count` paths of a chunk.

    has_first: whether some of them may have met no surface before.
    purpose: the stream, how many steps a bounce has, and which of them it is.
    """
    seed, is_even = np.uint64(task.seed), has_first and task.sampler == SOBOL
    (stream, steps, step), sequence = purpose, np.uint64(task.sequence) & LOW
    stream_of_first = stream + (half_of_pass(task.sequence) * SECOND_HALF if is_even else 0)
    data = Draw(
        chunk,
        (seed & LOW, seed >> HALF_BITS),
        (sequence, NO_PASS if is_even else sequence),
        (np.uint64(stream), np.uint64(stream_of_first)),
        np.uint64(steps),
        np.uint64(step),
    )
    each(draw_bits, whole(count), data)
    if is_even:
        each(spread_bits, whole(count), (chunk, np.uint32(task.sequence >> 1)))


@inlined
def draw_bits(i: int, data: Draw) -> None:
    """Write the random bits of a path."""
    chunk, depth = data.chunk, data.chunk.state[i] & DEPTH_MASK
    is_first = depth == np.uint32(0)
    sequence = data.sequences[1] if is_first else data.sequences[0]
    stream = data.streams[1] if is_first else data.streams[0]
    step = np.uint64(depth) * data.steps + data.step
    bits = philox((np.uint64(chunk.pixel[i]), step, sequence, stream), data.key)
    chunk.bits[0, i], chunk.bits[1, i] = np.uint32(bits[0]), np.uint32(bits[1])
    chunk.bits[2, i], chunk.bits[3, i] = np.uint32(bits[2]), np.uint32(bits[3])


@inlined
def spread_bits(i: int, data: tuple[EyeChunk, np.uint32]) -> None:
    """Turn the random bits of a path that has met no surface before into those of Sobol's points."""
    chunk, number = data
    bits = (chunk.bits[0, i], chunk.bits[1, i], chunk.bits[2, i], chunk.bits[3, i])
    even = sobol_bits(number, bits)
    is_first = (chunk.state[i] & DEPTH_MASK) == np.uint32(0)
    chunk.bits[0, i], chunk.bits[1, i] = even[0] if is_first else bits[0], even[1] if is_first else bits[1]
    chunk.bits[2, i], chunk.bits[3, i] = even[2] if is_first else bits[2], even[3] if is_first else bits[3]
