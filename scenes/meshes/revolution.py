"""This module turns profiles about an axis, with texture coordinates of any range, and turns meshes inside out."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from scenes.meshes.geometry import areas, rewound
from scenes.model import Doubles, Mesh


def inverted(mesh: Mesh) -> Mesh:
    """Returns a mesh turned inside out."""
    return replace(rewound(mesh), normals=None if mesh.normals is None else -mesh.normals)


def mapped_uvs(mesh: Mesh, matrix: Doubles) -> Mesh:
    """Returns a mesh with its texture coordinates under a (3, 3) affine map."""
    if mesh.uvs is None or np.array_equal(matrix, np.eye(3)):
        return mesh
    return replace(mesh, uvs=mesh.uvs @ matrix[:2, :2].T + matrix[:2, 2])


def revolved(profile: Doubles, normals: Doubles, v: Doubles, segments: int, angle: float = 2.0 * np.pi) -> Mesh:
    """Turns a profile about z, with u around it from x over y, and v as each point of it has it. The same mesh is
    returned for the same profile, as long as there were few others since.

    profile: (r, 2) distances from the axis and heights, the outside to the left of where it goes.
    normals: (r, 2).
    segments: how many quadrilaterals are around it.
    angle: how far it is turned, radians.
    """
    return _revolved(*(array.astype(np.float64).tobytes() for array in (profile, normals, v)), segments, angle)


@lru_cache(maxsize=16)
def _revolved(profile_bytes: bytes, normal_bytes: bytes, v_bytes: bytes, segments: int, angle: float) -> Mesh:
    """Makes the mesh of `revolved` of the bytes of its arrays."""
    profile, normals = (np.frombuffer(data).reshape(-1, 2) for data in (profile_bytes, normal_bytes))
    v = np.frombuffer(v_bytes)
    u = np.linspace(0.0, 1.0, segments + 1)
    spokes = np.stack([np.cos(angle * u), np.sin(angle * u)], axis=-1)
    vertices = turned(profile, spokes)
    corners = np.arange(len(vertices)).reshape(len(profile), segments + 1)
    a, b, c, d = corners[:-1, :-1], corners[1:, :-1], corners[1:, 1:], corners[:-1, 1:]
    quads = np.stack([np.stack([a, b, c], axis=-1), np.stack([a, c, d], axis=-1)])
    triangles = quads.reshape(-1, 3).astype(np.int32)
    triangles = triangles[areas(vertices[triangles]) > 1e-12]  # those at the poles have none
    return Mesh(
        vertices=vertices,
        triangles=triangles,
        material=0,
        normals=turned(normals, spokes),
        normal_triangles=triangles,
        uvs=np.stack(np.broadcast_arrays(u, v[:, None]), axis=-1).reshape(-1, 2),
        uv_triangles=triangles,
    )


def turned(profile: Doubles, spokes: Doubles) -> Doubles:
    """Returns the points (r c, 3) of a profile (r, 2) in each of some directions (c, 2)."""
    flat = profile[:, None, :1] * spokes
    heights = np.broadcast_to(profile[:, None, 1:], (*flat.shape[:2], 1))
    return np.concatenate([flat, heights], axis=-1).reshape(-1, 3)
