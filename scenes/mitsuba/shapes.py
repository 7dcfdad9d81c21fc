"""This module turns shapes into meshes: one function for each type, found by its name in `SHAPES`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from scenes.mesh_file import read_mesh_document
from scenes.meshes.curves import Turned, changed
from scenes.meshes.geometry import normal_matrix, unit
from scenes.meshes.revolution import inverted, mapped_uvs, revolved
from scenes.meshes.smooth_normals import creased, smoothed
from scenes.mitsuba.elements import MAX_QUOTE
from scenes.mitsuba.properties import Properties
from scenes.mitsuba.reading import Reading
from scenes.mitsuba.serialized import read_serialized
from scenes.model import Doubles, Mesh
from scenes.motion.transforms import scaling, translation


@dataclass(frozen=True)
class MeshKey:
    """Names a mesh of a file as one or more shapes show it.

    index: of the mesh in the file.
    is_flat: without normals.
    crease: degrees beyond which edges stay sharp, or None.
    is_flipped: with its v upside down.
    """

    path: Path
    index: int = 0
    is_flat: bool = False
    crease: float | None = None
    is_flipped: bool = False


class MitsubaShapes:
    """Reads shapes. A mesh file is read once, and so is each way to show it, however many shapes show it."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self._files: dict[tuple[Path, int], tuple[list[Mesh], bool]] = {}
        self._shown: dict[MeshKey, list[Mesh]] = {}

    def meshes(self, properties: Properties) -> list[Mesh | Turned]:
        """Returns the meshes of a <shape>, or round shapes, before its to_world."""
        build = SHAPES.get(properties.type)
        if build is None:
            properties.unknown_type([*SHAPES, "shapegroup", "instance"])
        made = build(self, properties)
        return [changed(shape, inverted) for shape in made] if properties.flag("flip_normals") else list(made)

    def shown(self, key: MeshKey) -> list[Mesh]:
        """Returns the meshes of a file as they are to be shown."""
        if key not in self._shown:
            meshes, is_flat = self.file(key.path, key.index)
            meshes = [with_normals(mesh, key.is_flat or is_flat, key.crease) for mesh in meshes]
            self._shown[key] = [mapped_uvs(mesh, UPSIDE_DOWN) for mesh in meshes] if key.is_flipped else meshes
        return self._shown[key]

    def file(self, path: Path, index: int) -> tuple[list[Mesh], bool]:
        """Returns the meshes of a file, and whether they are to look flat."""
        if (path, index) not in self._files:
            if path.suffix.lower() == SERIALIZED:
                mesh, is_flat = read_serialized(path, index, self.reading.notes)
                self._files[path, index] = [mesh], is_flat
            else:
                document = read_mesh_document(path, self.reading.notes, has_no_looks=True)
                meshes = [part.shape for part in document.parts if isinstance(part.shape, Mesh)]
                self._files[path, index] = meshes, False
        return self._files[path, index]


def with_normals(mesh: Mesh, is_flat: bool, crease: float | None) -> Mesh:
    """Returns a mesh with its own normals, or else smooth ones; or without, if it is to be flat."""
    if is_flat:
        return replace(mesh, normals=None, normal_triangles=None)
    if crease is not None:
        return creased(mesh, crease)
    return mesh if mesh.normals is not None else smoothed(mesh)


def of_file(shapes: MitsubaShapes, properties: Properties) -> list[Mesh]:
    """Reads an OBJ or PLY file, or a mesh of a .serialized one. Mitsuba has v downward, and takes it for upward in OBJ
    files unless `flip_tex_coords` says otherwise."""
    name = properties.text("filename")
    if not name.lower().endswith(f".{properties.type}"):
        raise properties.element.error(f"expected the name of an .{properties.type} file, got {name[:MAX_QUOTE]!r}")
    path = properties.file()
    is_obj, is_serialized = properties.type == "obj", properties.type == SERIALIZED[1:]
    index = int(properties.number("shape_index", 0.0)) if is_serialized else 0
    crease = properties.number("max_smooth_angle", 180.0) if "max_smooth_angle" in properties.named else None
    is_down = properties.flag("flip_tex_coords", is_obj)
    is_flipped = is_down if is_serialized else not is_down
    return shapes.shown(MeshKey(path, index, properties.flag("face_normals"), crease, is_flipped))


UPSIDE_DOWN = np.array([[1.0, 0.0, 0.0], [0.0, -1.0, 1.0], [0.0, 0.0, 1.0]])
#: The ending of files of several meshes.
SERIALIZED = ".serialized"


def rectangle(_: MitsubaShapes, __: Properties) -> list[Mesh]:
    """Makes the square from -1 to 1 in x and y, seen from +z."""
    return [SQUARE]


def cube(_: MitsubaShapes, __: Properties) -> list[Mesh]:
    """Makes the cube from -1 to 1, with the whole of a texture on each face."""
    front = SQUARE.vertices + (0.0, 0.0, 1.0)
    faces = [np.stack([front @ axis for axis in axes], axis=-1) for axes in FACES]
    triangles = np.concatenate([SQUARE.triangles + 4 * face for face in range(6)])
    uvs = np.concatenate([CORNERS] * 6)
    return [Mesh(vertices=np.concatenate(faces), triangles=triangles, material=0, uvs=uvs, uv_triangles=triangles)]


def sphere(_: MitsubaShapes, properties: Properties) -> list[Turned]:
    """Makes a sphere with its poles on z."""
    radius, center = length(properties, "radius"), properties.point("center", (0.0, 0.0, 0.0))
    matrix = translation(center) @ scaling(np.full(3, radius))

    def mesh(segments: int) -> Mesh:
        polar = np.pi * np.linspace(0.0, 1.0, segments // 2 + 1)
        profile = np.stack([np.sin(polar), np.cos(polar)], axis=-1)
        return moved(revolved(profile, profile, polar / np.pi, segments), matrix)

    return [Turned(np.stack([center, center]), radius, 2, mesh)]


def cylinder(_: MitsubaShapes, properties: Properties) -> list[Turned]:
    """Makes an open cylinder from p0 to p1."""
    start, end = properties.point("p0", (0.0, 0.0, 0.0)), properties.point("p1", (0.0, 0.0, 1.0))
    radius, axis = length(properties, "radius"), end - start
    if not axis.any():
        raise properties.element.error("expected p0 and p1 of a cylinder to differ")
    side = unit(np.cross(np.eye(3)[np.argmin(np.abs(axis))], axis))
    matrix = np.eye(4)
    matrix[:3, :] = np.stack([radius * side, radius * unit(np.cross(axis, side)), axis, start], axis=-1)
    profile, outward = np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([[1.0, 0.0], [1.0, 0.0]])

    def mesh(segments: int) -> Mesh:
        return moved(revolved(profile, outward, np.array([1.0, 0.0]), segments), matrix)

    return [Turned(np.stack([start, end]), radius, 1, mesh)]


def disk(_: MitsubaShapes, __: Properties) -> list[Turned]:
    """Makes the disk of radius 1 in x and y, seen from +z; u runs outward."""
    profile, upward = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 1.0]])
    swapped = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])

    def mesh(segments: int) -> Mesh:
        return mapped_uvs(revolved(profile, upward, np.array([0.0, 1.0]), segments), swapped)

    return [Turned(np.zeros((2, 3)), 1.0, 1, mesh)]


CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
TWO_TRIANGLES = np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32)
SQUARE = Mesh(
    vertices=np.concatenate([2.0 * CORNERS - 1.0, np.zeros((4, 1))], axis=1),
    triangles=TWO_TRIANGLES,
    material=0,
    uvs=CORNERS,
    uv_triangles=TWO_TRIANGLES,
)
X, Y, Z = np.eye(3)
#: For each face of the cube, what of the front face becomes x, y and z: each is a rotation.
FACES = ((X, Y, Z), (Z, Y, -X), (-X, Y, -Z), (-Z, Y, X), (X, Z, -Y), (X, -Z, Y))


def length(properties: Properties, name: str) -> float:
    """Returns the length that an element gives, or 1 if it gives none."""
    value = properties.number(name, 1.0)
    if not value > 0.0:
        raise properties.element.error(f"expected a {name} above 0, got {value:g}")
    return value


def moved(mesh: Mesh, matrix: Doubles) -> Mesh:
    """Returns a mesh with normals under a (4, 4) affine map that mirrors nothing."""
    assert mesh.normals is not None
    return replace(
        mesh,
        vertices=mesh.vertices @ matrix[:3, :3].T + matrix[:3, 3],
        normals=unit(mesh.normals @ normal_matrix(matrix).T),
    )


SHAPES: dict[str, Callable[[MitsubaShapes, Properties], Sequence[Mesh | Turned]]] = {
    "obj": of_file,
    "ply": of_file,
    "serialized": of_file,
    "rectangle": rectangle,
    "cube": cube,
    "sphere": sphere,
    "disk": disk,
    "cylinder": cylinder,
}
