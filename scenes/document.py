"""A document is a scene before a time is chosen: shapes in their places, lights, cameras and the tracks that move them.

Readers of files and the shipped scenes make documents; `scenes.playing.evaluator` makes scenes of them, which say what
they look like at any time. A mesh that stands in
several places is there once, and every part that shows it refers to it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from scenes.errors import Notes, SceneError
from scenes.files.source_file import MAX_ALL_PIXELS
from scenes.keys.place import Place
from scenes.keys.values import Key
from scenes.meshes.curves import Curve, Fineness
from scenes.meshes.geometry import corner_indices, unit
from scenes.model import (
    AnimationRange,
    Camera,
    Color,
    Doubles,
    Floats,
    Indices,
    Light,
    Material,
    Mesh,
    Snapshot,
    Texture,
)
from scenes.motion.tracks import Track
from scenes.motion.transforms import WORLD, Transform


@dataclass(frozen=True)
class Origin:
    """Names a place in a file, for errors that show only later. line: None where a file has no lines."""

    path: Path
    line: int | None = None


#: The origin of what comes from no file.
BY_CODE = Origin(Path("made by code"))


@dataclass(frozen=True, eq=False)
class KeyedTriangles:
    """Holds triangles of which each key gives all corners.

    times: (k,).
    positions, normals: (k, n, 3, 3); normals of unit length or zero, since files give them of any.
    """

    times: Doubles
    positions: Doubles
    normals: Doubles
    material: int

    def mesh_at(self, time: float) -> Mesh:
        """Returns the triangles at a time, linear between keys and at rest before the first and after the last."""
        before, after, u = self.keys_at(time)
        positions = (1.0 - u) * self.positions[before] + u * self.positions[after]
        normals = (1.0 - u) * self.normals[before] + u * self.normals[after]
        corners = corner_indices(len(positions))
        return Mesh(
            vertices=positions.reshape(-1, 3),
            triangles=corners,
            normals=normals.reshape(-1, 3),
            normal_triangles=corners,
            material=self.material,
        )

    def keys_at(self, time: float) -> tuple[int, int, float]:
        """Returns the keys before and after a time, and how far it is between them, in 0..1."""
        last = len(self.times) - 1
        if time <= self.times[0]:
            return 0, 0, 0.0
        for index in range(last):
            if time < self.times[index + 1]:
                start, end = self.times[index], self.times[index + 1]
                return index, index + 1, float((time - start) / (end - start))
        return last, last, 0.0


@dataclass(frozen=True, eq=False)
class BentMesh(ABC):
    """Holds a mesh whose vertices and normals move one by one; triangles and texture coordinates stay. rest: the mesh
    before anything moves."""

    rest: Mesh

    @property
    def material(self) -> int:
        """Returns the index of the material."""
        return self.rest.material

    @abstractmethod
    def mesh_at(self, time: float) -> Mesh:
        """Returns the mesh at a time."""


Shape = Mesh | KeyedTriangles | BentMesh


@dataclass(frozen=True, eq=False)
class Part:
    """Puts a piece of geometry in its place; parts may share a shape.

    material: index in the document's list that this part has instead of its shape's.
    loose: a few triangles that may be joined with those next to them.
    curve: what the shape is, exactly, if it is round and its mesh is only the coarsest of it, see
        `scenes.playing.tessellation`.
    """

    shape: Shape
    transform: Transform = WORLD
    origin: Origin = BY_CODE
    material: int | None = None
    loose: bool = False
    curve: Curve | None = None

    @property
    def own_material(self) -> int:
        """Returns the index of its material."""
        return self.shape.material if self.material is None else self.material


def part_of(
    shape: Shape | Curve, transform: Transform = WORLD, origin: Origin = BY_CODE, material: int | None = None
) -> Part:
    """Returns a shape in its place, with the coarsest mesh of it if it is round."""
    if isinstance(shape, Curve):
        return Part(shape.coarse, transform, origin, material, curve=shape)
    return Part(shape, transform, origin, material)


class LightView(Protocol):
    """Says where lights are at one time."""

    def distance(self, source: "LightSource") -> float:
        """Returns the distance at which a light that does not fade looks as strong as its number says, at all times."""

    def position(self, source: "LightSource", place: Doubles) -> tuple[float, float, float]:
        """Returns where a place (3,) of a light is, moved by its track and its transform."""

    def direction(self, source: "LightSource", direction: Doubles) -> tuple[float, float, float]:
        """Returns the unit direction that a light's transform turns a direction (3,) of any length to."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Grouped:
    """Is in a light group, by its name; "" where nobody has named one."""

    group: str = ""


class LightSource(Grouped, ABC):
    """Describes a light in its place, and a kind of lights by what all of them have in common.

    kind: as `scenes.model.Light` has it.
    plural: what several are called.
    about: what the light is, in the manual.
    keys: in a scene file, beside those of all lights.
    transform: where it stands.
    track: the name of the track that moves its position, or "".
    """

    kind: ClassVar[str]
    plural: ClassVar[str]
    about: ClassVar[str]
    keys: ClassVar[tuple[Key, ...]]
    transform: Transform
    origin: Origin
    track: str = ""

    @classmethod
    @abstractmethod
    def read(cls, values: dict[str, Any], transform: Transform, place: Place) -> "LightSource":
        """Makes a light of the values of its keys. place: of its table in the file. Raises SceneFileError."""

    @abstractmethod
    def written(self) -> dict[str, Any]:
        """Returns the values of its own keys, but for that of the track, so that the same light is read."""

    @abstractmethod
    def light_at(self, view: LightView) -> Light:
        """Returns what the light is at the time of a view. Raises SceneFileError where it has left the world."""

    def steady_position(self, _view: LightView) -> tuple[float, float, float] | None:
        """Returns where the light is if it does not fade with distance, else None."""
        return None


@dataclass(frozen=True, eq=False)
class EnvironmentSource(Grouped):
    """Describes the light from all around, as `scenes.model.Environment` does; its transform turns it."""

    radiance: Floats
    transform: Transform = WORLD
    origin: Origin = BY_CODE


@dataclass(eq=False)
class Document:
    """Holds everything that was read from a scene file.

    tracks: by the name of what they move.
    cameras: by name, the one to look through first; a track of the same name moves it.
    ambient: light that multiplies `backdrop` and `ambient` of all materials.
    settings: options of `tracecore render`, by name, that the scene proposes.
    notes: what its files say and the document does not, or only about.
    up: "y" or "z", what is up where no camera says it.
    is_up_known: whether the format says so; else it is looked for in the triangles.
    is_lit_by_glow: whether all that glows is there to light it; else only lamps are, see `scenes.views.default_view`.
    fineness: how its round shapes became triangles, if it has had any.
    pixels: of the textures that were added by `add_texture`.
    has_no_looks: whether materials, pictures and colours of mesh files are passed over, for one who has others for
        them.
    """

    parts: list[Part] = field(default_factory=list)
    lights: list[LightSource] = field(default_factory=list)
    materials: list[Material] = field(default_factory=list)
    textures: list[Texture] = field(default_factory=list)
    tracks: dict[str, Track] = field(default_factory=dict)
    cameras: dict[str, Camera] = field(default_factory=dict)
    background: Color = (0.0, 0.0, 0.0)
    environment: EnvironmentSource | None = None
    ambient: Color = (1.0, 1.0, 1.0)
    animation: AnimationRange = field(default_factory=AnimationRange)
    settings: dict[str, str | float | int | tuple[int, int]] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)
    up: str = "y"
    is_up_known: bool = True
    is_lit_by_glow: bool = True
    fineness: Fineness | None = None
    pixels: int = 0
    has_no_looks: bool = False
    _materials: dict[Material, int] = field(default_factory=dict, init=False, repr=False)
    _textures: dict[Texture, int] = field(default_factory=dict, init=False, repr=False)

    def show_linearly(self, path: Path) -> None:
        """Proposes that pictures are shown as the program of the file shows them, at exposure 0 or that of the file and
        without a curve, which is noted."""
        self.settings.setdefault("exposure", 0.0)
        self.settings.setdefault("tone_map", "linear")
        exposure = f"exposure {self.settings['exposure']:g}"
        message = f"it is shown at {exposure} without a curve, as its own program does; as other files are shown: "
        self.notes.add(message + "--exposure auto --tone-map reinhard", path)

    def add_texture(self, texture: Texture) -> int:
        """Takes in a texture and returns its index. Raises SceneError where all have too many pixels."""
        self.textures.append(texture)
        self.pixels += texture.pixels.shape[0] * texture.pixels.shape[1]
        if self.pixels > MAX_ALL_PIXELS:
            raise SceneError(f"its textures have over {MAX_ALL_PIXELS} pixels in all")
        return len(self.textures) - 1

    def add_light(self, source: LightSource | EnvironmentSource) -> bool:
        """Takes in a light; returns False, and leaves it, where it is one from all around and there is such a one."""
        if not isinstance(source, EnvironmentSource):
            self.lights.append(source)
        elif self.environment is None:
            self.environment = source
        return not isinstance(source, EnvironmentSource) or self.environment is source

    def material_index(self, material: Material, pictures: Mapping[str, Texture | None] | None = None) -> int:
        """Returns the index of a material with some pictures, all added if they are new. pictures: by its fields."""
        indices: dict[str, Any] = {}
        for name, texture in (pictures or {}).items():
            if texture is not None and texture not in self._textures:
                self._textures[texture] = self.add_texture(texture)
            indices[name] = -1 if texture is None else self._textures[texture]
        own = replace(material, **indices)
        if own not in self._materials:
            self._materials[own] = len(self.materials)
            self.materials.append(own)
        return self._materials[own]

    @property
    def has_light(self) -> bool:
        """Returns whether it has a light, a surface that is there to light it, or light from all around."""
        if self.lights or self.environment is not None:
            return True
        return self.is_lit_by_glow and self.glows

    @property
    def light_groups(self) -> tuple[str, ...]:
        """Returns the names of the light groups of all lights. Those that nobody has named are called by their numbers,
        from 1."""
        return tuple(source.group or f"light{number}" for number, source in enumerate(self.lights, 1))

    @property
    def glows(self) -> bool:
        """Returns whether a surface sends out light."""
        return any(any(self.materials[part.own_material].emission) for part in self.parts)

    @property
    def has_curves(self) -> bool:
        """Returns whether it has round shapes of which triangles are still to be made."""
        return any(part.curve is not None for part in self.parts)

    @property
    def triangles(self) -> int:
        """Returns how many triangles there are, those of a shape counted in every place where it stands."""
        return sum(triangle_count(part.shape) for part in self.parts)

    @property
    def stored_triangles(self) -> int:
        """Returns how many there are with every shape counted once."""
        return sum({id(part.shape): triangle_count(part.shape) for part in self.parts}.values())


def triangle_count(shape: Shape) -> int:
    """Returns how many triangles a shape has."""
    if isinstance(shape, KeyedTriangles):
        return shape.positions.shape[1]
    return len(rest_of(shape).triangles)


def rest_of(shape: Mesh | BentMesh) -> Mesh:
    """Returns the mesh of a shape whose triangles stay the same ones."""
    return shape if isinstance(shape, Mesh) else shape.rest


def keyed_triangle(times: Doubles, corners: Doubles, material: int) -> KeyedTriangles:
    """Makes one animated triangle. corners: (k, 3, 6) positions and normals of any length."""
    return KeyedTriangles(times, corners[:, None, :, :3], unit(corners[:, None, :, 3:]), material)


def join_loose(parts: list[Part]) -> list[Part]:
    """Returns the parts in the same order, each run of loose parts that are alike joined to one."""
    runs: list[list[Part]] = []
    for part in parts:
        if runs and alike(runs[-1][0], part):
            runs[-1].append(part)
        else:
            runs.append([part])
    return [run[0] if len(run) == 1 else join(run) for run in runs]


def alike(first: Part, second: Part) -> bool:
    """Returns whether two loose parts can be one. Round shapes cannot before their triangles are made."""
    a, b = first.shape, second.shape
    if first.curve is not None or second.curve is not None:
        return False
    if not (first.loose and second.loose and first.transform is second.transform and a.material == b.material):
        return False
    if isinstance(a, Mesh) and isinstance(b, Mesh):
        return (a.normals is None) == (b.normals is None) and (a.uvs is None) == (b.uvs is None)
    if isinstance(a, KeyedTriangles) and isinstance(b, KeyedTriangles):
        return np.array_equal(a.times, b.times)
    return False


def join(run: list[Part]) -> Part:
    """Makes one part of many that are alike."""
    first = run[0]
    if isinstance(first.shape, KeyedTriangles):
        keyed = [part.shape for part in run if isinstance(part.shape, KeyedTriangles)]
        positions = np.concatenate([shape.positions for shape in keyed], axis=1)
        normals = np.concatenate([shape.normals for shape in keyed], axis=1)
        shape = KeyedTriangles(first.shape.times, positions, normals, first.shape.material)
        return Part(shape, first.transform, first.origin)
    return Part(
        join_meshes([part.shape for part in run if isinstance(part.shape, Mesh)]), first.transform, first.origin
    )


def join_meshes(meshes: list[Mesh]) -> Mesh:
    """Makes one mesh of many of one material; either all have normals or none has, and so with texture coordinates."""
    vertices, triangles = join_indexed([(mesh.vertices, mesh.triangles) for mesh in meshes])
    normals, normal_triangles = join_indexed([(mesh.normals, mesh.normal_triangles) for mesh in meshes])
    uvs, uv_triangles = join_indexed([(mesh.uvs, mesh.uv_triangles) for mesh in meshes])
    assert vertices is not None
    assert triangles is not None
    return Mesh(
        vertices=vertices,
        triangles=triangles,
        normals=normals,
        normal_triangles=normal_triangles,
        uvs=uvs,
        uv_triangles=uv_triangles,
        material=meshes[0].material,
    )


def join_indexed(arrays: list[tuple[Doubles | None, Indices | None]]) -> tuple[Doubles | None, Indices | None]:
    """Joins pairs of values and indices into them, one after the other; returns None where there are none."""
    values = [value for value, _ in arrays if value is not None]
    indices = [index for _, index in arrays if index is not None]
    if not values or not indices:
        return None, None
    starts = np.cumsum([0, *(len(value) for value in values[:-1])])
    shifted = [index + start for index, start in zip(indices, starts, strict=True)]
    return np.concatenate(values), np.concatenate(shifted).astype(np.int32)


@dataclass(frozen=True, eq=False)
class TrianglePiece:
    """Holds some triangles of a scene at one time.

    positions: (n, 3, 3), world units.
    material_ids: (n,), indices of the materials.
    cut_out: (n,), whether they may have holes.
    """

    positions: Floats
    material_ids: Indices
    cut_out: npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Scene:
    """Holds a named, animated scene. `snapshot(time)` does the work; readers supply it.

    view: makes the snapshot of a time without its triangles.
    pieces: yields the triangles of a time, some at a time, so that they need not be held together.
    source: the file that it was read from.
    files: all files that it was read from, as paths that hold for the current folder of that moment.
    moving_triangles: how many triangles may change with time.
    document: what the scene was before time was chosen, for those that write it out.
    as_read: the document as its reader made it, without what is added where a file says nothing, and with round shapes
        as they are; None where that is not known.
    """

    name: str
    snapshot: Callable[[float], Snapshot]
    view: Callable[[float], Snapshot]
    pieces: Callable[[float], Iterator[TrianglePiece]]
    animation: AnimationRange = field(default_factory=AnimationRange)
    source: str = ""
    files: tuple[Path, ...] = ()
    moving_triangles: int = 0
    document: "Document"
    as_read: "Document | None" = None

    @property
    def is_of_file(self) -> bool:
        """Returns whether it was read from a file."""
        return self.source not in ("", "shipped")

    def at(self, time: float) -> Snapshot:
        """Makes the snapshot of the scene at a time, in the unit of its animation range. Any time will do: a track is
        held at its ends."""
        return self.snapshot(time)

    def at_frame(self, frame: int) -> Snapshot:
        """Makes the snapshot of the scene at a 0-based frame of its animation; what stands still is the same in all.

        Raises SceneError where the animation has no such frame.
        """
        return self.snapshot(self.time_of(frame))

    def time_of(self, frame: int) -> float:
        """Returns the time of a 0-based frame. Raises SceneError where the animation has no such frame."""
        frames = self.animation.frames
        if frame < 0 or frame >= frames > 1:
            raise SceneError(f"scene {self.name!r} has frames 0 to {frames - 1}, got frame {frame}")
        return self.animation.time_of(frame)
