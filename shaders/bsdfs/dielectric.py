"""This BSDF is glass or water: a smooth or rough border that reflects and refracts.

An index of 1 is no border, and light goes straight through.
"""

from typing import Any, NamedTuple

from shaders.bsdfs.bsdf import LOBE_GLOSSY, LOBE_NONE, LOBE_SHARP, Bsdf, Drawn, Seen, Use, Value
from shaders.bsdfs.layers import NOTHING, no_base
from shaders.compilation import compiled
from shaders.float32 import ONE, ZERO
from shaders.fresnel import fresnel, refract
from shaders.ggx import LEAST_ALPHA
from shaders.rough_glass import rough_glass_pdf, rough_glass_value, sample_rough_glass
from shaders.vector import Color, Vec3, chosen, scale


class Dielectric(NamedTuple):
    """Holds the numbers of a border."""

    transmission: Color  # what multiplies all that is reflected and refracted
    ior: float  # refractive index of the inside over that of the outside
    alpha: float  # width of GGX


def pack(material: Any) -> Dielectric:
    """Returns the numbers of a material."""
    share = material.transmittance
    return Dielectric((share, share, share), material.ior if material.ior > 0.0 else 1.0, material.roughness**2)


@compiled
def eta(glass: Any, is_outside: bool) -> float:
    """Returns the index of the far side over that of the near one. glass: parameters that have an `ior`."""
    index: float = glass.ior
    return index if is_outside else ONE / index


@compiled
def behind_border(wo: Vec3, eta: float, number: float) -> Vec3:
    """Returns a direction behind a clear border, or the mirrored one, by a number; with eta 1 straight, to the bit."""
    refracted = refract(wo, eta)
    through = chosen(eta == ONE, (-wo[0], -wo[1], -wo[2]), refracted)
    reflects = (number < fresnel(wo[2], eta)) & (eta != ONE)
    return chosen(reflects, (-wo[0], -wo[1], wo[2]), through)


@compiled
def is_rough(glass: Dielectric) -> bool:
    """Returns whether the border spreads light."""
    return (glass.alpha >= LEAST_ALPHA) & (glass.ior != ONE)


@compiled
def sample(glass: Dielectric, seen: Seen, u: tuple[float, float, float]) -> Drawn:
    """Draws a direction."""
    wo, spreads = seen.wo, is_rough(glass)
    rough = sample_rough_glass(wo, eta(glass, seen.is_outside), glass.alpha, u)
    wi = chosen(spreads, rough, behind_border(wo, eta(glass, seen.is_outside), u[0]))
    lobe = LOBE_GLOSSY if spreads else LOBE_SHARP
    return Drawn(wi, glass.transmission, lobe if wi[2] != ZERO else LOBE_NONE)


@compiled
def evaluate(glass: Dielectric, wi: Vec3, seen: Seen) -> Value:
    """Returns the value of a rough border."""
    seen_eta, alpha, spreads = eta(glass, seen.is_outside), max(glass.alpha, LEAST_ALPHA), is_rough(glass)
    value, pdf = rough_glass_value(wi, seen.wo, seen_eta, alpha), rough_glass_pdf(wi, seen.wo, seen_eta, alpha)
    return Value(NOTHING, scale(glass.transmission, value if spreads else ZERO), pdf if spreads else ZERO)


@compiled
def albedo(glass: Dielectric, wo: Vec3) -> Color:
    """Returns what is reflected and let through."""
    return glass.transmission


BSDF = Bsdf(
    name="dielectric",
    summary="glass, clear or rough, reflecting and refracting",
    parameters=Dielectric,
    pack=pack,
    sample=sample,
    evaluate=evaluate,
    entering=no_base,
    reflectance=no_base,
    albedo=albedo,
    eta=eta,
    is_sharp=lambda glass: glass.alpha < LEAST_ALPHA or glass.ior == 1.0,
    is_clear=lambda glass: max(glass.transmission) > 0.0 and glass.ior == 1.0,
    may_lack=("alpha",),
    maps={"transmission_map": (Use("transmission"),), "roughness_map": (Use("alpha", is_squared=True),)},
)
