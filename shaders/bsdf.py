"""This module scatters light at a surface by a mixture of five lobes, which every shader is made of.

`wi` and `wo` are unit vectors that point away from the surface, in a local frame whose z axis is the shading normal on
the side of `wo`. `evaluate` excludes the cosine. The transport direction is an argument: radiance (from the eye) or
flux (from a light). Photons are stored where `diffuse` is not black.

A specular lobe covers the diffuse lobe as a coat: light has to come through it on its way to the base and back, and
comes out as evenly as it must so that nothing is lost: Kelemen, Szirmay-Kalos: A Microfacet Based Coupled
Specular-Matte BRDF Model with Importance Sampling, 2001. Photons on such a base are those that came through.
"""

import math
from typing import NamedTuple

from shaders.compilation import called, compiled
from shaders.dielectric import fresnel, refract
from shaders.ggx import LEAST_ALPHA
from shaders.phong import phong_pdf, phong_value, sample_phong
from shaders.rough_glass import rough_glass_pdf, rough_glass_value, sample_rough_glass
from shaders.sampling import cosine_hemisphere
from shaders.specular_lobe import (
    SpecularLobe,
    mean_specular_albedo,
    sample_specular_lobe,
    specular_albedo,
    specular_pdf,
    specular_value,
)
from shaders.vector import BLACK, WHITE, Color, Vec3, add, largest, mean, multiply, scale, subtract

#: What a sample turned out to be.
LOBE_ABSORBED, LOBE_DIFFUSE, LOBE_ROUGH, LOBE_SPECULAR = range(4)

#: A coat that lets less light through than this may as well let none.
LEAST_ENTERING = 1e-9


class Bsdf(NamedTuple):
    """Reflectances in 0..1 of five lobes, black for none, and what shapes them.

    diffuse: of Lambert's law.
    phong: of a Phong lobe.
    mirror: of a perfect mirror.
    transmission: of a clear dielectric.
    exponent: cosine power of the Phong lobe.
    ior: refractive index of the inside of the dielectric over that of the outside, > 0.
    specular_lobe: of microfacets, at normal incidence.
    alpha: width of GGX of the specular lobe and of the dielectric's border, 0..1.
    eta, k: refractive index and extinction coefficient of a metal, whose reflectance the specular lobe multiplies then;
        black where they are not known.
    """

    diffuse: Color
    phong: Color
    mirror: Color
    transmission: Color
    exponent: float
    ior: float
    specular_lobe: Color = BLACK
    alpha: float = 0.0
    eta: Color = BLACK
    k: Color = BLACK


class BsdfSample(NamedTuple):
    """Holds a direction that was drawn.

    weight: f cos / pdf per channel, the share of light that is kept. radiance_scale: what radiance changes by as it is
    squeezed into another medium, beside the weight; 1 for flux. pdf_solid_angle: 0 for a direction without spread
    (LOBE_SPECULAR). lobe: where the direction comes from.
    """

    wi: Vec3
    weight: Color
    radiance_scale: float
    pdf_solid_angle: float
    lobe: int


class Transport(NamedTuple):
    """Holds the arguments of `sample` that say which light is sampled and where."""

    outside: bool
    flux: bool
    with_diffuse: bool


class Choice(NamedTuple):
    """Holds the probabilities with which `sample` picks the lobes."""

    diffuse: float
    phong: float
    mirror: float
    specular_lobe: float
    transmission: float


@compiled
def is_coated(bsdf: Bsdf) -> bool:
    """Returns whether there is a specular lobe."""
    return largest(bsdf.specular_lobe) > 0.0


@compiled
def specular_lobe_of(bsdf: Bsdf) -> SpecularLobe:
    """Returns the specular lobe: what the microfacets reflect."""
    return SpecularLobe(bsdf.specular_lobe, bsdf.eta, bsdf.k)


@compiled
def is_rough_glass(bsdf: Bsdf) -> bool:
    """Returns whether the dielectric spreads light. Where the index does not change, its border is not there."""
    return bsdf.alpha >= LEAST_ALPHA and bsdf.ior != 1.0 and largest(bsdf.transmission) > 0.0


@compiled
def has_rough_lobe(bsdf: Bsdf) -> bool:
    """Returns whether a direction that is drawn elsewhere may have a value beside the diffuse one."""
    is_rough = bsdf.alpha >= LEAST_ALPHA and (is_coated(bsdf) or is_rough_glass(bsdf))
    return is_rough or largest(bsdf.phong) > 0.0


@compiled
def eta_seen(bsdf: Bsdf, outside: bool) -> float:
    """Returns the index of the far side over that of the side of wo."""
    return bsdf.ior if outside else 1.0 / bsdf.ior


@compiled
def entering_share(bsdf: Bsdf, wi: Vec3) -> Color:
    """Returns the share of the light from wi that comes to the diffuse base: what a photon that is stored there has
    left."""
    if not is_coated(bsdf):
        return WHITE
    return subtract(WHITE, specular_albedo(specular_lobe_of(bsdf), bsdf.alpha, wi[2]))


@compiled
def base_reflectance(bsdf: Bsdf, wo: Vec3) -> Color:
    """Returns the reflectance towards wo of the diffuse base, for light that has come through the coat."""
    if not is_coated(bsdf):
        return bsdf.diffuse
    leaving, mean_albedo = entering_share(bsdf, wo), mean_specular_albedo(specular_lobe_of(bsdf), bsdf.alpha)
    return (
        bsdf.diffuse[0] * leaving[0] / max(1.0 - mean_albedo[0], LEAST_ENTERING),
        bsdf.diffuse[1] * leaving[1] / max(1.0 - mean_albedo[1], LEAST_ENTERING),
        bsdf.diffuse[2] * leaving[2] / max(1.0 - mean_albedo[2], LEAST_ENTERING),
    )


@compiled
def choice(bsdf: Bsdf, wo: Vec3, with_diffuse: bool) -> Choice:
    """Returns probabilities in proportion to what the lobes reflect, without the diffuse lobe where photons stand for
    it."""
    diffuse, specular_lobe = mean(bsdf.diffuse), 0.0
    if is_coated(bsdf):
        albedo = specular_albedo(specular_lobe_of(bsdf), bsdf.alpha, wo[2])
        diffuse, specular_lobe = mean(multiply(bsdf.diffuse, subtract(WHITE, albedo))), mean(albedo)
    if not with_diffuse:
        diffuse = 0.0
    phong, mirror, transmission = mean(bsdf.phong), mean(bsdf.mirror), mean(bsdf.transmission)
    total = diffuse + phong + mirror + transmission + specular_lobe
    if total <= 0.0:
        return Choice(0.0, 0.0, 0.0, 0.0, 0.0)
    return Choice(diffuse / total, phong / total, mirror / total, specular_lobe / total, transmission / total)


@compiled
def evaluate_diffuse(bsdf: Bsdf, wi: Vec3, wo: Vec3) -> Color:
    """Returns the value of the diffuse lobe in 1/sr, without the cosine."""
    if wi[2] <= 0.0:
        return BLACK
    if not is_coated(bsdf):
        return scale(bsdf.diffuse, 1.0 / math.pi)
    return scale(multiply(base_reflectance(bsdf, wo), entering_share(bsdf, wi)), 1.0 / math.pi)


@compiled
def evaluate_phong(bsdf: Bsdf, wi: Vec3, wo: Vec3) -> Color:
    """Returns the value of the Phong lobe in 1/sr, without the cosine."""
    if wi[2] <= 0.0 or mean(bsdf.phong) <= 0.0:
        return BLACK
    return scale(bsdf.phong, phong_value(wi, wo, bsdf.exponent))


@compiled
def evaluate_rough(bsdf: Bsdf, wi: Vec3, wo: Vec3, outside: bool, flux: bool) -> Color:
    """Returns the value of all lobes with a spread but the diffuse one, in 1/sr, without the cosine. wi is on either
    side."""
    value = evaluate_phong(bsdf, wi, wo)
    if bsdf.alpha < LEAST_ALPHA:
        return value
    if wi[2] > 0.0 and is_coated(bsdf):
        value = add(value, specular_value(specular_lobe_of(bsdf), bsdf.alpha, wi, wo))
    if is_rough_glass(bsdf):
        eta = eta_seen(bsdf, outside)
        through = rough_glass_value(wi, wo, eta, bsdf.alpha)
        value = add(value, scale(bsdf.transmission, through * radiance_scale(wi, eta, flux)))
    return value


@compiled
def radiance_scale(wi: Vec3, eta: float, flux: bool) -> float:
    """Returns the factor by which light from wi changes besides the share that is kept.

    Radiance changes with the square of the index as it crosses the surface, flux does not: Veach, Robust Monte Carlo
    Methods for Light Transport Simulation, 1997, section 5.2.
    """
    return 1.0 if flux or wi[2] > 0.0 else 1.0 / (eta * eta)


@compiled
def pdf_solid_angle(bsdf: Bsdf, wi: Vec3, wo: Vec3, outside: bool, with_diffuse: bool) -> float:
    """Returns the density with which `sample` draws wi from the lobes that have a spread."""
    is_rough = is_rough_glass(bsdf)
    if wi[2] <= 0.0 and not is_rough:
        return 0.0
    chosen = choice(bsdf, wo, with_diffuse)
    pdf = chosen.diffuse * max(wi[2], 0.0) / math.pi
    if chosen.phong > 0.0 and wi[2] > 0.0:
        pdf += chosen.phong * phong_pdf(wi, wo, bsdf.exponent)
    if bsdf.alpha >= LEAST_ALPHA and chosen.specular_lobe > 0.0 and wi[2] > 0.0:
        pdf += chosen.specular_lobe * specular_pdf(specular_lobe_of(bsdf), bsdf.alpha, wi, wo)
    if is_rough:
        pdf += chosen.transmission * rough_glass_pdf(wi, wo, eta_seen(bsdf, outside), bsdf.alpha)
    return pdf


@compiled
def sample(
    bsdf: Bsdf, wo: Vec3, outside: bool, flux: bool, with_diffuse: bool, u: tuple[float, float, float]
) -> BsdfSample:
    """Draws a direction.

    outside: wo lies outside of the solid.
    flux: transport of flux rather than radiance.
    with_diffuse: whether the diffuse lobe takes part.
    u: three uniform numbers, the first chooses the lobe.
    """
    chosen = choice(bsdf, wo, with_diffuse)
    transport = Transport(outside, flux, with_diffuse)
    pick = u[0]
    if pick < chosen.diffuse + chosen.phong:
        from_diffuse = pick < chosen.diffuse
        wi = cosine_hemisphere(u[1], u[2]) if from_diffuse else sample_phong(wo, bsdf.exponent, u[1], u[2])
        return spread_sample(bsdf, wi, wo, transport, LOBE_DIFFUSE if from_diffuse else LOBE_ROUGH)
    pick -= chosen.diffuse + chosen.phong
    mirrored = (-wo[0], -wo[1], wo[2])
    if pick < chosen.mirror:
        return BsdfSample(mirrored, scale(bsdf.mirror, 1.0 / chosen.mirror), 1.0, 0.0, LOBE_SPECULAR)
    pick -= chosen.mirror
    if pick < chosen.specular_lobe and bsdf.alpha < LEAST_ALPHA:
        weight = scale(specular_albedo(specular_lobe_of(bsdf), bsdf.alpha, wo[2]), 1.0 / chosen.specular_lobe)
        return BsdfSample(mirrored, weight, 1.0, 0.0, LOBE_SPECULAR)
    if pick < chosen.specular_lobe:
        wi = sample_specular_lobe(specular_lobe_of(bsdf), bsdf.alpha, wo, (pick / chosen.specular_lobe, u[1], u[2]))
        return spread_sample(bsdf, wi, wo, transport, LOBE_ROUGH)
    if chosen.transmission <= 0.0:
        return BsdfSample(mirrored, BLACK, 1.0, 0.0, LOBE_ABSORBED)
    return sample_glass(bsdf, wo, transport, chosen, ((pick - chosen.specular_lobe) / chosen.transmission, u[1], u[2]))


@compiled
def sample_glass(
    bsdf: Bsdf, wo: Vec3, transport: Transport, chosen: Choice, u: tuple[float, float, float]
) -> BsdfSample:
    """Reflects or refracts at a clear border."""
    eta = eta_seen(bsdf, transport.outside)
    if is_rough_glass(bsdf):
        return spread_sample(bsdf, sample_rough_glass(wo, eta, bsdf.alpha, u), wo, transport, LOBE_ROUGH)
    weight = scale(bsdf.transmission, 1.0 / chosen.transmission)
    if u[0] < fresnel(wo[2], eta):
        return BsdfSample((-wo[0], -wo[1], wo[2]), weight, 1.0, 0.0, LOBE_SPECULAR)
    wi = refract(wo, eta)
    return BsdfSample(wi, weight, radiance_scale(wi, eta, transport.flux), 0.0, LOBE_SPECULAR)


@called
def spread_sample(bsdf: Bsdf, wi: Vec3, wo: Vec3, transport: Transport, lobe: int) -> BsdfSample:
    """Returns the sample of a direction drawn from one of the lobes that have a spread, weighed by all of them."""
    outside, flux, with_diffuse = transport
    pdf = pdf_solid_angle(bsdf, wi, wo, outside, with_diffuse)
    if pdf <= 0.0:
        return BsdfSample(wi, BLACK, 1.0, 0.0, LOBE_ABSORBED)
    value = evaluate_rough(bsdf, wi, wo, outside, True)
    if with_diffuse:
        value = add(value, evaluate_diffuse(bsdf, wi, wo))
    scaled = radiance_scale(wi, eta_seen(bsdf, outside), flux)
    return BsdfSample(wi, scale(value, abs(wi[2]) / pdf), scaled, pdf, lobe)
