"""This BSDF is cloth: a diffuse base under fibres that stand up, which shine where they are seen from the side.

Estevez, Kulla: Production Friendly Microfacet Sheen BRDF, 2017, without the term that softens its terminator, as light
and eye would not be exchangeable with it:

    f = sheen D(h) / (4 ci co (1 + L(ci) + L(co))),    D = (2 + 1/alpha) sin^(1/alpha) / (2 pi)

What the fibres do not reflect goes to the base and comes back through them, so that white cloth loses nothing, as below
a coat. The share E that fibres reflect is a table, whose numbers are linear in the roots of alpha and of the cosine.
`tests/shading_tables.py` made its files.
"""

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shaders.albedo_table import COSINES, Cell, between, index_of, read
from shaders.bsdfs.bsdf import MEAN, Bsdf, BsdfKey, Drawn, Seen, Use, Value
from shaders.bsdfs.layers import draw_evenly, in_proportion
from shaders.compilation import address, compiled, get
from shaders.elementary import exp2, power
from shaders.float32 import HALF, ONE, PI, TWO, TWO_PI, ZERO, Float32, Int
from shaders.sampling import LEAST_SQUARE
from shaders.vector import Color, Vec3, add, dot, multiply, scale

#: Narrower fibres would reflect more light than they receive.
LEAST_ALPHA = Float32(0.1)

#: What the paper fits L by, at alpha 0 and 1: a / (1 + b x^c) + d x + e.
_NARROW = tuple(Float32(x) for x in (25.3245, 3.32435, 0.16801, -1.27393, -4.85967))
_BROAD = tuple(Float32(x) for x in (21.5473, 3.82987, 0.19823, -1.97760, -4.32054))

#: Smaller cosines count as this one: closer to the horizon the fit grows without bound.
LEAST_COSINE = Float32(1e-4)

_FOUR, _LOG2_E = Float32(4.0), Float32(math.log2(math.e))

#: Rows of the table, from LEAST_ALPHA to 1; its columns, as many as other tables have, go from cosine 0 to 1.
ALPHAS = 16
FILE, MEANS_FILE = Path(__file__).with_suffix(".npy"), Path(__file__).with_name("sheen_means.npy")


class Sheen(NamedTuple):
    """Says how cloth looks."""

    diffuse: Color  # reflectance of the base, 0..1
    sheen: Color  # of each fibre, 0..1
    alpha: float  # how far fibres lean over, LEAST_ALPHA to 1


def pack(material: Any) -> Sheen:
    """Returns `diffuse` below fibres of the colour `sheen`; alpha is the square of `roughness`."""
    return Sheen(material.diffuse, material.own.get("sheen", KEYS["sheen"].default), material.roughness**2)


@compiled
def hidden(cosine: float, alpha: float) -> float:
    """Returns L, of fibres that hide each other from a direction at a cosine."""
    square = (ONE - alpha) * (ONE - alpha)
    a, b = between(_BROAD[0], _NARROW[0], square), between(_BROAD[1], _NARROW[1], square)
    c, d = between(_BROAD[2], _NARROW[2], square), between(_BROAD[3], _NARROW[3], square)
    e = between(_BROAD[4], _NARROW[4], square)
    is_low = cosine < HALF
    x = max(cosine if is_low else ONE - cosine, LEAST_COSINE)
    fitted = a / (ONE + b * power(x, c)) + d * x + e
    middle = a / (ONE + b * power(HALF, c)) + d * HALF + e
    return exp2(_LOG2_E * (fitted if is_low else TWO * middle - fitted))


@compiled
def fibres(wi: Vec3, wo: Vec3, alpha: float) -> float:
    """Returns the value of white fibres in 1/sr, without the cosine, for directions above the surface."""
    sum_of_both = add(wi, wo)
    sine2 = (sum_of_both[0] * sum_of_both[0] + sum_of_both[1] * sum_of_both[1]) / max(
        dot(sum_of_both, sum_of_both), LEAST_SQUARE
    )
    cosine_i, cosine_o = max(wi[2], LEAST_COSINE), max(wo[2], LEAST_COSINE)
    standing = (TWO + ONE / alpha) * power(min(sine2, ONE), HALF / alpha) / TWO_PI
    return standing / (_FOUR * cosine_i * cosine_o * (ONE + hidden(cosine_i, alpha) + hidden(cosine_o, alpha)))


#: The table, and its means, (ALPHAS,).
CAUGHT = np.load(FILE)
MEAN_CAUGHT = np.load(MEANS_FILE)

#: From alpha to the row.
_FIRST_ROW = Float32(math.sqrt(LEAST_ALPHA))
_ROWS_PER_ROOT = Float32((ALPHAS - 1) / (1.0 - math.sqrt(LEAST_ALPHA)))


@compiled
def row_at(alpha: float) -> tuple[int, float]:
    """Returns the row before alpha, and how far it is to the next one, as a share of their distance."""
    scaled = max(math.sqrt(max(alpha, ZERO)) - _FIRST_ROW, ZERO) * _ROWS_PER_ROOT
    row = min(max(Int(scaled), Int(0)), Int(ALPHAS - 2))
    return row, scaled - Float32(row)


@compiled
def caught_share(alpha: float, cosine: float) -> float:
    """Returns the share of light at a cosine that white fibres reflect."""
    (row, down), (column, along) = row_at(alpha), index_of(math.sqrt(min(max(cosine, ZERO), ONE)), COSINES)
    return read(address(CAUGHT), Int(0), Cell(Int(row * Int(COSINES) + column), down, along))


@compiled
def mean_caught_share(alpha: float) -> float:
    """Returns the mean of `caught_share` over light that falls in evenly from all sides."""
    row, down = row_at(alpha)
    return between(get(address(MEAN_CAUGHT), row), get(address(MEAN_CAUGHT), Int(row + Int(1))), down)


@compiled
def through(color: Color, share: float) -> Color:
    """Returns what fibres of a colour let through, given the share that white ones reflect."""
    return (ONE - color[0] * share, ONE - color[1] * share, ONE - color[2] * share)


@compiled
def probabilities(sheen: Sheen, seen: Seen) -> tuple[float, float]:
    """Returns the probabilities of the base and of the fibres."""
    share = caught_share(sheen.alpha, seen.wo[2])
    base = seen.follow * dot(seen.carried, multiply(sheen.diffuse, through(sheen.sheen, share)))
    shine = dot(seen.carried, sheen.sheen) * share
    return in_proportion(base, shine)


@compiled
def sample(sheen: Sheen, seen: Seen, u: Vec3) -> Drawn:
    """Draws a direction, by its cosine from the base and evenly from the fibres."""
    base, shine = probabilities(sheen, seen)
    return draw_evenly(base, shine, u)


@compiled
def evaluate(sheen: Sheen, wi: Vec3, seen: Seen) -> Value:
    """Returns the value of the base below the fibres, and of these."""
    is_above = ONE if wi[2] > ZERO else ZERO
    base, shine = probabilities(sheen, seen)
    pdf = is_above * (base * wi[2] / PI + shine / TWO_PI)
    shining = is_above * fibres(wi, seen.wo, max(sheen.alpha, LEAST_ALPHA))
    below = multiply(entering(sheen, wi), reflectance(sheen, seen.wo))
    return Value(scale(below, is_above / PI), scale(sheen.sheen, shining), pdf)


@compiled
def entering(sheen: Sheen, w: Vec3) -> Color:
    """Returns what the fibres let through."""
    return through(sheen.sheen, caught_share(sheen.alpha, w[2]))


@compiled
def reflectance(sheen: Sheen, w: Vec3) -> Color:
    """Returns that of the base with what the fibres let through, so that all of it comes out again."""
    leaving, mean = entering(sheen, w), through(sheen.sheen, mean_caught_share(sheen.alpha))
    red, green, blue = multiply(sheen.diffuse, leaving)
    return (red / mean[0], green / mean[1], blue / mean[2])


@compiled
def albedo(sheen: Sheen, wo: Vec3) -> Color:
    """Returns what fibres and base reflect."""
    share = caught_share(sheen.alpha, wo[2])
    return add(scale(sheen.sheen, share), multiply(sheen.diffuse, through(sheen.sheen, share)))


KEYS = {"sheen": BsdfKey(default=(1.0, 1.0, 1.0), summary="reflectance of the fibres of cloth")}

BSDF = Bsdf(
    name="sheen",
    summary="cloth: a diffuse base under fibres that shine from the side",
    parameters=Sheen,
    pack=pack,
    sample=sample,
    evaluate=evaluate,
    entering=entering,
    reflectance=reflectance,
    albedo=albedo,
    maps={
        "texture": (Use("diffuse"),),
        "specular_map": (Use("sheen"),),
        "roughness_map": (Use("alpha", MEAN, is_squared=True),),
    },
    keys=KEYS,
    stores=lambda sheen: max(sheen.diffuse) > 0.0,
    is_mirroring=False,
)
