"""This module builds surfaces for scenes that are made by code, beside those of `scenes.meshes.shapes`.

Lengths are metres. Windings and normals point outward, of `panel` as its docstring says. Texture coordinates are metres
along a surface, along a tube first, or turns around it.
"""

import numpy as np
import numpy.typing as npt

from scenes.meshes.geometry import corner_indices, unit
from scenes.meshes.shapes import CREASE, grid_triangles, has_three_corners, rectangle, smoothed, unrolled_uvs
from scenes.model import Camera, Doubles, Mesh
from scenes.motion.transforms import compose, quaternion
from scenes.views.viewing import look_at, triple

Point = tuple[float, float, float]


def panel(corner: npt.ArrayLike, first: npt.ArrayLike, second: npt.ArrayLike, material: int) -> Mesh:
    """Returns a rectangle of two triangles from a corner and two edges, each (3,); its normal points along first x
    second.

    Texture coordinates are metres from the corner: u along the first edge, v along the second.
    """
    corner, first, second = (np.array(vector, dtype=np.float64) for vector in (corner, first, second))
    width, height = float(np.linalg.norm(first)), float(np.linalg.norm(second))
    triangles = np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32)
    return Mesh(
        vertices=np.array([corner, corner + first, corner + first + second, corner + second]),
        triangles=triangles,
        material=material,
        uvs=np.array([[0.0, 0.0], [width, 0.0], [width, height], [0.0, height]]),
        uv_triangles=triangles,
    )


def facing_square(place: npt.ArrayLike, side: float, material: int) -> Mesh:
    """Returns a square around a place (3,), with level edges of a length, whose normal points at the origin."""
    middle = np.array(place, dtype=np.float64)
    first = side * unit(np.cross((0.0, 1.0, 0.0), -middle))
    second = side * unit(np.cross(-middle, first))
    return rectangle(middle - 0.5 * (first + second), first, second, material)


def tube(path: npt.ArrayLike, radius: npt.ArrayLike, material: int, sides: int = 12) -> Mesh:
    """Makes a round bar along a path (n, 3), closed at its ends by flat caps, of 2 sides n triangles.

    Its rings turn no more about the path than its bends make them (Bishop: There Is More than One Way to Frame a Curve,
    1975).

    radius: one, or (n,).
    sides: of the polygon across.
    """
    path = np.array(path, dtype=np.float64)
    radii = np.broadcast_to(np.array(radius, dtype=np.float64), len(path))
    steps = unit(np.diff(path, axis=0))
    tangents = unit(np.vstack([steps[:1], steps[:-1] + steps[1:], steps[-1:]]))
    side = np.cross(tangents[0], np.eye(3)[np.abs(tangents[0]).argmin()])
    angles = 2.0 * np.pi * np.arange(sides) / sides
    rings = []
    for point, tangent, size in zip(path, tangents, radii, strict=True):
        side = unit(side - (side @ tangent) * tangent)
        across = np.outer(np.cos(angles), side) + np.outer(np.sin(angles), np.cross(tangent, side))
        rings.append(point + size * across)
    return loft(np.array(rings), material)


def loft(rings: npt.ArrayLike, material: int, crease: float = CREASE) -> Mesh:
    """Returns a closed skin over rings of points (k, n, 3), with flat caps around the middle of the first and the last.

    Seen from the end of the stack, each ring runs counter-clockwise. A ring may shrink to a point.
    """
    rings = np.array(rings, dtype=np.float64)
    first, last = (np.broadcast_to(ring.mean(axis=0), ring.shape)[None] for ring in rings[[0, -1]])
    return skin(np.concatenate([first, rings, last]), material, crease)


def skin(rings: npt.ArrayLike, material: int, crease: float = CREASE) -> Mesh:
    """Makes the skin of a `loft` without caps: open at both ends, or closed where the last ring is the first again."""
    rings = np.array(rings, dtype=np.float64)
    rows, columns = rings.shape[:2]
    unrolled = grid_triangles(rows, columns + 1)
    triangles = unrolled // (columns + 1) * columns + unrolled % (columns + 1) % columns
    vertices = rings.reshape(-1, 3)
    solid = has_three_corners(vertices[triangles])
    uvs = unrolled_uvs(rings.mean(axis=1), columns)
    return smoothed(vertices, triangles[solid], material, crease, (uvs, unrolled[solid]))


def pose(offset: npt.ArrayLike, degrees: float = 0.0, axis: npt.ArrayLike = (0.0, 1.0, 0.0)) -> Doubles:
    """Returns the (4, 4) map that turns about an axis (3,) through the origin and then moves by an offset (3,)."""
    turn = quaternion(np.array(axis, dtype=np.float64), degrees)
    return compose(np.ones(3), turn, np.array(offset, dtype=np.float64))


def slivers(random: np.random.Generator, start: Doubles, end: Doubles, width: float | Doubles) -> Doubles:
    """Returns triangles (n, 3, 3) from a base of some width, in metres, to a tip. start, end: (n, 3)."""
    side = unit(np.cross(end - start, random.normal(size=start.shape)))
    half = 0.5 * np.broadcast_to(width, len(start))[:, None] * side
    return np.stack([start - half, start + half, end], axis=1)


def loose(positions: Doubles, material: int) -> Mesh:
    """Makes a mesh of triangles (n, 3, 3) that share no vertices."""
    return Mesh(vertices=positions.reshape(-1, 3), triangles=corner_indices(len(positions)), material=material)


def viewpoint(eye: Point, target: Point, vertical_fov: float, near: float = 0.0) -> Camera:
    """Returns an upright camera at one point that looks at another.

    vertical_fov: degrees.
    near: metres, as of `Camera`.
    """
    forward, up = look_at(np.array(eye), np.array(target), np.array([0.0, 1.0, 0.0]))
    return Camera(eye=eye, forward=triple(forward), up=triple(up), vertical_fov=vertical_fov, near=near)
