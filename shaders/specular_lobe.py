"""This module describes the specular lobe of metals and coats: microfacets by GGX, Fresnel's or Schlick's reflectance,
and all bounces between facets.

A metal whose index is known reflects by Fresnel (`shaders.conductor`). Of others a colour alone is known, which is
their reflectance at normal incidence; grazing light is reflected whole (Schlick: An Inexpensive BRDF Model for
Physically-Based Rendering, 1994). What one bounce between facets misses leaves after more of them, evenly: Kulla,
Conty: Revisiting Physically Based Shading at Imageworks, 2017, after Kelemen, Szirmay-Kalos: A Microfacet Based Coupled
Specular-Matte BRDF Model with Importance Sampling, 2001. So a white one reflects all light, at any roughness. Facets
narrower than `LEAST_ALPHA` are a perfect mirror.
"""

import math
from typing import NamedTuple

from shaders.albedo_table import MEAN_GRAZING, mean_shares, shares_at
from shaders.compilation import called, compiled
from shaders.conductor import conductor_reflectance, mean_conductor_fresnel
from shaders.ggx import LEAST_ALPHA, density, mirrored_at, sample_seen, seen_density, unhidden_over_cosines
from shaders.sampling import cosine_hemisphere
from shaders.vector import WHITE, Color, Vec3, add, dot, largest, mean, multiply, normalize, scale


class SpecularLobe(NamedTuple):
    """Says what facets reflect.

    color: reflectance at normal incidence, 0..1, or where `eta` is not black what multiplies that of a metal with the
        refractive index eta and the extinction coefficient k.
    """

    color: Color
    eta: Color
    k: Color


@compiled
def is_measured(specular_lobe: SpecularLobe) -> bool:
    """Returns whether the index of a metal is known."""
    return largest(specular_lobe.eta) > 0.0


@compiled
def schlick(color: Color, cosine: float) -> Color:
    """Returns the reflectance at the cosine of incidence of what reflects a colour at normal incidence."""
    grazing = (1.0 - min(cosine, 1.0)) ** 5
    return _affine(color, 1.0 - grazing, grazing)


@called
def facet_reflectance(specular_lobe: SpecularLobe, cosine: float) -> Color:
    """Returns the reflectance of a facet at the cosine of incidence."""
    if is_measured(specular_lobe):
        return multiply(
            specular_lobe.color, conductor_reflectance(min(cosine, 1.0), specular_lobe.eta, specular_lobe.k)
        )
    return schlick(specular_lobe.color, cosine)


@called
def alike(specular_lobe: SpecularLobe) -> tuple[Color, Color]:
    """Returns a factor and the colour at normal incidence of what reflects as much light from all sides by Schlick.

    The table of one bounce is for Schlick's reflectance. What it says of rough metals chooses directions to sample, and
    what light gets to a base below them; of their reflectance the mean alone counts in what they reflect.
    """
    if not is_measured(specular_lobe):
        return WHITE, specular_lobe.color
    means = (
        mean_conductor_fresnel(specular_lobe.eta[0], specular_lobe.k[0]),
        mean_conductor_fresnel(specular_lobe.eta[1], specular_lobe.k[1]),
        mean_conductor_fresnel(specular_lobe.eta[2], specular_lobe.k[2]),
    )
    return specular_lobe.color, _affine(means, 1.0 / (1.0 - MEAN_GRAZING), -MEAN_GRAZING / (1.0 - MEAN_GRAZING))


@called
def specular_albedo(specular_lobe: SpecularLobe, alpha: float, cosine: float) -> Color:
    """Returns the share of the light at a cosine that is reflected."""
    if alpha < LEAST_ALPHA:
        return facet_reflectance(specular_lobe, cosine)
    return _all_bounces(specular_lobe, alpha, shares_at(alpha, cosine))


@called
def mean_specular_albedo(specular_lobe: SpecularLobe, alpha: float) -> Color:
    """Returns the share of light that falls in evenly from all sides that is reflected."""
    return _all_bounces(specular_lobe, alpha, mean_shares(alpha))


@called
def specular_value(specular_lobe: SpecularLobe, alpha: float, wi: Vec3, wo: Vec3) -> Color:
    """Returns the value in 1/sr, without the cosine, for wi and wo above a rough surface."""
    h = normalize(add(wi, wo))
    once = scale(facet_reflectance(specular_lobe, dot(wo, h)), density(h, alpha) * unhidden_over_cosines(wi, wo, alpha))
    missed = _missed(alpha, wi[2]) * _missed(alpha, wo[2])
    mean_missed = 1.0 - _sum(mean_shares(alpha))
    return add(once, scale(more_bounces(specular_lobe, alpha), missed / (math.pi * mean_missed)))


@called
def specular_pdf(specular_lobe: SpecularLobe, alpha: float, wi: Vec3, wo: Vec3) -> float:
    """Returns the density in solid angle with which `sample_specular_lobe` draws wi, for wi and wo above a rough
    surface."""
    h = normalize(add(wi, wo))
    evenly = even_share(specular_lobe, alpha, wo[2])
    return evenly * wi[2] / math.pi + (1.0 - evenly) * seen_density(wo, h, alpha) / (4.0 * dot(wo, h))


@called
def sample_specular_lobe(specular_lobe: SpecularLobe, alpha: float, wo: Vec3, u: tuple[float, float, float]) -> Vec3:
    """Draws a unit vector for a rough surface; it may lie below it."""
    if u[0] < even_share(specular_lobe, alpha, wo[2]):
        return cosine_hemisphere(u[1], u[2])
    return mirrored_at(wo, sample_seen(wo, alpha, u[1], u[2]))


@compiled
def even_share(specular_lobe: SpecularLobe, alpha: float, cosine: float) -> float:
    """Returns the share of what is reflected that has bounced more than once."""
    reflected = mean(specular_albedo(specular_lobe, alpha, cosine))
    return mean(more_bounces(specular_lobe, alpha)) * _missed(alpha, cosine) / reflected if reflected > 0.0 else 0.0


@compiled
def more_bounces(specular_lobe: SpecularLobe, alpha: float) -> Color:
    """Returns which share of the light that does not get out after one bounce gets out later.

    A bounce keeps F, the mean of the facets' reflectance, and lets the share E out, the mean of one bounce of white:
    F^2 E + F^3 (1 - E) E + ...
    """
    out = _sum(mean_shares(alpha))
    factor, color = alike(specular_lobe)
    red, green, blue = multiply(factor, _affine(color, 1.0 - MEAN_GRAZING, MEAN_GRAZING))
    return (_geometric(red, out), _geometric(green, out), _geometric(blue, out))


@compiled
def _geometric(kept: float, out: float) -> float:
    """Returns the sum of kept^(n + 1) (1 - out)^(n - 1) out over n from 1 on."""
    return kept * kept * out / (1.0 - kept * (1.0 - out))


@compiled
def _all_bounces(specular_lobe: SpecularLobe, alpha: float, shares: tuple[float, float]) -> Color:
    """Returns the reflected share after all bounces, given the scale and the bias of the first one."""
    factor, color = alike(specular_lobe)
    once = multiply(factor, _affine(color, shares[0], shares[1]))
    if alpha < LEAST_ALPHA:
        return once
    return add(once, scale(more_bounces(specular_lobe, alpha), 1.0 - _sum(shares)))


@compiled
def _missed(alpha: float, cosine: float) -> float:
    """Returns the share of light at a cosine that white facets do not reflect in one bounce."""
    return 1.0 - _sum(shares_at(alpha, cosine))


@compiled
def _sum(shares: tuple[float, float]) -> float:
    """Returns the share of light that white facets reflect in one bounce."""
    return min(shares[0] + shares[1], 1.0 - 1e-12)


@compiled
def _affine(color: Color, factor: float, summand: float) -> Color:
    """Returns each channel times a factor plus a summand."""
    return (color[0] * factor + summand, color[1] * factor + summand, color[2] * factor + summand)
