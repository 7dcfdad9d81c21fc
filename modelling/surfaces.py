"""This module builds surfaces of the scenes that are made here, beside those of `scenes.shipped.modelling`."""

import numpy as np

from scenes.meshes.geometry import corner_arrays
from scenes.meshes.shapes import arc
from scenes.model import Doubles, Mesh


def rounded(width: float, depth: float, radius: float, steps: int = 4) -> Doubles:
    """Returns the points, (4 (steps + 1), 2), of a rectangle around the origin with round corners,
    counter-clockwise."""
    middle = np.array([width / 2.0 - radius, depth / 2.0 - radius])
    signs = [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)]
    quarters = [
        arc((sign[0] * middle[0], sign[1] * middle[1]), radius, (90.0 * k, 90.0 * k + 90.0), steps)
        for k, sign in enumerate(signs)
    ]
    return np.concatenate(quarters)


def level(outline: Doubles, height: float) -> Doubles:
    """Returns a ring (n, 3) for `loft` that lies flat, from an outline (n, 2): its first axis is x, its second -z."""
    return np.stack([outline[:, 0], np.full(len(outline), height), -outline[:, 1]], axis=-1)


def upright(outline: Doubles, x: float) -> Doubles:
    """Returns a ring (n, 3) for `loft` along x, from an outline (n, 2): its first axis is -z, its second y."""
    return np.stack([np.full(len(outline), x), outline[:, 1], -outline[:, 0]], axis=-1)


def moved(mesh: Mesh, matrix: Doubles) -> Mesh:
    """Returns a copy of a mesh in another place. matrix: (4, 4) affine, without reflection."""
    positions, normals = corner_arrays(mesh, matrix)
    corners = np.arange(3 * len(positions), dtype=np.int32).reshape(-1, 3)
    return Mesh(
        vertices=positions.reshape(-1, 3),
        triangles=corners,
        material=mesh.material,
        normals=normals.reshape(-1, 3),
        normal_triangles=corners,
        uvs=mesh.uvs,
        uv_triangles=mesh.uv_triangles,
    )
