"""This BSDF is a metal, polished or rough, bare or under clear lacquer.

Lacquer covers a share of the metal, the coat. Light comes to the metal below and back to the eye as the lacquer lets
it: the smaller of both shares counts, so that none is gained.
"""

from typing import Any, NamedTuple

from shaders.bsdfs.bsdf import Bsdf, BsdfKey, Drawn, Seen, Use, Value
from shaders.bsdfs.layers import NOTHING, LayerShares, Mirrored, Widths, draw, lifted, no_base, none_below, pdf_of
from shaders.coat_table import lacquer_albedo, lacquer_value
from shaders.compilation import compiled
from shaders.float32 import ONE, ZERO
from shaders.fresnel import reflectance_alike
from shaders.ggx import LEAST_ALPHA
from shaders.specular_lobe import (
    SpecularLobe,
    bounced_more,
    bounced_once,
    facet_reflectance,
    specular_albedo,
    specular_value,
)
from shaders.vector import Color, Vec3, dot, plus, scale


class Metal(NamedTuple):
    """Holds the numbers of a metal."""

    specular: Color  # reflectance at normal incidence, or what multiplies that of eta and k where eta is not black
    alpha: float  # width of GGX
    eta: Color  # refractive index
    k: Color  # extinction coefficient
    like: Color  # what `shaders.specular_lobe.SpecularLobe` calls so
    coat: float  # share that lacquer covers
    coat_alpha: float  # its width of GGX


def pack(material: Any) -> Metal:
    """Returns the numbers of a material. Squared, roughness looks even: Burley, Physically-Based Shading at Disney,
    2012."""
    own = material.own
    red, green, blue = (reflectance_alike(*index) for index in zip(material.eta, material.k, strict=True))
    return Metal(
        specular=material.specular,
        alpha=material.roughness**2,
        eta=material.eta,
        k=material.k,
        like=(red, green, blue),
        coat=own.get("coat", 0.0),
        coat_alpha=own.get("coat_roughness", 0.0) ** 2,
    )


@compiled
def lobe_of(metal: Any) -> SpecularLobe:
    """Returns what the facets reflect of whatever has `specular`, `eta`, `k` and `like`."""
    return SpecularLobe(metal.specular, metal.eta, metal.k, metal.like)


@compiled
def shares_of(metal: Metal, seen: Seen) -> LayerShares:
    """Returns what each layer carries on."""
    wo, carried, lobe = seen.wo, seen.carried, lobe_of(metal)
    coat = lacquer_albedo(metal.coat, metal.coat_alpha, wo[2])
    more = dot(carried, bounced_more(lobe, metal.alpha, wo[2])) * (ONE - coat)
    once = dot(carried, bounced_once(lobe, metal.alpha, wo[2])) * (ONE - coat)
    return LayerShares(ZERO, more, once, coat * (carried[0] + carried[1] + carried[2]))


@compiled
def sample(metal: Metal, seen: Seen, u: tuple[float, float, float]) -> Drawn:
    """Draws a direction."""
    coat = lacquer_albedo(metal.coat, metal.coat_alpha, seen.wo[2])
    once = scale(facet_reflectance(lobe_of(metal), seen.wo[2]), ONE - coat)
    widths, mirrored = Widths(metal.alpha, metal.coat_alpha), Mirrored(once, (coat, coat, coat))
    return draw(shares_of(metal, seen), widths, mirrored, seen.wo, u)


@compiled
def evaluate(metal: Metal, wi: Vec3, seen: Seen) -> Value:
    """Returns the value of all that spreads light."""
    wo, raised = seen.wo, lifted(wi)
    covered = lacquer_albedo(metal.coat, metal.coat_alpha, wo[2])
    below = ONE - max(covered, lacquer_albedo(metal.coat, metal.coat_alpha, raised[2]))
    once = specular_value(lobe_of(metal), max(metal.alpha, LEAST_ALPHA), raised, wo)
    coat = lacquer_value(metal.coat, metal.coat_alpha, raised, wo)
    rest = plus(scale(once, below if metal.alpha >= LEAST_ALPHA else ZERO), coat)
    pdf = pdf_of(shares_of(metal, seen), Widths(metal.alpha, metal.coat_alpha), raised, wo)
    return Value(NOTHING, none_below(wi, rest), pdf if wi[2] > ZERO else ZERO)


@compiled
def albedo(metal: Metal, wo: Vec3) -> Color:
    """Returns what is reflected; below lacquer, about that."""
    coat = lacquer_albedo(metal.coat, metal.coat_alpha, wo[2])
    return plus(scale(specular_albedo(lobe_of(metal), metal.alpha, wo[2]), ONE - coat), coat)


#: Numbers of lacquer over a surface.
COAT_KEYS = {
    "coat": BsdfKey(default=0.0, summary="share of the surface that clear lacquer of index 1.5 covers"),
    "coat_roughness": BsdfKey(default=0.0, summary="roughness of that lacquer, the root of its alpha"),
}

BSDF = Bsdf(
    name="metal",
    summary="metal, polished or rough, bare or under lacquer",
    parameters=Metal,
    pack=pack,
    sample=sample,
    evaluate=evaluate,
    entering=no_base,
    reflectance=no_base,
    albedo=albedo,
    is_sharp=lambda metal: metal.alpha < LEAST_ALPHA or (metal.coat > 0.0 and metal.coat_alpha < LEAST_ALPHA),
    maps={"specular_map": (Use("specular"),), "roughness_map": (Use("alpha", is_squared=True),)},
    keys=COAT_KEYS,
    may_lack=("coat", "coat_alpha", "eta", "k", "like"),
)
