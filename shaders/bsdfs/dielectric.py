"""This BSDF is glass or water: a smooth or rough border that reflects and refracts.

An index of 1 is no border, and light goes straight through.
"""

from typing import Any, NamedTuple

from shaders.bsdfs import nff
from shaders.bsdfs.bsdf import LOBE_GLOSSY, LOBE_NONE, LOBE_SHARP, Bsdf, Drawn, Seen, Use, Value
from shaders.bsdfs.layers import NOTHING, no_base
from shaders.compilation import compiled
from shaders.float32 import ONE, ZERO
from shaders.ggx import LEAST_ALPHA
from shaders.rough_glass import rough_glass_pdf, rough_glass_value, sample_rough_glass
from shaders.vector import BLACK, Color, Vec3, chosen, scale


class Dielectric(NamedTuple):
    """Holds the numbers of a border.

    transmission: what multiplies all that is reflected and refracted.
    ior: refractive index of the inside over that of the outside.
    alpha: width of GGX.
    """

    transmission: Color
    ior: float
    alpha: float


def pack(material: Any) -> Dielectric:
    """Returns the numbers of a material."""
    share = material.transmittance
    return Dielectric((share, share, share), material.ior if material.ior > 0.0 else 1.0, material.roughness**2)


def simpler(glass: Dielectric) -> tuple[Bsdf, Any] | None:
    """Returns the clear glass of kind nff, if the border is smooth."""
    is_smooth = glass.alpha < LEAST_ALPHA or glass.ior == 1.0
    clear = nff.Nff(BLACK, BLACK, BLACK, glass.transmission, exponent=0.0, ior=glass.ior)
    return (nff.BSDF, clear) if is_smooth else None


@compiled
def is_rough(glass: Dielectric) -> bool:
    """Returns whether the border spreads light."""
    return (glass.alpha >= LEAST_ALPHA) & (glass.ior != ONE)


@compiled
def sample(glass: Dielectric, seen: Seen, u: tuple[float, float, float]) -> Drawn:
    """Draws a direction."""
    wo, spreads = seen.wo, is_rough(glass)
    wi = sample_rough_glass(wo, nff.eta(glass, seen.is_outside), glass.alpha if spreads else ZERO, u)
    wi = chosen(glass.ior == ONE, scale(wo, -ONE), wi)
    lobe = LOBE_GLOSSY if spreads else LOBE_SHARP
    return Drawn(wi, glass.transmission, lobe if wi[2] != ZERO else LOBE_NONE)


@compiled
def evaluate(glass: Dielectric, wi: Vec3, seen: Seen) -> Value:
    """Returns the value of a rough border."""
    seen_eta, alpha, spreads = nff.eta(glass, seen.is_outside), max(glass.alpha, LEAST_ALPHA), is_rough(glass)
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
    eta=nff.eta,
    is_sharp=lambda glass: glass.alpha < LEAST_ALPHA or glass.ior == 1.0,
    simpler=simpler,
    maps={"transmission_map": (Use("transmission"),), "roughness_map": (Use("alpha", is_squared=True),)},
)
