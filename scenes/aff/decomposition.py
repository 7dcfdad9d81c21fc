"""This module writes affine maps as scales, turns and shifts, in the shortest numbers that give the map."""

import itertools
import math

import numpy as np

from scenes.model import Doubles
from scenes.motion.transforms import axis_and_degrees, compose, quaternion, quaternion_of

#: Columns of a map this close to perpendicular are what rounding leaves of perpendicular ones.
PERPENDICULAR = 1e-12
#: A component of a unit axis this small is what rounding leaves of none.
NOTHING = 1e-9
#: Places after the point: those of numbers that people and programs write, and more than a float64 has.
PLACES = (6, 12, 20)


def levels(matrix: Doubles) -> list[Doubles]:
    """Returns maps (10,) of scale (3,), axis (3,), degrees and shift (3,) whose product, the outermost first, is a (4,
    4) map.

    One is enough unless the map shears; then it is that of Golub, Reinsch: Singular Value Decomposition and Least
    Squares Solutions (1970) with another turn inside. Products are equal within rounding, and equal to the last bit
    where the map was made of short numbers.
    """
    linear, shift = matrix[:3, :3], matrix[:3, 3]
    scale = np.linalg.norm(linear, axis=0)
    if np.linalg.det(linear) < 0.0:
        scale[0] = -scale[0]
    if scale.all():
        turn = linear / scale
        if np.abs(turn.T @ turn - np.eye(3)).max() < PERPENDICULAR:
            return [level(scale, turn, shift)]
    left, values, right = np.linalg.svd(linear)
    values[2] *= np.linalg.det(left) * np.linalg.det(right)
    left[:, 2] *= np.linalg.det(left)
    right[2] *= np.linalg.det(right)
    return [level(values, left, shift), level(np.ones(3), right, np.zeros(3))]


def level(scale: Doubles, turn: Doubles, shift: Doubles) -> Doubles:
    """Returns the ten numbers of a scale, a turn (3, 3) and a shift: of several that differ by rounding, the
    closest."""
    axis, degrees = axis_and_degrees(quaternion_of(turn))
    angles = [angle for near in rounded(np.array([degrees])) for angle in (near, near - 360.0)]
    wanted = turn * scale
    best, least = np.zeros(10), math.inf
    for factors, vector, angle in itertools.product(rounded(scale), axes(axis), angles):
        error = float(np.abs(compose(factors, quaternion(vector, float(angle[0])), shift)[:3, :3] - wanted).max())
        if error < least:
            best, least = np.concatenate([factors, vector, angle, shift]), error
        if error == 0.0:
            break
    return best


def rounded(values: Doubles) -> list[Doubles]:
    """Returns numbers rounded to several places, the coarsest first."""
    return [np.array([round(value, places) for value in values.tolist()]) for places in PLACES]


def axes(axis: Doubles) -> list[Doubles]:
    """Returns a unit axis as its numbers may have been written: with one of them 1, or of unit length."""
    sizes = np.abs(axis)
    lengths = (sizes.max(), sizes[sizes > NOTHING].min(), 1.0)
    return [near for length in lengths for near in rounded(axis / length)]
