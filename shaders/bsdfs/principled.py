"""This BSDF is glTF's metallic-roughness: a metal of a colour, or something diffuse under a coat, or a mixture of both;
over all there may be clear lacquer of index 1.5.

What is diffuse has the colour that a material says, as in glTF 2.0, appendix B, with as much of it as makes white lose
no light. That of a plastic is deeper, by what goes to and fro below its coat.

Where lacquer covers what is diffuse under a coat, the coat has a medium of about its own index above it, and does not
reflect (Guy, Agopian: Physically Based Rendering in Filament, 2018, section 4.9): lacquer takes the coat's place.
"""

from typing import Any, NamedTuple

from shaders.bsdfs.bsdf import Bsdf, BsdfKey, Drawn, Seen, Use, Value
from shaders.bsdfs.layers import (
    LEAST_SHARE,
    NOTHING,
    LayerShares,
    Mirrored,
    Widths,
    draw,
    lifted,
    none_below,
    pdf_of,
    rest_of,
)
from shaders.bsdfs.metal import COAT_KEYS
from shaders.bsdfs.plastic import WEIGHT_KEY
from shaders.coat_table import LACQUER, coat_albedo, coat_value, lacquer_albedo, lacquer_value, mean_coat_albedo
from shaders.compilation import compiled
from shaders.float32 import ONE, PI, ZERO
from shaders.ggx import LEAST_ALPHA
from shaders.specular_lobe import SpecularLobe, bounced_more, bounced_once, specular_albedo, specular_value
from shaders.vector import Color, Vec3, add, dot, multiply, plus, scale

#: Index of the coat where a material says none.
USUAL_IOR = 1.5


class Principled(NamedTuple):
    """Holds the numbers of such a surface."""

    color: Color  # reflectance of the metal at normal incidence, and of what is diffuse
    specular: Color  # what multiplies the reflectance of the coat over what is diffuse
    metalness: float  # share of metal
    alpha: float  # width of GGX of metal and coat
    ior: float  # refractive index of the coat, 1 at least
    coat: float  # share that lacquer covers
    coat_alpha: float  # its width of GGX


def pack(material: Any) -> Principled:
    """Returns the numbers of a material; an index of 1, which is no border, stands for the usual one."""
    own = material.own
    ior = material.ior if material.ior > 0.0 and material.ior != 1.0 else USUAL_IOR
    return Principled(
        color=material.diffuse,
        specular=own.get("specular_weight", (1.0, 1.0, 1.0)),
        metalness=own.get("metalness", 0.0),
        alpha=material.roughness**2,
        ior=max(ior, 1.0 / ior),
        coat=own.get("coat", 0.0),
        coat_alpha=own.get("coat_roughness", 0.0) ** 2,
    )


@compiled
def metal_of(surface: Principled) -> SpecularLobe:
    """Returns what the facets of the metal reflect."""
    return SpecularLobe(surface.color, NOTHING, NOTHING, NOTHING)


@compiled
def lacquer_of(surface: Principled, w: Vec3) -> float:
    """Returns the share of light from w that the lacquer reflects."""
    return lacquer_albedo(surface.coat, surface.coat_alpha, w[2])


@compiled
def coat_of(surface: Principled, w: Vec3) -> Color:
    """Returns the share of light from w that the coat reflects, where there is no lacquer."""
    return scale(surface.specular, (ONE - surface.coat) * coat_albedo(surface.ior, surface.alpha, w[2]))


@compiled
def over_base(surface: Principled, w: Vec3) -> Color:
    """Returns the share of light from w that is reflected above what is diffuse."""
    return plus(coat_of(surface, w), lacquer_of(surface, w))


@compiled
def base_under(surface: Principled) -> tuple[Color, Color]:
    """Returns the share of light from all sides that comes to what is diffuse, and the reflectance of this for light
    that has come there: its colour, as if the coat threw none of it back, but for white, of which no light is lost."""
    coat = (ONE - surface.coat) * mean_coat_albedo(surface.ior, surface.alpha)
    lacquer = surface.coat * mean_coat_albedo(LACQUER, surface.coat_alpha)
    lacquer = lacquer if surface.coat > ZERO else ZERO
    red, green, blue = mean_entering = rest_of(plus(scale(surface.specular, coat), lacquer))
    white = (ONE / max(red, LEAST_SHARE), ONE / max(green, LEAST_SHARE), ONE / max(blue, LEAST_SHARE))
    return mean_entering, scale(multiply(surface.color, white), ONE - surface.metalness)


@compiled
def once_of(surface: Principled, metal: Color, w: Vec3) -> Color:
    """Returns what facets of metal and coat reflect together. metal: what those of the metal do without lacquer."""
    metal = scale(metal, surface.metalness * (ONE - lacquer_of(surface, w)))
    return add(metal, scale(coat_of(surface, w), ONE - surface.metalness))


@compiled
def shares_of(surface: Principled, seen: Seen) -> LayerShares:
    """Returns what each layer carries on."""
    wo, carried, metal = seen.wo, seen.carried, metal_of(surface)
    lacquer, (mean_entering, under) = lacquer_of(surface, wo), base_under(surface)
    base = multiply(rest_of(over_base(surface, wo)), multiply(mean_entering, under))
    more = scale(bounced_more(metal, surface.alpha, wo[2]), surface.metalness * (ONE - lacquer))
    once = once_of(surface, bounced_once(metal, surface.alpha, wo[2]), wo)
    total = carried[0] + carried[1] + carried[2]
    return LayerShares(dot(carried, base) * seen.follow, dot(carried, more), dot(carried, once), lacquer * total)


@compiled
def sample(surface: Principled, seen: Seen, u: tuple[float, float, float]) -> Drawn:
    """Draws a direction."""
    lacquer = lacquer_of(surface, seen.wo)
    once = once_of(surface, bounced_once(metal_of(surface), ZERO, seen.wo[2]), seen.wo)
    mirrored = Mirrored(once, (lacquer, lacquer, lacquer))
    return draw(shares_of(surface, seen), Widths(surface.alpha, surface.coat_alpha), mirrored, seen.wo, u)


@compiled
def evaluate(surface: Principled, wi: Vec3, seen: Seen) -> Value:
    """Returns the value of all that spreads light."""
    wo, raised, alpha = seen.wo, lifted(wi), max(surface.alpha, LEAST_ALPHA)
    base = scale(multiply(entering(surface, raised), reflectance(surface, wo)), ONE / PI)
    below = ONE - max(lacquer_of(surface, wo), lacquer_of(surface, raised))
    metal = scale(specular_value(metal_of(surface), alpha, raised, wo), surface.metalness * below)
    coat = (ONE - surface.coat) * (ONE - surface.metalness) * coat_value(surface.ior, alpha, raised, wo)
    facets = scale(add(metal, scale(surface.specular, coat)), ONE if surface.alpha >= LEAST_ALPHA else ZERO)
    rest = plus(facets, lacquer_value(surface.coat, surface.coat_alpha, raised, wo))
    pdf = pdf_of(shares_of(surface, seen), Widths(surface.alpha, surface.coat_alpha), raised, wo)
    return Value(none_below(wi, base), none_below(wi, rest), pdf if wi[2] > ZERO else ZERO)


@compiled
def entering(surface: Principled, w: Vec3) -> Color:
    """Returns the share of the flux from w that comes to what is diffuse."""
    return rest_of(over_base(surface, w))


@compiled
def reflectance(surface: Principled, w: Vec3) -> Color:
    """Returns the reflectance towards w of what is diffuse, as a share of all."""
    return multiply(rest_of(over_base(surface, w)), base_under(surface)[1])


@compiled
def albedo(surface: Principled, wo: Vec3) -> Color:
    """Returns all that is reflected; of metal below lacquer, about that."""
    mean_entering, under = base_under(surface)
    base = multiply(rest_of(over_base(surface, wo)), multiply(mean_entering, under))
    facets = once_of(surface, specular_albedo(metal_of(surface), surface.alpha, wo[2]), wo)
    return plus(add(base, facets), lacquer_of(surface, wo))


BSDF = Bsdf(
    name="principled",
    summary="metal, or diffuse under a coat, or a mixture, bare or under lacquer, as glTF has them",
    parameters=Principled,
    pack=pack,
    sample=sample,
    evaluate=evaluate,
    entering=entering,
    reflectance=reflectance,
    albedo=albedo,
    stores=lambda surface: max(surface.color) > 0.0 and surface.metalness < 1.0,
    is_sharp=lambda surface: surface.alpha < LEAST_ALPHA or (surface.coat > 0.0 and surface.coat_alpha < LEAST_ALPHA),
    maps={
        "texture": (Use("color"),),
        "metalness_map": (Use("metalness", channel=2),),
        "specular_map": (Use("specular"),),
        "roughness_map": (Use("alpha", is_squared=True),),
    },
    keys={
        "metalness": BsdfKey(default=0.0, summary="share of metal, 0 to 1"),
        "specular_weight": WEIGHT_KEY,
        **COAT_KEYS,
    },
    may_lack=("coat", "coat_alpha"),
)
