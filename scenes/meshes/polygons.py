"""This module cuts polygons in space, with any number of corners, into triangles.

A polygon is a fan around its first corner where that covers it, as it does where it is convex. Others lose one ear
after the other: Meisters: Polygons Have Ears, 1975. A hole is part of the outline by a bridge that the outline goes
both ways, so that corners may lie on one another. An outline that crosses itself, or that has over MAX_CORNERS without
being a fan, is cut somehow, and told.

Corners are projected along the largest component of the sum of their cross products: Newell's normal (Sutherland,
Sproull, Schumacker: A Characterization of Ten Hidden-Surface Algorithms, 1974).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scenes.model import Doubles, Indices

Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]
Point = tuple[float, float]

#: A triangle of a fan may be so far on the wrong side, as a share of the polygon's area: corners are rounded.
SIDE_TOLERANCE = 1e-7
#: How far the sum of the turns along an outline may be from a whole one, in radians.
TURN_TOLERANCE = 1.0
#: Corners that are tried as ears for each corner of an outline, at most.
MOST_TRIALS = 8
#: An outline of more corners stays a fan.
MAX_CORNERS = 10_000


@dataclass(frozen=True, eq=False)
class Triangulation:
    """Holds the triangles of some polygons, by the number of their corners: first those that are triangles, then the
    first halves of quadrilaterals and their second ones, then all others.

    corners: (n, 3) int64, indices in the list of all corners.
    polygons: (n,) int64, the polygon of each triangle.
    crossing: (c,) int64, polygons that cross themselves or have too many corners.
    """

    corners: Numbers
    polygons: Numbers
    crossing: Numbers

    @property
    def in_order(self) -> "Triangulation":
        """Returns the same triangles in the order of the polygons."""
        order = np.argsort(self.polygons, kind="stable")
        return Triangulation(self.corners[order], self.polygons[order], self.crossing)


def triangulated(counts: npt.NDArray[np.integer], positions: Doubles) -> Triangulation:
    """Cuts polygons into as many triangles as they have corners beyond two.

    counts: (p,) int, corners of each polygon, at least 3.
    positions: (sum of counts, 3) float64, of the corners of all polygons, finite.
    """
    counts = counts.astype(np.int64)
    starts = np.cumsum(counts) - counts
    corners, polygons, crossing = [], [], []
    larger = [count for count in np.unique(counts).tolist() if count > 4]
    for count in (3, 4, *larger):
        own = np.flatnonzero(counts == count)
        indices = starts[own, None] + np.arange(count)
        cut, crosses = cut_alike(indices, positions)
        corners.append(cut.swapaxes(0, 1).reshape(-1, 3) if count == 4 else cut.reshape(-1, 3))
        polygons.append(np.tile(own, 2) if count == 4 else np.repeat(own, count - 2))
        crossing.append(own[crosses])
    if len(larger) > 1:
        order = np.argsort(np.concatenate(polygons[2:]), kind="stable")
        corners[2:] = [np.concatenate(corners[2:])[order]]
        polygons[2:] = [np.concatenate(polygons[2:])[order]]
    return Triangulation(np.concatenate(corners), np.concatenate(polygons), np.sort(np.concatenate(crossing)))


def cut_alike(indices: Numbers, positions: Doubles) -> tuple[Numbers, Flags]:
    """Returns the triangles (m, k - 2, 3) of polygons (m, k) of the same number of corners, and which of them cross
    themselves, (m,) bool."""
    count = indices.shape[1]
    crosses = np.zeros(len(indices), dtype=np.bool_)
    cut = indices[:, [[0, 1, 2], [2, 3, 0]] if count == 4 else fan(count)]
    if count > 3 and len(indices):
        for index in np.flatnonzero(~are_fans(positions[indices])).tolist():
            triangles, crosses[index] = without_ears(positions[indices[index]])
            cut[index] = indices[index][triangles]
    return cut, crosses


def polygon_triangles(positions: Doubles) -> tuple[Indices, bool]:
    """Returns the triangles (k - 2, 3) of one polygon (k, 3), and whether it crosses itself."""
    if len(positions) == 3 or are_fans(positions[None])[0]:
        return fan(len(positions)), False
    return without_ears(positions)


def fan(count: int) -> Indices:
    """Returns the triangles (count - 2, 3) of a convex polygon."""
    second = np.arange(1, count - 1, dtype=np.int32)
    return np.stack([np.zeros_like(second), second, second + 1], axis=-1)


def are_fans(positions: Doubles) -> Flags:
    """Returns which polygons (m, k, 3) the triangles around their first corner cover, (m,) bool."""
    spokes = positions[:, 1:] - positions[:, :1]
    crosses = np.cross(spokes[:, :-1], spokes[:, 1:])
    normals = crosses.sum(axis=1)
    sizes = np.einsum("ij,ij->i", normals, normals)
    along = np.einsum("ijk,ik->ij", crosses, normals)
    folded = np.sqrt(sizes) < SIDE_TOLERANCE * np.linalg.norm(crosses, axis=2).sum(axis=1)
    fits: Flags = (along >= -SIDE_TOLERANCE * sizes[:, None]).all(axis=1) & ~folded
    if positions.shape[1] > 4:  # fewer corners cannot go around twice
        sines = along / np.sqrt(np.where(sizes > 0.0, sizes, 1.0))[:, None]
        angles = np.arctan2(sines, np.einsum("ijk,ijk->ij", spokes[:, :-1], spokes[:, 1:]))
        fits &= angles.sum(axis=1) < 2.0 * np.pi + SIDE_TOLERANCE
    return fits


# --- ears -------------------------------------------------------------------------------------------------------------


class Outline:
    """Holds what is left of a polygon in the plane, counterclockwise.

    points: (k, 2) float64.
    """

    def __init__(self, points: Doubles) -> None:
        count = len(points)
        self.points = points
        self.places: list[Point] = [(x, y) for x, y in points.tolist()]
        self.before = [(index - 1) % count for index in range(count)]
        self.after = [(index + 1) % count for index in range(count)]
        self.axis = int(np.argmax(np.ptp(points, axis=0)))
        self.order = np.argsort(points[:, self.axis], kind="stable")
        self.keys = points[self.order, self.axis]
        #: Corners that turn away from the inside or not at all, of which one lies in each triangle that is no ear.
        self.is_reflex = np.array([self.turn(index) <= 0.0 for index in range(count)])

    def turn(self, corner: int) -> float:
        """Returns twice the area of the triangle of a corner and its neighbours, above 0 if it turns inward."""
        return doubled_area(*(self.places[index] for index in (self.before[corner], corner, self.after[corner])))

    def is_free(self, corner: int, *, touching: bool) -> bool:
        """Returns whether no other corner is within the triangle of a corner and its neighbours.

        touching: so are those on its border, but for those where its corners are.
        """
        a, b, c = triangle = [self.places[index] for index in (self.before[corner], corner, self.after[corner])]
        lower, upper = (choose(place[self.axis] for place in triangle) for choose in (min, max))
        first, last = np.searchsorted(self.keys, lower, "left"), np.searchsorted(self.keys, upper, "right")
        near = self.order[first:last]
        points = self.points[near[self.is_reflex[near]]]
        sides = np.stack([areas_beside(start, end, points) for start, end in ((a, b), (b, c), (c, a))])
        if not touching:
            return not (sides > 0.0).all(axis=0).any()
        within = points[(sides >= 0.0).all(axis=0)].tolist()
        return all((x, y) in triangle for x, y in within)

    def remove(self, corner: int) -> tuple[int, int, int]:
        """Cuts a corner off and returns its triangle."""
        before, after = self.before[corner], self.after[corner]
        self.after[before], self.before[after] = after, before
        self.is_reflex[corner] = False
        for neighbour in (before, after):
            self.is_reflex[neighbour] = self.turn(neighbour) <= 0.0
        return before, corner, after

    def is_ear(self, corner: int, patience: int) -> bool:
        """Returns whether a corner can be cut off. patience: 0 for those that leave a clean outline, 1 for those that
        may touch it, 2 for those without area too."""
        turn = self.turn(corner)
        if turn < 0.0 or (turn == 0.0 and patience < 2):
            return False
        return turn == 0.0 or self.is_free(corner, touching=patience == 0)


def without_ears(positions: Doubles) -> tuple[Indices, bool]:
    """Returns the triangles (k - 2, 3) of a polygon (k, 3), ear by ear, and whether it crosses itself."""
    if len(positions) > MAX_CORNERS:
        return fan(len(positions)), True
    points = projected(positions)
    outline = Outline(points)
    left, corner, missed, patience = len(points), 0, 0, 0
    triangles: list[tuple[int, int, int]] = []
    trials = MOST_TRIALS * left
    while left > 3 and patience < 3 and trials > 0:
        trials -= 1
        following = outline.after[corner]
        if outline.is_ear(corner, patience):
            triangles.append(outline.remove(corner))
            left, missed, patience = left - 1, 0, 0
            following = outline.after[following]  # not a fan of slivers
        else:
            missed += 1
        corner = following
        if missed == left:
            missed, patience = 0, patience + 1
    crosses = left > 3 or outline.turn(corner) < 0.0 or abs(whole_turn(points) - 2.0 * np.pi) > TURN_TOLERANCE
    while left > 2:
        following = outline.after[corner]
        triangles.append(outline.remove(corner))
        left, corner = left - 1, outline.after[following]
    return np.array(triangles, dtype=np.int32), crosses


def projected(positions: Doubles) -> Doubles:
    """Returns a polygon (k, 3) in the plane, (k, 2), counterclockwise and about its first corner."""
    spokes = positions - positions[0]
    crosses = np.cross(spokes[1:-1], spokes[2:])
    normal = crosses.sum(axis=0)
    if np.linalg.norm(normal) < SIDE_TOLERANCE * np.linalg.norm(crosses, axis=1).sum():  # it crosses itself
        normal = crosses[np.argmax(np.abs(crosses).sum(axis=1))]
    axis = int(np.argmax(np.abs(normal)))
    first, second = (axis + 1) % 3, (axis + 2) % 3
    return spokes[:, [first, second] if normal[axis] >= 0.0 else [second, first]]


def doubled_area(a: Point, b: Point, c: Point) -> float:
    """Returns twice the signed area of a triangle."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def areas_beside(start: Point, end: Point, points: Doubles) -> Doubles:
    """Returns twice the signed areas (n,) of the triangles of an edge and each of some points (n, 2)."""
    areas: Doubles = (end[0] - start[0]) * (points[:, 1] - start[1]) - (end[1] - start[1]) * (points[:, 0] - start[0])
    return areas


def whole_turn(points: Doubles) -> float:
    """Returns the sum of the turns at the corners of an outline (k, 2), in radians."""
    edges = np.roll(points, -1, axis=0) - points
    edges = edges[edges.any(axis=1)]
    ahead = np.roll(edges, -1, axis=0)
    crosses = edges[:, 0] * ahead[:, 1] - edges[:, 1] * ahead[:, 0]
    return float(np.arctan2(crosses, (edges * ahead).sum(axis=1)).sum())
