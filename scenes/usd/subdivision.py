"""This module refines polygons to the smooth surfaces that they control (Catmull, Clark: Recursively Generated B-Spline
Surfaces on Arbitrary Topological Meshes, 1978), with creases that are sharp for some levels (DeRose, Kass, Truong:
Subdivision Surfaces in Character Animation, 1998).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from scenes.model import Doubles

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cage:
    """Holds polygons.

    counts: (f,) corners of each, at least 3.
    indices: (c,) vertices of the corners.
    faces: (f,) numbers of the polygons in the file.
    vertices: how many there are.
    edges: (k, 2) ends of creases, with their sharpness (k,).
    corners: (v,) sharpness of each vertex.
    keeps_corners: vertices of the border of only one polygon stay where they are.
    """

    counts: Numbers
    indices: Numbers
    faces: Numbers
    vertices: int
    edges: Numbers
    sharpness: Doubles
    corners: Doubles
    keeps_corners: bool = True


class Refinement:
    """Says what one level makes of a cage: each corner of a polygon becomes a quadrilateral."""

    def __init__(self, cage: Cage) -> None:
        self.cage = cage
        starts = np.cumsum(cage.counts) - cage.counts
        self.face = np.repeat(np.arange(len(cage.counts)), cage.counts)
        within = np.arange(len(self.face)) - starts[self.face]
        self.after = starts[self.face] + (within + 1) % cage.counts[self.face]
        self.before = starts[self.face] + (within - 1) % cage.counts[self.face]
        ends = np.sort(np.stack([cage.indices, cage.indices[self.after]], axis=1), axis=1)
        keys, self.edge = np.unique(ends @ [cage.vertices, 1], return_inverse=True)
        self.ends = np.stack(np.divmod(keys, cage.vertices), axis=1)
        self.uses = np.bincount(self.edge, minlength=len(keys))
        creases = np.sort(cage.edges, axis=1) @ [cage.vertices, 1]
        at = np.minimum(np.searchsorted(keys, creases), len(keys) - 1)
        known = keys[at] == creases
        self.edge_sharpness = np.zeros(len(keys))
        np.maximum.at(self.edge_sharpness, at[known], cage.sharpness[known])

    @cached_property
    def is_sharp(self) -> npt.NDArray[np.bool_]:
        """Returns which edges stay edges: creases, borders, and where more than two polygons meet."""
        return (self.uses != 2) | (self.edge_sharpness > 0.0)

    def means(self, owners: Numbers, values: Doubles, count: int) -> Doubles:
        """Returns the mean of the values (n, k) of each of so many owners, (count, k)."""
        total = np.stack([np.bincount(owners, column, count) for column in values.T], axis=1)
        return total / np.maximum(np.bincount(owners, minlength=count), 1)[:, None]

    def points(self, points: Doubles) -> Doubles:
        """Returns the vertices of the next level: those of this one, moved, then one of each edge and of each face."""
        cage, first, second = self.cage, points[self.ends[:, 0]], points[self.ends[:, 1]]
        middles = 0.5 * (first + second)
        faces = self.means(self.face, points[cage.indices], len(cage.counts))
        smooth = 0.5 * (middles + self.means(self.edge, faces[self.face], len(self.ends)))
        edges = np.where(self.is_sharp[:, None], middles, smooth)
        return np.concatenate([self.moved(points, middles, faces), edges, faces])

    def moved(self, points: Doubles, middles: Doubles, faces: Doubles) -> Doubles:
        """Returns the vertices of this level where the next has them."""
        count, both = self.cage.vertices, self.ends.ravel(order="F")
        valence = np.bincount(self.cage.indices, minlength=count)[:, None]
        of_faces = self.means(self.cage.indices, faces[self.face], count)
        of_edges = self.means(both, np.tile(middles, (2, 1)), count)
        smooth = (of_faces + 2.0 * of_edges + (valence - 3.0) * points) / np.maximum(valence, 1)
        sharp = self.is_sharp.nonzero()[0]
        ends = self.ends[sharp].ravel(order="F")
        lines = np.bincount(ends, minlength=count)[:, None]
        creased = 0.5 * (points + self.means(ends, np.tile(middles[sharp], (2, 1)), count))
        is_fixed = (lines > 2) | (self.cage.corners[:, None] > 0.0) | (valence == 0)
        if self.cage.keeps_corners:
            is_fixed |= (lines == 2) & (valence == 1)
        return np.where(is_fixed, points, np.where(lines == 2, creased, smooth))

    def corners(self, values: Doubles) -> Doubles:
        """Returns what values (c, k) of corners become at those of the next level, (4 c, k), linear within a face."""
        middles, faces = 0.5 * (values + values[self.after]), self.means(self.face, values, len(self.cage.counts))
        return np.stack([values, middles, faces[self.face], middles[self.before]], axis=1).reshape(-1, values.shape[1])

    @cached_property
    def refined(self) -> Cage:
        """Returns the polygons of the next level."""
        cage = self.cage
        edge, face = cage.vertices + self.edge, cage.vertices + len(self.ends) + self.face
        quads = np.stack([cage.indices, edge, face, edge[self.before]], axis=1)
        sharp = (self.edge_sharpness > 1.0).nonzero()[0]
        halves = np.concatenate([np.stack([self.ends[sharp, side], cage.vertices + sharp], axis=1) for side in (0, 1)])
        total = cage.vertices + len(self.ends) + len(cage.counts)
        return Cage(
            counts=np.full(len(quads), 4),
            indices=quads.ravel(),
            faces=cage.faces[self.face],
            vertices=total,
            edges=halves,
            sharpness=np.tile(self.edge_sharpness[sharp] - 1.0, 2),
            corners=np.concatenate([cage.corners - 1.0, np.zeros(total - cage.vertices)]),
            keeps_corners=cage.keeps_corners,
        )
