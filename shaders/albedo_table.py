"""How much of the light GGX facets reflect in one bounce: a table over roughness and angle, with its means.

By Schlick's Fresnel a surface that reflects f straight ahead reflects `scale` f + `bias` in all (Karis: Real Shading in
Unreal Engine 4, 2013). Between places of the table numbers are linear in the roots of alpha and of the cosine, and the
means are those of what is so read, exactly: what one bounce misses can be added without an error of its own.
"""

import math

import numpy as np
import numpy.typing as npt

from shaders.compilation import called, compiled
from shaders.ggx import LEAST_ALPHA

Doubles = npt.NDArray[np.float64]

#: Places along each axis, from 0 to 1, and points of quadrature of the sampled normals' two numbers.
PLACES = 32
NODES, AZIMUTHS = 32, 12

#: Mean of Schlick's (1 - cosine)^5 over the cosine-weighted hemisphere.
MEAN_GRAZING = 1.0 / 21.0


def one_bounce(alpha: float, cosine: Doubles) -> Doubles:
    """(2, n) scale and bias by quadrature over the normals that `shaders.ggx.sample_seen` would draw. cosine: (n,)."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    # Facets on edge, which hide each other, are drawn by u2 close to 1: points are denser there.
    root = 0.5 - 0.5 * nodes
    u2, weights = 1.0 - root[:, None] ** 2, root * weights
    azimuth = math.pi * (0.5 + np.arange(AZIMUTHS)) / AZIMUTHS
    z_o = np.maximum(cosine, 1e-6)[:, None, None]
    x_o = np.sqrt(1.0 - z_o * z_o)
    norm = np.sqrt((alpha * x_o) ** 2 + z_o * z_o)
    z = 1.0 - u2 * (1.0 + z_o / norm)
    radius = np.sqrt(np.maximum(0.0, 1.0 - z * z))
    h = np.array([alpha * (radius * np.cos(azimuth) + alpha * x_o / norm), alpha * radius * np.sin(azimuth)])
    h_z = np.maximum(z + z_o / norm, 1e-12) * np.ones_like(azimuth)
    length = np.sqrt(h[0] ** 2 + h[1] ** 2 + h_z**2)
    at_facet = (x_o * h[0] + z_o * h_z) / length
    z_i = np.maximum(0.0, 2.0 * at_facet * h_z / length - z_o)
    root_o, root_i = (np.sqrt(c * c + alpha**2 * (1.0 - c * c)) for c in (z_o, np.minimum(z_i, 1.0)))
    kept = z_i * (z_o + root_o) / (z_o * root_i + z_i * root_o)  # G2 / G1
    grazing = (1.0 - np.minimum(at_facet, 1.0)) ** 5
    mean: Doubles = np.einsum("knij,i->kn", np.array([kept * (1.0 - grazing), kept * grazing]), weights)
    return mean / AZIMUTHS


def tabulated() -> Doubles:
    """(2, PLACES, PLACES) scale and bias, by the roots of alpha and of the cosine."""
    places = np.linspace(0.0, 1.0, PLACES)
    return np.stack([one_bounce(max(root**2, LEAST_ALPHA), places**2) for root in places], axis=1)


def means(table: Doubles) -> Doubles:
    """(2, PLACES) cosine-weighted means over the hemisphere of what is linear between the places of a table."""
    nodes, weights = np.polynomial.legendre.leggauss(3)
    share = 0.5 + 0.5 * nodes
    root = (np.arange(PLACES - 1)[:, None] + share) / (PLACES - 1)
    between = table[..., :-1, None] * (1.0 - share) + table[..., 1:, None] * share
    # with cosine = root^2 the weight 2 cosine d(cosine) is 4 root^3 d(root)
    mean: Doubles = (between * (4.0 * root**3 * weights)).sum(axis=(-2, -1)) / (2.0 * (PLACES - 1))
    return mean


SHARES = tabulated()
MEAN_SHARES = means(SHARES)


@compiled
def place_of(x: float) -> tuple[int, float]:
    """The place of the table before the root of x in 0..1, and how far it is to the next one."""
    root = math.sqrt(min(max(x, 0.0), 1.0)) * (PLACES - 1)
    place = min(int(root), PLACES - 2)
    return place, root - place


@called
def shares_at(alpha: float, cosine: float) -> tuple[float, float]:
    """Scale and bias of light that falls in or leaves at this cosine."""
    if alpha < LEAST_ALPHA:
        grazing = (1.0 - cosine) ** 5
        return 1.0 - grazing, grazing
    row, down = place_of(alpha)
    column, along = place_of(cosine)
    return (
        _between(SHARES[0, row, column], SHARES[0, row, column + 1], along) * (1.0 - down)
        + _between(SHARES[0, row + 1, column], SHARES[0, row + 1, column + 1], along) * down,
        _between(SHARES[1, row, column], SHARES[1, row, column + 1], along) * (1.0 - down)
        + _between(SHARES[1, row + 1, column], SHARES[1, row + 1, column + 1], along) * down,
    )


@compiled
def mean_shares(alpha: float) -> tuple[float, float]:
    """Cosine-weighted means of `shares_at` over the hemisphere."""
    if alpha < LEAST_ALPHA:
        return 1.0 - MEAN_GRAZING, MEAN_GRAZING
    row, down = place_of(alpha)
    return (
        _between(MEAN_SHARES[0, row], MEAN_SHARES[0, row + 1], down),
        _between(MEAN_SHARES[1, row], MEAN_SHARES[1, row + 1], down),
    )


@compiled
def _between(a: float, b: float, share: float) -> float:
    """From a to b."""
    return a + (b - a) * share
