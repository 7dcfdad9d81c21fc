"""This module reads mesh files: OBJ, PLY, glTF and 3MF by readers of their own, `scenes.wavefront`, `scenes.ply`,
`scenes.gltf` and `scenes.mesh_file.threemf`; STL and OFF through trimesh (Dawson-Haggerty et al.: trimesh, 2019).

Triangles stay as many as the file has, those without area too. Normals are the file's, or else the geometric ones. Text
is UTF-8 or else Latin-1.

Materials: see `scenes.gltf.surfaces`, `scenes.wavefront.surfaces` for MTL, and `scenes.materials.mesh_materials` for
others. A surface without a material is of one plain grey.

What a file does not have of cameras and lights it gets by `scenes.views.default_view`.
"""

import io
import logging
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from scenes.document import Document, Origin, Part, Scene
from scenes.errors import Notes, SceneFileError
from scenes.files.source_file import MAX_TRIANGLES, PACKED, as_utf8, read_bytes, suffix_of
from scenes.gltf import GLTF_SUFFIXES, read_document
from scenes.materials.mesh_materials import dressed
from scenes.mesh_file.threemf import read_3mf
from scenes.meshes.mesh_validation import check_numbers, check_stl, is_stl_text
from scenes.model import Doubles, Mesh
from scenes.motion.transforms import WORLD
from scenes.playing.evaluator import scene_of
from scenes.ply import read_ply
from scenes.views.default_view import SKY
from scenes.wavefront import check_text, read_obj

MAX_FILE_BYTES = 1 << 30
#: This is given to trimesh's log, which without a handler shows tracebacks of what it can do without.
QUIET = logging.NullHandler()
#: What reads files of which this project reads all.
READERS: dict[str, Callable[[Path, bytes, Document], None]] = {
    ".obj": read_obj,
    ".ply": read_ply,
    ".3mf": read_3mf,
}
#: Formats of things that are made by machines, whose z axis is up.
MADE_UPRIGHT = (".stl", ".3mf")


def read_mesh_file(path: Path) -> Scene:
    """Reads the scene of a mesh file. Raises SceneFileError when it cannot be read, holds no triangles or no sound
    ones."""
    document = read_mesh_document(path, is_still=False)
    document.background = SKY
    document.up = "z" if suffix_of(path) in MADE_UPRIGHT else "y"
    document.is_up_known = suffix_of(path) in GLTF_SUFFIXES
    document.is_lit_by_glow = False
    return scene_of(path.name[: -len(suffix_of(path))], document, str(path))


def read_mesh_document(
    path: Path, notes: Notes | None = None, *, is_still: bool = True, has_no_looks: bool = False
) -> Document:
    """Reads the meshes of a file in their places, with its materials, textures, cameras and lights, and nothing else.

    notes: what takes in the notes of the file, instead of new ones.
    is_still: animations are left out.
    has_no_looks: OBJ and PLY files are read without materials, pictures and colours.

    Raises SceneFileError when it cannot be read, holds no triangles or no sound ones.
    """
    document = Document(notes=Notes() if notes is None else notes, has_no_looks=has_no_looks)
    if path.suffix.lower() in GLTF_SUFFIXES:
        read_document(path, document, is_still)
    else:
        look = partial(check_text, path) if suffix_of(path) == ".obj" else None
        data = read_bytes(path, MAX_FILE_BYTES, look)
        READERS.get(suffix_of(path).removesuffix(PACKED), read_by_trimesh)(path, data, document)
    if not document.triangles:
        raise SceneFileError(path, None, "there are no triangles")
    return document


def read_by_trimesh(path: Path, data: bytes, document: Document) -> None:
    """Reads the meshes of an STL or OFF file."""
    kind = path.suffix[1:].lower()
    if kind == "stl":
        check_stl(path, data)
    is_text = kind == "off" or is_stl_text(data)
    try:
        with np.errstate(all="ignore"):  # what overflows is not finite, and found later
            for geometry in geometries(load_scene(as_utf8(data) if is_text else data, kind)):
                add_mesh(path, document, geometry)
    except SceneFileError:
        raise
    except MemoryError as error:
        raise SceneFileError(path, None, "needs more memory than there is") from error
    except Exception as error:  # loaders raise all kinds on bad files, in words about themselves
        raise SceneFileError(path, None, f"is not a readable {kind.upper()} file") from error


def under(matrix: Doubles, points: Doubles) -> Doubles:
    """Returns points (n, 3) under a (4, 4) affine map."""
    moved: Doubles = points @ matrix[:3, :3].T + matrix[:3, 3]
    return moved


def load_scene(data: bytes, kind: str) -> Any:
    """Reads a trimesh scene or mesh of the bytes of a file of a kind."""
    import trimesh  # only those who read meshes wait for it

    logging.getLogger("trimesh").addHandler(QUIET)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # NumPy warns where text that should be numbers is not, and returns what it has.
        warnings.filterwarnings("error", message=".*could not be read to its end.*")
        return trimesh.load(io.BytesIO(data), file_type=kind, process=False)


def geometries(loaded: Any) -> Iterator[Any]:
    """Yields each mesh of a trimesh scene or mesh that has triangles."""
    if hasattr(loaded, "faces"):
        yield loaded
    elif hasattr(loaded, "graph"):
        for node in loaded.graph.nodes_geometry:
            geometry = loaded.geometry[loaded.graph[node][1]]
            if len(getattr(geometry, "faces", ())):
                yield geometry


def add_mesh(path: Path, document: Document, geometry: Any) -> None:
    """Adds a trimesh mesh to a document, with its colours. Raises where there are too many triangles."""
    vertices, triangles = np.asarray(geometry.vertices, dtype=np.float64), np.asarray(geometry.faces, dtype=np.int32)
    if document.triangles + len(triangles) > MAX_TRIANGLES:
        raise SceneFileError(path, None, f"over {MAX_TRIANGLES} triangles")
    check_numbers(path, "position", vertices)
    normals = file_normals(path, geometry)
    mesh = Mesh(
        vertices=vertices,
        triangles=triangles,
        normals=normals,
        normal_triangles=None if normals is None else triangles,
        material=0,
    )
    document.parts.append(Part(dressed(mesh, geometry, document), WORLD, Origin(path)))


def file_normals(path: Path, geometry: Any) -> Doubles | None:
    """Returns the normals (nv, 3) that came with the file, or None. trimesh's cache holds them; its property would make
    up those missing."""
    if "vertex_normals" not in geometry._cache:
        return None
    normals = np.asarray(geometry.vertex_normals, dtype=np.float64)
    check_numbers(path, "normal", normals)
    return normals
