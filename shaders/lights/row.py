"""This module says what the numbers of a packed light mean, a row for each light, and begins rows."""

import math
from typing import NamedTuple

import numpy as np

from shaders.float32 import Doubles
from shaders.vector import Color, Vec3

#: Columns of a packed light: kind; position (or first corner); two edges; radiance (or intensity); unit normal; area;
#: and ten that mean what the light's kind says.
LIGHT_KIND, LIGHT_POSITION, LIGHT_EDGE_1, LIGHT_EDGE_2 = 0, 1, 4, 7
LIGHT_STRENGTH, LIGHT_NORMAL, LIGHT_AREA, LIGHT_OWN = 10, 13, 16, 17
LIGHT_COLUMNS = LIGHT_OWN + 10

#: One of `LightArrays.rows`.
Row = Doubles


class Sphere(NamedTuple):
    """Encloses the scene: its middle and radius in world units."""

    middle: Vec3
    radius: float


def row_of(kind: float, position: Vec3, strength: Color) -> Row:
    """Returns the row of a light with zeros in all other columns."""
    row = np.zeros(LIGHT_COLUMNS)
    row[LIGHT_KIND] = kind
    row[LIGHT_POSITION : LIGHT_POSITION + 3] = position
    row[LIGHT_STRENGTH : LIGHT_STRENGTH + 3] = strength
    return row


def outer_row(kind: float, strength: Color, sphere: Sphere) -> Row:
    """Returns the row of a light outside of the sphere around the scene, which is its position and area."""
    row = row_of(kind, sphere.middle, strength)
    row[LIGHT_AREA] = math.pi * sphere.radius**2
    return row
