"""This scene is a museum's hall, which is a file, with a sculpture among its polished pillars: a knotted rope of
triangles that bursts, becomes a cloud, then a ball of scales, and a rope again.

Every triangle goes its own way. No two share a corner, so that no hierarchy over them fits for long. The idea of such
a test is of Lext, Assarsson, Möller: A Benchmark for Animated Ray Tracing (2001); shapes and motion are our own.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from scenes.document import KeyedTriangles, Part, Scene
from scenes.meshes.geometry import double_area_normals, unit
from scenes.model import AnimationRange, Doubles
from scenes.playing.evaluator import scene_of
from scenes.shipped import FOLDER
from scenes.toml_scene import read

#: The sculpture's strands in their materials.
STRAND_MATERIALS = ("gold", "copper", "gold", "enamel", "copper")

#: Middle of the sculpture.
CENTER = np.array([0.0, 3.8, 0.0])
#: When the sculpture is a rope, bursts, swirls, is apart, comes together, is a ball, and a rope again; in seconds.
KEY_TIMES = np.array([0.0, 1.25, 2.75, 4.0, 5.25, 6.75, 8.0])
WHOLE_TIME, APART_TIME, BALL_TIME = 0.0, 4.0, 6.75

#: The rope: radii of the ring that it winds around, of its winding and of the rope, and how high its strands stand out.
RING_RADIUS, WINDING_RADIUS, ROPE_RADIUS, STRAND_HEIGHT = 1.6, 0.64, 0.42, 0.16
STRANDS, STRAND_TURNS = 5, 15
#: The rope's length over its girth, about; quads of so many rows for a column are square.
SLENDERNESS = 8
BALL_RADIUS, BALL_BANDS = 2.1, 3
#: The cloud: a ring around the middle. Distances from the axis, and half its height.
CLOUD_RADII, CLOUD_HEIGHT = (1.2, 5.6), 2.4
SEED = 3

#: 25 frames a second; the sculpture is whole in the first and the last, and apart in frame 100.
ANIMATION = AnimationRange(start=float(KEY_TIMES[0]), end=float(KEY_TIMES[-1]), frames=201)


def scene(triangles: int) -> Scene:
    """Makes the scene with nearly so many triangles, all of those of the sculpture moving."""
    hall = read(FOLDER / "museum-hall.toml").document
    materials = [material.name for material in hall.materials]
    shapes = sculpture(triangles - hall.triangles, tuple(map(materials.index, STRAND_MATERIALS)))
    parts = [*hall.parts, *(Part(shape) for shape in shapes)]
    return scene_of("museum", replace(hall, parts=parts, animation=ANIMATION), "shipped")


@dataclass(frozen=True, eq=False)
class Shards:
    """Holds triangles in a pose. positions, normals: (n, 3, 3)."""

    positions: Doubles
    normals: Doubles

    @cached_property
    def centers(self) -> Doubles:
        """Returns the centroids, (n, 1, 3)."""
        return self.positions.mean(axis=1, keepdims=True)

    def chosen(self, indices: npt.NDArray[np.int64]) -> "Shards":
        """Returns some of the triangles, or all in another order."""
        return Shards(self.positions[indices], self.normals[indices])

    def at(self, place: "Cylindrical", size: float, turn: Doubles) -> "Shards":
        """Returns the same triangles in other places, larger by a factor, each turned by a rotation vector (n, 1, 3),
        an axis times radians."""
        edges = size * turned(self.positions - self.centers, turn)
        return Shards(place.points + edges, turned(self.normals, turn))


def turned(vectors: Doubles, turn: Doubles) -> Doubles:
    """Returns vectors turned by rotation vectors, axes times radians (Rodrigues' formula); shapes broadcast."""
    angle = np.linalg.norm(turn, axis=-1, keepdims=True)
    axis = turn / angle
    along = axis * np.sum(vectors * axis, axis=-1, keepdims=True)
    return along + np.cos(angle) * (vectors - along) + np.sin(angle) * np.cross(axis, vectors)


@dataclass(frozen=True)
class Weave:
    """Says how the rope is cut into triangles: rows along it, columns around it, two triangles for each pair of
    them."""

    rows: int
    columns: int

    @property
    def triangles(self) -> int:
        """Returns how many triangles there are."""
        return 2 * self.rows * self.columns


def weave(triangles: int) -> Weave:
    """Returns the weave with nearly so many triangles, about as long as wide."""
    columns = max(3, round((triangles / (2 * SLENDERNESS)) ** 0.5))
    return Weave(rows=triangles // (2 * columns), columns=columns)


def rope_points(cloth: Weave) -> Doubles:
    """Returns the points (rows, columns, 3) of a rope of five strands along a trefoil knot that faces +z."""
    phi = 2.0 * np.pi * np.arange(cloth.rows)[:, None] / cloth.rows
    theta = 2.0 * np.pi * np.arange(cloth.columns)[None, :] / cloth.columns
    outward = np.concatenate([np.cos(2 * phi), np.sin(2 * phi), np.zeros_like(phi)], axis=1)
    forward = np.array([0.0, 0.0, 1.0])
    across = np.cos(3 * phi) * outward + np.sin(3 * phi) * forward
    path = RING_RADIUS * outward + WINDING_RADIUS * across
    tangent = unit(np.roll(path, -1, axis=0) - np.roll(path, 1, axis=0))
    side = unit(across - np.sum(across * tangent, axis=1, keepdims=True) * tangent)
    other = np.cross(tangent, side)
    radius = ROPE_RADIUS * (1.0 + STRAND_HEIGHT * np.abs(np.sin(0.5 * (STRANDS * theta + STRAND_TURNS * phi))))
    spokes = np.cos(theta)[..., None] * side[:, None] + np.sin(theta)[..., None] * other[:, None]
    return CENTER + path[:, None] + radius[..., None] * spokes


def rope(cloth: Weave) -> Shards:
    """Returns the triangles of the rope, row after row, with smooth normals."""
    points = rope_points(cloth)
    along = np.roll(points, -1, axis=0) - np.roll(points, 1, axis=0)
    around = np.roll(points, -1, axis=1) - np.roll(points, 1, axis=1)
    normals = unit(np.cross(along, around))
    corners = rope_triangles(cloth)
    return Shards(points.reshape(-1, 3)[corners], normals.reshape(-1, 3)[corners])


def rope_triangles(cloth: Weave) -> npt.NDArray[np.int64]:
    """Returns the points of each triangle, (n, 3) indices; both directions close on themselves."""
    row, column = (index.reshape(-1, 1) for index in np.indices((cloth.rows, cloth.columns)))
    below, beside = (row + 1) % cloth.rows, (column + 1) % cloth.columns
    a, b = row * cloth.columns + column, row * cloth.columns + beside
    c, d = below * cloth.columns + beside, below * cloth.columns + column
    return np.concatenate([a, d, c, a, c, b], axis=1).reshape(-1, 3)


def strands(cloth: Weave) -> npt.NDArray[np.int64]:
    """Returns the strand, 0 .. STRANDS - 1, that each triangle is of, (n,)."""
    row, column = np.indices((cloth.rows, cloth.columns))
    turns = STRANDS * (column + 0.5) / cloth.columns + STRAND_TURNS * (row + 0.5) / cloth.rows
    return np.repeat(turns.astype(np.int64).ravel() % STRANDS, 2)


def ball(count: int) -> Shards:
    """Returns so many scales, all equal, around a ball with ripples, sorted by bands that wind down it.

    They are spread as Swinbank, Purser: Fibonacci grids: A novel approach to global modelling (2006) spread points.
    """
    index = np.arange(count)
    height = 1.0 - (2.0 * index + 1.0) / count
    around = np.pi * (3.0 - np.sqrt(5.0)) * index
    level = np.sqrt(1.0 - height**2)
    outward = np.stack([level * np.cos(around), height, level * np.sin(around)], axis=-1)[:, None]
    east = np.stack([-np.sin(around), np.zeros(count), np.cos(around)], axis=-1)[:, None]
    north = np.cross(outward, east)
    size = BALL_RADIUS * np.sqrt(16.0 * np.pi / (3.0 * np.sqrt(3.0) * count)) * 1.25
    spokes = np.array([[0.0, 1.0, 0.15], [-0.87, -0.5, 0.0], [0.87, -0.5, 0.0]])
    edges = spokes[:, :1] * east + spokes[:, 1:2] * north + spokes[:, 2:] * outward
    ripples = BALL_RADIUS * (1.0 + 0.035 * np.cos(9.0 * np.arccos(height)))[:, None, None]
    positions = CENTER + ripples * outward + size * (edges - edges.mean(axis=1, keepdims=True))
    normals = unit(double_area_normals(positions))
    bands = (BALL_BANDS * around / (2.0 * np.pi) + height) % 1.0
    return Shards(positions, np.repeat(normals[:, None], 3, axis=1)).chosen(np.argsort(bands))


@dataclass(frozen=True, eq=False)
class Cylindrical:
    """Holds positions about the axis of the hall, each field (n,).

    angle: radians.
    radius, height: metres from `CENTER`.
    """

    angle: Doubles
    radius: Doubles
    height: Doubles

    @classmethod
    def of(cls, points: Doubles) -> "Cylindrical":
        """Makes cylindrical coordinates of points (n, 1, 3)."""
        x, y, z = (points[:, 0] - CENTER).T
        return cls(np.arctan2(x, z), np.hypot(x, z), y)

    @property
    def points(self) -> Doubles:
        """Returns the points in the world, (n, 1, 3)."""
        offsets = [self.radius * np.sin(self.angle), self.height, self.radius * np.cos(self.angle)]
        return CENTER + np.stack(offsets, axis=-1)[:, None]

    def toward(self, end: "Cylindrical", share: float) -> "Cylindrical":
        """Returns the positions a share of the way to others, around the axis."""
        pairs = ((self.angle, end.angle), (self.radius, end.radius), (self.height, end.height))
        return Cylindrical(*((1.0 - share) * start + share * stop for start, stop in pairs))


def cloud(start: Cylindrical, random: np.random.Generator) -> Cylindrical:
    """Returns where triangles from these positions are when they are apart: each has gone further around the axis by a
    random angle."""
    count = len(start.angle)
    inner, outer = CLOUD_RADII
    radius = np.sqrt(random.uniform(inner**2, outer**2, count))
    turn = random.normal(2.0, 0.35, count) - 0.25 * radius
    level = random.normal(0.0, 0.4, count).clip(-1.0, 1.0) * (1.35 - radius / outer)
    return Cylindrical(start.angle + turn, radius, CLOUD_HEIGHT * level)


def poses(whole: Shards, scales: Shards) -> list[Shards]:
    """Returns the sculpture at each of `KEY_TIMES`, from what it is as a rope and as a ball."""
    random = np.random.default_rng(SEED)
    count = len(whole.positions)
    tumble = random.uniform(0.5, 1.4, (count, 1, 1)) * unit(random.normal(size=(count, 1, 3)))
    start, end = Cylindrical.of(whole.centers), Cylindrical.of(scales.centers)
    apart = cloud(start, random)
    nearest = apart.angle + (end.angle - apart.angle + np.pi) % (2.0 * np.pi) - np.pi
    gathered = apart.toward(Cylindrical(nearest, end.radius, end.height), 0.45)
    return [
        whole,
        whole.at(start.toward(apart, 0.18), 1.0, 0.4 * tumble),
        whole.at(start.toward(apart, 0.65), 1.5, 1.0 * tumble),
        whole.at(apart, 2.0, 1.6 * tumble),
        whole.at(gathered, 1.5, 1.2 * tumble),
        scales,
        whole,
    ]


def sculpture(triangles: int, materials: tuple[int, ...]) -> list[KeyedTriangles]:
    """Returns the sculpture of nearly so many triangles, a shape for each different material.

    materials: one per strand.
    """
    cloth = weave(triangles)
    of_triangle = np.array(materials)[strands(cloth)]
    order = np.argsort(of_triangle, kind="stable")
    keys = poses(rope(cloth).chosen(order), ball(cloth.triangles))
    positions = np.stack([key.positions for key in keys])
    normals = np.stack([key.normals for key in keys])
    found, starts = np.unique(of_triangle[order], return_index=True)
    return [
        KeyedTriangles(KEY_TIMES, positions[:, start:end], normals[:, start:end], int(material))
        for material, start, end in zip(found, starts, [*starts[1:], len(order)], strict=True)
    ]
