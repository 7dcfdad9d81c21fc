"""This module builds surfaces of the scenes that are made here, beside those of `scenes.shipped.modelling`."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from scenes.document import Part
from scenes.meshes.geometry import corner_arrays
from scenes.meshes.shapes import arc
from scenes.model import Doubles, Mesh
from scenes.motion.transforms import WORLD, Transform
from scenes.shipped.modelling import pose, skin


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


def frame(lower: npt.ArrayLike, upper: npt.ArrayLike, border: float, material: int) -> Mesh:
    """Returns a closed box between two corners (3,) with a hole along z: 32 triangles. border: width of its bars."""
    lower, upper = np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)
    rings = []
    for inset, depth in ((0.0, lower[2]), (0.0, upper[2]), (border, upper[2]), (border, lower[2]), (0.0, lower[2])):
        (left, bottom), (right, top) = lower[:2] + inset, upper[:2] - inset
        rings.append([[left, bottom, depth], [right, bottom, depth], [right, top, depth], [left, top, depth]])
    return skin(rings, material)


def joined(meshes: Sequence[Mesh]) -> Mesh:
    """Joins meshes to one, of the material of the first; those without texture coordinates get zeros."""
    flat = [corner_arrays(mesh, np.eye(4)) for mesh in meshes]
    uvs = [
        np.zeros((3 * len(m.triangles), 2)) if m.uvs is None else m.uvs[m.uv_triangles].reshape(-1, 2) for m in meshes
    ]
    positions, normals = (np.concatenate([pair[k] for pair in flat]).reshape(-1, 3) for k in range(2))
    corners = np.arange(len(positions), dtype=np.int32).reshape(-1, 3)
    return Mesh(
        vertices=positions,
        triangles=corners,
        material=meshes[0].material,
        normals=normals,
        normal_triangles=corners,
        uvs=np.concatenate(uvs),
        uv_triangles=corners,
    )


def placed(
    meshes: Sequence[Mesh], offset: npt.ArrayLike, degrees: float = 0.0, around: Transform = WORLD
) -> list[Part]:
    """Returns parts that show meshes, turned about the y axis and then moved. around: what moves all of it."""
    inner = around.inner(matrix=pose(offset, degrees))
    return [Part(mesh, inner) for mesh in meshes]
