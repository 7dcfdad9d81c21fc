"""This module reads the mesh files that a scene file refers to. Each is read once, and its meshes are shared."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scenes.document import Document, KeyedTriangles, triangle_count
from scenes.files.source_file import MAX_TRIANGLES, OUTSIDE, is_there, may_be_read, suffix_of
from scenes.keys.place import Place, quoted
from scenes.meshes.curves import Curve
from scenes.model import Doubles, Mesh
from scenes.motion.transforms import Transform
from scenes.toml_scene.keys import EXACT
from scenes.toml_scene.placing import AxisFrame

if TYPE_CHECKING:
    from scenes.toml_scene.exact_mesh import Arrays

MESH_SUFFIXES = (".obj", ".ply", ".stl", ".off", ".3mf", ".glb", ".gltf", ".obj.gz", ".ply.gz", EXACT)
#: These files are in metres with y up, as the standard of their format says.
GLTF = (".glb", ".gltf")


@dataclass(frozen=True, eq=False)
class ObjectPart:
    """Holds a part of an object.

    matrix: (4, 4) inside the object, or None.
    material: instead of the shape's, or None.
    """

    shape: Mesh | KeyedTriangles | Curve
    matrix: Doubles | None = None
    material: int | None = None


class MeshFiles:
    """Reads mesh files; their materials and textures join those of the document. frame: of the scene file.

    triangles: of the scene file so far, each counted once for all of its places.
    """

    def __init__(self, document: Document, frame: AxisFrame) -> None:
        self.document, self.frame, self.triangles = document, frame, 0
        self._pieces: dict[tuple[Path, str], list[ObjectPart]] = {}
        self._paths: dict[str, Path] = {}
        self._arrays: dict[Path, dict[str, Arrays]] = {}

    def count(self, triangles: int, place: Place) -> None:
        """Counts triangles. Raises SceneFileError where there are too many."""
        self.triangles += triangles
        if self.triangles > MAX_TRIANGLES:
            raise place.error(f"over {MAX_TRIANGLES} triangles up to here")

    def pieces(self, values: dict[str, Any], material: int | None, place: Place) -> list[ObjectPart]:
        """Reads the meshes of a file in the frame of the scene file. values: file, mesh, units and up."""
        if values["file"] not in self._paths:
            self._paths[values["file"]] = found(values["file"], MESH_SUFFIXES, place.inside("file"))
        path = self._paths[values["file"]]
        mesh = values["mesh"] or ""
        exact = path.suffix.lower() == EXACT
        if mesh and not exact:
            raise place.inside("mesh").error(f"expected no mesh of a file that does not end in {EXACT}")
        if exact and material is None:
            raise place.error(f"the key 'material' is missing: {EXACT} files have none of their own")
        if (path, mesh) not in self._pieces:
            self._pieces[path, mesh] = [self.exact(path, mesh, place)] if exact else self.read(path, place)
        own = self.frame_of(path, values)
        pieces = self._pieces[path, mesh]
        if own != self.frame:
            matrix = own.inside(self.frame)
            pieces = [replace(piece, matrix=inside(matrix, piece.matrix)) for piece in pieces]
        return pieces if material is None else [replace(piece, material=material) for piece in pieces]

    def frame_of(self, path: Path, values: dict[str, Any]) -> AxisFrame:
        """Returns the unit and the upward axis of a mesh file."""
        default = AxisFrame(1.0, "y") if path.suffix.lower() in GLTF else self.frame
        return AxisFrame(values["units"] or default.units, values["up"] or default.up)

    def exact(self, path: Path, mesh: str, place: Place) -> ObjectPart:
        """Returns a mesh from a file of exact ones, which hold no materials."""
        from scenes.toml_scene.exact_mesh import read_meshes, shape_of  # not where there are no such files

        if path not in self._arrays:
            self._arrays[path] = read_meshes(path)
        if mesh not in self._arrays[path]:
            raise place.inside("mesh").unknown("mesh", mesh, self._arrays[path])
        here = Place(path).inside(mesh) if mesh else Place(path)
        shape = shape_of(self._arrays[path].pop(mesh), 0, here)
        self.count(triangle_count(shape), place)
        return ObjectPart(shape)

    def read(self, path: Path, place: Place) -> list[ObjectPart]:
        """Reads the meshes of a file in the file's own frame."""
        from scenes.mesh_file import read_mesh_document  # many readers, not where there are no such files

        read = read_mesh_document(path, self.document.notes)
        self.count(read.stored_triangles, place)
        first_material, first_texture = len(self.document.materials), len(self.document.textures)
        for material in read.materials:
            pictures: dict[str, Any] = {name: index + first_texture for name, index in material.pictures.items()}
            self.document.materials.append(replace(material, **pictures))
        for texture in read.textures:
            self.document.add_texture(texture)
        shapes = {id(shape): moved_material(shape, first_material) for shape in still_shapes(read)}
        return [
            ObjectPart(
                shapes[id(part.shape)],
                fixed_matrix(part.transform),
                None if part.material is None else part.material + first_material,
            )
            for part in read.parts
        ]


def still_shapes(document: Document) -> list[Mesh | KeyedTriangles]:
    """Returns the shapes of a document in which nothing bends."""
    return [part.shape for part in document.parts if isinstance(part.shape, Mesh | KeyedTriangles)]


def moved_material(shape: Mesh | KeyedTriangles, first: int) -> Mesh | KeyedTriangles:
    """Returns a shape whose index of a material counts from another first one."""
    return replace(shape, material=shape.material + first)


def inside(outer: Doubles, matrix: Doubles | None) -> Doubles:
    """Returns the matrix (4, 4) of a map, or of none, inside another."""
    return outer if matrix is None else outer @ matrix


def fixed_matrix(transform: Transform) -> Doubles | None:
    """Returns the matrix (4, 4) of a transform that nothing moves, or None if it does nothing."""
    outer = None if transform.parent is None else fixed_matrix(transform.parent)
    if outer is None or transform.matrix is None:
        return outer if transform.matrix is None else transform.matrix
    return outer @ transform.matrix


def found(name: str, suffixes: tuple[str, ...] | None, place: Place) -> Path:
    """Returns the path of a file that is there and ends as it should, None for anyhow. place: of the key that names
    it."""
    path = place.path.parent / name
    if suffixes is not None and suffix_of(path) not in suffixes:
        raise place.error(f"expected a file that ends in one of {' '.join(suffixes)}, got {quoted(name)}")
    if not is_there(path):
        raise place.error(f"no file {quoted(name)} in {quoted(str(place.path.parent))}")
    if not may_be_read(path):
        raise place.error(f"{quoted(name)} {OUTSIDE}")
    return path
