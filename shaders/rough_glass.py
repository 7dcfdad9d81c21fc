"""This module describes a rough border between two clear media: facets reflect by Fresnel and refract by Snell.

Walter, Marschner, Li, Torrance: Microfacet Models for Refraction through Rough Surfaces, 2007. What one facet does not
send on leaves after it has hit more of them, evenly, on either side: Kulla, Conty: Revisiting Physically Based Shading
at Imageworks, 2017. So clear glass loses no light, at any roughness. Values are those of flux; radiance from the far
side is less by the square of `eta`, the index of the far side over that of the near one. wo is above the surface, wi on
either side.
"""

import math

from shaders.compilation import called, compiled
from shaders.dielectric import fresnel, mean_fresnel
from shaders.ggx import (
    density,
    mirrored_at,
    sample_seen,
    seen_density,
    unhidden_over_cosines,
    unmasked_over_cosine,
)
from shaders.rough_glass_missed import mean_missed_share, missed_share
from shaders.sampling import cosine_hemisphere
from shaders.vector import Vec3, add, dot, normalize, scale

#: Means of missed shares below this count as it: then nothing is missed.
LEAST_MISSED = 1e-12


@called
def rough_glass_value(wi: Vec3, wo: Vec3, eta: float, alpha: float) -> float:
    """Returns the value of the border in 1/sr, without the cosine."""
    return value_at_once(wi, wo, eta, alpha) + value_of_more(wi, wo, eta, alpha)


@compiled
def value_at_once(wi: Vec3, wo: Vec3, eta: float, alpha: float) -> float:
    """Returns the part of the value that is light of one facet."""
    h = facet_between(wi, wo, eta)
    if not crosses(wi, wo, h):
        return 0.0
    reflected = fresnel(dot(wo, h), eta)
    if wi[2] > 0.0:
        return reflected * density(h, alpha) * unhidden_over_cosines(wi, wo, alpha)
    seen = seen_density(wo, h, alpha) * unmasked_over_cosine(wi, alpha)
    return (1.0 - reflected) * seen * spread_by_refraction(wi, wo, h, eta)


@compiled
def value_of_more(wi: Vec3, wo: Vec3, eta: float, alpha: float) -> float:
    """Returns the part of the value that is light of more facets: in proportion to what one misses of light from wo and
    of light from wi, so that it is reciprocal."""
    missed, through = missed_share(eta, alpha, wo[2]), share_through(eta, alpha)
    far_eta, share = (eta, 1.0 - through) if wi[2] > 0.0 else (1.0 / eta, through)
    mean_missed = max(mean_missed_share(far_eta, alpha), LEAST_MISSED)
    return share * missed * missed_share(far_eta, alpha, abs(wi[2])) / (math.pi * mean_missed)


@called
def share_through(eta: float, alpha: float) -> float:
    """Returns the share of the light of more facets that leaves on the far side.

    Light from all sides gets through a smooth border in the share T, and T(eta) = eta^2 T(1 / eta). The share is T for
    the side that misses more light, and for the other side less, as reciprocity has it: of m, the means of what is
    missed, T(eta) m(1 / eta) over the larger of m(eta) and m(1 / eta).
    """
    near, far = mean_missed_share(eta, alpha), mean_missed_share(1.0 / eta, alpha)
    through = 1.0 - mean_fresnel(eta) if eta >= 1.0 else (1.0 - mean_fresnel(1.0 / eta)) * eta * eta
    return through * far / max(near, far, LEAST_MISSED)


@called
def rough_glass_pdf(wi: Vec3, wo: Vec3, eta: float, alpha: float) -> float:
    """Returns the density in solid angle with which `sample_rough_glass` draws wi."""
    missed, through = missed_share(eta, alpha, wo[2]), share_through(eta, alpha)
    evenly = missed * (1.0 - through if wi[2] > 0.0 else through) * abs(wi[2]) / math.pi
    h = facet_between(wi, wo, eta)
    if not crosses(wi, wo, h):
        return evenly
    reflected, seen = fresnel(dot(wo, h), eta), (1.0 - missed) * seen_density(wo, h, alpha)
    if wi[2] > 0.0:
        return evenly + reflected * seen / (4.0 * dot(wo, h))
    return evenly + (1.0 - reflected) * seen * spread_by_refraction(wi, wo, h, eta)


@called
def sample_rough_glass(wo: Vec3, eta: float, alpha: float, u: tuple[float, float, float]) -> Vec3:
    """Draws a unit vector, or (0, 0, 0) for light that is lost; the first number chooses one facet or more, and to
    reflect or refract."""
    missed = missed_share(eta, alpha, wo[2])
    if u[0] < missed:
        x, y, z = cosine_hemisphere(u[1], u[2])
        return (x, y, -z if u[0] < missed * share_through(eta, alpha) else z)
    h = sample_seen(wo, alpha, u[1], u[2])
    is_reflected = u[0] - missed < (1.0 - missed) * fresnel(dot(wo, h), eta)
    wi = mirrored_at(wo, h) if is_reflected else refracted_at(wo, h, eta)
    # What a facet sends to the wrong side hits another one.
    return wi if is_reflected == (wi[2] > 0.0) else (0.0, 0.0, 0.0)


@compiled
def refracted_at(wo: Vec3, h: Vec3, eta: float) -> Vec3:
    """Returns the direction into which a facet refracts wo. There must be one."""
    cosine = dot(wo, h)
    cosine_t = max(0.0, 1.0 - (1.0 - cosine * cosine) / (eta * eta)) ** 0.5
    return normalize(add(scale(wo, -1.0 / eta), scale(h, cosine / eta - cosine_t)))


@compiled
def facet_between(wi: Vec3, wo: Vec3, eta: float) -> Vec3:
    """Returns the normal of the facets that turn wo to wi, or (0, 0, 1) where no one facet does."""
    h = normalize(add(wo, scale(wi, 1.0 if wi[2] > 0.0 else eta)))
    return h if h[2] >= 0.0 else scale(h, -1.0)


@compiled
def crosses(wi: Vec3, wo: Vec3, h: Vec3) -> bool:
    """Returns whether wo is in front of the facet, and wi on the same side of the facet as of the surface."""
    return dot(wo, h) > 0.0 and dot(wi, h) * wi[2] > 0.0


@compiled
def spread_by_refraction(wi: Vec3, wo: Vec3, h: Vec3, eta: float) -> float:
    """Returns the solid angle of the facets' normals over that of refracted directions: eq. 17."""
    across = dot(wo, h) + eta * dot(wi, h)
    return eta * eta * abs(dot(wi, h)) / (across * across)
