"""This module holds what statements change until their block ends: the transform, the material, what shapes emit."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from scenes.model import Doubles
from scenes.motion.transforms import IDENTITY, quaternion, rotation, scaling, translation
from scenes.pbrt.lights import Glow
from scenes.pbrt.materials import PLAIN, MappedMaterial
from scenes.pbrt.media import Fog
from scenes.pbrt.parameters import MAX_NUMBER, Parameter
from scenes.pbrt.tokens import Statement
from scenes.views.viewing import look_at


@dataclass(frozen=True, eq=False)
class State:
    """Holds what statements change.

    matrix: (4, 4) map to the world, or before the world begins from it to the camera.
    is_reversed: whether shapes are turned inside out.
    look: that of shapes, or None for what light passes.
    lamp: what shapes emit, or None.
    fog: what they are full of, or None.
    defaults: parameters of what follows, by what they are for.
    is_end: whether transforms are those at the end of a motion, which count for nothing.
    """

    matrix: Doubles = field(default_factory=lambda: IDENTITY)
    is_reversed: bool = False
    look: MappedMaterial | None = PLAIN
    lamp: Glow | None = None
    fog: Fog | None = None
    defaults: dict[str, tuple[Parameter, ...]] = field(default_factory=dict)
    is_end: bool = False

    def moved(self, statement: Statement) -> "State":
        """Returns the state after a statement that changes the transform."""
        count, change = TRANSFORMS[statement.name]
        numbers = numbers_of(statement, count)
        if self.is_end:
            return self
        try:
            matrix = change(self.matrix, numbers)
        except ValueError as error:
            raise statement.error(str(error)) from error
        if not np.abs(matrix).max() <= MAX_NUMBER:
            raise statement.error(f"expected transforms by at most {MAX_NUMBER:g}")
        if np.any(matrix[3] != (0.0, 0.0, 0.0, 1.0)):
            raise statement.error("expected a transform whose last row is 0 0 0 1")
        return replace(self, matrix=matrix)


def numbers_of(statement: Statement, count: int) -> list[float]:
    """Returns the numbers of a statement that has so many of them and nothing else."""
    values = [value for value, _ in statement.values]
    arrays = [value for value in values if isinstance(value, np.ndarray)]
    numbers: list[float] = np.concatenate([np.zeros(0), *arrays]).tolist()
    if len(arrays) != len(values) or len(numbers) != count or not all(abs(each) <= MAX_NUMBER for each in numbers):
        raise statement.error(f"expected {count} finite numbers after {statement.name}, got {len(numbers)}")
    return numbers


def looking(matrix: Doubles, numbers: list[float]) -> Doubles:
    """Returns a map before which the world is seen from a place: +z is what is looked at, +y up and +x right, which are
    left-handed axes. Raises ValueError where these are left open."""
    eye, target, upward = np.array(numbers).reshape(3, 3)
    forward, up = look_at(eye, target, upward)
    if not up.any():
        raise ValueError("the place, the target and up of LookAt leave the orientation open")
    to_world = np.eye(4)
    to_world[:3, :] = np.stack([np.cross(up, forward), up, forward, eye], axis=-1)
    moved: Doubles = matrix @ np.linalg.inv(to_world)
    return moved


def columns(numbers: list[float]) -> Doubles:
    """Returns the matrix (4, 4) of sixteen numbers, column by column."""
    return np.array(numbers).reshape(4, 4).T


#: Statements that change the transform: how many numbers they have, and what they make of a matrix.
TRANSFORMS: dict[str, tuple[int, Callable[[Doubles, list[float]], Doubles]]] = {
    "Identity": (0, lambda matrix, numbers: IDENTITY),
    "Translate": (3, lambda matrix, numbers: matrix @ translation(np.array(numbers))),
    "Scale": (3, lambda matrix, numbers: matrix @ scaling(np.array(numbers))),
    "Rotate": (4, lambda matrix, numbers: matrix @ rotation(quaternion(np.array(numbers[1:]), numbers[0]))),
    "LookAt": (9, looking),
    "Transform": (16, lambda matrix, numbers: columns(numbers)),
    "ConcatTransform": (16, lambda matrix, numbers: matrix @ columns(numbers)),
}
