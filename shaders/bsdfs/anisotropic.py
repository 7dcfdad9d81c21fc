"""This BSDF is brushed metal: facets by GGX that are wider along one direction of the surface than across it.

Burley, Physically-Based Shading at Disney, 2012: with the aspect q = sqrt(1 - 0.9 anisotropy) the widths are
roughness^2 / q along and roughness^2 q across. Heitz: Understanding the Masking-Shadowing Function in Microfacet-Based
BRDFs, 2014; facets that are seen are drawn as `shaders.ggx.sample_seen` does.

What one bounce between facets misses leaves evenly, as of a metal whose width is the same in all azimuths, sqrt(alpha_x
alpha_y). That is right for no anisotropy and about right else: with roughness 0.5 and anisotropy 0.5 a white metal
reflects 0.96 to 1.02 of the light, by direction, and 0.83 to 1.01 with anisotropy 0.9; with roughness 0.8 it is 0.90 to
1.03 and 0.65 to 0.98. Without these bounces it would be 0.82 to 0.95, 0.72 to 0.94, 0.52 to 0.91 and 0.34 to 0.88.
"""

import math
from typing import Any, NamedTuple

from shaders.bsdfs.bsdf import LOBE_GLOSSY, LOBE_NONE, MEAN, Bsdf, BsdfKey, Drawn, Seen, Use, Value
from shaders.bsdfs.layers import lifted, no_base
from shaders.bsdfs.metal import lobe_of
from shaders.compilation import compiled
from shaders.elementary import sine_cosine
from shaders.float32 import HALF, ONE, PI, TWO, ZERO
from shaders.fresnel import reflectance_alike
from shaders.ggx import LEAST_ALPHA, halfway, mirrored_at, sample_stretched
from shaders.sampling import cosine_hemisphere
from shaders.specular_lobe import (
    bounced_more,
    bounced_once,
    facet_reflectance,
    more_bounces,
    value_of_more,
)
from shaders.vector import Color, Vec3, add, chosen, dot, scale


class Anisotropic(NamedTuple):
    """Says what brushed metal is like."""

    specular: Color  # reflectance at normal incidence, or what multiplies that of eta and k where eta is not black
    eta: Color  # refractive index
    k: Color  # extinction coefficient
    like: Color  # what `shaders.specular_lobe.SpecularLobe` calls so
    alpha_x: float  # width of GGX along
    alpha_y: float  # and across
    rotation: float  # of the former, from the u of textures towards v, in turns 0..1


class Facets(NamedTuple):
    """Holds widths of GGX in a frame along them, and the sine and cosine of the angle to it."""

    alpha_x: float
    alpha_y: float
    sine: float
    cosine: float


def pack(material: Any) -> Anisotropic:
    """Returns a metal whose facets lean over by `roughness`, and unevenly by the keys `anisotropy` and `rotation`."""
    aspect = math.sqrt(1.0 - 0.9 * material.own.get("anisotropy", KEYS["anisotropy"].default))
    red, green, blue = (reflectance_alike(*index) for index in zip(material.eta, material.k, strict=True))
    return Anisotropic(
        specular=material.specular,
        eta=material.eta,
        k=material.k,
        like=(red, green, blue),
        alpha_x=material.roughness**2 / aspect,
        alpha_y=material.roughness**2 * aspect,
        rotation=material.own.get("rotation", KEYS["rotation"].default) % 1.0,
    )


@compiled
def facets_of(metal: Anisotropic) -> Facets:
    """Returns the facets, which spread light a little at least."""
    sine, cosine = sine_cosine(metal.rotation)
    return Facets(max(metal.alpha_x, LEAST_ALPHA), max(metal.alpha_y, LEAST_ALPHA), sine, cosine)


@compiled
def along(facets: Facets, w: Vec3) -> Vec3:
    """Returns a direction in the frame along the facets."""
    return (facets.cosine * w[0] + facets.sine * w[1], facets.cosine * w[1] - facets.sine * w[0], w[2])


@compiled
def stretch(facets: Facets, w: Vec3) -> float:
    """Returns |z| (1 + 2 Lambda(w)), of Smith's Lambda, for a direction along the facets."""
    x, y = facets.alpha_x * w[0], facets.alpha_y * w[1]
    return math.sqrt(w[2] * w[2] + x * x + y * y)


@compiled
def density(facets: Facets, h: Vec3) -> float:
    """Returns the area of the facets with normal h, along them, per solid angle and area of the surface, 1/sr."""
    x, y = h[0] / facets.alpha_x, h[1] / facets.alpha_y
    square = x * x + y * y + h[2] * h[2]
    return ONE / (PI * facets.alpha_x * facets.alpha_y * square * square)


@compiled
def mean_alpha(metal: Anisotropic) -> float:
    """Returns the width of facets that lean over as much, in all azimuths alike."""
    return min(max(math.sqrt(metal.alpha_x * metal.alpha_y), LEAST_ALPHA), ONE)


@compiled
def even_share(metal: Anisotropic, seen: Seen) -> float:
    """Returns the share of what is carried on that has bounced more than once, or -1 where nothing is carried on."""
    lobe, alpha = lobe_of(metal), mean_alpha(metal)
    more = dot(seen.carried, bounced_more(lobe, alpha, seen.wo[2]))
    total = more + dot(seen.carried, bounced_once(lobe, alpha, seen.wo[2]))
    return more / total if total > ZERO else -ONE


@compiled
def sample(metal: Anisotropic, seen: Seen, u: Vec3) -> Drawn:
    """Draws a direction that a facet mirrors wo to, or by its cosine for more bounces."""
    facets, evenly = facets_of(metal), even_share(metal, seen)
    wo = along(facets, seen.wo)
    once = mirrored_at(wo, sample_stretched(wo, facets.alpha_x, facets.alpha_y, u[1], u[2]))
    back = Facets(facets.alpha_x, facets.alpha_y, -facets.sine, facets.cosine)
    wi = chosen(u[0] < evenly, cosine_hemisphere(u[1], u[2]), along(back, once))
    is_lost = (wi[2] <= ZERO) | (evenly < ZERO)
    return Drawn(wi, (ZERO, ZERO, ZERO), LOBE_NONE if is_lost else LOBE_GLOSSY)


@compiled
def evaluate(metal: Anisotropic, wi: Vec3, seen: Seen) -> Value:
    """Returns the value of one bounce and of more."""
    facets, lobe, evenly = facets_of(metal), lobe_of(metal), even_share(metal, seen)
    is_above = ONE if wi[2] > ZERO else ZERO
    raised, wo = along(facets, lifted(wi)), along(facets, seen.wo)
    h = halfway(raised, wo)
    facing, stretch_o = density(facets, h), stretch(facets, wo)
    unhidden = HALF / (raised[2] * stretch_o + wo[2] * stretch(facets, raised))
    once = scale(facet_reflectance(lobe, dot(wo, h)), is_above * facing * unhidden)
    alpha = mean_alpha(metal)
    more = scale(more_bounces(lobe, alpha), is_above * value_of_more(alpha, raised[2], wo[2]))
    pdf = evenly * raised[2] / PI + (ONE - evenly) * facing / (TWO * (wo[2] + stretch_o))
    return Value((ZERO, ZERO, ZERO), add(once, more), pdf * is_above if evenly >= ZERO else ZERO)


@compiled
def albedo(metal: Anisotropic, wo: Vec3) -> Color:
    """Returns what a metal reflects whose facets lean over as much in all azimuths."""
    lobe, alpha = lobe_of(metal), mean_alpha(metal)
    return add(bounced_once(lobe, alpha, wo[2]), bounced_more(lobe, alpha, wo[2]))


KEYS = {
    "anisotropy": BsdfKey(default=0.0, summary="how much longer highlights are one way than the other"),
    "rotation": BsdfKey(default=0.0, summary="direction of the brush, from the u of textures to v, in turns"),
}

BSDF = Bsdf(
    name="anisotropic",
    summary="brushed metal, whose highlights are longer one way",
    parameters=Anisotropic,
    pack=pack,
    sample=sample,
    evaluate=evaluate,
    entering=no_base,
    reflectance=no_base,
    albedo=albedo,
    maps={
        "specular_map": (Use("specular"),),
        "roughness_map": (Use("alpha_x", MEAN, is_squared=True), Use("alpha_y", MEAN, is_squared=True)),
    },
    keys=KEYS,
    has_tangent=True,
)
