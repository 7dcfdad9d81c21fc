"""This BSDF is a rough diffuse surface such as clay, plaster or the moon: flatter than Lambert's, and brighter towards
the light. A white one loses nothing.

Portsmouth, Kutz, Hill: EON: A Practical Energy-Preserving Rough Diffuse BRDF, 2025. Light that facets reflect once goes
by the formula of Fujii (Improved Oren-Nayar Model, 2012), here with both cosines c and sines s:

    f = rho A / pi (1 + r (wi.wo - ci co) / t)    t: the greater cosine where wi.wo > ci co, else 1

What one bounce misses leaves evenly. The base is the largest part of the first bounce that Lambert's law with a share
for each direction is: 1 - r si so is the least value towards any azimuth, and sqrt(1 - r si^2) sqrt(1 - r so^2) never
exceeds it.
"""

import math
from typing import Any, NamedTuple

from shaders.bsdfs.bsdf import MEAN, Bsdf, Drawn, Seen, Use, Value
from shaders.bsdfs.layers import draw_evenly, in_proportion
from shaders.compilation import compiled
from shaders.elementary import turns_to
from shaders.float32 import ONE, PI, TWO_PI, ZERO, Float32
from shaders.vector import Color, Vec3, add, dot, scale

#: What the mean reflectance over azimuths and that over all directions depend on: A = 1 / (1 + _LOSS r), and the mean
#: of the first bounce is A (1 + _MEAN r).
_LOSS, _MEAN = Float32(0.5 - 2.0 / (3.0 * math.pi)), Float32(2.0 / 3.0 - 28.0 / (15.0 * math.pi))
_TWO_THIRDS = Float32(2.0 / 3.0)

#: A share that is missed counts as at least this.
_LEAST_MISSED = Float32(1e-7)


class OrenNayar(NamedTuple):
    """Says how a rough diffuse surface looks."""

    diffuse: Color  # what facets reflect, 0..1, which is what all of it reflects where it is white or not rough
    roughness: float  # 0 for Lambert's law, to 1


def pack(material: Any) -> OrenNayar:
    """Returns `diffuse` and `roughness`."""
    return OrenNayar(material.diffuse, material.roughness)


@compiled
def sine2(w: Vec3) -> float:
    """Returns the square of the sine of a direction's angle to the normal."""
    return w[0] * w[0] + w[1] * w[1]


@compiled
def level(roughness: float) -> float:
    """Returns A: what of one bounce does not depend on directions."""
    return ONE / (ONE + _LOSS * roughness)


@compiled
def share(w: Vec3, roughness: float) -> float:
    """Returns the share of light from or to a direction that the base has."""
    return math.sqrt(max(ZERO, ONE - roughness * sine2(w)))


@compiled
def mean_share(roughness: float) -> float:
    """Returns the mean of `share` over light that falls in evenly from all sides."""
    root = math.sqrt(max(ZERO, ONE - roughness))
    return _TWO_THIRDS * (ONE + root + root * root) / (ONE + root)


@compiled
def missed(w: Vec3, roughness: float) -> float:
    """Returns the share of light from a direction that white facets do not reflect in one bounce."""
    cosine, square = abs(w[2]), sine2(w)
    sine = math.sqrt(square)
    steep = sine * (TWO_PI * turns_to(cosine, sine) - sine * cosine)
    flat = sine * cosine * (ONE + sine + square) / (ONE + sine) - sine
    bright = steep + _TWO_THIRDS * flat
    return max(ONE - level(roughness) * (ONE + roughness / PI * bright), _LEAST_MISSED)


@compiled
def more_bounces(oren_nayar: OrenNayar) -> tuple[Color, float]:
    """Returns which share of the light that one bounce misses gets out later, and the mean of what is missed."""
    mean_missed = max(ONE - level(oren_nayar.roughness) * (ONE + _MEAN * oren_nayar.roughness), _LEAST_MISSED)
    red, green, blue = oren_nayar.diffuse
    return (_later(red, mean_missed), _later(green, mean_missed), _later(blue, mean_missed)), mean_missed


@compiled
def _later(kept: float, missed: float) -> float:
    """Returns the sum of kept^(n + 1) missed^(n - 1) (1 - missed) over n from 1 on."""
    return kept * kept * (ONE - missed) / (ONE - kept * missed)


@compiled
def probabilities(oren_nayar: OrenNayar, seen: Seen) -> tuple[float, float]:
    """Returns the probabilities of the base and of the rest."""
    rough, carried = oren_nayar.roughness, seen.carried
    base = dot(carried, reflectance(oren_nayar, seen.wo)) * mean_share(rough)
    rest = max(ZERO, dot(carried, albedo(oren_nayar, seen.wo)) - base)
    return in_proportion(base * seen.follow, rest)


@compiled
def sample(oren_nayar: OrenNayar, seen: Seen, u: Vec3) -> Drawn:
    """Draws a direction, by its cosine from the base, and evenly from the rest, brighter close to the horizon."""
    base, rest = probabilities(oren_nayar, seen)
    return draw_evenly(base, rest, u)


@compiled
def evaluate(oren_nayar: OrenNayar, wi: Vec3, seen: Seen) -> Value:
    """Returns the value of the base, and of what is left of one bounce and of more."""
    wo, rough = seen.wo, oren_nayar.roughness
    is_above = ONE if wi[2] > ZERO else ZERO
    along = wi[0] * wo[0] + wi[1] * wo[1]
    once = ONE + rough * (along / max(wi[2], wo[2]) if along > ZERO else along)
    shares = share(wi, rough) * share(wo, rough)
    scaled = is_above * level(rough) / PI
    later, mean_missed = more_bounces(oren_nayar)
    evenly = is_above * missed(wi, rough) * missed(wo, rough) / (PI * mean_missed)
    left = scaled * max(ZERO, once - shares)
    rest = add(scale(oren_nayar.diffuse, left), scale(later, evenly))
    base_probability, rest_probability = probabilities(oren_nayar, seen)
    pdf = is_above * (base_probability * wi[2] / PI + rest_probability / TWO_PI)
    return Value(scale(oren_nayar.diffuse, scaled * shares), rest, pdf)


@compiled
def entering(oren_nayar: OrenNayar, w: Vec3) -> Color:
    """Returns the share of light that the base has."""
    entered = share(w, oren_nayar.roughness)
    return (entered, entered, entered)


@compiled
def reflectance(oren_nayar: OrenNayar, w: Vec3) -> Color:
    """Returns that of one bounce, times the share of the base."""
    return scale(oren_nayar.diffuse, level(oren_nayar.roughness) * share(w, oren_nayar.roughness))


@compiled
def albedo(oren_nayar: OrenNayar, wo: Vec3) -> Color:
    """Returns what all bounces reflect."""
    not_at_once = missed(wo, oren_nayar.roughness)
    later, _ = more_bounces(oren_nayar)
    return add(scale(oren_nayar.diffuse, ONE - not_at_once), scale(later, not_at_once))


BSDF = Bsdf(
    name="oren_nayar",
    summary="rough and diffuse: clay, plaster, the moon",
    parameters=OrenNayar,
    pack=pack,
    sample=sample,
    evaluate=evaluate,
    entering=entering,
    reflectance=reflectance,
    albedo=albedo,
    maps={"texture": (Use("diffuse"),), "roughness_map": (Use("roughness", MEAN),)},
    stores=lambda oren_nayar: max(oren_nayar.diffuse) > 0.0,
    is_mirroring=False,
)
