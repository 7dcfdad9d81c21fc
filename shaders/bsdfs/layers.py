"""This module draws directions for layered surfaces, of which any layer may be missing: a base that spreads light by
Lambert's law, facets above it with more bounces between them, and a coat over all.

Facets narrower than `LEAST_ALPHA` mirror light without spread.
"""

from typing import Any, NamedTuple

from shaders.bsdfs.bsdf import LOBE_BASE, LOBE_GLOSSY, LOBE_NONE, LOBE_SHARP, Drawn
from shaders.compilation import compiled
from shaders.float32 import ONE, PI, ZERO, Float32
from shaders.ggx import LEAST_ALPHA
from shaders.sampling import cosine_hemisphere, uniform_hemisphere
from shaders.specular_lobe import facets_pdf, sample_facets
from shaders.vector import Color, Vec3, chosen, scale

NOTHING: Color = (ZERO, ZERO, ZERO)

#: Shares below this are none.
LEAST_SHARE = Float32(1e-20)


class LayerShares(NamedTuple):
    """Says in which proportion layers are drawn: the base, more bounces between facets, one bounce, and the coat."""

    base: float
    more: float
    once: float
    coat: float


class Widths(NamedTuple):
    """Holds the widths of GGX of the facets and of the coat."""

    facets: float
    coat: float


class Mirrored(NamedTuple):
    """Says what facets and coat reflect to the mirrored direction where they do not spread light."""

    once: Color
    coat: Color


@compiled
def total_of(shares: LayerShares) -> float:
    """Returns the sum of the shares, added up as `draw` does."""
    return max(shares.base + shares.more + shares.once + shares.coat, LEAST_SHARE)


@compiled
def draw(shares: LayerShares, widths: Widths, mirrored: Mirrored, wo: Vec3, u: tuple[float, float, float]) -> Drawn:
    """Draws a direction from one of the layers, which the first number chooses."""
    total = total_of(shares)
    pick, even, once = u[0] * total, shares.base + shares.more, shares.base + shares.more + shares.once
    is_even, is_once = pick < even, pick < once
    alpha, share = (widths.facets, shares.once) if is_once else (widths.coat, shares.coat)
    is_sharp = (alpha < LEAST_ALPHA) & (pick >= even)
    evenly, glossy = cosine_hemisphere(u[1], u[2]), sample_facets(alpha, wo, u[1], u[2])
    wi = chosen(is_even, evenly, glossy)
    weight = scale(chosen(is_once, mirrored.once, mirrored.coat), total / max(share, LEAST_SHARE))
    lobe = LOBE_SHARP if is_sharp else LOBE_GLOSSY
    lobe = LOBE_BASE if pick < shares.base else lobe
    return Drawn(wi, weight, lobe if (wi[2] > ZERO) & (total > LEAST_SHARE) else LOBE_NONE)


@compiled
def pdf_of(shares: LayerShares, widths: Widths, wi: Vec3, wo: Vec3) -> float:
    """Returns the density in solid angle with which `draw` draws wi, above the surface, from lobes with spread."""
    once = facets_pdf(max(widths.facets, LEAST_ALPHA), wi, wo)
    coat = facets_pdf(max(widths.coat, LEAST_ALPHA), wi, wo)
    pdf = (shares.base + shares.more) * wi[2] / PI
    pdf += shares.once * once if widths.facets >= LEAST_ALPHA else ZERO
    pdf += shares.coat * coat if widths.coat >= LEAST_ALPHA else ZERO
    return pdf / total_of(shares)


@compiled
def in_proportion(base: float, rest: float) -> tuple[float, float]:
    """Returns the probabilities of a base and of the rest by what they carry on, or 0 where that is nothing."""
    per_total = ONE / (base + rest) if base + rest > ZERO else ZERO
    return base * per_total, rest * per_total


@compiled
def draw_evenly(base: float, rest: float, u: Vec3) -> Drawn:
    """Draws a direction by its cosine from a base, and evenly from the rest, which have these probabilities."""
    is_base = u[0] < base
    wi = chosen(is_base, cosine_hemisphere(u[1], u[2]), uniform_hemisphere(u[1], u[2]))
    is_lost = (wi[2] <= ZERO) | (base + rest <= ZERO)
    lobe = LOBE_BASE if is_base else LOBE_GLOSSY
    return Drawn(wi, NOTHING, LOBE_NONE if is_lost else lobe)


@compiled
def lifted(w: Vec3) -> Vec3:
    """Returns a direction raised above the surface, for values that do not count where it was not."""
    return (w[0], w[1], max(w[2], LEAST_SHARE))


@compiled
def none_below(wi: Vec3, value: Color) -> Color:
    """Returns the value for wi above the surface, black for others."""
    return chosen(wi[2] > ZERO, value, NOTHING)


@compiled
def rest_of(reflected: Color) -> Color:
    """Returns the share that is not reflected."""
    return (ONE - reflected[0], ONE - reflected[1], ONE - reflected[2])


@compiled
def under_coat(diffuse: Color, mean_coat: Color, ior: float) -> Color:
    """Returns the reflectance of a base for light that has come through a coat, so that of what it sends up from under
    the coat the share that light from above gets in by gets out.

    mean_coat: share of light from all sides that the coat reflects.
    ior: refractive index of what the base lies in.
    """
    square = ior * ior
    return (
        _to_and_fro(diffuse[0], (ONE - mean_coat[0]) / square) / square,
        _to_and_fro(diffuse[1], (ONE - mean_coat[1]) / square) / square,
        _to_and_fro(diffuse[2], (ONE - mean_coat[2]) / square) / square,
    )


@compiled
def _to_and_fro(diffuse: float, out: float) -> float:
    """Returns the sum of diffuse^(n + 1) (1 - out)^n over n from 0. out: what of light from below passes the coat."""
    return diffuse / max(ONE - diffuse * (ONE - out), LEAST_SHARE)


@compiled
def no_base(parameters: Any, w: Vec3) -> Color:
    """Returns black: what `Bsdf.entering` and `Bsdf.reflectance` are of a surface without a base."""
    return NOTHING
