"""This module makes triangles of curves: strips where their normals are given, else tubes.

A tube has the surface of the cylinder about the curve, so that it is as wide as that in the mean of all directions from
which it is seen (Cauchy, 1841: the shadow of a convex body is a quarter of its surface).
"""

import math
from functools import lru_cache

import numpy as np

from scenes.files.source_file import MAX_TRIANGLES
from scenes.meshes.geometry import unit
from scenes.model import Doubles, Indices, Mesh
from scenes.pbrt.files import PbrtFiles
from scenes.pbrt.parameters import NORMALS, POINTS, Parameters

#: From the points of a piece of a B-spline of a degree to those of Bézier's.
OF_BSPLINE = {
    2: np.array([[1.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 1.0, 1.0]]) / 2.0,
    3: np.array([[1.0, 4.0, 1.0, 0.0], [0.0, 4.0, 2.0, 0.0], [0.0, 2.0, 4.0, 0.0], [0.0, 1.0, 4.0, 1.0]]) / 6.0,
}
#: From the three points of a parabola to the four of a cubic.
ELEVATED = np.array([[3.0, 0.0, 0.0], [1.0, 2.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 3.0]]) / 3.0
TYPES, BASES = ("flat", "cylinder", "ribbon"), ("bezier", "bspline")
#: A curve that is longer than so many of its widths is thin.
THIN = 20.0
#: Sides of a tube, of a thin curve and of others, and how far their chords may be off, in widths.
SIDES, SLACK = (3, 8), (0.5, 0.05)
#: Parts of a piece at most, and at least where a ribbon is twisted.
MOST_STEPS, TWISTED_STEPS = 16, 8


def strand(files: PbrtFiles, parameters: Parameters) -> Mesh:
    """Returns the mesh of a curve. u runs along it, v across it or around it."""
    kind = choice(parameters, "type", "flat", TYPES)
    pieces = cubic_pieces(parameters)
    usual = parameters.number("width", 1.0, low=0.0)
    first, last = (parameters.number(f"width{end}", usual, low=0.0) for end in (0, 1))
    normals = parameters.rows("N", *NORMALS)
    if kind == "ribbon" and (normals is None or len(normals) != len(pieces) + 1):
        raise parameters.error(f"expected {len(pieces) + 1} normals N of a ribbon, one at each end of its pieces")
    if kind == "flat":
        files.tell(parameters.place, "a flat curve, which faces whoever looks, becomes a tube")
    parameters.skip("splitdepth", "N")
    width = max(first, last)
    is_thin = float(np.linalg.norm(np.diff(pieces, axis=1), axis=2).sum()) > THIN * width
    steps = steps_of(pieces, SLACK[0 if is_thin else 1] * width)
    if kind == "ribbon" and normals is not None and np.ptp(normals, axis=0).any():
        steps = max(steps, TWISTED_STEPS)
    sides = SIDES[0 if is_thin else 1]
    if 2 * sides * steps * len(pieces) > MAX_TRIANGLES:
        raise parameters.error(f"a curve of {len(pieces)} pieces has over {MAX_TRIANGLES} triangles")
    u = np.linspace(0.0, 1.0, len(pieces) * steps + 1)
    points, along = evaluated(pieces, u)
    widths = first + (last - first) * u
    if kind == "ribbon" and normals is not None:
        across = np.stack([np.interp(u * len(pieces), np.arange(len(normals)), own) for own in normals.T], axis=-1)
        sideways = unit(np.cross(along, across))
        rows = np.stack([points + 0.5 * sign * widths[:, None] * sideways for sign in (-1.0, 1.0)], axis=1)
        return grid(rows, np.repeat(unit(across)[:, None], 2, axis=1))
    return tube(points, along, widths, sides)


def choice(parameters: Parameters, name: str, default: str, known: tuple[str, ...]) -> str:
    """Takes a text that is one of some."""
    text = parameters.text(name, default)
    if text not in known:
        raise parameters.error(f"expected a {name} of a curve that is one of {', '.join(known)}, got {text[:80]!r}")
    return text


def cubic_pieces(parameters: Parameters) -> Doubles:
    """Takes the points of a curve; returns those of its pieces as cubics by Bézier, (n, 4, 3)."""
    points, degree = parameters.rows("P", *POINTS), int(parameters.number("degree", 3.0))
    is_bezier = choice(parameters, "basis", "bezier", BASES) == "bezier"
    if degree not in OF_BSPLINE:
        raise parameters.error(f"expected a degree of a curve that is 2 or 3, got {degree}")
    count, stride = 0 if points is None else len(points), degree if is_bezier else 1
    if points is None or count <= degree or (count - 1 - degree) % stride:
        wanted = f"{degree + 1} and then {stride} points P for each piece"
        raise parameters.error(f"expected {wanted} of a curve, got {count}")
    starts = np.arange(0, count - degree, stride)
    pieces = points[starts[:, None] + np.arange(degree + 1)]
    if not is_bezier:
        pieces = OF_BSPLINE[degree] @ pieces
    return pieces if degree == 3 else ELEVATED @ pieces


def steps_of(pieces: Doubles, error: float) -> int:
    """Returns into how many parts each piece is cut, so that chords are off by an error at most: an eighth of the
    second derivative over the square of their number."""
    bend = 6.0 * float(np.linalg.norm(np.diff(pieces, 2, axis=1), axis=2).max())
    return max(math.ceil(min(math.sqrt(bend / (8.0 * error)), MOST_STEPS)), 1) if error > 0.0 else MOST_STEPS


def evaluated(pieces: Doubles, u: Doubles) -> tuple[Doubles, Doubles]:
    """Returns the points and unit tangents of a curve, both (m, 3). u: (m,), from 0 to 1 over all pieces."""
    own = np.minimum((u * len(pieces) + 1e-9).astype(np.int64), len(pieces) - 1)
    t = (u * len(pieces) - own)[:, None]
    a, b, c, d = (pieces[own, corner] for corner in range(4))
    s = 1.0 - t
    points = s**3 * a + 3.0 * s * s * t * b + 3.0 * s * t * t * c + t**3 * d
    slopes = s * s * (b - a) + 2.0 * s * t * (c - b) + t * t * (d - c)
    is_still = ~slopes.any(axis=1)
    slopes[is_still] = (d - a)[is_still]
    return points, unit(slopes)


def tube(points: Doubles, along: Doubles, widths: Doubles, sides: int) -> Mesh:
    """Returns a tube about points, with round normals. widths: (m,), of the cylinder whose surface it has."""
    axis = np.linalg.eigh(along.T @ along)[1][:, 0]  # which the tangents are farthest from
    x = unit(np.cross(axis, along))
    y = np.cross(along, x)
    angles = 2.0 * math.pi * np.arange(sides + 1) / sides
    outward = x[:, None] * np.cos(angles)[:, None] + y[:, None] * np.sin(angles)[:, None]
    radii = widths * math.pi / (2.0 * sides * math.sin(math.pi / sides))
    return grid(points[:, None] + radii[:, None, None] * outward, outward)


def grid(points: Doubles, normals: Doubles) -> Mesh:
    """Returns two triangles between each four neighbours of a grid (m, k, 3), seen from where normals point."""
    triangles, uvs = grid_triangles(*points.shape[:2])
    return Mesh(
        vertices=points.reshape(-1, 3),
        triangles=triangles,
        material=0,
        normals=normals.reshape(-1, 3),
        normal_triangles=triangles,
        uvs=uvs,
        uv_triangles=triangles,
    )


@lru_cache(maxsize=128)
def grid_triangles(rows: int, columns: int) -> tuple[Indices, Doubles]:
    """Returns the triangles of a grid, (n, 3), and the texture coordinates of its points, which many curves share."""
    corners = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    a, b, c, d = corners[:-1, :-1], corners[:-1, 1:], corners[1:, 1:], corners[1:, :-1]
    triangles = np.stack([np.stack([a, b, c], axis=-1), np.stack([a, c, d], axis=-1)]).reshape(-1, 3)
    u, v = np.meshgrid(np.linspace(0.0, 1.0, rows), np.linspace(1.0, 0.0, columns), indexing="ij")
    return triangles, np.stack([u, v], axis=-1).reshape(-1, 2)
