"""This module sets a document up for playing: what stands still is flattened once, and what moves at every time that is
asked for."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, compress
from typing import TYPE_CHECKING

import numpy as np

from scenes.document import (
    Document,
    LightSource,
    Origin,
    Part,
    Scene,
    TrianglePiece,
    join_loose,
    rest_of,
    triangle_count,
)
from scenes.errors import SceneError, SceneFileError
from scenes.files.memory import check_memory
from scenes.meshes.geometry import corner_uvs, small_uvs, unit
from scenes.model import (
    Doubles,
    Environment,
    Floats,
    Indices,
    Light,
    Material,
    Mesh,
    Snapshot,
)
from scenes.motion.transforms import Transform
from scenes.playing.placing import (
    UNIT_BOX,
    PartRun,
    Placed,
    Pose,
    TrackTime,
    box_triangles,
    camera_at,
    check_range,
    check_uvs,
    has_uvs,
    runs_of,
)
from scenes.views.viewing import AS_THE_FILE_SAYS, Viewing, triple
from tracecore.threads import Piece, in_pieces

if TYPE_CHECKING:
    from scenes.views.default_view import Subject

#: Triangles from which on a camera and light are chosen by the boxes around shapes that stand in several places.
MANY_TRIANGLES = 1 << 20

#: So many triangles one thread places at most; of more, all threads do.
PLACED_ALONE = 1 << 17


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


class SceneEvaluator:
    """Makes snapshots of a document at any time."""

    def __init__(self, name: str, document: Document) -> None:
        """Raises SceneError where the triangles would not fit into memory."""
        check_memory(document.triangles, document.stored_triangles)
        self.name = name
        self.document = document
        ends = list(accumulate((triangle_count(part.shape) for part in document.parts), initial=0))
        self.placed = [
            Placed(part, number, slice(*ends[number : number + 2])) for number, part in enumerate(document.parts)
        ]
        self.triangles = document.triangles
        self._moment = TrackTime(document.tracks, math.nan)
        moving = [item for item in self.placed if self.moves(item.part)]
        self._moving, self.moving_triangles = list(runs_of(moving)), sum(item.count for item in moving)
        self._materials = np.array([item.part.own_material for item in self.placed], np.int32)
        self._counts = [item.count for item in self.placed]
        self._uvs: dict[tuple[int, bool], Floats] = {}
        for shape, origin in {
            id(item.part.shape): (item.part.shape, item.part.origin) for item in self.placed
        }.values():
            if has_uvs(shape):
                check_uvs(rest_of(shape), origin)

    @cached_property
    def uvs(self) -> Floats:
        """Returns the texture coordinates of all triangles, (n, 3, 2) float32."""
        found = np.zeros((self.triangles, 3, 2), dtype=np.float32)
        for item in self.placed:
            if has_uvs(item.part.shape):
                found[item.indices] = self.uvs_of(item)
        return found

    def uvs_of(self, item: Placed) -> Floats:
        """Returns the texture coordinates of a part, (n, 3, 2) float32; those of a shape are made once."""
        shape, clamped = item.part.shape, self.is_clamped(int(self._materials[item.number]))
        if not has_uvs(shape):
            return np.zeros((item.count, 3, 2), np.float32)
        key = (id(shape), clamped)
        if key not in self._uvs:
            self._uvs[key] = (corner_uvs if clamped else small_uvs)(rest_of(shape)).astype(np.float32)
        return self._uvs[key]

    @cached_property
    def material_ids(self) -> Indices:
        """Returns the material of each triangle, (n,)."""
        return np.repeat(self._materials, self._counts)

    @cached_property
    def object_ids(self) -> Indices:
        """Returns the number of the part of each triangle, (n,)."""
        return np.repeat(np.arange(len(self._counts), dtype=np.int32), self._counts)

    def is_clamped(self, material: int) -> bool:
        """Returns whether a texture of a material does not repeat."""
        textures = self.document.textures
        return any(textures[index].wrap == "clamp" for index in self.document.materials[material].pictures.values())

    @cached_property
    def materials(self) -> tuple[Material, ...]:
        """Returns the materials, the same at all times, with backdrop and ambient in the ambient light of an AFF file,
        whose numbers stand for radiance as those of its other lights do."""
        materials, ambient = self.document.materials, self.document.ambient
        if not any(any(one.backdrop) or any(one.ambient) for one in materials):
            return tuple(materials)
        from scenes.materials.microfacets import multiplied

        return tuple(
            replace(one, backdrop=multiplied(one.backdrop, ambient), ambient=multiplied(one.ambient, ambient))
            for one in materials
        )

    def moves(self, part: Part) -> bool:
        """Returns whether a part may change with time: it does so itself, or its transform or one around it has
        keyframes. A name without any moves nothing."""
        transform: Transform | None = part.transform
        while transform is not None:
            if transform.track in self.document.tracks:
                return True
            transform = transform.parent
        return not isinstance(part.shape, Mesh)

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
        see `scenes.playing.lamp_distances`."""
        from scenes.playing.lamp_distances import lamp_distances

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
        view, arrays = self.view_at(time), self.arrays_at(time)
        shown = slice(None) if arrays.shown.all() else arrays.shown
        return replace(
            view,
            positions=arrays.positions[shown],
            normals=arrays.normals[shown],
            uvs=self.uvs[shown],
            material_ids=self.material_ids[shown],
            object_ids=self.object_ids[shown],
        )

    def view_at(self, time: float) -> Snapshot:
        """Makes the snapshot of a time without its triangles. Each camera is moved by the track of its name, if any."""
        if not math.isfinite(time):
            raise SceneError(f"expected a finite time, got {time}")
        cameras = dict(self.document.cameras)
        for name in cameras.keys() & self.document.tracks.keys():
            cameras[name] = camera_at(cameras[name], self.document.tracks[name], time)
        camera = next(iter(cameras.values()))
        return Snapshot(
            name=self.name,
            time=time,
            positions=np.zeros((0, 3, 3), np.float32),
            normals=np.zeros((0, 3, 3), np.float32),
            uvs=np.zeros((0, 3, 2), np.float32),
            material_ids=np.zeros(0, np.int32),
            object_ids=np.zeros(0, np.int32),
            materials=self.materials,
            textures=tuple(self.document.textures),
            lights=self.lights_at(time),
            camera=camera,
            light_groups=self.document.light_groups,
            shown_lights=self.shown_lights(time),
            environment_group=self.environment_group,
            cameras=cameras,
            background=self.document.background,
            environment=self.environment_at(time),
        )

    def arrays_at(self, time: float) -> FlatArrays:
        """Returns the flat arrays of a time: new ones, where anything moves."""
        if not self._moving:
            return self.still
        arrays = self.still.copy()
        self.fill(arrays, self._moving, time)
        return arrays

    def fill(self, arrays: FlatArrays, runs: Iterable[PartRun], time: float) -> None:
        """Writes the triangles of some parts at a time, many of them by all threads. Raises SceneFileError of the first
        part that is out of range."""
        with np.errstate(all="ignore"):  # what overflows is not finite, and found later
            posed = {number: (run, *self.poses(run, time)) for number, run in enumerate(runs)}
        count, triangles = len(posed), sum(sum(run.counts) for run, *_ in posed.values())
        errors: dict[int, SceneFileError] = {}

        def place(piece: Piece) -> None:
            for number in range(*piece):
                try:
                    place_run(arrays, *posed.pop(number), time)  # which leaves nothing of what it made
                except SceneFileError as error:
                    errors[number] = error

        in_pieces(place, count, 1 if triangles > PLACED_ALONE else max(count, 1))
        if errors:
            raise errors[min(errors)]

    def poses(self, run: PartRun, time: float) -> tuple[Doubles, list[bool]]:
        """Returns where the parts of a run are at a time, (m, 4, 4), and whether each is shown."""
        moment = self.moment(time)
        poses = [moment.pose(item.part.transform) for item in run.items]
        return np.array([pose.matrix for pose in poses]), [pose.shown for pose in poses]

    def boxes_at(self, time: float) -> Doubles:
        """Returns the lower and upper corners, (m, 2, 3), of the boxes around the parts at a time; zeros of parts
        without triangles. Raises SceneFileError where one is out of range."""
        boxes = np.zeros((len(self.placed), 2, 3))
        with np.errstate(all="ignore"):
            for run in runs_of(self.placed):
                own = run.joined_at(time).boxes(self.poses(run, time)[0])
                run.check(own, [1] * len(own), time)
                boxes[run.numbers] = own
        return boxes

    def subject_at(self, time: float) -> "Subject":
        """Returns what a camera and light are chosen by: the triangles, or, where very many of them are of shapes that
        stand in several places, the boxes around these."""
        from scenes.views.default_view import Subject

        if self.triangles <= max(MANY_TRIANGLES, 2 * self.document.stored_triangles):
            return Subject(self.arrays_at(time).positions, self.material_ids, self.lights_at(time))
        uses = Counter(id(item.part.shape) for item in self.placed)
        is_boxed = np.array([item.count > len(UNIT_BOX) and uses[id(item.part.shape)] > 1 for item in self.placed])
        others = [item.part for item in compress(self.placed, ~is_boxed)]
        rest = SceneEvaluator(self.name, replace(self.document, parts=others))
        boxes = box_triangles(self.boxes_at(time)[is_boxed])
        return Subject(
            np.concatenate([rest.arrays_at(time).positions, boxes]),
            np.concatenate([rest.material_ids, np.repeat(self._materials[is_boxed], len(UNIT_BOX))]),
            self.lights_at(time),
        )

    def pieces_at(self, time: float) -> Iterator[TrianglePiece]:
        """Yields the triangles of a time, some at a time."""
        is_cut_out = np.array([material.is_cut_out for material in self.materials], np.bool_)
        for run in runs_of(self.placed):
            matrices, shown = self.poses(run, time)
            positions = run.joined_at(time).positions(matrices).astype(np.float32)
            ids = np.repeat(self._materials[run.numbers], run.counts)
            cut_out = is_cut_out[ids]
            if cut_out.any():
                cut_out &= np.concatenate([self.uvs_of(item).any(axis=(1, 2)) for item in run.items])
            own = slice(None) if all(shown) else np.repeat(shown, run.counts)
            yield TrianglePiece(positions[own], ids[own], cut_out[own])

    def moment(self, time: float) -> TrackTime:
        """Returns where things are at a time; what was found of the last one is kept."""
        if self._moment.time != time:
            self._moment = TrackTime(self.document.tracks, time)
        return self._moment

    def lights_at(self, time: float) -> tuple[Light, ...]:
        """Returns the lights that shine at a time."""
        if not self.document.lights:
            return ()
        view = EvaluatedLights(self, time)
        with np.errstate(all="ignore"):  # what overflows is not finite, and found
            lights = [(source, source.light_at(view)) for source in self.document.lights]
            return tuple(light for source, light in lights if view.pose(source).shown)

    def shown_lights(self, time: float) -> tuple[int, ...]:
        """Returns the numbers, from 0, of the lights that shine at a time."""
        view = EvaluatedLights(self, time)
        return tuple(number for number, source in enumerate(self.document.lights) if view.pose(source).shown)

    @property
    def environment_group(self) -> str:
        """Returns the name of the light group of the light from all around, if there is any at some time."""
        source = self.document.environment
        return "" if source is None else source.group or "environment"

    def environment_at(self, time: float) -> Environment | None:
        """Returns the light from all around, as it is turned at a time, if there is any."""
        source = self.document.environment
        if source is None:
            return None
        pose = self.moment(time).pose(source.transform)
        axes = axes_of(pose.matrix)
        check_turned(axes, source.origin, time)
        return Environment(radiance=source.radiance, axes=axes) if pose.shown else None


def place_run(arrays: FlatArrays, run: PartRun, matrices: Doubles, shown: list[bool], time: float) -> None:
    """Writes the triangles of a run at a time, as `SceneEvaluator.poses` has it. Raises SceneFileError where it is out
    of range."""
    with np.errstate(all="ignore"):  # what overflows is not finite, and found below
        positions, normals = run.joined_at(time).corners(matrices)
        run.check(positions, run.counts, time)
        arrays.positions[run.indices] = positions
        arrays.normals[run.indices] = normals
        arrays.shown[run.indices] = np.repeat(shown, run.counts)


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


def scene_of(name: str, document: Document, source: str = "", viewing: Viewing = AS_THE_FILE_SAYS) -> Scene:
    """Returns a document as a scene, with a camera and light if it has none, its round shapes as fine as they are seen.

    source: the file that it was read from.
    viewing: how it will be looked at.

    Raises SceneFileError where something of it is beyond what float32 can hold at the animation's start, and SceneError
    where it does not fit into memory.
    """
    joined, evaluator = replace(document, parts=join_loose(document.parts)), None
    # Without a look at its triangles there is a camera, and light.
    if joined.triangles and not (joined.cameras and joined.has_light and (joined.is_lit_by_glow or not joined.lights)):
        from scenes.views.default_view import completed

        evaluator = SceneEvaluator(name, joined)
        subject = evaluator.subject_at(joined.animation.start)
        evaluator.document = joined = completed(joined, subject, viewing.up_axis)
        del subject
    if joined.has_curves:
        from scenes.playing.tessellation import tessellated

        evaluator = None  # so that all triangles are held once at most
        joined = tessellated(joined, viewing)
    evaluator = evaluator or SceneEvaluator(name, joined)
    evaluator.boxes_at(document.animation.start)  # raises what `snapshot` raises, without all triangles
    evaluator.view_at(document.animation.start)
    return Scene(
        name=name,
        snapshot=evaluator.snapshot,
        view=evaluator.view_at,
        pieces=evaluator.pieces_at,
        animation=document.animation,
        source=source,
        moving_triangles=evaluator.moving_triangles,
        document=evaluator.document,
        as_read=document,
    )


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
