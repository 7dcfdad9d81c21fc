"""This module walks the nodes of a glTF file: which are shown, where they stand, and what moves them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scenes.gltf.container import GltfFile
from scenes.gltf.extensions import VISIBILITY
from scenes.gltf.values import Item
from scenes.model import Doubles
from scenes.motion.tracks import Track
from scenes.motion.transforms import IDENTITY, WORLD, Transform, compose

#: Moving nodes that may stand inside one another.
MAX_MOVING_DEPTH = 200
#: What a node may have that moves what is in it.
MOVES = frozenset(("matrix", "translation", "rotation", "scale"))


@dataclass(frozen=True, eq=False)
class PlacedNode:
    """Holds a node that is shown.

    outer: the transform of the innermost node around it that moves.
    fixed: (4, 4), where it stands in that.
    matrix: (4, 4), where it stands in the world before anything moves.
    """

    index: int
    item: Item
    outer: Transform
    fixed: Doubles
    matrix: Doubles

    @property
    def transform(self) -> Transform:
        """Returns the transform of what is in the node."""
        return inside(self.outer, self.fixed)


class GltfNodes:
    """Knows the nodes of a file.

    tracks: of those that move, by their index.
    """

    def __init__(self, file: GltfFile, tracks: Mapping[int, Track]) -> None:
        """Raises SceneFileError where a node stands inside itself, or in two places."""
        self.file, self.tracks = file, tracks
        self.rows = file.rows("nodes")
        self.parents = parents_of(self.rows)
        self._local: dict[int, Doubles] = {}

    def local(self, index: int) -> Doubles:
        """Returns what a node does to what is in it, (4, 4), while it does not move."""
        if index not in self._local:
            self._local[index] = node_matrix(self.rows[index])
        return self._local[index]

    def local_at(self, index: int, time: float) -> Doubles:
        return self.tracks[index].matrix_at(time) if index in self.tracks else self.local(index)

    def world_at(self, index: int, time: float, known: dict[int, Doubles]) -> Doubles:
        """Returns where a node stands at a time, (4, 4). known: places at this time, by index."""
        way = []
        at: int | None = index
        while at is not None and at not in known:
            way.append(at)
            at = self.parents.get(at)
        matrix = IDENTITY if at is None else known[at]
        for step in reversed(way):
            matrix = known[step] = matrix @ self.local_at(step, time)
        return matrix

    def is_moving(self, index: int) -> bool:
        """Returns whether a node, or one around it, moves."""
        at: int | None = index
        while at is not None:
            if at in self.tracks:
                return True
            at = self.parents.get(at)
        return False

    @cached_property
    def roots(self) -> list[int]:
        """Returns the nodes that stand in the scene to show; without scenes all that stand in no other."""
        scenes = self.file.rows("scenes")
        if not scenes:
            return [index for index in range(len(self.rows)) if index not in self.parents]
        chosen = self.file.root.index("scene", scenes, "scenes")
        if len(scenes) > 1:
            self.file.note(f"of {len(scenes)} scenes only number {chosen or 0} is read")
        return scenes[chosen or 0].indices("nodes", self.rows, "nodes")

    def placed(self) -> Iterator[PlacedNode]:
        """Yields each node that is shown, those around it first."""
        waiting = [(index, WORLD, IDENTITY, IDENTITY) for index in reversed(self.roots)]
        seen: set[int] = set()
        while waiting:
            index, outer, fixed, around = waiting.pop()
            item = self.rows[index]
            visible = item.extension(VISIBILITY)
            if index in seen or (visible is not None and not visible.flag("visible", True)):
                continue
            seen.add(index)
            matrix = around @ self.local(index)
            if index in self.tracks:
                outer, fixed = inside(outer, fixed).inner(track=track_name(index)), IDENTITY
                if outer.depth > 2 * MAX_MOVING_DEPTH:
                    raise item.place.error(f"over {MAX_MOVING_DEPTH} moving nodes stand inside one another")
            else:
                fixed = fixed @ self.local(index)
            yield PlacedNode(index, item, outer, fixed, matrix)
            children = item.indices("children", self.rows, "nodes")
            waiting += [(child, outer, fixed, matrix) for child in reversed(children)]


def track_name(index: int) -> str:
    """Returns the name of the track that moves a node."""
    return f"node {index}"


def inside(outer: Transform, matrix: Doubles) -> Transform:
    """Returns a transform with a fixed matrix (4, 4) inside it, if that does anything."""
    return outer if np.array_equal(matrix, IDENTITY) else outer.inner(matrix=matrix)


def parents_of(rows: list[Item]) -> dict[int, int]:
    """Returns the index of the node around each that stands in one. Raises where a node has two, or is its own."""
    parents: dict[int, int] = {}
    for index, item in enumerate(rows):
        for child in item.indices("children", rows, "nodes"):
            if child == index:
                raise item.place.error("the node stands inside itself")
            if child in parents:
                raise item.place.inside("children").error(f"node {child} stands in node {parents[child]} already")
            parents[child] = index
    ended: set[int] = set()
    for index in parents:
        way: dict[int, None] = {}
        at: int | None = index
        while at is not None and at not in ended:
            if at in way:
                raise rows[at].place.error("the node stands inside itself")
            way[at] = None
            at = parents.get(at)
        ended.update(way)
    return parents


def rest_parts(item: Item) -> tuple[Doubles, Doubles, Doubles]:
    """Returns the translation (3,), the unit quaternion (4,), w first, and the scale (3,) of a node."""
    x, y, z, w = item.numbers("rotation", 4, (0.0, 0.0, 0.0, 1.0)).tolist()
    turn = np.array([w, x, y, z])
    length = float(np.linalg.norm(turn))
    if length == 0.0:
        raise item.error("rotation", "a quaternion other than 0")
    unit_turn = turn if abs(length - 1.0) < 1e-6 else turn / length
    return item.numbers("translation", 3, (0.0, 0.0, 0.0)), unit_turn, item.numbers("scale", 3, (1.0, 1.0, 1.0))


def node_matrix(item: Item) -> Doubles:
    """Returns the matrix (4, 4) of what a node does to what is in it: its own matrix, or T R S."""
    if not item.values.keys() & MOVES:
        return IDENTITY
    if item.has("matrix"):
        matrix = item.numbers("matrix", 16, ()).reshape(4, 4).T
        if not np.allclose(matrix[3], (0.0, 0.0, 0.0, 1.0), atol=1e-6):
            raise item.error("matrix", "an affine map")
        return np.concatenate([matrix[:3], IDENTITY[3:]])
    offset, turn, scale = rest_parts(item)
    return compose(scale, turn, offset)
