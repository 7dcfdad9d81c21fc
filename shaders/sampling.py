"""This module draws directions and points from uniform numbers, each with the density that it is drawn from."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from shaders.compilation import compiled
from shaders.elementary import exp2_minus_1, fma, greatest, inverse_root, log2, sine_cosine
from shaders.float32 import ONE, TWO, ZERO, Float32
from shaders.vector import Vec3, dot, scale

#: Smaller squares of lengths than this are raised to it.
LEAST_SQUARE = Float32(2.0**-80)


@compiled
def uniform_sphere(u1: float, u2: float) -> Vec3:
    """Draws a unit vector, pdf_solid_angle = 1 / (4 pi)."""
    z = ONE - TWO * u1
    radius = math.sqrt(greatest(ONE - z * z, ZERO))
    sine, cosine = sine_cosine(u2)
    return (radius * cosine, radius * sine, z)


@compiled
def cosine_hemisphere(u1: float, u2: float) -> Vec3:
    """Draws a unit vector about +z, pdf_solid_angle = z / pi (Malley's method)."""
    radius = math.sqrt(u1)
    sine, cosine = sine_cosine(u2)
    return (radius * cosine, radius * sine, math.sqrt(ONE - u1))


@compiled
def uniform_hemisphere(u1: float, u2: float) -> Vec3:
    """Draws a unit vector about +z, pdf_solid_angle = 1 / (2 pi)."""
    radius = math.sqrt(u1 * (TWO - u1))
    sine, cosine = sine_cosine(u2)
    return (radius * cosine, radius * sine, ONE - u1)


@compiled
def lambertian(normal: Vec3, u1: float, u2: float) -> Vec3:
    """Draws a unit vector about a unit normal, float32, pdf_solid_angle = cosine / pi; about (0, 0, 0) it does what
    `uniform_sphere` does.

    The sphere about the normal's tip touches the surface, and a point of it is seen from there by Lambert's law: no
    frame of coordinates is needed.
    """
    u1 = Float32(u1)
    square = u1 * (ONE - u1)
    radius = TWO * square * inverse_root(square)
    sine, cosine = sine_cosine(u2)
    tip = (fma(radius, cosine, normal[0]), fma(radius, sine, normal[1]), fma(-TWO, u1, normal[2] + ONE))
    return scale(tip, inverse_root(greatest(dot(tip, tip), LEAST_SQUARE)))


@compiled
def cosine_power(u1: float, u2: float, exponent: float) -> Vec3:
    """Draws a unit vector about +z, pdf_solid_angle = (exponent + 1) / (2 pi) z^exponent."""
    # How far below the tip: 1 - z, without the cancellation where the lobe is narrow or z small.
    below = -exp2_minus_1(log2(u1) / (exponent + ONE))
    radius = math.sqrt(below * (TWO - below))
    sine, cosine = sine_cosine(u2)
    return (radius * cosine, radius * sine, ONE - below)


@compiled
def uniform_triangle(u1: float, u2: float) -> tuple[float, float]:
    """Draws barycentric weights of the second and third corner, uniform over the area."""
    root = math.sqrt(u1)
    return (root * (ONE - u2), root * u2)


@compiled
def uniform_cone(u1: float, u2: float, cosine: float) -> Vec3:
    """Draws a unit vector within an angle about +z, given by its cosine; pdf_solid_angle = 1 / (2 pi (1 - cosine))."""
    return uniform_cap(u1, u2, ONE - cosine)


@compiled
def uniform_cap(u1: float, u2: float, depth: float) -> Vec3:
    """Draws a unit vector as `uniform_cone` does. depth: how far the edge is below the tip, 1 - cosine."""
    below = u1 * depth  # without the cancellation where the cone is narrow
    radius = math.sqrt(below * (TWO - below))
    sine, cosine_of_turn = sine_cosine(u2)
    return (radius * cosine_of_turn, radius * sine, ONE - below)


@compiled
def interval(cumulative: npt.NDArray[np.floating[Any]], u: float) -> int:
    """Returns the index of the first of some running sums, the last 1, that exceeds u in 0..1."""
    low, high = 0, len(cumulative) - 1
    while low < high:
        middle = (low + high) // 2
        if u < cumulative[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def power_heuristic(pdf: float, other_pdf: float) -> float:
    """Returns the weight of a sample drawn with `pdf` that another strategy would draw with `other_pdf`. Veach, Guibas:
    Optimally Combining Sampling Techniques for Monte Carlo Rendering, 1995, with exponent 2."""
    if pdf <= 0.0:
        return 0.0
    ratio = other_pdf / pdf
    return 1.0 / (1.0 + ratio * ratio)
