"""This module describes a smooth metal: reflection by Fresnel at a border behind which light is absorbed.

The index of the metal over that of the outside is complex, eta + i k. Born, Wolf: Principles of Optics, 1959, section
14.2: Snell's law with a complex sine, whose cosine is here written by its real and imaginary part.
"""

import math

import numpy as np

from shaders.compilation import compiled
from shaders.dielectric import MEAN_COSINES, MEAN_WEIGHTS
from shaders.float32 import HALF, ONE, TWO, ZERO, Float32
from shaders.vector import Color

_FOUR = Float32(4.0)


@compiled
def conductor_fresnel(cosine: float, eta: float, k: float) -> float:
    """Returns the reflected share of unpolarised light.

    cosine: of the angle of incidence, > 0.
    eta: refractive index, >= 0.
    k: extinction coefficient, >= 0; with 0 this is `shaders.dielectric.fresnel`.
    """
    cosine2 = cosine * cosine
    sine2 = ONE - cosine2
    real = eta * eta - k * k - sine2  # of the square of (eta + i k) times the cosine inside
    size = math.sqrt(real * real + _FOUR * eta * eta * k * k)
    across = TWO * cosine * math.sqrt(max(ZERO, HALF * (size + real)))
    perpendicular = (size + cosine2 - across) / (size + cosine2 + across)
    level = cosine2 * size + sine2 * sine2
    parallel = perpendicular * (level - across * sine2) / (level + across * sine2)
    return HALF * (perpendicular + parallel)


@compiled
def conductor_reflectance(cosine: float, eta: Color, k: Color) -> Color:
    """Returns `conductor_fresnel` of each channel."""
    return (
        conductor_fresnel(cosine, eta[0], k[0]),
        conductor_fresnel(cosine, eta[1], k[1]),
        conductor_fresnel(cosine, eta[2], k[2]),
    )


@compiled
def mean_conductor_fresnel(eta: float, k: float) -> float:
    """Returns the reflected share of light that falls in evenly from all sides, to 0.005."""
    return (
        MEAN_WEIGHTS[0] * conductor_fresnel(MEAN_COSINES[0], eta, k)
        + MEAN_WEIGHTS[1] * conductor_fresnel(MEAN_COSINES[1], eta, k)
        + MEAN_WEIGHTS[2] * conductor_fresnel(MEAN_COSINES[2], eta, k)
    )


def reflectance_alike(eta: float, k: float) -> float:
    """Returns the reflectance at normal incidence of what reflects as much light from all sides by Schlick, whose
    (1 - cosine)^5 has the mean 1 / 21."""
    nodes, weights = np.polynomial.legendre.leggauss(32)
    cosine, index = 0.5 + 0.5 * nodes, complex(eta, k)
    inside = np.sqrt(index**2 - (1.0 - cosine**2))
    across = (cosine - inside) / (cosine + inside)
    along = (index**2 * cosine - inside) / (index**2 * cosine + inside)
    mean = 0.5 * (np.abs(across) ** 2 + np.abs(along) ** 2) @ (weights * cosine)
    return float((21.0 * mean - 1.0) / 20.0)
