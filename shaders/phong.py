"""This module holds the Phong lobe, normalised so that it reflects no more than it receives.

Lafortune, Willems: Using the Modified Phong Reflectance Model for Physically Based Rendering, 1994.
"""

from shaders.compilation import compiled
from shaders.elementary import power
from shaders.float32 import TWO, TWO_PI, ZERO
from shaders.sampling import cosine_power
from shaders.vector import Vec3, dot, frame, to_world

PER_TWO_PI = 1 / TWO_PI


@compiled
def phong_value(wi: Vec3, wo: Vec3, exponent: float) -> float:
    """Returns the lobe's value (exponent + 2) / (2 pi) cos^exponent of the angle between wi and the mirror image of
    wo; 1/sr, without the cosine."""
    cosine = dot(wi, (-wo[0], -wo[1], wo[2]))
    value = (exponent + TWO) * PER_TWO_PI * power(max(cosine, ZERO), exponent)
    return value if cosine > ZERO else ZERO


@compiled
def sample_phong(wo: Vec3, exponent: float, u1: float, u2: float) -> Vec3:
    """Draws a unit vector about the mirror image of wo; it may lie below the surface."""
    axis = (-wo[0], -wo[1], wo[2])
    tangent, bitangent = frame(axis)
    return to_world(cosine_power(u1, u2, exponent), tangent, bitangent, axis)
