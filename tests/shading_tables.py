"""Makes the tables that shaders read, by quadrature: of facets in one bounce, coats, rough glass and cloth.

`PYTHONPATH=. python tests/shading_tables.py` takes minutes to write the files beside the code that reads them.
"""

import math
from typing import NamedTuple

import numpy as np

from shaders import albedo_table, coat_table, rough_glass
from shaders.albedo_table import ALPHAS, COSINES
from shaders.bsdfs import sheen
from shaders.coat_table import LACQUER_LAYER, LAYERS, UNIT
from shaders.compilation import compiled
from shaders.float32 import ONE, ZERO, Doubles, Float32, Floats, Shorts
from shaders.ggx import LEAST_ALPHA
from shaders.rough_glass import ETAS

#: Points of quadrature of the sampled normals' two numbers: across the facets' cap and in azimuth.
NODES = (128, 48)

#: The largest index that counts as finite.
LARGEST_ETA = 1e4


def row_alphas() -> Doubles:
    """Returns the widths (ALPHAS,) of the rows."""
    return np.maximum(np.linspace(0.0, 1.0, ALPHAS) ** 2, float(LEAST_ALPHA))


def columns_at(alpha: float, cosine: Doubles) -> Doubles:
    """Returns `column_at` of many cosines."""
    columns: Doubles = 0.5 * (np.sqrt(cosine) + np.sqrt(cosine * (1.0 + alpha) / (cosine + alpha)))
    return columns


def even_roots(count: int) -> Doubles:
    """Returns points of quadrature (count,) in 0..1, roots of cosines: with cosine = root^2 the mean over the
    cosine-weighted hemisphere is that of 4 root^3 over the roots."""
    roots: Doubles = (np.arange(count) + 0.5) / count
    return roots


def means(table: Floats, factor: Floats | float = 1.0) -> Doubles:
    """Returns cosine-weighted means over the hemisphere, (..., ALPHAS), of a table (..., ALPHAS, COSINES) times a
    factor (ALPHAS, COSINES), both as they are read."""
    root = even_roots(512)
    weights = np.empty((ALPHAS, COSINES))
    for row, (alpha, factors) in enumerate(zip(row_alphas(), factor + np.zeros_like(weights), strict=True)):
        place = columns_at(alpha, root**2) * (COSINES - 1)
        shares = np.maximum(0.0, 1.0 - np.abs(place[:, None] - np.arange(COSINES)))  # of what columns are read
        weights[row] = (shares @ factors * 4.0 * root**3 / len(root)) @ shares
    mean: Doubles = np.einsum("...rc,rc->...r", table, weights)
    return mean


def ior_at(layer: int) -> float:
    """Returns the index of a layer."""
    ratio = 0.2 * (layer / LACQUER_LAYER) ** 2
    return (1.0 + ratio) / (1.0 - ratio)


def reflected(cosine: Doubles, ior: float) -> Doubles:
    """Returns Fresnel's reflectance at cosines. ior: index of the far side over that of the near one."""
    far = np.sqrt(np.maximum(0.0, 1.0 - (1.0 - cosine**2) / (ior * ior)))
    parallel = (ior * cosine - far) / (ior * cosine + far)
    perpendicular = (cosine - ior * far) / (cosine + ior * far)
    share: Doubles = 0.5 * (parallel**2 + perpendicular**2)
    return share


def smooth_means() -> Doubles:
    """Returns the shares (LAYERS,) of light from all sides that smooth coats reflect."""
    root = even_roots(1024)
    values = np.array([reflected(root**2, ior_at(layer)) for layer in range(LAYERS)])
    mean: Doubles = values @ (4.0 * root**3) / len(root)
    return mean


class SeenFacets(NamedTuple):
    """Holds points of quadrature over the normals that `shaders.ggx.sample_seen` would draw, for n directions."""

    z_o: Doubles  # (n, 1, 1) cosine between the direction and the surface's normal
    at_facet: Doubles  # (n, i, j) cosine between the direction and the facet's normal
    h_z: Doubles  # (n, i, j) cosine between both normals
    weights: Doubles  # (i,), of which the sum over i, divided by j, is 1

    def mean(self, values: Doubles) -> Doubles:
        """Returns the means (n,) of values (n, i, j) over the facets."""
        return np.einsum("nij,i->n", values, self.weights) / values.shape[2]


def seen_facets(alpha: float, cosine: Doubles) -> SeenFacets:
    """Returns the facets of width alpha that directions at cosines (n,) see."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES[0])
    # Facets on edge, which hide each other, are drawn by u2 close to 1: points are denser there.
    root = 0.5 - 0.5 * nodes
    u2, weights = 1.0 - root[:, None] ** 2, root * weights
    azimuth = math.pi * (0.5 + np.arange(NODES[1])) / NODES[1]
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
    return z_i * (z_o + root_o) / (z_o * root_i + z_i * root_o)


def column_cosines(alpha: float) -> Doubles:
    """Returns the cosines (COSINES,) of the columns, by bisection."""
    low, high = np.zeros(COSINES), np.ones(COSINES)
    for _ in range(60):
        middle = 0.5 * (low + high)
        is_low = columns_at(alpha, middle) < np.linspace(0.0, 1.0, COSINES)
        low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
    return high


def facet_table(alphas: Doubles) -> Floats:
    """Returns the missed share of light on white facets and `grazing` of the rest, (2, alphas, COSINES)."""
    rows = []
    for alpha in alphas:
        facets = seen_facets(alpha, column_cosines(alpha))
        kept = kept_by_reflection(alpha, facets)
        share = facets.mean(kept)
        rows.append([np.clip(1.0 - share, 0.0, 1.0), facets.mean(kept * (1.0 - facets.at_facet) ** 5) / share])
    return np.stack(rows, axis=1).astype(np.float32)


def coat_table_of(alphas: Doubles) -> Shorts:
    """Returns the shares that coats reflect of what is kept, (LAYERS, alphas, COSINES), in multiples of UNIT."""
    rows = []
    for alpha in alphas:
        facets = seen_facets(alpha, column_cosines(alpha))
        kept = kept_by_reflection(alpha, facets)
        reflections = [kept * reflected(facets.at_facet, ior_at(layer)) for layer in range(LAYERS)]
        rows.append([facets.mean(reflection) / facets.mean(kept) for reflection in reflections])
    return np.rint(np.array(rows).swapaxes(0, 1) / UNIT).astype(np.uint16)


def missed_by_glass(layer: int, alpha: float) -> Doubles:
    """Returns the shares (COSINES,) of light that one facet neither reflects nor refracts to where it leaves.

    Walter, Marschner, Li, Torrance: Microfacet Models for Refraction through Rough Surfaces, 2007, by quadrature over
    the facets that are seen.
    """
    eta, facets = eta_at(layer), seen_facets(alpha, column_cosines(alpha))
    at_facet = facets.at_facet
    far = np.sqrt(np.maximum(0.0, 1.0 - (1.0 - at_facet**2) / (eta * eta)))
    below = np.clip(facets.z_o / eta - facets.h_z * (at_facet / eta - far), 0.0, 1.0)
    seen_below = 2.0 * below / np.maximum(below + np.sqrt(below**2 + alpha**2 * (1.0 - below**2)), 1e-30)
    share = reflected(at_facet, eta)
    kept = facets.mean(share * kept_by_reflection(alpha, facets) + (1.0 - share) * seen_below)
    return np.clip(1.0 - kept, 0.0, 1.0)


def eta_at(layer: int) -> float:
    """Returns the refractive index of a layer, from 1 / LARGEST_ETA to LARGEST_ETA."""
    root = 2.0 * layer / (ETAS - 1) - 1.0
    ratio = root * abs(root)
    return min(max((1.0 + ratio) / max(1.0 - ratio, 1e-30), 1.0 / LARGEST_ETA), LARGEST_ETA)


def glass_table(alphas: Doubles) -> Shorts:
    """Returns the shares that one facet of rough glass misses, (ETAS, alphas, COSINES), in multiples of UNIT."""
    shares = [[missed_by_glass(layer, alpha) for alpha in alphas] for layer in range(ETAS)]
    return np.rint(np.array(shares) / UNIT).astype(np.uint16)


def means_of_cloth(table: Floats) -> Floats:
    """Returns means (ALPHAS,) of the table as it is read, over light that falls in evenly from all sides."""
    nodes, weights = np.polynomial.legendre.leggauss(3)
    along, last = 0.5 + 0.5 * nodes, COSINES - 1
    root = (np.arange(last)[:, None] + along) / last
    values = table[:, :-1, None] * (1.0 - along) + table[:, 1:, None] * along
    # with cosine = root^2 the weight 2 cosine d(cosine) is 4 root^3 d(root)
    return ((values * (2.0 * root**3 * weights)).sum(axis=(1, 2)) / last).astype(np.float32)


@compiled
def caught(alpha: float, cosine: float, nodes: Floats, weights: Floats) -> float:
    """Returns the share of light at a cosine that white fibres reflect, by Gauss's nodes and weights in 0..1."""
    wo = (math.sqrt(ONE - cosine * cosine), ZERO, cosine)
    total = 0.0
    for i in range(len(nodes)):
        z = nodes[i] * nodes[i]
        sine = math.sqrt(ONE - z * z)
        for j in range(len(nodes)):
            x = math.cos(math.pi * nodes[j])
            wi = (Float32(sine * x), Float32(sine * math.sqrt(1.0 - x * x)), z)
            total += sheen.fibres(wi, wo, alpha) * z * nodes[i] * weights[i] * weights[j] * 4.0 * math.pi
    return total


def cloth_table() -> Floats:
    """Returns what white fibres reflect, (sheen.ALPHAS, COSINES)."""
    nodes, weights = np.polynomial.legendre.leggauss(128)
    rule = (0.5 + 0.5 * nodes).astype(np.float32), (0.5 * weights).astype(np.float32)
    alphas = np.linspace(math.sqrt(sheen.LEAST_ALPHA), 1.0, sheen.ALPHAS, dtype=np.float32) ** 2
    cosines = np.maximum(np.linspace(0.0, 1.0, COSINES, dtype=np.float32) ** 2, sheen.LEAST_COSINE)
    return np.array([[caught(alpha, cosine, *rule) for cosine in cosines] for alpha in alphas], np.float32)


def coat_means() -> Floats:
    """Returns what coats reflect at once of light from all sides, by width, and in the last column smooth ones."""
    shares = (UNIT * np.load(coat_table.FILE)).astype(np.float32)
    means_of_rough = means(shares, 1.0 - np.load(albedo_table.FILE)[0])
    return np.column_stack([means_of_rough, smooth_means()]).astype(np.float32)


def facet_means() -> Floats:
    """Returns the means (ALPHAS,) of what white facets miss."""
    return means(np.load(albedo_table.FILE)[0]).astype(np.float32)


def glass_means() -> Floats:
    """Returns the means (ETAS, ALPHAS) of what one facet of rough glass misses."""
    return means((UNIT * np.load(rough_glass.FILE)).astype(np.float32)).astype(np.float32)


if __name__ == "__main__":
    for module, table in (
        (albedo_table, facet_table(row_alphas())),
        (coat_table, coat_table_of(row_alphas())),
        (rough_glass, glass_table(row_alphas())),
        (sheen, cloth_table()),
    ):
        np.save(module.FILE, table)
    np.save(albedo_table.MEANS_FILE, facet_means())
    np.save(coat_table.MEANS_FILE, coat_means())
    np.save(rough_glass.MEANS_FILE, glass_means())
    np.save(sheen.MEANS_FILE, means_of_cloth(np.load(sheen.FILE)))
