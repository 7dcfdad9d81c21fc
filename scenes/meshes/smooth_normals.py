"""This module makes normals for meshes that have none, so that they look smooth.

A vertex gets the mean of the normals of its triangles, each weighted by the angle that it has there. Thürmer, Wüthrich:
Computing Vertex Normals from Polygonal Facets, 1998.
"""

from dataclasses import replace

import numpy as np

from scenes.meshes.geometry import corner_indices, double_area_normals, unit
from scenes.model import Doubles, Mesh

#: Where so many triangles meet in a vertex, a crease is looked for among this many neighbours of each alone.
MAX_NEIGHBOURS = 256


def smoothed(mesh: Mesh) -> Mesh:
    """Returns a mesh with a normal for each vertex, smooth where triangles share it."""
    weighted = corner_normals(mesh.vertices[mesh.triangles]).reshape(-1, 3)
    corners = mesh.triangles.ravel()
    count = len(mesh.vertices)
    sums: Doubles = np.stack([np.bincount(corners, weighted[:, axis], count) for axis in range(3)], axis=-1)
    return replace(mesh, normals=unit(sums), normal_triangles=mesh.triangles)


def creased(mesh: Mesh, degrees: float) -> Mesh:
    """Returns a mesh with a normal for each corner: the mean over the triangles in its place whose normals are near its
    own.

    degrees: up to which they are.
    """
    positions = mesh.vertices[mesh.triangles]
    weighted = corner_normals(positions).reshape(-1, 3)
    flat = np.repeat(unit(double_area_normals(positions)), 3, axis=0)
    _, places = np.unique(positions.reshape(-1, 3), axis=0, return_inverse=True)
    normals = sums_within(places.ravel(), weighted, flat, np.cos(np.radians(degrees)))
    return replace(mesh, normals=unit(normals), normal_triangles=corner_indices(len(mesh.triangles)))


def corner_normals(positions: Doubles) -> Doubles:
    """Returns the normals (n, 3, 3) of triangles (n, 3, 3) at each corner, as long as the angle there in radians."""
    ahead = unit(np.roll(positions, -1, axis=1) - positions)
    behind = unit(np.roll(positions, 1, axis=1) - positions)
    angles = np.arccos(np.clip((ahead * behind).sum(axis=2), -1.0, 1.0))
    weighted: Doubles = unit(double_area_normals(positions))[:, None, :] * angles[..., None]
    return weighted


def sums_within(places: np.ndarray, values: Doubles, normals: Doubles, least_cosine: float) -> Doubles:
    """Returns for each corner the sum of the values in its place whose normals are within an angle of its own.

    places: (m,) int, the same for corners in one place.
    values, normals: (m, 3).
    """
    order = np.argsort(places, kind="stable")
    counts = np.bincount(places)[places[order]]
    starts = np.searchsorted(places[order], places[order])
    within = np.arange(len(order)) - starts
    sums = values.copy()
    for step in range(1, min(int(counts.max(initial=1)), MAX_NEIGHBOURS)):
        rows = np.flatnonzero(counts > step)
        other = order[starts[rows] + (within[rows] + step) % counts[rows]]
        own = order[rows]
        is_near = (normals[own] * normals[other]).sum(axis=1) >= least_cosine
        sums[own[is_near]] += values[other[is_near]]
    return sums
