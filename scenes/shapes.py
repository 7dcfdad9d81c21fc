"""This module makes meshes of curved surfaces, with exact normals at their vertices."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from scenes.model import Doubles, Indices, Mesh

SPHERE_SEGMENTS = 32
CONE_SEGMENTS = 48


def sphere(center: Doubles, radius: float, material: int, segments: int = SPHERE_SEGMENTS) -> Mesh:
    """Makes a closed sphere of meridians and parallels with its poles on the y axis, outward winding and normals.

    It has 2 segments (segments / 2 - 1) triangles. A negative radius turns it inside out.

    segments: meridians (even); the parallels divide a half circle into half as many.
    """
    normals, triangles = unit_sphere(segments)
    if radius < 0.0:
        normals, triangles = -normals, triangles[:, ::-1].copy()
    vertices = center + radius * normals
    return Mesh(vertices=vertices, triangles=triangles, normals=normals, normal_triangles=triangles, material=material)


@lru_cache(maxsize=64)
def unit_sphere(segments: int) -> tuple[Doubles, Indices]:
    """Returns the normals, (n, 3), and the triangles of `sphere`. They are kept, and not to be written to."""
    rings = segments // 2
    polar = np.pi * np.arange(1, rings) / rings
    around = 2.0 * np.pi * np.arange(segments) / segments
    ring = np.stack(
        [
            np.outer(np.sin(polar), np.sin(around)),
            np.outer(np.cos(polar), np.ones(segments)),
            np.outer(np.sin(polar), np.cos(around)),
        ],
        axis=-1,
    )
    normals = np.concatenate([[[0.0, 1.0, 0.0]], ring.reshape(-1, 3), [[0.0, -1.0, 0.0]]])
    return normals, sphere_triangles(rings, segments)


def sphere_triangles(rings: int, segments: int) -> Indices:
    """Returns the vertices, (n, 3) int32, of the triangles of `sphere`: north cap, bands from north to south, south
    cap."""
    j = np.arange(segments)
    k = (j + 1) % segments
    north, south = 0, (rings - 1) * segments + 1
    upper = 1 + segments * np.arange(rings - 2)[:, None]
    a, b, c, d = upper + j, upper + k, upper + segments + j, upper + segments + k
    last = south - segments
    parts = [
        np.stack([np.full(segments, north), 1 + j, 1 + k], axis=-1),
        np.stack([a, c, d], axis=-1).reshape(-1, 3),
        np.stack([a, d, b], axis=-1).reshape(-1, 3),
        np.stack([last + j, np.full(segments, south), last + k], axis=-1),
    ]
    return np.concatenate(parts).astype(np.int32)


def cone(
    ends: Doubles, radii: tuple[float, float], material: int, *, inside: bool = False, segments: int = CONE_SEGMENTS
) -> Mesh:
    """Makes an open cone or cylinder between two different points.

    ends: (2, 3), base and apex.
    radii: >= 0, at each end.
    segments: sides of the polygon around it.

    Winding and normals point outward, or inward if `inside`.
    """
    axis = ends[1] - ends[0]
    height = float(np.linalg.norm(axis))
    axis = axis / height
    side = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    side /= np.linalg.norm(side)
    around = 2.0 * np.pi * np.arange(segments) / segments
    spokes = np.outer(np.cos(around), side) + np.outer(np.sin(around), np.cross(axis, side))
    normals = spokes + axis * ((radii[0] - radii[1]) / height)
    vertices = np.concatenate([ends[0] + radii[0] * spokes, ends[1] + radii[1] * spokes])
    j = np.arange(segments)
    k = (j + 1) % segments
    quads = [np.stack([j, k, k + segments], axis=-1), np.stack([j, k + segments, j + segments], axis=-1)]
    triangles = np.concatenate(quads).astype(np.int32)
    if inside:
        normals, triangles = -normals, triangles[:, ::-1].copy()
    return Mesh(
        vertices=vertices,
        triangles=triangles,
        normals=np.concatenate([normals, normals]),
        normal_triangles=triangles,
        material=material,
    )


def rectangle(corner: npt.ArrayLike, first: npt.ArrayLike, second: npt.ArrayLike, material: int) -> Mesh:
    """Makes a parallelogram of two triangles from a corner and two edges; its normal points along first x second."""
    corner, first, second = np.array(corner), np.array(first), np.array(second)
    vertices = np.array([corner, corner + first, corner + first + second, corner + second], dtype=np.float64)
    return Mesh(vertices=vertices, triangles=np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32), material=material)
