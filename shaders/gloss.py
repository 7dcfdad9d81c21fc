"""A shine of microfacets, of metals and coats: GGX, Schlick's Fresnel, and all bounces between the facets.

`gloss` is the reflectance straight ahead per channel; grazing light is reflected whole (Schlick: An Inexpensive BRDF
Model for Physically-Based Rendering, 1994). What one bounce between facets misses leaves after more of them, evenly:
Kulla, Conty: Revisiting Physically Based Shading at Imageworks, 2017, after Kelemen, Szirmay-Kalos: A Microfacet Based
Coupled Specular-Matte BRDF Model with Importance Sampling, 2001. So a white one reflects all light, at any roughness.
Facets narrower than `LEAST_ALPHA` are a perfect mirror.
"""

import math

from shaders.albedo_table import MEAN_GRAZING, mean_shares, shares_at
from shaders.compilation import called, compiled
from shaders.ggx import LEAST_ALPHA, density, mirrored_at, sample_seen, seen_density, unhidden_over_cosines
from shaders.sampling import cosine_hemisphere
from shaders.vector import Color, Vec3, add, dot, mean, normalize, scale


@compiled
def schlick(gloss: Color, cosine: float) -> Color:
    """Reflectance of a facet at the cosine of incidence."""
    grazing = (1.0 - min(cosine, 1.0)) ** 5
    return _affine(gloss, 1.0 - grazing, grazing)


@called
def gloss_albedo(gloss: Color, alpha: float, cosine: float) -> Color:
    """Share of the light at a cosine that is reflected."""
    return _all_bounces(gloss, alpha, shares_at(alpha, cosine))


@called
def mean_gloss_albedo(gloss: Color, alpha: float) -> Color:
    """Share of light that falls in evenly from all sides that is reflected."""
    return _all_bounces(gloss, alpha, mean_shares(alpha))


@called
def gloss_value(gloss: Color, alpha: float, wi: Vec3, wo: Vec3) -> Color:
    """In 1/sr, without the cosine, of wi and wo above a rough surface."""
    h = normalize(add(wi, wo))
    once = scale(schlick(gloss, dot(wo, h)), density(h, alpha) * unhidden_over_cosines(wi, wo, alpha))
    missed = _missed(alpha, wi[2]) * _missed(alpha, wo[2])
    mean_missed = 1.0 - _sum(mean_shares(alpha))
    return add(once, scale(more_bounces(gloss, alpha), missed / (math.pi * mean_missed)))


@called
def gloss_pdf(gloss: Color, alpha: float, wi: Vec3, wo: Vec3) -> float:
    """Density in solid angle with which `sample_gloss` draws wi, of wi and wo above a rough surface."""
    h = normalize(add(wi, wo))
    evenly = even_share(gloss, alpha, wo[2])
    return evenly * wi[2] / math.pi + (1.0 - evenly) * seen_density(wo, h, alpha) / (4.0 * dot(wo, h))


@called
def sample_gloss(gloss: Color, alpha: float, wo: Vec3, u: tuple[float, float, float]) -> Vec3:
    """A unit vector by a rough surface; it may lie below it."""
    if u[0] < even_share(gloss, alpha, wo[2]):
        return cosine_hemisphere(u[1], u[2])
    return mirrored_at(wo, sample_seen(wo, alpha, u[1], u[2]))


@compiled
def even_share(gloss: Color, alpha: float, cosine: float) -> float:
    """Share of what is reflected that has bounced more than once."""
    reflected = mean(gloss_albedo(gloss, alpha, cosine))
    return mean(more_bounces(gloss, alpha)) * _missed(alpha, cosine) / reflected if reflected > 0.0 else 0.0


@compiled
def more_bounces(gloss: Color, alpha: float) -> Color:
    """Share that gets out again of light that does not after one bounce.

    A bounce keeps F, the mean of Schlick's reflectance, and lets the share E out, the mean of one bounce of white:
    F^2 E + F^3 (1 - E) E + ...
    """
    out = _sum(mean_shares(alpha))
    red, green, blue = _affine(gloss, 1.0 - MEAN_GRAZING, MEAN_GRAZING)
    return (_geometric(red, out), _geometric(green, out), _geometric(blue, out))


@compiled
def _geometric(kept: float, out: float) -> float:
    """The sum of kept^(n + 1) (1 - out)^(n - 1) out over n from 1 on."""
    return kept * kept * out / (1.0 - kept * (1.0 - out))


@compiled
def _all_bounces(gloss: Color, alpha: float, shares: tuple[float, float]) -> Color:
    """Reflected share, of which the first bounce is said by scale and bias."""
    once = _affine(gloss, shares[0], shares[1])
    if alpha < LEAST_ALPHA:
        return once
    return add(once, scale(more_bounces(gloss, alpha), 1.0 - _sum(shares)))


@compiled
def _missed(alpha: float, cosine: float) -> float:
    """Share of light at a cosine that white facets do not reflect in one bounce."""
    return 1.0 - _sum(shares_at(alpha, cosine))


@compiled
def _sum(shares: tuple[float, float]) -> float:
    """What white facets reflect in one bounce."""
    return min(shares[0] + shares[1], 1.0 - 1e-12)


@compiled
def _affine(color: Color, factor: float, summand: float) -> Color:
    """Each channel times a factor plus a summand."""
    return (color[0] * factor + summand, color[1] * factor + summand, color[2] * factor + summand)
