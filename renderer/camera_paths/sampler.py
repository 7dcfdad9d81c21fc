"""The numbers of eye paths: of the place in the picture and on the lens, of lights, of the way on.

Those up to the first surface, where numbers that fill their range evenly pay, are Sobol's. All others are random.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from renderer.camera_paths.task import SOBOL
from shaders.compilation import compiled as inlined
from shaders.random import STREAM_CAMERA, STREAM_LIGHT, STREAM_SCATTER, random4
from shaders.sobol import sobol4

if TYPE_CHECKING:
    from renderer.camera_paths.task import EyeTask


#: Bounces whose numbers are Sobol's: more of them bring nothing that can be measured.
SOBOL_BOUNCES = 1

#: Steps of an additive sequence that fills the unit square evenly: powers of the inverse of the plastic number.
#: Roberts: The Unreasonable Effectiveness of Quasirandom Sequences, 2018.
PLASTIC_1, PLASTIC_2 = 0.7548776662466927, 0.5698402909980532

Pair = tuple[float, float]


@inlined
def camera_numbers(task: EyeTask, pixel: int) -> tuple[Pair, Pair]:
    """Of the place in the pixel, and of that on the lens."""
    if task.sampler == SOBOL:
        u = sobol4(task.seed, task.sequence, pixel, STREAM_CAMERA, 0)
        return (u[0], u[1]), (u[2], u[3])
    offset = random4(task.seed, 0, pixel, STREAM_CAMERA, 0)
    x = (offset[0] + task.sequence * PLASTIC_1) % 1.0
    y = (offset[1] + task.sequence * PLASTIC_2) % 1.0
    lens = random4(task.seed, task.sequence, pixel, STREAM_CAMERA, 1)
    return (x, y), (lens[0], lens[1])


@inlined
def light_numbers(task: EyeTask, pixel: int, bounce: int, step: int) -> tuple[float, float, float]:
    """Of the choice of a light, and of the place on it. step: of its own for each shadow ray of a path."""
    if task.sampler == SOBOL and bounce < SOBOL_BOUNCES:
        u = sobol4(task.seed, task.sequence, pixel, STREAM_LIGHT, step)
        return u[2], u[0], u[1]
    u = random4(task.seed, task.sequence, pixel, STREAM_LIGHT, step)
    return u[0], u[1], u[2]


@inlined
def scatter_numbers(task: EyeTask, pixel: int, bounce: int) -> tuple[float, float, float, float]:
    """Of the way on from a hit: two of the direction, one of the lobe, one of whether there is a way on."""
    if task.sampler == SOBOL and bounce < SOBOL_BOUNCES:
        return sobol4(task.seed, task.sequence, pixel, STREAM_SCATTER, bounce)
    return random4(task.seed, task.sequence, pixel, STREAM_SCATTER, bounce)
