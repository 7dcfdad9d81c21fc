"""This module says where tracks and transforms put things at one time, and places parts: the triangles of many shapes
at once, and the boxes around them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TypeGuard, cast

import numpy as np
import numpy.typing as npt

from scenes.document import BentMesh, KeyedTriangles, Origin, Part, Shape, rest_of
from scenes.errors import SceneFileError
from scenes.meshes.geometry import MAX_COORDINATE, JoinedMeshes, MeshCopies, in_range
from scenes.model import Camera, Doubles, Floats, Mesh
from scenes.motion.tracks import Track, matrices_at
from scenes.motion.transforms import IDENTITY, Transform
from scenes.views.viewing import triple

#: Triangles that are placed at a time.
MAX_RUN = 1 << 15
#: Places from which on a mesh is placed apart from others.
MANY = 8


@dataclass(frozen=True, eq=False)
class Placed:
    """Holds a part, its number, and where its triangles are in the flat arrays."""

    part: Part
    number: int
    indices: slice

    @property
    def count(self) -> int:
        """Returns how many triangles it has."""
        return self.indices.stop - self.indices.start


@dataclass(frozen=True, eq=False)
class PartRun:
    """Holds parts that are placed together: meshes, or one shape of which each key has other triangles."""

    items: list[Placed]

    @cached_property
    def counts(self) -> list[int]:
        """Returns how many triangles each part has."""
        return [item.count for item in self.items]

    @cached_property
    def numbers(self) -> list[int]:
        """Returns the number of each part."""
        return [item.number for item in self.items]

    @cached_property
    def indices(self) -> slice | npt.NDArray[np.intp]:
        """Returns where the triangles are in the flat arrays."""
        if all(item.indices.stop == following.indices.start for item, following in pairwise(self.items)):
            return slice(self.items[0].indices.start, self.items[-1].indices.stop)
        return np.concatenate([np.arange(item.indices.start, item.indices.stop) for item in self.items])

    @cached_property
    def joined(self) -> JoinedMeshes | MeshCopies:
        """Returns the meshes."""
        meshes = [cast("Mesh", item.part.shape) for item in self.items]
        return MeshCopies(meshes[0]) if all(mesh is meshes[0] for mesh in meshes) else JoinedMeshes.of(meshes)

    def joined_at(self, time: float) -> JoinedMeshes | MeshCopies:
        """Returns the meshes as they are at a time."""
        shape = self.items[0].part.shape
        return self.joined if isinstance(shape, Mesh) else MeshCopies(shape.mesh_at(time))

    def check(self, positions: Doubles, counts: list[int], time: float) -> None:
        """Raises SceneFileError about the first part that is out of range.

        positions: (n, k, 3), of which each part has as many rows as `counts` says.
        """
        if not in_range(positions):
            for item, own in zip(self.items, np.split(positions, np.cumsum(counts)[:-1]), strict=True):
                check_range(own, item.part.origin, time)


def has_uvs(shape: Shape) -> TypeGuard[Mesh | BentMesh]:
    """Returns whether a shape has texture coordinates."""
    return not isinstance(shape, KeyedTriangles) and rest_of(shape).uvs is not None


def runs_of(items: Iterable[Placed]) -> Iterator[PartRun]:
    """Yields the parts that have triangles in runs of up to MAX_RUN of these, where no single one has more. Meshes that
    stand in at least MANY places are in runs of their own."""
    groups: dict[int, list[Placed]] = {}
    for item in items:
        if item.count and isinstance(item.part.shape, Mesh):
            groups.setdefault(id(item.part.shape), []).append(item)
        elif item.count:
            yield PartRun([item])
    yield from bounded_runs(item for group in groups.values() if len(group) < MANY for item in group)
    for group in groups.values():
        if len(group) >= MANY:
            yield from bounded_runs(group)


def bounded_runs(items: Iterable[Placed]) -> Iterator[PartRun]:
    """Yields meshes in runs of up to MAX_RUN triangles, where no single one has more."""
    run: list[Placed] = []
    count = 0
    for item in items:
        if run and count + item.count > MAX_RUN:
            yield PartRun(run)
            run, count = [], 0
        run.append(item)
        count += item.count
    if run:
        yield PartRun(run)


def check_range(positions: Doubles, origin: Origin, time: float) -> None:
    """Raises SceneFileError when world positions are not finite or too far out for float32."""
    if not in_range(positions):
        message = f"at time {time:g} what begins here reaches beyond {MAX_COORDINATE:g} in the world"
        raise SceneFileError(origin.path, origin.line, message)


def check_uvs(mesh: Mesh, origin: Origin) -> None:
    """Raises SceneFileError where texture coordinates are too large for float32 to tell two texels apart."""
    if mesh.uvs is not None and not in_range(mesh.uvs):
        message = f"texture coordinates of what begins here reach beyond {MAX_COORDINATE:g}"
        raise SceneFileError(origin.path, origin.line, message)


#: The triangles of a box from (0, 0, 0) to (1, 1, 1), (12, 3, 3), that face outward.
UNIT_BOX = np.array(
    [
        [[0, 0, 0], [0, 1, 0], [1, 1, 0]],
        [[0, 0, 0], [1, 1, 0], [1, 0, 0]],
        [[0, 0, 1], [1, 0, 1], [1, 1, 1]],
        [[0, 0, 1], [1, 1, 1], [0, 1, 1]],
        [[0, 0, 0], [1, 0, 0], [1, 0, 1]],
        [[0, 0, 0], [1, 0, 1], [0, 0, 1]],
        [[0, 1, 0], [0, 1, 1], [1, 1, 1]],
        [[0, 1, 0], [1, 1, 1], [1, 1, 0]],
        [[0, 0, 0], [0, 0, 1], [0, 1, 1]],
        [[0, 0, 0], [0, 1, 1], [0, 1, 0]],
        [[1, 0, 0], [1, 1, 0], [1, 1, 1]],
        [[1, 0, 0], [1, 1, 1], [1, 0, 1]],
    ],
    dtype=np.float64,
)


def box_triangles(boxes: Doubles) -> Floats:
    """Returns the triangles, (12 m, 3, 3), of boxes. boxes: (m, 2, 3), their lower and upper corners."""
    corners = np.where(UNIT_BOX > 0.0, boxes[:, 1, None, None], boxes[:, 0, None, None])
    return corners.reshape(-1, 3, 3).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Pose:
    """Says what a transform and all around it do at one time."""

    matrix: Doubles
    shown: bool


STILL = Pose(IDENTITY, True)


class TrackTime:
    """Says where the tracks of a document and its transforms put things at one time.

    tracks: by the name of what they move.
    """

    def __init__(self, tracks: Mapping[str, Track], time: float) -> None:
        self.tracks, self.time = tracks, time
        self._known: dict[Transform, Pose] = {}

    @cached_property
    def _moved(self) -> dict[str, Pose]:
        """Returns what each track does, by its name."""
        tracks = list(self.tracks.values())
        matrices = matrices_at(tracks, self.time)
        poses = [Pose(matrix, track.shown_at(self.time)) for matrix, track in zip(matrices, tracks, strict=True)]
        return dict(zip(self.tracks, poses, strict=True))

    def pose(self, transform: Transform | None) -> Pose:
        """Returns what a transform does, outermost first."""
        if transform is None:
            return STILL
        if transform not in self._known:
            outer = self.pose(transform.parent)
            inner = Pose(IDENTITY if transform.matrix is None else transform.matrix, True)
            inner = self._moved[transform.track] if transform.track in self.tracks else inner
            self._known[transform] = Pose(outer.matrix @ inner.matrix, outer.shown and inner.shown)
        return self._known[transform]


def camera_at(camera: Camera, track: Track, time: float) -> Camera:
    """Returns a camera where its track has it at a time."""
    if track.transl is not None:
        camera = replace(camera, eye=triple(track.transl.at(time)))
    if track.rot is not None:
        turn = replace(track, transl=None, scale=None).matrix_at(time)
        camera = replace(camera, forward=triple(-turn[:3, 2]), up=triple(turn[:3, 1]))
    return camera
