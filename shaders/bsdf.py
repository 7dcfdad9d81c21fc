"""Scattering at a surface: a mixture of four lobes, which every shader is made of.

Conventions. `wi` and `wo` are unit vectors that point away from the surface, in a local frame whose z axis is the
shading normal on the side of `wo`. `evaluate` excludes the cosine. The transport direction is an argument: radiance
(from the eye) or flux (from a light). Photons are stored where `diffuse` is not black.
"""

import math
from typing import NamedTuple

from shaders.compilation import compiled
from shaders.dielectric import fresnel, refract
from shaders.phong import phong_pdf, phong_value, sample_phong
from shaders.sampling import cosine_hemisphere
from shaders.vector import BLACK, Color, Vec3, add, mean, scale

#: What a sample turned out to be.
ABSORBED, DIFFUSE, GLOSSY, SPECULAR = range(4)


class Bsdf(NamedTuple):
    """Reflectances in 0..1 of the four lobes: Lambert, Phong, perfect mirror, and clear dielectric.

    shine: cosine power of the Phong lobe. ior: refractive index of the inside of the dielectric over that of the
    outside, > 0.
    """

    diffuse: Color
    phong: Color
    mirror: Color
    transmission: Color
    shine: float
    ior: float


class BsdfSample(NamedTuple):
    """A direction drawn.

    weight: f cos / pdf per channel, the share of light that is kept. radiance_scale: what radiance changes by as it is
    squeezed into another medium, beside the weight; 1 for flux. pdf_solid_angle: 0 for a direction without spread
    (SPECULAR). lobe: where the direction comes from.
    """

    wi: Vec3
    weight: Color
    radiance_scale: float
    pdf_solid_angle: float
    lobe: int


class Choice(NamedTuple):
    """Probabilities with which `sample` picks the lobes."""

    diffuse: float
    phong: float
    mirror: float
    transmission: float


@compiled
def choice(bsdf: Bsdf, with_diffuse: bool) -> Choice:
    """In proportion to reflectance; without the diffuse lobe where photons stand for it."""
    diffuse = mean(bsdf.diffuse) if with_diffuse else 0.0
    phong, mirror, transmission = mean(bsdf.phong), mean(bsdf.mirror), mean(bsdf.transmission)
    total = diffuse + phong + mirror + transmission
    if total <= 0.0:
        return Choice(0.0, 0.0, 0.0, 0.0)
    return Choice(diffuse / total, phong / total, mirror / total, transmission / total)


@compiled
def evaluate_diffuse(bsdf: Bsdf, wi: Vec3) -> Color:
    """The diffuse lobe in 1/sr, without the cosine."""
    if wi[2] <= 0.0:
        return BLACK
    return scale(bsdf.diffuse, 1.0 / math.pi)


@compiled
def evaluate_phong(bsdf: Bsdf, wi: Vec3, wo: Vec3) -> Color:
    """The Phong lobe in 1/sr, without the cosine."""
    if wi[2] <= 0.0 or mean(bsdf.phong) <= 0.0:
        return BLACK
    return scale(bsdf.phong, phong_value(wi, wo, bsdf.shine))


@compiled
def pdf_solid_angle(bsdf: Bsdf, wi: Vec3, wo: Vec3, with_diffuse: bool) -> float:
    """Density with which `sample` draws wi from the lobes that have a spread."""
    if wi[2] <= 0.0:
        return 0.0
    chosen = choice(bsdf, with_diffuse)
    pdf = chosen.diffuse * wi[2] / math.pi
    if chosen.phong > 0.0:
        pdf += chosen.phong * phong_pdf(wi, wo, bsdf.shine)
    return pdf


@compiled
def sample(
    bsdf: Bsdf, wo: Vec3, outside: bool, flux: bool, with_diffuse: bool, u: tuple[float, float, float]
) -> BsdfSample:
    """Draw a direction.

    outside: wo lies outside of the solid. flux: transport of flux rather than radiance. with_diffuse: whether the
    diffuse lobe takes part. u: three uniform numbers, the first chooses the lobe.
    """
    chosen = choice(bsdf, with_diffuse)
    pick = u[0]
    if pick < chosen.diffuse + chosen.phong:
        from_diffuse = pick < chosen.diffuse
        wi = cosine_hemisphere(u[1], u[2]) if from_diffuse else sample_phong(wo, bsdf.shine, u[1], u[2])
        if wi[2] <= 0.0:
            return BsdfSample(wi, BLACK, 1.0, 0.0, ABSORBED)
        value = evaluate_phong(bsdf, wi, wo)
        if with_diffuse:
            value = add(value, evaluate_diffuse(bsdf, wi))
        pdf = pdf_solid_angle(bsdf, wi, wo, with_diffuse)
        if pdf <= 0.0:
            return BsdfSample(wi, BLACK, 1.0, 0.0, ABSORBED)
        return BsdfSample(wi, scale(value, wi[2] / pdf), 1.0, pdf, DIFFUSE if from_diffuse else GLOSSY)
    pick -= chosen.diffuse + chosen.phong
    mirrored = (-wo[0], -wo[1], wo[2])
    if pick < chosen.mirror:
        return BsdfSample(mirrored, scale(bsdf.mirror, 1.0 / chosen.mirror), 1.0, 0.0, SPECULAR)
    if chosen.transmission <= 0.0:
        return BsdfSample(mirrored, BLACK, 1.0, 0.0, ABSORBED)
    pick = (pick - chosen.mirror) / chosen.transmission
    eta = bsdf.ior if outside else 1.0 / bsdf.ior
    reflectance = fresnel(wo[2], eta)
    weight = scale(bsdf.transmission, 1.0 / chosen.transmission)
    if pick < reflectance:
        return BsdfSample(mirrored, weight, 1.0, 0.0, SPECULAR)
    # Radiance changes with the square of the index as it crosses the surface, flux does not: Veach, Robust Monte
    # Carlo Methods for Light Transport Simulation, 1997, section 5.2.
    radiance_scale = 1.0 if flux else 1.0 / (eta * eta)
    return BsdfSample(refract(wo, eta), weight, radiance_scale, 0.0, SPECULAR)
