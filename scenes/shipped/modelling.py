"""This module builds surfaces for scenes that are made by code.

Lengths are metres. Windings and normals point outward, of `panel` and `grid` as their docstrings say. Texture
coordinates are metres along a surface, so that a texture shows one metre, or turns around it; `u` is along the grain of
wood: along the longer edge of a box's face, along a tube, along the profile of a surface of revolution.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from scenes.document import Part
from scenes.geometry import corner_arrays, double_area_normals, unit
from scenes.model import Doubles, Indices, Mesh
from scenes.shapes import rectangle
from scenes.transforms import WORLD, Transform, compose, quaternion

#: Degrees between the normals of neighbours from which on the edge between them is sharp.
CREASE = 40.0

#: A radius of less metres is one of 0 with rounding errors.
ROUNDING = 1e-12


def box(lower: npt.ArrayLike, upper: npt.ArrayLike, material: int, bevel: float = 0.0) -> Mesh:
    """Makes a closed axis-aligned box between two corners (3,): 12 triangles, or 44 with bevelled edges.

    Each face's normal reaches to its border, and the normals of a bevel run from one to the other, so that edges look
    round.

    bevel: width that its edges lose, in metres.
    """
    lower, upper = np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)
    sides = np.array([[bit >> axis & 1 for axis in range(3)] for bit in range(8)])
    normals = np.array([(2 * side[axis] - 1) * np.eye(3)[axis] for side in sides for axis in range(3)])
    corners = np.repeat(np.where(sides == 1, upper, lower), 3, axis=0)
    inset = np.repeat(1 - 2 * sides, 3, axis=0) * (1 - np.abs(normals))
    vertices = corners + bevel * inset
    triangles = box_triangles(bevelled=bevel > 0.0)
    heights = np.sum(double_area_normals(vertices[triangles]) * (vertices[triangles[:, 0]] - (lower + upper) / 2), -1)
    triangles[heights < 0.0] = triangles[heights < 0.0][:, ::-1]
    uvs = box_uvs(vertices[triangles], upper - lower)
    return Mesh(
        vertices=vertices,
        triangles=triangles,
        material=material,
        normals=normals,
        normal_triangles=triangles,
        uvs=uvs.reshape(-1, 2),
        uv_triangles=np.arange(3 * len(triangles), dtype=np.int32).reshape(-1, 3),
    )


def box_triangles(bevelled: bool) -> Indices:
    """Returns the vertices of triangles, (12, 3) or (44, 3) int32, of any winding: faces, edges, corners. Vertex 3 c +
    a is that of corner c, whose bits tell its sides, on the face across axis a."""
    quads, tips = [], []
    for axis in range(3):
        one, two = 1 << (axis + 1) % 3, 1 << (axis + 2) % 3
        for corner in (0, 1 << axis):
            quads.append([3 * (corner | step) + axis for step in (0, one, one | two, two)])
        if bevelled:
            first, second, end = (axis + 1) % 3, (axis + 2) % 3, 1 << axis
            for side in (0, one, two, one | two):
                quads.append(
                    [3 * c + a for c, a in ((side, first), (side | end, first), (side | end, second), (side, second))]
                )
    if bevelled:
        tips = [[3 * corner, 3 * corner + 1, 3 * corner + 2] for corner in range(8)]
    halves = [[[a, b, c], [a, c, d]] for a, b, c, d in quads]
    return np.array([triangle for half in halves for triangle in half] + tips, dtype=np.int32)


def box_uvs(positions: Doubles, size: Doubles) -> Doubles:
    """Returns texture coordinates, (n, 3, 2) in metres, on the faces of a box of a size (3,): u along the longer edge.

    positions: (n, 3, 3).
    """
    across = np.abs(double_area_normals(positions)).argmax(axis=-1)
    longer = np.array([[axis for axis in np.argsort(-size, kind="stable") if axis != a] for a in range(3)])
    return np.take_along_axis(positions, longer[across][:, None, :], axis=-1)


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


def lathe(profile: npt.ArrayLike, segments: int, material: int, crease: float = CREASE) -> Mesh:
    """Makes a surface of revolution about the y axis with smooth normals, of about 2 segments (n - 1) triangles.

    profile: (n, 2) radius >= 0 and height. Walking along it, outside is on the right: from the axis outward and up. One
        that begins and ends on the axis, or where it began, gives a closed surface.
    crease: degrees; sharper corners of the profile stay edges.
    """
    profile = np.array(profile, dtype=np.float64)
    profile[np.abs(profile[:, 0]) < ROUNDING, 0] = 0.0
    angles = 2.0 * np.pi * np.arange(segments) / segments
    around = np.stack([np.sin(angles), np.zeros(segments), np.cos(angles)], axis=-1)
    up = np.array([0.0, 1.0, 0.0])
    vertices = profile[:, 0, None, None] * around + profile[:, 1, None, None] * up
    ends = profile_normals(profile, crease).reshape(-1, 2)
    normals = ends[:, 0, None, None] * around + ends[:, 1, None, None] * up
    unrolled = grid_triangles(len(profile), segments + 1)
    rows, columns = unrolled // (segments + 1), unrolled % (segments + 1)
    triangles = rows * segments + columns % segments
    step = rows.min(axis=1, keepdims=True)
    solid = has_three_corners(vertices.reshape(-1, 3)[triangles])
    return Mesh(
        vertices=vertices.reshape(-1, 3),
        triangles=triangles[solid],
        material=material,
        normals=normals.reshape(-1, 3),
        normal_triangles=((step + rows) * segments + columns % segments)[solid],
        uvs=unrolled_uvs(profile, segments),
        uv_triangles=unrolled[solid],
    )


def profile_normals(profile: Doubles, crease: float) -> Doubles:
    """Returns unit normals (n - 1, 2, 2), radial and upward, at both ends of each step of a profile (n, 2).

    Steps that join at less than the crease share the normal between theirs. At the axis a step joins its mirror image,
    and the last step of a closed profile joins the first.
    """
    steps = np.diff(profile, axis=0)
    normals = unit(np.stack([steps[:, 1], -steps[:, 0]], axis=-1))
    mirror = np.array([-1.0, 1.0])
    if np.array_equal(profile[0], profile[-1]):
        before, after = normals[-1], normals[0]
    else:
        before = normals[0] * (mirror if profile[0, 0] == 0.0 else 1.0)
        after = normals[-1] * (mirror if profile[-1, 0] == 0.0 else 1.0)
    neighbours = np.stack([np.vstack([before, normals[:-1]]), np.vstack([normals[1:], after])], axis=1)
    own = np.repeat(normals[:, None, :], 2, axis=1)
    smooth = np.sum(own * neighbours, axis=-1, keepdims=True) > math.cos(math.radians(crease))
    return np.where(smooth, unit(own + neighbours), own)


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


def frame(lower: npt.ArrayLike, upper: npt.ArrayLike, border: float, material: int) -> Mesh:
    """Returns a closed box between two corners (3,) with a hole along z: 32 triangles. border: width of its bars."""
    lower, upper = np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)
    rings = []
    for inset, depth in ((0.0, lower[2]), (0.0, upper[2]), (border, upper[2]), (border, lower[2]), (0.0, lower[2])):
        (left, bottom), (right, top) = lower[:2] + inset, upper[:2] - inset
        rings.append([[left, bottom, depth], [right, bottom, depth], [right, top, depth], [left, top, depth]])
    return skin(rings, material)


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


def grid(points: npt.ArrayLike, material: int, crease: float = CREASE) -> Mesh:
    """Returns a sheet through points (rows, columns, 3); its normal points along (next column) x (next row).

    Texture coordinates are metres: u along the first row, v along the first column. 2 (rows - 1) (columns - 1)
    triangles.
    """
    points = np.array(points, dtype=np.float64)
    rows, columns = points.shape[:2]
    triangles = grid_triangles(rows, columns)
    u, v = np.meshgrid(lengths(points[0]), lengths(points[:, 0]))
    uvs = np.stack([u.ravel(), v.ravel()], axis=-1)
    return smoothed(points.reshape(-1, 3), triangles, material, crease, (uvs, triangles))


def smoothed(
    vertices: Doubles, triangles: Indices, material: int, crease: float, uvs: tuple[Doubles, Indices] | None = None
) -> Mesh:
    """Returns triangles with smooth normals: at each corner the mean of the faces there that join its own at less than
    the crease, in degrees, weighted by their angles (Thürmer, Wüthrich: Computing Vertex Normals from Polygonal Facets,
    1998). Vertices that coincide count as one.

    uvs: texture coordinates and their triangles.
    """
    _, indices = np.unique(vertices, axis=0, return_inverse=True)
    positions = vertices[triangles]
    faces, angles = unit(double_area_normals(positions)), corner_angles(positions)
    order = np.argsort(indices.ravel()[triangles].ravel(), kind="stable")
    counts = np.bincount(indices.ravel()[triangles].ravel())
    counts = counts[counts > 0]
    ends = np.cumsum(counts)
    pairs = np.repeat(counts, counts)
    mine = np.repeat(order, pairs)
    offsets = np.arange(len(mine)) - np.repeat(np.cumsum(pairs) - pairs, pairs)
    theirs = order[np.repeat(np.repeat(ends - counts, counts), pairs) + offsets]
    near = np.sum(faces[mine // 3] * faces[theirs // 3], axis=-1) > math.cos(math.radians(crease))
    sums = np.zeros((triangles.size, 3))
    np.add.at(sums, mine[near], faces[theirs[near] // 3] * angles.ravel()[theirs[near], None])
    return Mesh(
        vertices=vertices,
        triangles=triangles,
        material=material,
        normals=unit(sums),
        normal_triangles=np.arange(triangles.size, dtype=np.int32).reshape(-1, 3),
        uvs=uvs[0] if uvs else None,
        uv_triangles=uvs[1] if uvs else None,
    )


def corner_angles(positions: Doubles) -> Doubles:
    """Returns the angles (n, 3) in radians at the corners of triangles (n, 3, 3)."""
    after = unit(np.roll(positions, -1, axis=1) - positions)
    before = unit(np.roll(positions, 1, axis=1) - positions)
    return np.arccos(np.clip(np.sum(after * before, axis=-1), -1.0, 1.0))


def grid_triangles(rows: int, columns: int) -> Indices:
    """Returns the triangles, (2 (rows - 1) (columns - 1), 3) int32, between the points of a grid, stored row after
    row."""
    corner = (columns * np.arange(rows - 1)[:, None] + np.arange(columns - 1)).reshape(-1, 1)
    halves = np.concatenate([corner + [0, 1, columns + 1], corner + [0, columns + 1, columns]], axis=1)
    return halves.reshape(-1, 3).astype(np.int32)


def has_three_corners(positions: Doubles) -> npt.NDArray[np.bool_]:
    """Returns whether no two corners of each of the triangles (n, 3, 3) coincide, (n,) bool."""
    return (positions != np.roll(positions, 1, axis=1)).any(axis=-1).all(axis=-1)


def unrolled_uvs(line: Doubles, segments: int) -> Doubles:
    """Returns the texture coordinates (n (segments + 1), 2) of a surface around a line (n, any): u is metres along it,
    v is turns."""
    u, v = np.meshgrid(lengths(line), np.arange(segments + 1) / segments, indexing="ij")
    return np.stack([u.ravel(), v.ravel()], axis=-1)


def lengths(line: Doubles) -> Doubles:
    """Returns the length (n,) of a line of points (n, any) up to each of them."""
    return np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=-1))])


def curve(points: npt.ArrayLike, steps: int) -> Doubles:
    """Returns points (steps (n - 1) + 1, d) on a smooth curve through given ones (n, d), for a profile or a path.

    Catmull, Rom: A Class of Local Interpolating Splines (1974). A point that is there twice is a corner, and takes no
    steps.
    """
    points = np.array(points, dtype=np.float64)
    corner = (points[1:] == points[:-1]).all(axis=-1)
    slopes = np.gradient(points, axis=0)
    t = np.arange(steps)[:, None] / steps
    pieces = [
        (1 + 2 * t) * (1 - t) ** 2 * p + t * (1 - t) ** 2 * p_slope + t**2 * (3 - 2 * t) * q - t**2 * (1 - t) * q_slope
        for p, q, p_slope, q_slope, double in zip(points, points[1:], slopes, slopes[1:], corner, strict=False)
        if not double
    ]
    return np.concatenate([*pieces, points[-1:]])


def arc(center: tuple[float, float], radius: float, degrees: tuple[float, float], steps: int) -> Doubles:
    """Returns points (steps + 1, 2) on a circle, for a profile: from one angle to another, 0 outward and 90 up.

    A full turn ends exactly where it began.
    """
    angles = np.radians(np.linspace(*degrees, steps + 1) % 360.0)
    return np.array(center) + radius * np.stack([np.cos(angles), np.sin(angles)], axis=-1)


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


def pose(offset: npt.ArrayLike, degrees: float = 0.0, axis: npt.ArrayLike = (0.0, 1.0, 0.0)) -> Doubles:
    """Returns the (4, 4) map that turns about an axis (3,) through the origin and then moves by an offset (3,)."""
    turn = quaternion(np.array(axis, dtype=np.float64), degrees)
    return compose(np.ones(3), turn, np.array(offset, dtype=np.float64))
