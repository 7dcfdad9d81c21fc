"""This module tabulates how much of the light GGX facets reflect in one bounce, over roughness and angle, with its
means.

By Schlick's Fresnel a surface that reflects f at normal incidence reflects `scale` f + `bias` in all (Karis: Real
Shading in Unreal Engine 4, 2013). Between its points the table's numbers are linear in the roots of alpha and of the
cosine, and the means are those of what is so read, exactly: what one bounce misses can be added without an error of its
own.

`python -m shaders.albedo_table` writes the file beside the code that is read at each start.
"""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shaders.compilation import called, compiled
from shaders.ggx import LEAST_ALPHA

Doubles = npt.NDArray[np.float64]

#: Points along each axis of the table, from 0 to 1, and points of quadrature of the sampled normals' two numbers.
TABLE_SIZE = 32
NODES, AZIMUTHS = 32, 12

FILE = Path(__file__).with_suffix(".npy")

#: Mean of Schlick's (1 - cosine)^5 over the cosine-weighted hemisphere.
MEAN_GRAZING = 1.0 / 21.0


class SeenFacets(NamedTuple):
    """Holds points of quadrature over the normals that `shaders.ggx.sample_seen` would draw, for n directions.

    z_o: (n, 1, 1) cosine between the direction and the surface's normal.
    at_facet: (n, i, j) cosine between the direction and the facet's normal.
    h_z: (n, i, j) cosine between both normals.
    weights: (i,), of which the sum over i, divided by j, is 1.
    """

    z_o: Doubles
    at_facet: Doubles
    h_z: Doubles
    weights: Doubles


def seen_facets(alpha: float, cosine: Doubles, count: tuple[int, int]) -> SeenFacets:
    """Returns the facets that directions see.

    alpha: width of GGX.
    cosine: (n,) of the directions.
    count: points along the sampler's two numbers, across the facets' cap and in azimuth.
    """
    nodes, weights = np.polynomial.legendre.leggauss(count[0])
    # Facets on edge, which hide each other, are drawn by u2 close to 1: points are denser there.
    root = 0.5 - 0.5 * nodes
    u2, weights = 1.0 - root[:, None] ** 2, root * weights
    azimuth = math.pi * (0.5 + np.arange(count[1])) / count[1]
    z_o = np.maximum(cosine, 1e-6)[:, None, None]
    x_o = np.sqrt(1.0 - z_o * z_o)
    norm = np.sqrt((alpha * x_o) ** 2 + z_o * z_o)
    z = 1.0 - u2 * (1.0 + z_o / norm)
    radius = np.sqrt(np.maximum(0.0, 1.0 - z * z))
    h = np.array([alpha * (radius * np.cos(azimuth) + alpha * x_o / norm), alpha * radius * np.sin(azimuth)])
    h_z = np.maximum(z + z_o / norm, 1e-12) * np.ones_like(azimuth)
    length = np.sqrt(h[0] ** 2 + h[1] ** 2 + h_z**2)
    at_facet = np.minimum((x_o * h[0] + z_o * h_z) / length, 1.0)
    return SeenFacets(z_o, at_facet, h_z / length, weights)


def kept_by_reflection(alpha: float, facets: SeenFacets) -> Doubles:
    """Returns G2 / G1, (n, i, j), of light that facets reflect: 0 where they send it below the surface."""
    z_o, z_i = facets.z_o, np.maximum(0.0, 2.0 * facets.at_facet * facets.h_z - facets.z_o)
    root_o, root_i = (np.sqrt(c * c + alpha**2 * (1.0 - c * c)) for c in (z_o, np.minimum(z_i, 1.0)))
    kept: Doubles = z_i * (z_o + root_o) / (z_o * root_i + z_i * root_o)
    return kept


def one_bounce(alpha: float, cosine: Doubles) -> Doubles:
    """Returns the scale and the bias, (2, n), of the light that facets reflect at once. cosine: (n,)."""
    facets = seen_facets(alpha, cosine, (NODES, AZIMUTHS))
    kept, grazing = kept_by_reflection(alpha, facets), (1.0 - facets.at_facet) ** 5
    mean: Doubles = np.einsum("knij,i->kn", np.array([kept * (1.0 - grazing), kept * grazing]), facets.weights)
    return mean / AZIMUTHS


def tabulated() -> Doubles:
    """Returns the table of scale and bias, (2, TABLE_SIZE, TABLE_SIZE), by the roots of alpha and of the cosine."""
    size = np.linspace(0.0, 1.0, TABLE_SIZE)
    return np.stack([one_bounce(max(root**2, LEAST_ALPHA), size**2) for root in size], axis=1)


def means(table: Doubles) -> Doubles:
    """Returns cosine-weighted means over the hemisphere of a table that is linear between the roots of cosines, its
    last axis."""
    nodes, weights = np.polynomial.legendre.leggauss(3)
    share, last = 0.5 + 0.5 * nodes, table.shape[-1] - 1
    root = (np.arange(last)[:, None] + share) / last
    values = table[..., :-1, None] * (1.0 - share) + table[..., 1:, None] * share
    # with cosine = root^2 the weight 2 cosine d(cosine) is 4 root^3 d(root)
    mean: Doubles = (values * (4.0 * root**3 * weights)).sum(axis=(-2, -1)) / (2.0 * last)
    return mean


if __name__ == "__main__":
    np.save(FILE, tabulated())

#: The table, and its means, (2, PLACES).
SHARES: Doubles = np.load(FILE)
MEAN_SHARES = means(SHARES)


@compiled
def index_of(x: float, size: int) -> tuple[int, float]:
    """Returns the index in a table's axis before x in 0..1, and how far it is to the next one, as a share of their
    distance."""
    scaled = min(max(x, 0.0), 1.0) * (size - 1)
    index = min(int(scaled), size - 2)
    return index, scaled - index


@compiled
def index_of_root(x: float, size: int) -> tuple[int, float]:
    """Returns what `index_of` does for the root of x."""
    return index_of(math.sqrt(max(x, 0.0)), size)


@called
def shares_at(alpha: float, cosine: float) -> tuple[float, float]:
    """Returns the scale and the bias of light that falls in or leaves at this cosine."""
    if alpha < LEAST_ALPHA:
        grazing = (1.0 - cosine) ** 5
        return 1.0 - grazing, grazing
    row, down = index_of_root(alpha, TABLE_SIZE)
    column, along = index_of_root(cosine, TABLE_SIZE)
    return (
        between(SHARES[0, row, column], SHARES[0, row, column + 1], along) * (1.0 - down)
        + between(SHARES[0, row + 1, column], SHARES[0, row + 1, column + 1], along) * down,
        between(SHARES[1, row, column], SHARES[1, row, column + 1], along) * (1.0 - down)
        + between(SHARES[1, row + 1, column], SHARES[1, row + 1, column + 1], along) * down,
    )


@compiled
def mean_shares(alpha: float) -> tuple[float, float]:
    """Returns the cosine-weighted means of `shares_at` over the hemisphere."""
    if alpha < LEAST_ALPHA:
        return 1.0 - MEAN_GRAZING, MEAN_GRAZING
    row, down = index_of_root(alpha, TABLE_SIZE)
    return (
        between(MEAN_SHARES[0, row], MEAN_SHARES[0, row + 1], down),
        between(MEAN_SHARES[1, row], MEAN_SHARES[1, row + 1], down),
    )


@compiled
def between(a: float, b: float, share: float) -> float:
    """Returns what is a share of the way from a to b."""
    return a + (b - a) * share
