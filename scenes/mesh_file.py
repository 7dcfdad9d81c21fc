"""This module reads OBJ, PLY, STL, GLB and glTF files through trimesh (Dawson-Haggerty et al.: trimesh, 2019).

Triangles stay as many as the file has, those without area too. Normals are the file's, or else the geometric ones. A
geometry that several nodes of a glTF file use is one mesh; where a node mirrors it, the other winding is in front, as
glTF has it. Text is UTF-8 or else Latin-1.

Materials: see `scenes.mesh_materials`. A surface without a material, or whose MTL file or material in it is missing, is
of one plain grey; one whose picture is missing has its colour alone. Colours of faces or vertices, of a surface that
has no material of the file, become a texture: see `scenes.palette`. Of faces they count where all are triangles.

Cameras and lights of a glTF file are read: see `scenes.gltf`. A file without cameras is seen
from a three-quarter view; one without lights is lit from beside its first camera.
"""

import io
import logging
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from scenes.default_view import SKY, default_camera, default_light
from scenes.document import Document, Origin, Part
from scenes.errors import SceneFileError
from scenes.evaluator import DEFAULT_CAMERA, scene_of
from scenes.geometry import MAX_COORDINATE
from scenes.gltf import GLTF_SUFFIXES, add_view, header_of, with_header
from scenes.lights import PointSource
from scenes.memory import MAX_TRIANGLES
from scenes.mesh_materials import Surfaces
from scenes.mesh_validation import END_HEADER, check_ply, check_stl, is_stl_text, obj_triangles
from scenes.model import Doubles, Floats, Mesh
from scenes.scene import Scene
from scenes.source_file import as_utf8, note_file, read_bytes
from scenes.transforms import WORLD

MAX_FILE_BYTES = 1 << 30
#: This is given to trimesh's log, which without a handler shows tracebacks of what it can do without.
QUIET = logging.NullHandler()


def read_mesh_file(path: Path) -> Scene:
    """Reads the scene of a mesh file. Raises SceneFileError when it cannot be read, holds no triangles or no sound
    ones."""
    document = read_mesh_document(path)
    document.background = SKY
    bounds = world_bounds(document.parts)
    if not document.cameras:
        document.cameras[DEFAULT_CAMERA] = default_camera(bounds)
    if not document.lights:
        light = default_light(bounds, next(iter(document.cameras.values())))
        document.lights.append(PointSource(np.array(light.position), light.intensity))
    return scene_of(path.stem, document, str(path))


def read_mesh_document(path: Path) -> Document:
    """Reads the meshes of a file in their places, with its materials, textures, cameras and lights, and nothing else.

    Raises SceneFileError when it cannot be read, holds no triangles or no sound ones.
    """
    data = read_bytes(path, MAX_FILE_BYTES)
    header = header_of(path, data)
    expected = check_counts(path, data)
    reader = MeshReader(path, header)
    try:
        with np.errstate(all="ignore"):  # what overflows is not finite, and found later
            for place in placed_geometry(load_scene(path, with_clean_text(path, data, header))):
                reader.add(place)
            add_view(path, reader.document, header)
    except SceneFileError:
        raise
    except MemoryError as error:
        raise SceneFileError(path, None, "needs more memory than there is") from error
    except Exception as error:  # loaders raise all kinds on bad files, in words about themselves
        raise SceneFileError(path, None, f"is not a readable {path.suffix[1:].upper()} file") from error
    total = reader.document.triangles
    if total == 0:
        raise SceneFileError(path, None, "there are no triangles")
    if expected is not None and total != expected:
        raise SceneFileError(path, None, f"of {expected} triangles only {total} could be read")
    return reader.document


def world_bounds(parts: list[Part]) -> Floats:
    """Returns the lower and the upper corner of each part's box in the world, (n, 2, 3) float32."""
    bounds = []
    for part in parts:
        assert isinstance(part.shape, Mesh)
        corners = part.shape.vertices[np.unique(part.shape.triangles)]
        if part.transform.matrix is not None:
            corners = under(part.transform.matrix, corners)
        bounds.append((corners.min(axis=0), corners.max(axis=0)))
    return np.array(bounds, dtype=np.float32)


def under(matrix: Doubles, points: Doubles) -> Doubles:
    """Returns points (n, 3) under a (4, 4) affine map."""
    moved: Doubles = points @ matrix[:3, :3].T + matrix[:3, 3]
    return moved


def check_counts(path: Path, data: bytes) -> int | None:
    """Checks the counts that a file states, and returns how many triangles it has, or None where that is not known."""
    suffix = path.suffix.lower()
    if suffix == ".obj":
        return obj_triangles(path, data)
    if suffix == ".ply":
        check_ply(path, data)
    elif suffix == ".stl":
        check_stl(path, data)
    return None


def with_clean_text(path: Path, data: bytes, header: dict[str, Any]) -> bytes:
    """Returns the bytes of a mesh file for trimesh, with what is text in them as UTF-8."""
    suffix = path.suffix.lower()
    if suffix in GLTF_SUFFIXES:
        return with_header(path, data, header)
    if suffix == ".obj" or (suffix == ".stl" and is_stl_text(data)):
        return as_utf8(data)
    if suffix == ".ply" and (end := END_HEADER.search(data)):
        return as_utf8(data[: end.end()]) + data[end.end() :]
    return data


class CleanTextResolver:
    """Finds the files that a mesh file refers to, for trimesh, which knows no text but UTF-8."""

    def __init__(self, path: Path, files: Any) -> None:
        self.path, self.files = path, files

    def get(self, name: str) -> bytes:
        """Reads the bytes of a file in the folder of the mesh file; those of an MTL file are returned as UTF-8."""
        note_file(self.path.parent / name.strip())
        try:
            data: bytes = self.files.get(name)
        except (OSError, ValueError) as error:
            raise SceneFileError(self.path, None, f"refers to {name!r}, which is not in its folder") from error
        return as_utf8(data) if name.strip().lower().endswith(".mtl") else data

    __getitem__ = get


def load_scene(path: Path, data: bytes) -> Any:
    """Reads a trimesh scene or mesh."""
    import trimesh  # only those who read meshes wait for it

    logging.getLogger("trimesh").addHandler(QUIET)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # NumPy warns where text that should be numbers is not, and returns what it has.
        warnings.filterwarnings("error", message=".*could not be read to its end.*")
        resolver: Any = CleanTextResolver(path, trimesh.resolvers.FilePathResolver(str(path.resolve())))
        return trimesh.load(io.BytesIO(data), file_type=path.suffix.lower()[1:], resolver=resolver, process=False)


@dataclass(frozen=True, eq=False)
class Place:
    """Holds a use of a trimesh mesh, and the (4, 4) matrix that places it, or None where nothing does."""

    geometry: Any
    matrix: Doubles | None = None

    @property
    def mirrors(self) -> bool:
        """Returns whether the other side of the triangles is in front."""
        return self.matrix is not None and bool(np.linalg.det(self.matrix[:3, :3]) < 0.0)


def placed_geometry(loaded: Any) -> Iterator[Place]:
    """Yields each use of a mesh that has triangles."""
    if hasattr(loaded, "faces"):
        yield Place(loaded)
    elif hasattr(loaded, "graph"):
        for node in loaded.graph.nodes_geometry:
            matrix, name = loaded.graph[node]
            matrix = np.array(matrix, dtype=np.float64)
            if len(getattr(loaded.geometry[name], "faces", ())):
                yield Place(loaded.geometry[name], None if np.array_equal(matrix, np.eye(4)) else matrix)


@dataclass(eq=False)
class MeshReader:
    """Takes in the uses of meshes one after the other. header: that of a glTF file, or {}."""

    path: Path
    header: dict[str, Any]
    document: Document = field(default_factory=Document)
    known: dict[tuple[int, bool], Mesh] = field(default_factory=dict)
    triangles: int = 0

    def add(self, place: Place) -> None:
        """Takes in one use of a mesh."""
        self.triangles += len(place.geometry.faces)
        if self.triangles > MAX_TRIANGLES:
            raise SceneFileError(self.path, None, f"over {MAX_TRIANGLES} triangles")
        mesh = self.mesh_of(place.geometry, place.mirrors)
        vertices = mesh.vertices if place.matrix is None else under(place.matrix, mesh.vertices)
        check_numbers(self.path, "position", vertices)
        transform = WORLD if place.matrix is None else WORLD.inner(matrix=place.matrix)
        self.document.parts.append(Part(mesh, transform, Origin(self.path)))

    def mesh_of(self, geometry: Any, mirrored: bool) -> Mesh:
        """Returns the mesh of a trimesh mesh, always the same one, with the other winding if it is for a mirroring
        matrix."""
        key = (id(geometry), mirrored)
        if key not in self.known:
            self.known[key] = rewound(self.mesh_of(geometry, False)) if mirrored else self.new_mesh(geometry)
        return self.known[key]

    def new_mesh(self, geometry: Any) -> Mesh:
        """Makes the mesh of a trimesh mesh, and takes in its material."""
        vertices, triangles = np.asarray(geometry.vertices, dtype=np.float64), np.asarray(geometry.faces)
        if triangles.min() < 0 or triangles.max() >= len(vertices):
            reach = f"{triangles.min()} to {triangles.max()}"
            raise SceneFileError(self.path, None, f"indices reach from {reach}, but there are {len(vertices)} vertices")
        triangles = triangles.astype(np.int32)
        normals = file_normals(self.path, geometry)
        uvs = texture_coordinates(self.path, geometry, len(vertices))
        bare = Mesh(
            vertices=vertices,
            triangles=triangles,
            normals=normals,
            normal_triangles=None if normals is None else triangles,
            material=0,
        )
        surfaces = Surfaces(self.path, self.document.materials, self.document.textures, self.header)
        return surfaces.dressed(bare, geometry, uvs)


def rewound(mesh: Mesh) -> Mesh:
    """Returns a mesh whose triangles show their other side."""
    return replace(
        mesh,
        triangles=mesh.triangles[:, ::-1],
        normal_triangles=None if mesh.normal_triangles is None else mesh.normal_triangles[:, ::-1],
        uv_triangles=None if mesh.uv_triangles is None else mesh.uv_triangles[:, ::-1],
    )


def file_normals(path: Path, geometry: Any) -> Doubles | None:
    """Returns the normals (nv, 3) that came with the file, or None. trimesh's cache holds them; its property would make
    up those missing."""
    if "vertex_normals" not in geometry._cache:
        return None
    normals = np.asarray(geometry.vertex_normals, dtype=np.float64)
    check_numbers(path, "normal", normals)
    return normals


def check_numbers(path: Path, kind: str, values: Doubles) -> None:
    """Raises unless all numbers are finite and of a size that float32 can square."""
    bad = ~(np.abs(values) <= MAX_COORDINATE).all(axis=1)
    if bad.any():
        index = int(np.argmax(bad))
        message = f"{kind} {index} is {values[index].tolist()}; expected finite numbers of at most {MAX_COORDINATE:g}"
        raise SceneFileError(path, None, message)


def texture_coordinates(path: Path, geometry: Any, count: int) -> Doubles | None:
    """Returns the texture coordinates (count, 2) float64 with v downward, or None. trimesh has v upward for all
    formats."""
    uvs = getattr(geometry.visual, "uv", None)
    if uvs is None or np.shape(uvs) != (count, 2):
        return None
    uvs = np.array(uvs, dtype=np.float64)
    check_numbers(path, "texture coordinate", uvs)
    uvs[:, 1] = 1.0 - uvs[:, 1]
    return uvs
