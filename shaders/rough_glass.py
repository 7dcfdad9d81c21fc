"""This module describes a rough border between two clear media: facets reflect by Fresnel and refract by Snell.

Walter, Marschner, Li, Torrance: Microfacet Models for Refraction through Rough Surfaces, 2007. What one facet does not
send on leaves after it has hit more of them, evenly, on either side: Kulla, Conty: Revisiting Physically Based Shading
at Imageworks, 2017. So clear glass loses no light, at any roughness. Values are those of flux; radiance from the far
side is less by the square of `eta`, the index of the far side over that of the near one. wo is above the surface, wi on
either side.

A table has the share that one facet does not send on, over index, roughness and angle: what it sends to the wrong side
of the surface, or what other facets hide, hits more of them. Layers are at equal steps of the root of
|eta - 1| / (eta + 1), as Fresnel's reflectance rises steeply where media are almost alike; rows and columns are those
of `shaders.albedo_table`. Means are those of what is read between places, linearly: what is missed can be given back
without an error of its own. `tests/shading_tables.py` made the files.
"""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shaders.albedo_table import (
    LEAST_MISSED,
    Cell,
    between,
    cell_at,
    index_of,
    read,
    read_mean,
)
from shaders.coat_table import UNIT
from shaders.compilation import address, compiled
from shaders.float32 import HALF, ONE, PI, ZERO, Int
from shaders.fresnel import fresnel, mean_fresnel
from shaders.ggx import (
    LEAST_ALPHA,
    density,
    mirrored_at,
    sample_seen,
    unhidden_over_cosines,
    unit,
    unmasked_over_cosine,
)
from shaders.sampling import cosine_hemisphere
from shaders.vector import Vec3, add, chosen, dot, scale

#: Layers along eta, from media that let nothing in to those that let nothing out.
ETAS = 65

FILE, MEANS_FILE = Path(__file__).with_suffix(".npy"), Path(__file__).with_name("rough_glass_means.npy")

#: Missed shares: (ETAS, ALPHAS, COSINES), and their means, (ETAS, ALPHAS).
MISSED = (UNIT * np.load(FILE)).astype(np.float32)
MEAN_MISSED = np.load(MEANS_FILE)


@compiled
def eta_index(eta: float) -> tuple[int, float]:
    """Returns the layer (int32) in the table before a refractive index, and how far it is to the next one."""
    ratio = (eta - ONE) / (eta + ONE)
    root = math.sqrt(abs(ratio))
    return index_of(HALF + HALF * (root if ratio >= ZERO else -root), ETAS)


@compiled
def missed_share(eta: float, cell: Cell) -> float:
    """Returns the share of light that one facet does not send on. eta: index of the far side over the near one.
    cell: that of the width and the cosine (`shaders.albedo_table.cell_at`)."""
    layer, aside = eta_index(eta)
    return between(read(address(MISSED), layer, cell), read(address(MISSED), Int(layer + Int(1)), cell), aside)


@compiled
def mean_missed_share(eta: float, alpha: float) -> float:
    """Returns the cosine-weighted mean of `missed_share` over the hemisphere."""
    layer, aside = eta_index(eta)
    near = read_mean(address(MEAN_MISSED), layer, alpha)
    return between(near, read_mean(address(MEAN_MISSED), Int(layer + Int(1)), alpha), aside)


class Facet(NamedTuple):
    """Is the facet that turns wo to wi."""

    h: Vec3  # its normal
    reflected: float  # Fresnel's share of what it reflects
    spread: float  # the solid angle of the facets' normals over that of wi, or 0 where no one facet turns wo to wi


@compiled
def facet_between(wi: Vec3, wo: Vec3, eta: float) -> Facet:
    """Returns the facet: wo is in front of it, and wi on the same side of it as of the surface. Eq. 13 to 17."""
    is_above = wi[2] > ZERO
    across = add(wo, scale(wi, ONE if is_above else eta))
    h = unit(across)
    h = chosen(h[2] >= ZERO, h, scale(h, -ONE))
    cosine_o, cosine_i = dot(wo, h), dot(wi, h)
    # By the length of the sum, as its product with h cancels where media are almost alike.
    refracting = eta * eta * abs(cosine_i) / max(dot(across, across), LEAST_MISSED)
    spread = HALF * HALF / max(cosine_o, LEAST_MISSED) if is_above else refracting
    is_turning = (cosine_o > ZERO) & (cosine_i * wi[2] > ZERO)
    return Facet(h, fresnel(max(cosine_o, LEAST_MISSED), eta), spread if is_turning else ZERO)


@compiled
def rough_glass_value(wi: Vec3, wo: Vec3, eta: float, alpha: float) -> float:
    """Returns the value of the border in 1/sr, without the cosine. The light of more facets than one is in proportion
    to what one misses of light from wo and of light from wi, so that it is reciprocal."""
    facet, is_above, through = facet_between(wi, wo, eta), wi[2] > ZERO, share_through(eta, alpha)
    many = density(facet.h, alpha)
    mirrored = facet.reflected * many * unhidden_over_cosines(wi, wo, alpha)
    seen = many * unmasked_over_cosine(wo, alpha) * dot(wo, facet.h) * unmasked_over_cosine(wi, alpha)
    refracted = (ONE - facet.reflected) * seen * facet.spread
    once = mirrored if is_above else refracted
    far_eta, share = eta if is_above else ONE / eta, ONE - through if is_above else through
    missed = missed_share(eta, cell_at(alpha, wo[2])) * missed_share(far_eta, cell_at(alpha, abs(wi[2])))
    more = share * missed / (PI * max(mean_missed_share(far_eta, alpha), LEAST_MISSED))
    return (once if facet.spread > ZERO else ZERO) + more


@compiled
def share_through(eta: float, alpha: float) -> float:
    """Returns the share of the light of more facets that leaves on the far side.

    Light from all sides gets through a smooth border in the share T, and T(eta) = eta^2 T(1 / eta). The share is T for
    the side that misses more light, and for the other side less, as reciprocity has it: of m, the means of what is
    missed, T(eta) m(1 / eta) over the larger of m(eta) and m(1 / eta).
    """
    near, far = mean_missed_share(eta, alpha), mean_missed_share(ONE / eta, alpha)
    through = (ONE - mean_fresnel(max(eta, ONE / eta))) * min(ONE, eta * eta)
    return through * far / max(near, far, LEAST_MISSED)


@compiled
def rough_glass_pdf(wi: Vec3, wo: Vec3, eta: float, alpha: float) -> float:
    """Returns the density in solid angle with which `sample_rough_glass` draws wi."""
    is_above, through = wi[2] > ZERO, share_through(eta, alpha)
    missed = missed_share(eta, cell_at(alpha, wo[2]))
    evenly = missed * (ONE - through if is_above else through) * abs(wi[2]) / PI
    facet = facet_between(wi, wo, eta)
    seen = density(facet.h, alpha) * unmasked_over_cosine(wo, alpha) * dot(wo, facet.h) * facet.spread
    once = (ONE - missed) * seen * (facet.reflected if is_above else ONE - facet.reflected)
    return evenly + (once if facet.spread > ZERO else ZERO)


@compiled
def sample_rough_glass(wo: Vec3, eta: float, alpha: float, u: tuple[float, float, float]) -> Vec3:
    """Draws a unit vector, or (0, 0, 0) for light that is lost; the first number chooses one facet or more, and to
    reflect or refract. A border narrower than `LEAST_ALPHA` is smooth."""
    is_rough = alpha >= LEAST_ALPHA
    missed = missed_share(eta, cell_at(alpha, wo[2]))
    missed = missed if is_rough else ZERO
    x, y, z = cosine_hemisphere(u[1], u[2])
    more = (x, y, -z if u[0] < missed * share_through(eta, alpha) else z)
    h = sample_seen(wo, alpha if is_rough else ZERO, u[1], u[2])
    is_reflected = u[0] - missed < (ONE - missed) * fresnel(max(dot(wo, h), LEAST_MISSED), eta)
    once = chosen(is_reflected, mirrored_at(wo, h), refracted_at(wo, h, eta))
    # What a facet sends to the wrong side hits another one.
    once = chosen(is_reflected == (once[2] > ZERO), once, (ZERO, ZERO, ZERO))
    return chosen(u[0] < missed, more, once)


@compiled
def refracted_at(wo: Vec3, h: Vec3, eta: float) -> Vec3:
    """Returns the direction into which a facet refracts wo. There must be one."""
    cosine = dot(wo, h)
    cosine_t = math.sqrt(max(ZERO, ONE - (ONE - cosine * cosine) / (eta * eta)))
    return unit(add(scale(wo, -ONE / eta), scale(h, cosine / eta - cosine_t)))
