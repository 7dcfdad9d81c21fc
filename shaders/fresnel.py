"""This module describes smooth borders between two media: reflection by Fresnel, refraction by Snell.

Behind a metal's border light is absorbed: its index over that of the outside is complex, eta + i k. Born, Wolf:
Principles of Optics, 1959, section 14.2: Snell's law with a complex sine, whose cosine is here written by its real and
imaginary part.
"""

import math

import numpy as np

from shaders.compilation import compiled
from shaders.float32 import HALF, ONE, TWO, ZERO, Float32
from shaders.vector import Vec3

#: Cosines and weights of Gauss for means over the hemisphere, where light from all sides falls in by its cosine. Such
#: means of Fresnel's reflectance are within 0.002.
MEAN_COSINES = tuple(Float32(0.5 + offset * math.sqrt(0.15)) for offset in (-1.0, 0.0, 1.0))
MEAN_WEIGHTS = tuple(Float32(share / 9.0) * cosine for share, cosine in zip((5.0, 8.0, 5.0), MEAN_COSINES, strict=True))

_FOUR = Float32(4.0)


@compiled
def fresnel(cosine: float, eta: float) -> float:
    """Returns the reflected share of unpolarised light.
    cosine: of the angle of incidence, > 0. eta: index of the far side over that of the near side."""
    sine2 = (ONE - cosine * cosine) / (eta * eta)
    cosine_t = math.sqrt(max(ZERO, ONE - sine2))  # 0 where all is reflected, which makes both terms 1
    parallel = (eta * cosine - cosine_t) / (eta * cosine + cosine_t)
    perpendicular = (cosine - eta * cosine_t) / (cosine + eta * cosine_t)
    return HALF * (parallel * parallel + perpendicular * perpendicular)


@compiled
def mean_fresnel(eta: float) -> float:
    """Returns the reflected share of light that falls in evenly from all sides. eta: >= 1."""
    return (
        MEAN_WEIGHTS[0] * fresnel(MEAN_COSINES[0], eta)
        + MEAN_WEIGHTS[1] * fresnel(MEAN_COSINES[1], eta)
        + MEAN_WEIGHTS[2] * fresnel(MEAN_COSINES[2], eta)
    )


@compiled
def refract(wo: Vec3, eta: float) -> Vec3:
    """Returns the unit direction on the far side, below the surface, into which wo is refracted. There must be one:
    `fresnel(wo[2], eta) < 1`."""
    sine2 = (ONE - wo[2] * wo[2]) / (eta * eta)
    return (-wo[0] / eta, -wo[1] / eta, -math.sqrt(max(ZERO, ONE - sine2)))


@compiled
def conductor_fresnel(cosine: float, eta: float, k: float) -> float:
    """Returns the reflected share of unpolarised light. cosine: of the angle of incidence, > 0.
    eta: refractive index, >= 0. k: extinction coefficient, >= 0; with 0 this is `fresnel`."""
    cosine2 = cosine * cosine
    sine2 = ONE - cosine2
    real = eta * eta - k * k - sine2  # of the square of (eta + i k) times the cosine inside
    size = math.sqrt(real * real + _FOUR * eta * eta * k * k)
    across = TWO * cosine * math.sqrt(max(ZERO, HALF * (size + real)))
    perpendicular = (size + cosine2 - across) / (size + cosine2 + across)
    level = cosine2 * size + sine2 * sine2
    parallel = perpendicular * (level - across * sine2) / (level + across * sine2)
    return HALF * (perpendicular + parallel)


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
