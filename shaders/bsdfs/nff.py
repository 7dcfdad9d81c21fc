"""This BSDF is the surface of NFF and AFF files, made to conserve energy.

The files mean by `specular` two things at once: the strength of Phong's highlight and of the mirror image. A physical
surface has one budget for both, so `specular` is split: the share `mirror_share` is a perfect mirror, the rest a Phong
lobe of power s, the exponent. A material that does not say its share has s / (s + 100): dull plastics (s = 10) get a
broad highlight, polished metal (s = 97) half a mirror with a tight highlight, and lamps without size still show as
highlights. `transmittance` T is a clear dielectric. Where diffuse + specular + T exceeds 1 in some channel, all of it
is scaled down to 1. The ambient term stands for light between surfaces, which photons bring: it is no part of the BSDF.

The base is the diffuse lobe. The Phong lobe is normalised so that it reflects no more than it receives (Lafortune,
Willems: Using the Modified Phong Reflectance Model for Physically Based Rendering, 1994); what it sends below the
surface is lost.
"""

from typing import Any, NamedTuple

from shaders.bsdfs import dielectric, diffuse
from shaders.bsdfs.bsdf import LOBE_BASE, LOBE_GLOSSY, LOBE_NONE, LOBE_SHARP, Bsdf, Drawn, Seen, Use, Value
from shaders.compilation import compiled
from shaders.elementary import power
from shaders.float32 import ONE, PI, TWO, TWO_PI, ZERO
from shaders.sampling import cosine_hemisphere, cosine_power
from shaders.vector import Color, Vec3, add, chosen, dot, frame, largest, scale, to_world

#: Exponent at which half of the specular reflectance is a mirror.
HALF_MIRROR_EXPONENT = 100.0

PER_TWO_PI = 1 / TWO_PI


class Nff(NamedTuple):
    """Reflectances in 0..1 of four lobes, and what shapes them."""

    diffuse: Color  # of Lambert's law
    phong: Color  # of a Phong lobe
    mirror: Color  # of a perfect mirror
    transmission: Color  # of a clear dielectric
    exponent: float  # cosine power of the Phong lobe
    ior: float  # refractive index of the inside of the dielectric over that of the outside, > 0


def pack(material: Any) -> Nff:
    """Returns a diffuse, a Phong, a mirror and a dielectric lobe, no more than 1 together."""
    through = max(0.0, material.transmittance)
    total = max(d + s + through for d, s in zip(material.diffuse, material.specular, strict=True))
    keep = 1.0 / max(1.0, total)
    mirror_share = _mirror_share(material)
    return Nff(
        diffuse=_scaled(material.diffuse, keep),
        phong=_scaled(material.specular, keep * (1.0 - mirror_share)),
        mirror=_scaled(material.specular, keep * mirror_share),
        transmission=(through * keep, through * keep, through * keep),
        exponent=max(0.0, material.exponent),
        ior=material.ior if material.ior > 0.0 else 1.0,
    )


def simpler(nff: Nff) -> tuple[Bsdf, Any] | None:
    """Returns Lambert's surface or a clear border, if there is no other lobe."""
    has_others = max(*nff.phong, *nff.mirror) > 0.0
    if not has_others and max(nff.transmission) == 0.0:
        return diffuse.BSDF, diffuse.Diffuse(nff.diffuse)
    if not has_others and max(nff.diffuse) == 0.0:
        return dielectric.BSDF, dielectric.Dielectric(nff.transmission, nff.ior, alpha=0.0)
    return None


def _mirror_share(material: Any) -> float:
    """Returns which share of what is specular is a mirror."""
    if material.mirror_share is not None:
        return float(material.mirror_share)
    return material.exponent / (material.exponent + HALF_MIRROR_EXPONENT) if material.exponent > 0.0 else 0.0


def _scaled(color: Color, factor: float) -> Color:
    return (color[0] * factor, color[1] * factor, color[2] * factor)


@compiled
def sample(nff: Nff, seen: Seen, u: Vec3) -> Drawn:
    """Draws a direction of one lobe; in the glass the rest of the first number reflects or refracts."""
    base, phong, mirror, transmission = shares_of(nff, seen)
    total = base + phong + mirror + transmission
    pick = u[0] * total
    is_phong, is_mirror = (pick >= base) & (phong > ZERO), pick >= base + phong
    is_glass = (pick >= base + phong + mirror) & (transmission > ZERO)
    # The share of the lobe that is chosen last is that of the lobe.
    share = mirror if is_mirror else (phong if is_phong else base)
    share = transmission if is_glass else share
    spread = chosen(is_phong, sample_phong(seen.wo, nff.exponent, u[1], u[2]), cosine_hemisphere(u[1], u[2]))
    left = (pick - (base + phong + mirror)) / transmission
    mirrored = (-seen.wo[0], -seen.wo[1], seen.wo[2])
    sharp = chosen(is_glass, dielectric.behind_border(seen.wo, dielectric.eta(nff, seen.is_outside), left), mirrored)
    wi = chosen(is_mirror, sharp, spread)
    lobe = LOBE_SHARP if is_mirror else (LOBE_GLOSSY if is_phong else LOBE_BASE)
    is_lost = (share <= ZERO) | ((wi[2] <= ZERO) & (lobe != LOBE_SHARP))
    weight = scale(chosen(is_glass, nff.transmission, nff.mirror), total / share)
    return Drawn(wi, weight, LOBE_NONE if is_lost else lobe)


@compiled
def shares_of(nff: Nff, seen: Seen) -> tuple[float, float, float, float]:
    """Returns what each lobe carries on: diffuse, Phong, mirror and glass."""
    carried, has_phong, has_glass = seen.carried, largest(nff.phong) > ZERO, largest(nff.transmission) > ZERO
    return (
        seen.follow * dot(carried, nff.diffuse),
        dot(carried, nff.phong) if has_phong else ZERO,
        dot(carried, nff.mirror),
        dot(carried, nff.transmission) if has_glass else ZERO,
    )


@compiled
def evaluate(nff: Nff, wi: Vec3, seen: Seen) -> Value:
    """Returns the value of the diffuse lobe and of the Phong lobe."""
    base, phong, mirror, transmission = shares_of(nff, seen)
    total = base + phong + mirror + transmission
    is_above = wi[2] > ZERO
    even = ONE / PI if is_above else ZERO
    lobe = phong_value(wi, seen.wo, nff.exponent) if is_above & (phong > ZERO) else ZERO
    pdf = base * even * wi[2] + phong * lobe * ((nff.exponent + ONE) / (nff.exponent + TWO))
    return Value(scale(nff.diffuse, even), scale(nff.phong, lobe), pdf / total if total > ZERO else ZERO)


@compiled
def albedo(nff: Nff, wo: Vec3) -> Color:
    """Returns the sum of all lobes, as if the Phong lobe lost nothing."""
    return add(add(nff.diffuse, nff.phong), add(nff.mirror, nff.transmission))


BSDF = Bsdf(
    name="nff",
    summary="NFF/AFF surface: diffuse, Phong, mirror and glass in one",
    parameters=Nff,
    pack=pack,
    sample=sample,
    evaluate=evaluate,
    entering=diffuse.entering,
    reflectance=diffuse.reflectance,
    albedo=albedo,
    eta=dielectric.eta,
    stores=lambda nff: max(nff.diffuse) > 0.0,
    is_sharp=lambda nff: max(*nff.mirror, *nff.transmission) > 0.0,
    is_clear=lambda nff: max(nff.transmission) > 0.0 and nff.ior == 1.0,
    simpler=simpler,
    maps={
        "texture": (Use("diffuse"),),
        "specular_map": (Use("phong"), Use("mirror")),
        "transmission_map": (Use("transmission"),),
    },
    may_lack=("phong", "exponent", "transmission"),
    is_linear=True,
)


@compiled
def phong_value(wi: Vec3, wo: Vec3, exponent: float) -> float:
    """Returns the lobe's value (exponent + 2) / (2 pi) cos^exponent of the angle between wi and the mirror image of
    wo; 1/sr, without the cosine."""
    cosine = dot(wi, (-wo[0], -wo[1], wo[2]))
    value = (exponent + TWO) * PER_TWO_PI * power(max(cosine, ZERO), exponent)
    return value if cosine > ZERO else ZERO


@compiled
def sample_phong(wo: Vec3, exponent: float, u1: float, u2: float) -> Vec3:
    """Draws a unit vector about the mirror image of wo; it may lie below the surface."""
    axis = (-wo[0], -wo[1], wo[2])
    tangent, bitangent = frame(axis)
    return to_world(cosine_power(u1, u2, exponent), tangent, bitangent, axis)
