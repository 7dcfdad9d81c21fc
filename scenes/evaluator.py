"""This module sets a document up for playing: what stands still is flattened once, and what moves at every time that is
asked for."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
import numpy.typing as npt

from scenes.default_view import DEFAULT_CAMERA, completed, is_complete, triple
from scenes.document import (
    Document,
    KeyedTriangles,
    LightSource,
    Origin,
    Part,
    join_loose,
    rest_of,
    triangle_count,
)
from scenes.errors import SceneError, SceneFileError
from scenes.geometry import MAX_COORDINATE, JoinedMeshes, corner_uvs, in_range, small_uvs, unit
from scenes.lamp_distances import lamp_distances
from scenes.memory import check_memory
from scenes.microfacets import multiplied
from scenes.model import (
    Camera,
    Color,
    Doubles,
    Environment,
    Floats,
    Indices,
    Light,
    Material,
    Mesh,
    Snapshot,
)
from scenes.scene import Scene
from scenes.tessellation import tessellated
from scenes.track_times import Pose, TrackTime, camera_at
from scenes.transforms import Transform
from scenes.viewing import AS_THE_FILE_SAYS, Viewing

__all__ = ["DEFAULT_CAMERA", "SceneEvaluator", "scene_of", "viewed"]

#: Triangles that are placed at a time.
MAX_RUN = 1 << 15


@dataclass(frozen=True, eq=False)
class FlatArrays:
    """Holds triangles as a snapshot has them, and whether each is seen: positions and normals (n, 3, 3) float32, shown
    (n,) bool."""

    positions: Floats
    normals: Floats
    shown: np.ndarray[tuple[int], np.dtype[np.bool_]]

    def copy(self) -> "FlatArrays":
        """Returns a copy to write to."""
        return FlatArrays(self.positions.copy(), self.normals.copy(), self.shown.copy())


@dataclass(frozen=True, eq=False)
class Placed:
    """Holds a part and where its triangles are in the flat arrays."""

    part: Part
    indices: slice


class SceneEvaluator:
    """Makes snapshots of a document at any time."""

    def __init__(self, name: str, document: Document) -> None:
        """Raises SceneError where the triangles would not fit into memory."""
        check_memory(document.triangles, document.stored_triangles)
        self.name = name
        self.document = document
        self.placed: list[Placed] = []
        total = 0
        for part in document.parts:
            count = triangle_count(part.shape)
            self.placed.append(Placed(part, slice(total, total + count)))
            total += count
        self.triangles = total
        self._moment = TrackTime(document.tracks, math.nan)
        self._moving = list(runs_of(item for item in self.placed if self.moves(item.part)))
        self.uvs = np.zeros((total, 3, 2), dtype=np.float32)
        self.material_ids: Indices = np.zeros(total, dtype=np.int32)
        self.object_ids: Indices = np.zeros(total, dtype=np.int32)
        for number, item in enumerate(self.placed):
            self.object_ids[item.indices] = number
            shape, material = item.part.shape, item.part.material
            self.material_ids[item.indices] = shape.material if material is None else material
            if not isinstance(shape, KeyedTriangles) and rest_of(shape).uvs is not None:
                check_uvs(rest_of(shape), item.part.origin)
                clamped = self.is_clamped(shape.material if material is None else material)
                self.uvs[item.indices] = (corner_uvs if clamped else small_uvs)(rest_of(shape))

    def is_clamped(self, material: int) -> bool:
        """Returns whether a texture of a material does not repeat."""
        textures = self.document.textures
        return any(textures[index].wrap == "clamp" for index in self.document.materials[material].pictures.values())

    @cached_property
    def materials(self) -> tuple[Material, ...]:
        """Returns the materials, the same at all times."""
        return tuple(lit_by_ambient(material, self.document.ambient) for material in self.document.materials)

    @property
    def moving_triangles(self) -> int:
        """Returns how many triangles may change with time."""
        return sum(len(run.indices) for run in self._moving)

    def moves(self, part: Part) -> bool:
        """Returns whether a part may change with time."""
        return not isinstance(part.shape, Mesh) or self.is_animated(part.transform)

    def is_animated(self, transform: Transform | None) -> bool:
        """Returns whether a transform, or one around it, has keyframes. A name without any moves nothing."""
        while transform is not None:
            if transform.track in self.document.tracks:
                return True
            transform = transform.parent
        return False

    @cached_property
    def still(self) -> FlatArrays:
        """Makes the flat arrays, with what stands still filled in."""
        arrays = FlatArrays(
            positions=np.zeros((self.triangles, 3, 3), dtype=np.float32),
            normals=np.zeros((self.triangles, 3, 3), dtype=np.float32),
            shown=np.ones(self.triangles, dtype=np.bool_),
        )
        self.fill(arrays, runs_of(item for item in self.placed if not self.moves(item.part)), 0.0)
        return arrays

    @cached_property
    def light_distances(self) -> dict[LightSource, float]:
        """Returns the distance at which each light that does not fade is as strong as its number says, at all times:
        see `scenes.lamp_distances`."""
        start = self.document.animation.start
        view = EvaluatedLights(self, start)
        with np.errstate(all="ignore"):
            placed = {source: source.steady_position(view) for source in self.document.lights}
        steady = {source: position for source, position in placed.items() if position is not None}
        positions = np.array(list(steady.values())).reshape(-1, 3)
        distances = lamp_distances(self.arrays_at(start).positions, positions)
        return dict(zip(steady, distances.tolist(), strict=True))

    def snapshot(self, time: float) -> Snapshot:
        """Makes the snapshot of a time. Raises SceneFileError where what moves has left the world that float32 can
        hold."""
        if not math.isfinite(time):
            raise SceneError(f"expected a finite time, got {time}")
        arrays = self.arrays_at(time)
        shown = slice(None) if arrays.shown.all() else arrays.shown
        cameras = self.cameras_at(time)
        camera = next(iter(cameras.values()))
        return Snapshot(
            name=self.name,
            time=time,
            positions=arrays.positions[shown],
            normals=arrays.normals[shown],
            uvs=self.uvs[shown],
            material_ids=self.material_ids[shown],
            object_ids=self.object_ids[shown],
            materials=self.materials,
            textures=tuple(self.document.textures),
            lights=self.lights_at(time),
            camera=camera,
            cameras=cameras,
            background=self.document.background,
            environment=self.environment_at(time),
        )

    def arrays_at(self, time: float) -> FlatArrays:
        """Makes new flat arrays of a time."""
        arrays = self.still.copy()
        self.fill(arrays, self._moving, time)
        return arrays

    def fill(self, arrays: FlatArrays, runs: "Iterable[PartRun]", time: float) -> None:
        """Writes the triangles of some parts at a time."""
        moment = self.moment(time)
        with np.errstate(all="ignore"):  # what overflows is not finite, and found below
            for run in runs:
                placed = [moment.pose(item.part.transform) for item in run.items]
                positions, normals = run.joined_at(time).corners(np.array([pose.matrix for pose in placed]))
                run.check(positions, time)
                arrays.positions[run.indices] = positions
                arrays.normals[run.indices] = normals
                arrays.shown[run.indices] = np.repeat([pose.shown for pose in placed], run.counts)

    def moment(self, time: float) -> TrackTime:
        """Returns where things are at a time; what was found of the last one is kept."""
        if self._moment.time != time:
            self._moment = TrackTime(self.document.tracks, time)
        return self._moment

    def cameras_at(self, time: float) -> dict[str, Camera]:
        """Returns the cameras of the document, at least one, each moved by the track of its name if there is one."""
        tracks = self.document.tracks
        return {name: camera_at(camera, tracks.get(name), time) for name, camera in self.document.cameras.items()}

    def lights_at(self, time: float) -> tuple[Light, ...]:
        """Returns the lights that shine at a time."""
        view = EvaluatedLights(self, time)
        with np.errstate(all="ignore"):  # what overflows is not finite, and found
            lights = [(source, source.light_at(view)) for source in self.document.lights]
            return tuple(light for source, light in lights if view.pose(source).shown)

    def environment_at(self, time: float) -> Environment | None:
        """Returns the light from all around, as it is turned at a time, if there is any."""
        source = self.document.environment
        if source is None:
            return None
        pose = self.moment(time).pose(source.transform)
        axes = axes_of(pose.matrix)
        check_turned(axes, source.origin, time)
        return Environment(radiance=source.radiance, axes=axes) if pose.shown else None


class EvaluatedLights:
    """Says where the lights of a document are at one time."""

    def __init__(self, evaluator: SceneEvaluator, time: float) -> None:
        self._evaluator, self._time = evaluator, time
        self._moment = evaluator.moment(time)

    def pose(self, source: LightSource) -> Pose:
        """Returns what the transform of a light does."""
        return self._moment.pose(source.transform)

    def distance(self, source: LightSource) -> float:
        """Returns the distance at which a light that does not fade looks as strong as its number says, at all times."""
        return self._evaluator.light_distances[source]

    def position(self, source: LightSource, place: Doubles) -> tuple[float, float, float]:
        """Returns where a place (3,) of a light is, moved by its track and its transform."""
        track = self._evaluator.document.tracks.get(source.track)
        moved = place if track is None else place + track.offset_at(self._time)
        matrix = self.pose(source).matrix
        position = matrix[:3, :3] @ moved + matrix[:3, 3]
        check_range(position, source.origin, self._time)
        return triple(position)

    def direction(self, source: LightSource, direction: Doubles) -> tuple[float, float, float]:
        """Returns the unit direction that a light's transform turns a direction (3,) of any length to."""
        turned = unit(self.pose(source).matrix[:3, :3] @ direction)
        check_turned(turned[None], source.origin, self._time)
        return triple(turned)


def axes_of(matrix: Doubles) -> Doubles:
    """Returns the axes x, y and z that a map turns to, the rows of (3, 3): y is kept, the others are made perpendicular
    to it."""
    up = unit(matrix[:3, 1])
    right = unit(matrix[:3, 0] - (matrix[:3, 0] @ up) * up)
    return np.stack([right, up, np.cross(right, up)])


def check_turned(directions: Doubles, origin: Origin, time: float) -> None:
    """Raises SceneFileError unless all directions (n, 3) have a length, which is 1 then."""
    if not (np.abs(np.linalg.norm(directions, axis=1) - 1.0) < 1e-6).all():
        message = f"at time {time:g} the light that begins here is turned to no direction"
        raise SceneFileError(origin.path, origin.line, message)


@dataclass(frozen=True, eq=False)
class PartRun:
    """Holds parts that are placed together: meshes, or one shape of which each key has other triangles."""

    items: list[Placed]

    @cached_property
    def counts(self) -> list[int]:
        """Returns how many triangles each part has."""
        return [item.indices.stop - item.indices.start for item in self.items]

    @cached_property
    def indices(self) -> npt.NDArray[np.intp]:
        """Returns where the triangles are in the flat arrays."""
        return np.concatenate([np.arange(item.indices.start, item.indices.stop) for item in self.items])

    @cached_property
    def joined(self) -> JoinedMeshes:
        """Returns the meshes."""
        return JoinedMeshes.of([cast("Mesh", item.part.shape) for item in self.items])

    def joined_at(self, time: float) -> JoinedMeshes:
        """Returns the meshes as they are at a time."""
        shape = self.items[0].part.shape
        return self.joined if isinstance(shape, Mesh) else JoinedMeshes.of([shape.mesh_at(time)])

    def check(self, positions: Doubles, time: float) -> None:
        """Raises SceneFileError about the first part that is out of range. positions: of all triangles."""
        if not in_range(positions):
            for item, own in zip(self.items, np.split(positions, np.cumsum(self.counts)[:-1]), strict=True):
                check_range(own, item.part.origin, time)


def runs_of(items: Iterable[Placed]) -> Iterator[PartRun]:
    """Yields parts in runs of up to MAX_RUN triangles, where no single one has more."""
    run: list[Placed] = []
    count = 0
    for item in items:
        own = item.indices.stop - item.indices.start
        if not isinstance(item.part.shape, Mesh):
            yield PartRun([item])
            continue
        if run and count + own > MAX_RUN:
            yield PartRun(run)
            run, count = [], 0
        run.append(item)
        count += own
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


def lit_by_ambient(material: Material, ambient: Color) -> Material:
    """Returns the material with backdrop and ambient in the ambient light of an AFF file, whose numbers stand for
    radiance as those of its other lights do."""
    return replace(
        material, backdrop=multiplied(material.backdrop, ambient), ambient=multiplied(material.ambient, ambient)
    )


def scene_of(name: str, document: Document, source: str = "", viewing: Viewing = AS_THE_FILE_SAYS) -> Scene:
    """Returns a document as a scene, with a camera and light if it has none, its round shapes as fine as they are seen.

    source: the file that it was read from.
    viewing: how it will be looked at.

    Raises SceneFileError where something of it is beyond what float32 can hold at the animation's start, and SceneError
    where it does not fit into memory.
    """
    evaluator = _evaluator_of(name, replace(document, parts=join_loose(document.parts)), viewing)
    evaluator.snapshot(document.animation.start)
    return Scene(
        name=name,
        snapshot=evaluator.snapshot,
        animation=document.animation,
        source=source,
        moving_triangles=evaluator.moving_triangles,
        document=evaluator.document,
        as_read=document,
    )


def _evaluator_of(name: str, document: Document, viewing: Viewing) -> SceneEvaluator:
    """Returns what makes snapshots of a document, as `scene_of` has it. All triangles are held by one at most."""
    if document.triangles and not is_complete(document):
        evaluator = SceneEvaluator(name, document)
        start = evaluator.arrays_at(document.animation.start).positions
        evaluator.document = document = completed(document, start, viewing.up_axis)
        if not document.has_curves:
            return evaluator
        del evaluator, start
    return SceneEvaluator(name, tessellated(document, viewing) if document.has_curves else document)


def viewed(scene: Scene, viewing: Viewing) -> Scene:
    """Returns a scene made ready for a view of it: with default camera and light by the axis that is up, and round
    shapes as fine as they are seen then. Raises SceneError where an axis is named and nothing depends on it."""
    document = scene.as_read
    if viewing.up_axis is not None and (document is None or document.cameras):
        raise SceneError(f"--up-axis is for files without a camera, and {scene.name!r} has one; leave it out")
    is_same = viewing.up_axis is None and not (document is not None and document.has_curves)
    if document is None or is_same or viewing == AS_THE_FILE_SAYS:
        return scene
    return replace(scene_of(scene.name, document, scene.source, viewing), files=scene.files)
