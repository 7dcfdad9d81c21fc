"""A smooth border between two clear media: reflection by Fresnel, refraction by Snell."""

import math

from shaders.compilation import compiled
from shaders.vector import Vec3


@compiled
def fresnel(cosine: float, eta: float) -> float:
    """Reflected share of unpolarised light.

    cosine: of the angle of incidence, > 0. eta: index of the far side over that of the near side.
    """
    sine2 = (1.0 - cosine * cosine) / (eta * eta)
    if sine2 >= 1.0:
        return 1.0
    cosine_t = math.sqrt(1.0 - sine2)
    parallel = (eta * cosine - cosine_t) / (eta * cosine + cosine_t)
    perpendicular = (cosine - eta * cosine_t) / (cosine + eta * cosine_t)
    return 0.5 * (parallel * parallel + perpendicular * perpendicular)


@compiled
def refract(wo: Vec3, eta: float) -> Vec3:
    """Unit direction on the far side, below the surface. There must be one: `fresnel(wo[2], eta) < 1`."""
    sine2 = (1.0 - wo[2] * wo[2]) / (eta * eta)
    return (-wo[0] / eta, -wo[1] / eta, -math.sqrt(max(0.0, 1.0 - sine2)))
