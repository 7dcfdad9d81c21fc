"""A rough border between two clear media: facets that reflect by Fresnel and refract by Snell.

Walter, Marschner, Li, Torrance: Microfacet Models for Refraction through Rough Surfaces, 2007. Values are those of
flux; radiance from the far side is less by the square of `eta`, the index of the far side over that of the near one. wo
is above the surface, wi on either side. Light that meets more than one facet at the border is lost.
"""

from shaders.compilation import called, compiled
from shaders.dielectric import fresnel
from shaders.ggx import (
    density,
    mirrored_at,
    sample_seen,
    seen_density,
    unhidden_over_cosines,
    unmasked_over_cosine,
)
from shaders.vector import Vec3, add, dot, normalize, scale


@called
def rough_glass_value(wi: Vec3, wo: Vec3, eta: float, alpha: float) -> float:
    """In 1/sr, without the cosine."""
    h = facet_between(wi, wo, eta)
    if not crosses(wi, wo, h):
        return 0.0
    reflected = fresnel(dot(wo, h), eta)
    if wi[2] > 0.0:
        return reflected * density(h, alpha) * unhidden_over_cosines(wi, wo, alpha)
    seen = seen_density(wo, h, alpha) * unmasked_over_cosine(wi, alpha)
    return (1.0 - reflected) * seen * spread_by_refraction(wi, wo, h, eta)


@called
def rough_glass_pdf(wi: Vec3, wo: Vec3, eta: float, alpha: float) -> float:
    """Density in solid angle with which `sample_rough_glass` draws wi."""
    h = facet_between(wi, wo, eta)
    if not crosses(wi, wo, h):
        return 0.0
    reflected, seen = fresnel(dot(wo, h), eta), seen_density(wo, h, alpha)
    if wi[2] > 0.0:
        return reflected * seen / (4.0 * dot(wo, h))
    return (1.0 - reflected) * seen * spread_by_refraction(wi, wo, h, eta)


@called
def sample_rough_glass(wo: Vec3, eta: float, alpha: float, u: tuple[float, float, float]) -> Vec3:
    """A unit vector, or (0, 0, 0) for light that is lost; the first number chooses to reflect or refract."""
    h = sample_seen(wo, alpha, u[1], u[2])
    is_reflected = u[0] < fresnel(dot(wo, h), eta)
    wi = mirrored_at(wo, h) if is_reflected else refracted_at(wo, h, eta)
    # What a facet sends to the wrong side meets another one.
    return wi if is_reflected == (wi[2] > 0.0) else (0.0, 0.0, 0.0)


@compiled
def refracted_at(wo: Vec3, h: Vec3, eta: float) -> Vec3:
    """The direction that a facet refracts wo to. There must be one."""
    cosine = dot(wo, h)
    cosine_t = max(0.0, 1.0 - (1.0 - cosine * cosine) / (eta * eta)) ** 0.5
    return normalize(add(scale(wo, -1.0 / eta), scale(h, cosine / eta - cosine_t)))


@compiled
def facet_between(wi: Vec3, wo: Vec3, eta: float) -> Vec3:
    """Normal of the facets that turn wo to wi, or (0, 0, 1) where no one facet does."""
    h = normalize(add(wo, scale(wi, 1.0 if wi[2] > 0.0 else eta)))
    return h if h[2] >= 0.0 else scale(h, -1.0)


@compiled
def crosses(wi: Vec3, wo: Vec3, h: Vec3) -> bool:
    """Whether wo is before the facet, and wi on the side of it on which it is of the surface."""
    return dot(wo, h) > 0.0 and dot(wi, h) * wi[2] > 0.0


@compiled
def spread_by_refraction(wi: Vec3, wo: Vec3, h: Vec3, eta: float) -> float:
    """Solid angle of the facets' normals over that of refracted directions: eq. 17."""
    across = dot(wo, h) + eta * dot(wi, h)
    return eta * eta * abs(dot(wi, h)) / (across * across)
