"""This module holds vectors and colours as triples of floats, which a compiler keeps in registers."""

import math

import numpy as np

from shaders.compilation import compiled
from shaders.elementary import fma, greatest
from shaders.float32 import ONE, ZERO, Float32

Vec3 = tuple[float, float, float]
Color = tuple[float, float, float]

BLACK: Color = (0.0, 0.0, 0.0)
WHITE: Color = (1.0, 1.0, 1.0)


@compiled
def add(a: Vec3, b: Vec3) -> Vec3:
    """Returns a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@compiled
def subtract(a: Vec3, b: Vec3) -> Vec3:
    """Returns a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@compiled
def multiply(a: Vec3, b: Vec3) -> Vec3:
    """Multiplies component by component, as colours filter."""
    return (a[0] * b[0], a[1] * b[1], a[2] * b[2])


@compiled
def scale(a: Vec3, s: float) -> Vec3:
    """Returns a s."""
    return (a[0] * s, a[1] * s, a[2] * s)


@compiled
def in_single(a: Vec3) -> Vec3:
    """Returns a vector rounded to float32."""
    return (Float32(a[0]), Float32(a[1]), Float32(a[2]))


@compiled
def in_double(a: Vec3) -> Vec3:
    """Returns a vector in float64."""
    return (np.float64(a[0]), np.float64(a[1]), np.float64(a[2]))


@compiled
def plus(a: Vec3, s: float) -> Vec3:
    """Returns a with s added to each component."""
    return (a[0] + s, a[1] + s, a[2] + s)


@compiled
def dot(a: Vec3, b: Vec3) -> float:
    """Returns a . b."""
    return fma(a[0], b[0], fma(a[1], b[1], a[2] * b[2]))


@compiled
def along(origin: Vec3, direction: Vec3, t: float) -> Vec3:
    """Returns origin + t direction."""
    return (fma(t, direction[0], origin[0]), fma(t, direction[1], origin[1]), fma(t, direction[2], origin[2]))


@compiled
def cross(a: Vec3, b: Vec3) -> Vec3:
    """Returns a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@compiled
def length(a: Vec3) -> float:
    """Returns |a|."""
    return math.sqrt(dot(a, a))


@compiled
def normalize(a: Vec3) -> Vec3:
    """Returns the unit vector along a; a vector without length becomes +z."""
    norm = length(a)
    if norm <= ZERO:
        return (ZERO, ZERO, ONE)
    return scale(a, ONE / norm)


@compiled
def chosen(condition: bool, a: Vec3, b: Vec3) -> Vec3:
    """Returns a where the condition holds, else b."""
    return (a[0] if condition else b[0], a[1] if condition else b[1], a[2] if condition else b[2])


@compiled
def largest(a: Vec3) -> float:
    """Returns the greatest component."""
    return greatest(a[2], greatest(a[1], a[0]))


@compiled
def largest_magnitude(a: Vec3) -> float:
    """Returns the greatest absolute value of a component."""
    return largest((abs(a[0]), abs(a[1]), abs(a[2])))


@compiled
def mean(a: Vec3) -> float:
    """Returns the mean of the components."""
    return (a[0] + a[1] + a[2]) / Float32(3.0)


@compiled
def to_local(v: Vec3, x_axis: Vec3, y_axis: Vec3, z_axis: Vec3) -> Vec3:
    """Returns the coordinates of v in an orthonormal frame."""
    return (dot(v, x_axis), dot(v, y_axis), dot(v, z_axis))


@compiled
def to_world(v: Vec3, x_axis: Vec3, y_axis: Vec3, z_axis: Vec3) -> Vec3:
    """Returns the vector with coordinates v in an orthonormal frame."""
    return (
        v[0] * x_axis[0] + v[1] * y_axis[0] + v[2] * z_axis[0],
        v[0] * x_axis[1] + v[1] * y_axis[1] + v[2] * z_axis[1],
        v[0] * x_axis[2] + v[1] * y_axis[2] + v[2] * z_axis[2],
    )


@compiled
def frame(n: Vec3) -> tuple[Vec3, Vec3]:
    """Returns two unit vectors that make an orthonormal, right-handed frame with the unit vector n. Duff, Burgess,
    Christensen, Hery, Kensler, Liani, Villemin: Building an Orthonormal Basis, Revisited, 2017."""
    sign = ONE if n[2] >= ZERO else -ONE
    a = -ONE / (sign + n[2])
    b = n[0] * n[1] * a
    return (ONE + sign * n[0] * n[0] * a, sign * b, -sign * n[0]), (b, sign + n[1] * n[1] * a, -n[1])
