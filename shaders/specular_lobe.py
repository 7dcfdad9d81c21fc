"""This module describes the specular lobe of metals: microfacets by GGX, Fresnel's or Schlick's reflectance, and all
bounces between facets.

A metal whose index is known reflects by Fresnel (`shaders.fresnel`). Of others a colour alone is known, which is
their reflectance at normal incidence; grazing light is reflected whole (Schlick: An Inexpensive BRDF Model for
Physically-Based Rendering, 1994). What one bounce between facets misses leaves after more of them, evenly: Kulla,
Conty: Revisiting Physically Based Shading at Imageworks, 2017, after Kelemen, Szirmay-Kalos: A Microfacet Based Coupled
Specular-Matte BRDF Model with Importance Sampling, 2001. So a white one reflects all light, at any roughness. Facets
narrower than `LEAST_ALPHA` are a perfect mirror.
"""

from typing import NamedTuple

from shaders.albedo_table import MEAN_GRAZING, cell_at, grazing, grazing_at, mean_missed, missed_at
from shaders.coat_table import geometric
from shaders.compilation import compiled
from shaders.float32 import ONE, PI, TWO, ZERO
from shaders.fresnel import conductor_fresnel
from shaders.ggx import LEAST_ALPHA, density, halfway, mirrored_at, sample_seen, stretch, unhidden_over_cosines
from shaders.vector import Color, Vec3, add, chosen, dot, largest, multiply, scale


class SpecularLobe(NamedTuple):
    """Says what facets reflect."""

    # reflectance at normal incidence, 0..1, or where `eta` is not black what multiplies that of a metal with the
    # refractive index eta and the extinction coefficient k
    color: Color
    eta: Color
    k: Color
    # of such a metal, the colour at normal incidence of what reflects as much light from all sides by Schlick. The
    # table is for Schlick's reflectance. What it says of such metals chooses directions to sample; of the reflectance
    # the mean alone counts in what is reflected
    like: Color


@compiled
def is_measured(specular_lobe: SpecularLobe) -> bool:
    """Returns whether the index of a metal is known."""
    return largest(specular_lobe.eta) > ZERO


@compiled
def schlick(color: Color, cosine: float) -> Color:
    """Returns the reflectance at the cosine of incidence of what reflects a colour at normal incidence."""
    return _lifted(color, grazing(cosine))


@compiled
def facet_reflectance(specular_lobe: SpecularLobe, cosine: float) -> Color:
    """Returns the reflectance of a facet at the cosine of incidence."""
    color, eta, k, within = specular_lobe.color, specular_lobe.eta, specular_lobe.k, min(cosine, ONE)
    red, green = conductor_fresnel(within, eta[0], k[0]), conductor_fresnel(within, eta[1], k[1])
    measured = multiply(color, (red, green, conductor_fresnel(within, eta[2], k[2])))
    return chosen(is_measured(specular_lobe), measured, schlick(color, cosine))


@compiled
def bounced_once(specular_lobe: SpecularLobe, alpha: float, cosine: float) -> Color:
    """Returns the share of the light at a cosine that is reflected by one facet."""
    cell = cell_at(alpha, cosine)
    once = _of_kept(specular_lobe, grazing_at(alpha, cosine, cell))
    return scale(once, ONE - missed_at(alpha, cell))


@compiled
def bounced_more(specular_lobe: SpecularLobe, alpha: float, cosine: float) -> Color:
    """Returns the share of the light at a cosine that is reflected after more bounces."""
    return scale(more_bounces(specular_lobe, alpha), missed_at(alpha, cell_at(alpha, cosine)))


@compiled
def specular_albedo(specular_lobe: SpecularLobe, alpha: float, cosine: float) -> Color:
    """Returns the share of the light at a cosine that is reflected."""
    smooth = facet_reflectance(specular_lobe, cosine)
    rough = add(bounced_once(specular_lobe, alpha, cosine), bounced_more(specular_lobe, alpha, cosine))
    return chosen(alpha < LEAST_ALPHA, smooth, rough)


@compiled
def specular_value(specular_lobe: SpecularLobe, alpha: float, wi: Vec3, wo: Vec3) -> Color:
    """Returns the value in 1/sr, without the cosine, for wi and wo above a rough surface."""
    h = halfway(wi, wo)
    once = scale(facet_reflectance(specular_lobe, dot(wo, h)), density(h, alpha) * unhidden_over_cosines(wi, wo, alpha))
    return add(once, scale(more_bounces(specular_lobe, alpha), value_of_more(alpha, wi[2], wo[2])))


@compiled
def value_of_more(alpha: float, cosine_i: float, cosine_o: float) -> float:
    """Returns the value in 1/sr of light that has bounced more than once, if none is lost."""
    missed = missed_at(alpha, cell_at(alpha, cosine_i)) * missed_at(alpha, cell_at(alpha, cosine_o))
    return missed / (PI * mean_missed(alpha))


@compiled
def facets_pdf(alpha: float, wi: Vec3, wo: Vec3) -> float:
    """Returns the density in solid angle with which `sample_facets` draws wi above a rough surface."""
    h = halfway(wi, wo)
    # seen_density / (4 dot(wo, h)), which is above 0 for directions above the surface
    return density(h, alpha) / (TWO * (wo[2] + stretch(wo, alpha)))


@compiled
def sample_facets(alpha: float, wo: Vec3, u1: float, u2: float) -> Vec3:
    """Draws a direction that a facet, a smooth one to the bit, mirrors wo to; it may lie below the surface."""
    width = alpha if alpha >= LEAST_ALPHA else ZERO
    x, y, z = mirrored_at(wo, sample_seen(wo, width, u1, u2))
    is_rough = alpha >= LEAST_ALPHA
    return (x if is_rough else -wo[0], y if is_rough else -wo[1], z if is_rough else wo[2])


@compiled
def more_bounces(specular_lobe: SpecularLobe, alpha: float) -> Color:
    """Returns which share of the light that does not get out after one bounce gets out later."""
    out = ONE - mean_missed(alpha)
    red, green, blue = _of_kept(specular_lobe, MEAN_GRAZING)
    return (geometric(red, out), geometric(green, out), geometric(blue, out))


@compiled
def _of_kept(specular_lobe: SpecularLobe, lifted_by: float) -> Color:
    """Returns what facets reflect of light whose mean of Schlick's (1 - cosine)^5 is given."""
    color, like = specular_lobe.color, specular_lobe.like
    return chosen(is_measured(specular_lobe), multiply(color, _lifted(like, lifted_by)), _lifted(color, lifted_by))


@compiled
def _lifted(color: Color, share: float) -> Color:
    """Returns a colour, a share nearer to white."""
    return (
        color[0] + (ONE - color[0]) * share,
        color[1] + (ONE - color[1]) * share,
        color[2] + (ONE - color[2]) * share,
    )
