"""This module describes microfacets by the distribution GGX: how many have a normal, which of them are seen, and how
they hide each other.

Trowbridge, Reitz: Average Irregularity Representation of a Rough Surface for Ray Reflection, 1975; named GGX by Walter,
Marschner, Li, Torrance: Microfacet Models for Refraction through Rough Surfaces, 2007. `alpha` is its width, the same
in all azimuths. Normals of facets, `h`, are unit and above the surface.
"""

import math

from shaders.compilation import compiled
from shaders.elementary import sine_cosine
from shaders.float32 import HALF, ONE, PI, TWO, ZERO, Float32
from shaders.sampling import LEAST_SQUARE
from shaders.vector import Vec3, add, dot, scale, subtract

#: A smaller alpha is no spread at all: the lobe would be a twentieth of a degree wide.
LEAST_ALPHA = Float32(1e-3)


@compiled
def unit(a: Vec3) -> Vec3:
    """Returns the unit vector along a; one without length stays so."""
    return scale(a, ONE / math.sqrt(max(dot(a, a), LEAST_SQUARE)))


@compiled
def halfway(wi: Vec3, wo: Vec3) -> Vec3:
    """Returns the normal of the facets that mirror wo to wi."""
    return unit(add(wi, wo))


@compiled
def density(h: Vec3, alpha: float) -> float:
    """Returns the area of the facets with normal h per solid angle and area of the surface, 1/sr."""
    square = alpha * alpha
    # 1 + (alpha^2 - 1) z^2, without the cancellation where facets are narrow
    narrowness = square * h[2] * h[2] + h[0] * h[0] + h[1] * h[1]
    return square / (PI * narrowness * narrowness)


@compiled
def stretch(w: Vec3, alpha: float) -> float:
    """Returns |z| (1 + 2 Lambda(w)), of Smith's Lambda: the only root in all that facets hide of each other."""
    return math.sqrt(w[2] * w[2] + alpha * alpha * (w[0] * w[0] + w[1] * w[1]))


@compiled
def unmasked_over_cosine(w: Vec3, alpha: float) -> float:
    """Returns Smith's G1(w) / |z|, where G1 is the share of the facets' projected area that is seen from w."""
    return TWO / (abs(w[2]) + stretch(w, alpha))


@compiled
def unhidden_over_cosines(wi: Vec3, wo: Vec3, alpha: float) -> float:
    """Returns G2 / (4 |z_i z_o|) of directions on one side, where deep facets are hidden from both. Heitz:
    Understanding the Masking-Shadowing Function in Microfacet-Based BRDFs, 2014, eq. 99."""
    return HALF / (wi[2] * stretch(wo, alpha) + wo[2] * stretch(wi, alpha))


@compiled
def seen_density(wo: Vec3, h: Vec3, alpha: float) -> float:
    """Returns the density in solid angle with which `sample_seen` draws h."""
    return density(h, alpha) * unmasked_over_cosine(wo, alpha) * max(ZERO, dot(wo, h))


@compiled
def sample_seen(wo: Vec3, alpha: float, u1: float, u2: float) -> Vec3:
    """Draws a normal of the facets that are seen from wo (Heitz: Sampling the GGX Distribution of Visible Normals,
    2018). Without alpha it is +z.

    Dupuy, Benyoub: Sampling Visible GGX Normals with Spherical Caps, 2023: facets are a hemisphere that is stretched,
    and the directions in which a hemisphere mirrors light from one direction are even over a cap of the sphere.
    """
    return sample_stretched(wo, alpha, alpha, u1, u2)


@compiled
def sample_stretched(wo: Vec3, alpha_x: float, alpha_y: float, u1: float, u2: float) -> Vec3:
    """Draws as `sample_seen` does of facets with these widths along x and y."""
    straight = unit((alpha_x * wo[0], alpha_y * wo[1], wo[2]))
    below = u2 * (ONE + straight[2])  # how far below the tip, without the cancellation there
    radius = math.sqrt(max(ZERO, below * (TWO - below)))
    sine, cosine = sine_cosine(u1)
    x, y = radius * cosine + straight[0], radius * sine + straight[1]
    return unit((alpha_x * x, alpha_y * y, max(ZERO, ONE - below + straight[2])))


@compiled
def mirrored_at(wo: Vec3, h: Vec3) -> Vec3:
    """Returns the direction that a facet mirrors wo to."""
    return subtract(scale(h, TWO * dot(wo, h)), wo)
