"""This module subdivides meshes of triangles into smooth surfaces.

Loop: Smooth Subdivision Surfaces Based on Triangles, 1987; the weights about a vertex are those of Warren: Subdivision
Methods for Geometric Design, 1995. A border is smoothed by itself alone: it is the cubic B-spline of its vertices.
Tangents are left eigenvectors of what a division does to a vertex and its neighbours, as in Hoppe et al.: Piecewise
Smooth Surface Reconstruction, 1994.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from scenes.meshes.geometry import unit
from scenes.model import Doubles, Mesh

Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.signedinteger]
#: What the neighbours of a vertex weigh together when it is smoothed, and in the limit: at a border, where three edges
#: meet, and elsewhere.
SMOOTH, LIMIT = (1 / 4, 9 / 16, 3 / 8), (1 / 3, 3 / 5, 1 / 2)
#: Neighbours of a vertex that its normal is made of, at most.
MOST_NEIGHBOURS = 10_000


@dataclass(frozen=True, eq=False)
class LoopMesh:
    """Holds triangles and what is next to what.

    points: (n, 3).
    triangles: (t, 3).
    edges: (e, 2), the vertices at their ends.
    sides: (t, 3), the edges from each corner to the next one.
    counts: (e,), of the triangles at each edge.
    """

    points: Doubles
    triangles: Indices
    edges: Indices
    sides: Indices
    counts: Indices

    @classmethod
    def of(cls, points: Doubles, triangles: Indices) -> "LoopMesh":
        """Finds the edges of triangles."""
        ends = np.sort(np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=-1).reshape(-1, 2), axis=1)
        keys, sides, counts = np.unique(
            ends[:, 0] * np.int64(len(points)) + ends[:, 1], return_inverse=True, return_counts=True
        )
        edges = np.stack(np.divmod(keys, len(points)), axis=-1)
        return cls(points, triangles, edges, sides.reshape(-1, 3), counts)

    @cached_property
    def at_border(self) -> Flags:
        """Returns whether each vertex is at a border, (n,)."""
        found = np.zeros(len(self.points), np.bool_)
        found[self.edges[self.counts == 1]] = True
        return found

    @cached_property
    def valences(self) -> Indices:
        """Returns how many edges meet in each vertex, (n,)."""
        return np.bincount(self.edges.ravel(), minlength=len(self.points))

    def averaged(self, shares: tuple[float, float, float]) -> Doubles:
        """Returns the vertices (n, 3), each moved toward the mean of its neighbours. shares: as `SMOOTH` has them."""
        ends = np.concatenate([self.edges, self.edges[:, ::-1]])
        ends = ends[np.tile(self.counts == 1, 2) | ~self.at_border[ends[:, 0]]]
        mean = means(ends[:, 0], self.points[ends[:, 1]], len(self.points))
        share = np.select([self.at_border, self.valences == 3], shares[:2], shares[2])[:, None]
        moved: Doubles = (1.0 - share) * self.points + share * mean
        return moved

    def subdivided(self) -> "LoopMesh":
        """Returns the mesh of four triangles for each one: about its three corners and between them."""
        middles = self.points[self.edges].mean(axis=1)
        across = means(self.sides.ravel(), self.points[np.roll(self.triangles, 1, axis=1).ravel()], len(self.edges))
        odd = np.where((self.counts == 1)[:, None], middles, 0.75 * middles + 0.25 * across)
        points = np.concatenate([self.averaged(SMOOTH), odd])
        a, b, c = self.triangles.T
        ab, bc, ca = self.sides.T + len(self.points)
        corners = [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
        triangles = np.concatenate([np.stack(own, axis=-1) for own in corners])
        return LoopMesh.of(points, triangles)

    def normals(self) -> Doubles:
        """Returns the unit normals (n, 3) of the limit surface at its vertices, by tangents that are sums over the
        neighbours of each in their order, counterclockwise."""
        after, first = self.turns()
        along, across = np.zeros_like(self.points), np.zeros_like(self.points)
        starts, ends = self.triangles.ravel(), np.roll(self.triangles, -1, axis=1).ravel()
        before = np.roll(self.triangles, 1, axis=1).ravel()
        here = first[first >= 0]
        for step in range(MOST_NEIGHBOURS):
            if not len(here):
                break
            self.add(along, across, step, (starts[here], ends[here]))
            is_last = after[here] < 0
            self.add(along, across, step + 1, (starts[here[is_last]], before[here[is_last]]))
            here = after[here[~is_last]]
            here = here[here != first[starts[here]]]
        return unit(np.cross(along, across))

    def turns(self) -> tuple[Indices, Indices]:
        """Returns of each side (3 t,), in the order of corners, the next one counterclockwise that leaves the same
        vertex, or -1 at a border; and of each vertex (n,) the first one that leaves it, or -1."""
        sides, starts = self.sides.ravel(), self.triangles.ravel()
        order = np.argsort(sides, kind="stable")
        pairs = order[(self.counts[sides] == 2)[order]].reshape(-1, 2)
        pairs = pairs[starts[pairs[:, 0]] != starts[pairs[:, 1]]]  # else two triangles face different ways
        twins = np.full(len(sides), -1)
        twins[pairs], first = pairs[:, ::-1], np.full(len(self.points), -1)
        first[starts] = np.arange(len(sides))
        is_open = twins < 0
        first[starts[is_open]] = np.flatnonzero(is_open)
        return np.roll(twins.reshape(-1, 3), 1, axis=1).ravel(), first

    def add(self, along: Doubles, across: Doubles, step: int, ways: tuple[Indices, Indices]) -> None:
        """Adds to the tangents of vertices what a neighbour of each is in them. ways: (m,) of vertices, and of the
        neighbours that are in their order at this step."""
        vertices, neighbours = ways
        count, at_border = self.valences[vertices], self.at_border[vertices]
        angle = np.where(at_border, np.pi / np.maximum(count - 1, 1), 2.0 * np.pi / np.maximum(count, 1))
        is_end = at_border & ((step == 0) | (step == count - 1))
        first = np.where(at_border, 1.0 * (step == 0) - (step == count - 1), np.cos(step * angle))
        center, end = inward(count, angle)
        second = np.where(is_end, end, np.sin(step * angle))
        own = np.where(at_border, center / np.maximum(count, 1), 0.0)
        along[vertices] += first[:, None] * self.points[neighbours]
        across[vertices] += second[:, None] * self.points[neighbours] + own[:, None] * self.points[vertices]


def inward(count: Indices, angle: Doubles) -> tuple[Doubles, Doubles]:
    """Returns what vertices at a border, and the first and last neighbour of each, weigh in the tangent inward, where
    the others weigh the sines of their angles.

    count: (m,), of neighbours.
    angle: (m,), pi over one fewer.
    """
    value, sines = 3 / 8 + np.cos(angle) / 4, 1.0 / np.tan(angle / 2)
    center = (np.sin(angle) + 3.0 * sines * (value - 1 / 2)) / (8.0 * (value - 1 / 2) * (value - 3 / 4) - 1.0)
    end = (value - 3 / 4) * center - 3 / 8 * sines
    is_corner = count <= 2
    return np.where(is_corner, -2.0, center), np.where(is_corner, 1.0, end)


def means(keys: Indices, values: Doubles, count: int) -> Doubles:
    """Returns the means (count, 3) of the values (m, 3) of each key (m,); zeros for keys without any."""
    sums = np.stack([np.bincount(keys, values[:, axis], count) for axis in range(3)], axis=-1)
    found: Doubles = sums / np.maximum(np.bincount(keys, minlength=count), 1)[:, None]
    return found


def loop_surface(points: Doubles, triangles: Indices, levels: int) -> Mesh:
    """Returns the mesh on the limit surface of triangles, with its normals; fronts are where corners are seen
    counterclockwise.

    points: (n, 3) float64, the vertices of the control mesh.
    triangles: (t, 3) int, indices of their corners.
    levels: how often each triangle is divided into four.
    """
    mesh = LoopMesh.of(points, triangles)
    for _ in range(levels):
        mesh = mesh.subdivided()
    corners = mesh.triangles.astype(np.int32)
    return Mesh(
        vertices=mesh.averaged(LIMIT), triangles=corners, material=0, normals=mesh.normals(), normal_triangles=corners
    )
