"""This module makes meshes of shapes: round ones with exact normals at their vertices, boxes, and surfaces that a
profile is turned or drawn out to.

Lengths are metres. Texture coordinates are metres along a surface, so that a texture shows one metre, or turns around
it; `u` is along the grain of wood: along the longer edge of a box's face, along the profile of a surface of revolution.
"""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from scenes.meshes.geometry import double_area_normals, unit
from scenes.model import Doubles, Indices, Mesh

SPHERE_SEGMENTS = 32
CONE_SEGMENTS = 48

#: Degrees between the normals of neighbours from which on the edge between them is sharp.
CREASE = 40.0

#: A radius of less metres is one of 0 with rounding errors.
ROUNDING = 1e-12


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


def box(lower: npt.ArrayLike, upper: npt.ArrayLike, material: int, bevel: float = 0.0) -> Mesh:
    """Makes a closed axis-aligned box between two corners (3,): 12 triangles, or 44 with bevelled edges.

    Each face's normal reaches to its border, and the normals of a bevel run from one to the other, so that edges look
    round.

    bevel: width that its edges lose, in metres.
    """
    lower, upper = np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)
    vertices, normals = box_vertices(lower, upper, bevel)
    triangles = box_triangles(bevelled=bevel > 0.0)
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


def box_vertices(lower: Doubles, upper: Doubles, bevel: float) -> tuple[Doubles, Doubles]:
    """Returns the vertices and the normals of `box`, both (24, 3): 3 c + a is that of corner c, whose bits tell its
    sides, on the face across axis a."""
    sides = np.array([[bit >> axis & 1 for axis in range(3)] for bit in range(8)])
    normals = np.array([(2 * side[axis] - 1) * np.eye(3)[axis] for side in sides for axis in range(3)])
    corners = np.repeat(np.where(sides == 1, upper, lower), 3, axis=0)
    inset = np.repeat(1 - 2 * sides, 3, axis=0) * (1 - np.abs(normals))
    return corners + bevel * inset, normals


@lru_cache(maxsize=2)
def box_triangles(bevelled: bool) -> Indices:
    """Returns the vertices of the triangles of `box`, (12, 3) or (44, 3) int32: faces, edges, corners. They are kept,
    and not to be written to."""
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
    triangles = np.array([triangle for half in halves for triangle in half] + tips, dtype=np.int32)
    vertices, _ = box_vertices(-np.ones(3), np.ones(3), 0.5 if bevelled else 0.0)
    outward = np.sum(double_area_normals(vertices[triangles]) * vertices[triangles[:, 0]], axis=-1) > 0.0
    return np.where(outward[:, None], triangles, triangles[:, ::-1])


def box_uvs(positions: Doubles, size: Doubles) -> Doubles:
    """Returns texture coordinates, (n, 3, 2) in metres, on the faces of a box of a size (3,): u along the longer edge.

    positions: (n, 3, 3).
    """
    across = np.abs(double_area_normals(positions)).argmax(axis=-1)
    longer = np.array([[axis for axis in np.argsort(-size, kind="stable") if axis != a] for a in range(3)])
    return np.take_along_axis(positions, longer[across][:, None, :], axis=-1)


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
