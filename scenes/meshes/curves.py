"""This module holds round shapes as files have them, exactly: what they are made of triangles from.

Their meshes are inscribed, so that a mesh of more segments is nowhere farther off.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from scenes.meshes.shapes import cone, sphere
from scenes.model import Doubles, Mesh

#: Segments around a shape, at least and at most.
LEAST_SEGMENTS, MOST_SEGMENTS = 8, 512


@dataclass(frozen=True, eq=False)
class Ball:
    """Describes a sphere. radius: below 0 where the inside is in front."""

    center: Doubles
    radius: float
    material: int

    @property
    def ends(self) -> Doubles:
        """Returns the axis, (2, 3), about which it is round; both ends are the centre."""
        return np.stack([self.center, self.center])

    @property
    def width(self) -> float:
        """Returns the largest distance of a point from the axis."""
        return abs(self.radius)

    @property
    def bends(self) -> int:
        """Returns in how many directions it is curved, each of which takes a triangle away from it."""
        return 2

    @cached_property
    def coarse(self) -> Mesh:
        """Returns the mesh of the fewest segments."""
        return self.mesh(LEAST_SEGMENTS)

    def mesh(self, segments: int) -> Mesh:
        """Makes the mesh of so many segments around it, an even number."""
        return sphere(self.center, self.radius, self.material, segments)

    @staticmethod
    def triangles(segments: int) -> int:
        """Returns how many triangles that are."""
        return 2 * segments * (segments // 2 - 1)


@dataclass(frozen=True, eq=False)
class Tube:
    """Describes the side of a cone or cylinder between two different points.

    ends: (2, 3), base and apex.
    radii: >= 0, at each end.
    inside: whether the inside is in front.
    """

    ends: Doubles
    radii: tuple[float, float]
    material: int
    inside: bool = False

    @property
    def width(self) -> float:
        """Returns the largest distance of a point from the axis."""
        return max(self.radii)

    @property
    def bends(self) -> int:
        """Returns in how many directions it is curved, each of which takes a triangle away from it."""
        return 1

    @cached_property
    def coarse(self) -> Mesh:
        """Returns the mesh of the fewest segments."""
        return self.mesh(LEAST_SEGMENTS)

    def mesh(self, segments: int) -> Mesh:
        """Makes the mesh of so many segments around it."""
        return cone(self.ends, self.radii, self.material, inside=self.inside, segments=segments)

    @staticmethod
    def triangles(segments: int) -> int:
        """Returns how many triangles that are."""
        return 2 * segments


@dataclass(frozen=True, eq=False)
class Turned:
    """Describes what a format turns about an axis in a way of its own.

    ends: (2, 3), of the axis; both are the centre of a ball.
    width: the largest distance of a point from it.
    bends: in how many directions it is curved.
    make: from an even number of segments around it to its mesh.
    """

    ends: Doubles
    width: float
    bends: int
    make: Callable[[int], Mesh]

    @cached_property
    def coarse(self) -> Mesh:
        """Returns the mesh of the fewest segments."""
        return self.mesh(LEAST_SEGMENTS)

    def mesh(self, segments: int) -> Mesh:
        """Makes the mesh of so many segments around it, an even number."""
        return self.make(segments)

    def triangles(self, segments: int) -> int:
        """Returns how many triangles that are at most."""
        return 2 * segments * (segments // 2 if self.bends > 1 else 1)

    def changed(self, change: Callable[[Mesh], Mesh]) -> "Turned":
        """Returns the shape whose meshes are those of this one, changed."""
        return replace(self, make=lambda segments: change(self.make(segments)))


Curve = Ball | Tube | Turned


def changed(shape: Mesh | Turned, change: Callable[[Mesh], Mesh]) -> Mesh | Turned:
    """Returns a shape, or a round one, under a function of meshes."""
    return shape.changed(change) if isinstance(shape, Turned) else change(shape)


@dataclass(frozen=True, kw_only=True)
class Fineness:
    """Tells how round shapes became triangles. error: pixels, at most, but for shapes of the most segments."""

    shapes: int
    triangles: int
    error: float
    size: tuple[int, int]
