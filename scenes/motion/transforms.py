"""This module holds affine maps, and the nested transforms of a file.

Maps are (4, 4) float64 matrices of column vectors in a right-handed frame with y up; angles are in degrees.
"""

import math
from dataclasses import dataclass

import numpy as np

from scenes.meshes.geometry import unit
from scenes.model import Doubles

IDENTITY: Doubles = np.eye(4)


def translation(offset: Doubles) -> Doubles:
    """Returns the map p -> p + offset."""
    matrix = np.eye(4)
    matrix[:3, 3] = offset
    return matrix


def scaling(factors: Doubles) -> Doubles:
    """Returns the map that scales each axis."""
    return np.diag([*factors, 1.0])


def quaternion(axis: Doubles, degrees: float) -> Doubles:
    """Returns the (4,) unit quaternion (w, x, y, z) of a turn about an axis of any length; one of length 0 turns
    nothing."""
    size = float(np.abs(axis).max())
    if size == 0.0:
        return np.array([1.0, 0.0, 0.0, 0.0])
    scaled = axis / size
    half = math.radians(math.fmod(degrees, 720.0)) / 2.0
    return np.concatenate([[math.cos(half)], math.sin(half) * scaled / np.linalg.norm(scaled)])


def quaternion_of(turn: Doubles) -> Doubles:
    """Returns the unit quaternion (4,), w, x, y, z, of a rotation (3, 3).

    Shepperd: Quaternion from Rotation Matrix (1978), from its largest component, so that nothing cancels.
    """
    products = np.array(
        [
            [1.0 + turn[0, 0] + turn[1, 1] + turn[2, 2], 0.0, 0.0, 0.0],
            [turn[2, 1] - turn[1, 2], 1.0 + turn[0, 0] - turn[1, 1] - turn[2, 2], 0.0, 0.0],
            [turn[0, 2] - turn[2, 0], turn[0, 1] + turn[1, 0], 1.0 - turn[0, 0] + turn[1, 1] - turn[2, 2], 0.0],
            [
                turn[1, 0] - turn[0, 1],
                turn[0, 2] + turn[2, 0],
                turn[1, 2] + turn[2, 1],
                1.0 - turn[0, 0] - turn[1, 1] + turn[2, 2],
            ],
        ]
    )
    products += np.tril(products, -1).T
    return unit(products[np.argmax(np.diag(products))])


def axis_and_degrees(q: Doubles) -> tuple[Doubles, float]:
    """Returns the unit axis (3,) of a turn, and its angle in degrees, 0 to 360.

    q: (4,) unit quaternion (w, x, y, z).

    The axis of a turn by nothing is y.
    """
    sine = float(np.linalg.norm(q[1:]))
    if sine == 0.0:
        return np.array([0.0, 1.0, 0.0]), 0.0
    return q[1:] / sine, float(np.degrees(2.0 * np.arctan2(sine, q[0])))


def rotation(q: Doubles) -> Doubles:
    """Returns the map of a unit quaternion (w, x, y, z)."""
    return rotations(q[None])[0]


def rotations(turns: Doubles) -> Doubles:
    """Returns the maps, (n, 4, 4), of unit quaternions (n, 4)."""
    w, x, y, z = turns.T
    matrices = np.tile(np.eye(4), (len(turns), 1, 1))
    matrices[:, 0, :3] = np.transpose([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)])
    matrices[:, 1, :3] = np.transpose([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)])
    matrices[:, 2, :3] = np.transpose([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])
    return matrices


def compose(scale: Doubles, turn: Doubles, offset: Doubles) -> Doubles:
    """Returns T R S, (4, 4): first the scale (3,), then the turn (4,) as a unit quaternion, then the offset (3,)."""
    return translation(offset) @ rotation(turn) @ scaling(scale)


def composed(scales: Doubles, turns: Doubles, offsets: Doubles) -> Doubles:
    """Returns what `compose` does, (n, 4, 4), of scales (n, 3), turns (n, 4) and offsets (n, 3)."""
    matrices = rotations(turns)
    matrices[:, :3, :3] = matrices[:, :3, :3] * scales[:, None, :] + 0.0  # no -0.0, as in a product of matrices
    matrices[:, :3, 3] = offsets + 0.0
    return matrices


@dataclass(frozen=True, eq=False)
class Transform:
    """This is a level of nesting: the map of a named track, or a fixed matrix, inside all that the parent does."""

    parent: "Transform | None" = None
    matrix: Doubles | None = None
    track: str = ""
    depth: int = 0

    def inner(self, *, matrix: Doubles | None = None, track: str = "") -> "Transform":
        """Returns the next level inside this one."""
        return Transform(parent=self, matrix=matrix, track=track, depth=self.depth + 1)


WORLD = Transform()
