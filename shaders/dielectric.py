"""This module describes a smooth border between two clear media: reflection by Fresnel, refraction by Snell."""

import math

from shaders.compilation import compiled
from shaders.float32 import HALF, ONE, ZERO, Float32
from shaders.vector import Vec3

#: Cosines and weights of Gauss for means over the hemisphere, where light from all sides falls in by its cosine. Such
#: means of Fresnel's reflectance are within 0.002.
MEAN_COSINES = tuple(Float32(0.5 + offset * math.sqrt(0.15)) for offset in (-1.0, 0.0, 1.0))
MEAN_WEIGHTS = tuple(Float32(share / 9.0) * cosine for share, cosine in zip((5.0, 8.0, 5.0), MEAN_COSINES, strict=True))


@compiled
def fresnel(cosine: float, eta: float) -> float:
    """Returns the reflected share of unpolarised light.

    cosine: of the angle of incidence, > 0.
    eta: index of the far side over that of the near side.
    """
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
