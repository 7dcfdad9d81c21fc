"""This BSDF is plastic, lacquer or glaze: a diffuse base under a clear coat, polished or rough.

The coat reflects by Fresnel. Light that has come through it goes to and fro between the base and the coat, whose
reflectance from below follows from that from above by reciprocity, until it is absorbed or gets out: Saunderson:
Calculation of the Color of Pigmented Plastics, 1942. So colours are deeper than the base alone is, and a white base
loses no light.
"""

from typing import Any, NamedTuple

from shaders.bsdfs.bsdf import Bsdf, BsdfKey, Drawn, Seen, Use, Value
from shaders.bsdfs.layers import LayerShares, Mirrored, Widths, draw, lifted, none_below, pdf_of, rest_of, under_coat
from shaders.coat_table import coat_albedo, coat_value, mean_coat_albedo
from shaders.compilation import compiled
from shaders.float32 import ONE, PI, ZERO
from shaders.ggx import LEAST_ALPHA
from shaders.vector import Color, Vec3, add, dot, multiply, scale


class Plastic(NamedTuple):
    """Holds the numbers of a plastic."""

    diffuse: Color  # reflectance of the base
    specular: Color  # what multiplies the coat's reflectance
    ior: float  # refractive index of the coat and of what the base lies in, 1 at least
    alpha: float  # width of GGX of the coat


def pack(material: Any) -> Plastic:
    """Returns the numbers of a material. An index below 1 reflects as its inverse does."""
    ior = material.ior if material.ior > 0.0 else 1.0
    return Plastic(
        diffuse=material.diffuse,
        specular=material.own.get("specular_weight", (1.0, 1.0, 1.0)),
        ior=max(ior, 1.0 / ior),
        alpha=material.roughness**2,
    )


@compiled
def coat_of(plastic: Plastic, w: Vec3) -> Color:
    """Returns the share of light from w that the coat reflects."""
    return scale(plastic.specular, coat_albedo(plastic.ior, plastic.alpha, w[2]))


@compiled
def shares_of(plastic: Plastic, seen: Seen) -> LayerShares:
    """Returns what each layer carries on."""
    base = multiply(rest_of(coat_of(plastic, seen.wo)), mean_under(plastic))
    return LayerShares(dot(seen.carried, base) * seen.follow, ZERO, dot(seen.carried, coat_of(plastic, seen.wo)), ZERO)


@compiled
def mean_under(plastic: Plastic) -> Color:
    """Returns the share of what comes through the coat that comes back out of it."""
    mean_coat = scale(plastic.specular, mean_coat_albedo(plastic.ior, plastic.alpha))
    return multiply(rest_of(mean_coat), under_coat(plastic.diffuse, mean_coat, plastic.ior))


@compiled
def sample(plastic: Plastic, seen: Seen, u: tuple[float, float, float]) -> Drawn:
    """Draws a direction."""
    coat = coat_of(plastic, seen.wo)
    widths = Widths(plastic.alpha, plastic.alpha)
    return draw(shares_of(plastic, seen), widths, Mirrored(coat, coat), seen.wo, u)


@compiled
def evaluate(plastic: Plastic, wi: Vec3, seen: Seen) -> Value:
    """Returns the value of all that spreads light."""
    raised = lifted(wi)
    base = scale(multiply(entering(plastic, raised), reflectance(plastic, seen.wo)), ONE / PI)
    coat = coat_value(plastic.ior, max(plastic.alpha, LEAST_ALPHA), raised, seen.wo)
    rest = scale(plastic.specular, coat if plastic.alpha >= LEAST_ALPHA else ZERO)
    pdf = pdf_of(shares_of(plastic, seen), Widths(plastic.alpha, plastic.alpha), raised, seen.wo)
    return Value(none_below(wi, base), none_below(wi, rest), pdf if wi[2] > ZERO else ZERO)


@compiled
def entering(plastic: Plastic, w: Vec3) -> Color:
    """Returns the share of the flux from w that comes through the coat."""
    return rest_of(coat_of(plastic, w))


@compiled
def reflectance(plastic: Plastic, w: Vec3) -> Color:
    """Returns the base's reflectance towards w, with all that goes to and fro below the coat."""
    mean_coat = scale(plastic.specular, mean_coat_albedo(plastic.ior, plastic.alpha))
    return multiply(rest_of(coat_of(plastic, w)), under_coat(plastic.diffuse, mean_coat, plastic.ior))


@compiled
def albedo(plastic: Plastic, wo: Vec3) -> Color:
    """Returns what coat and base reflect."""
    coat = coat_of(plastic, wo)
    return add(coat, multiply(rest_of(coat), mean_under(plastic)))


#: What multiplies the reflectance of a coat.
WEIGHT_KEY = BsdfKey(default=(1.0, 1.0, 1.0), summary="what multiplies the reflectance of the coat")

BSDF = Bsdf(
    name="plastic",
    summary="diffuse under a clear coat, polished or rough",
    parameters=Plastic,
    pack=pack,
    sample=sample,
    evaluate=evaluate,
    entering=entering,
    reflectance=reflectance,
    albedo=albedo,
    stores=lambda plastic: max(plastic.diffuse) > 0.0,
    is_sharp=lambda plastic: plastic.alpha < LEAST_ALPHA,
    maps={
        "texture": (Use("diffuse"),),
        "specular_map": (Use("specular"),),
        "roughness_map": (Use("alpha", is_squared=True),),
    },
    keys={"specular_weight": WEIGHT_KEY},
)
