"""This module reads 3MF files, packages of XML: the triangles of their objects, in the places where they are built.

3MF Consortium: 3D Manufacturing Format, Core Specification 1.3, 2021. Colours and materials are left out.
"""

import io
import xml.parsers.expat
import zipfile
import zlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from scenes.document import Document, Origin, Part
from scenes.errors import SceneFileError
from scenes.files.source_file import MAX_PARTS, MAX_TRIANGLES, check_unpacked, reason
from scenes.materials.mesh_materials import PLAIN
from scenes.meshes.geometry import bad_numbers
from scenes.meshes.mesh_validation import check_numbers
from scenes.model import Doubles, Mesh
from scenes.motion.transforms import IDENTITY, WORLD

ROOT = "3d/3dmodel.model"
MAX_DEPTH = 32
CORNERS = ("v1", "v2", "v3")
#: Elements that say how a surface looks.
LOOKS = ("basematerials", "colorgroup", "texture2dgroup", "compositematerials", "multiproperties")


@dataclass(frozen=True)
class Placement:
    """Names an object of a part of the package, "" for that which names it, and has its map (4, 4)."""

    object_id: str
    part: str
    matrix: Doubles


@dataclass(eq=False)
class ModelObject:
    """Holds an object: three numbers of each vertex, three indices of each triangle, and the objects that it is of."""

    points: "array[float]" = field(default_factory=lambda: array("d"))
    corners: "array[int]" = field(default_factory=lambda: array("q"))
    components: list[Placement] = field(default_factory=list)


class ModelParser:
    """Reads a part of the package with objects. build: what is to be seen of them."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.objects: dict[str, ModelObject] = {}
        self.build: list[Placement] = []
        self.has_looks = False
        self._own = ModelObject()
        parser = xml.parsers.expat.ParserCreate()
        parser.StartElementHandler, parser.StartDoctypeDeclHandler = self.start, refuse_doctype
        try:
            parser.Parse(data, True)
        except (xml.parsers.expat.ExpatError, KeyError, ValueError, OverflowError) as error:
            message = f"is not a readable 3MF file: line {parser.CurrentLineNumber} of its model: {reason(error)}"
            raise SceneFileError(path, None, message) from error

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Takes in the start of an element."""
        name = tag.rpartition(":")[2]
        if name == "vertex":
            self._own.points.extend(float(attributes[axis]) for axis in "xyz")
        elif name == "triangle":
            self._own.corners.extend(int(attributes[corner]) for corner in CORNERS)
        elif name == "object":
            self._own = self.objects[attributes["id"]] = ModelObject()
        elif name == "component":
            self._own.components.append(placement(attributes))
        elif name == "item":
            self.build.append(placement(attributes))
        self.has_looks |= name in LOOKS


def refuse_doctype(*_: object) -> None:
    """Raises ValueError: entities, which a document type may have, could be endless."""
    raise ValueError("expected no document type")


def placement(attributes: dict[str, str]) -> Placement:
    """Returns what an element places. A transform is that of rows, three numbers each, the last one where it stands."""
    numbers = attributes.get("transform", "1 0 0 0 1 0 0 0 1 0 0 0").split()
    matrix = np.eye(4)
    matrix[:3] = np.array([float(number) for number in numbers]).reshape(4, 3).T
    if bad_numbers("row", matrix) is not None:
        raise ValueError("expected a transform of finite numbers")
    part = next((value for key, value in attributes.items() if key.rpartition(":")[2] == "path"), "")
    return Placement(attributes["objectid"], part.lstrip("/").lower(), matrix)


class Package:
    """Reads the parts of a file, each once, and places its objects in a document."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, packed: int) -> None:
        self.path, self.archive, self.packed = path, archive, packed
        self.names = {info.filename.lower(): info for info in archive.infolist()}
        self.models: dict[str, ModelParser] = {}
        self.meshes: dict[tuple[str, str], Mesh | None] = {}
        self.unpacked = self.visits = self.triangles = 0

    def model(self, part: str) -> ModelParser:
        """Returns a part of the package."""
        if part not in self.models:
            if part not in self.names:
                raise SceneFileError(self.path, None, f"has no part {part[:80]!r}")
            self.unpacked += self.names[part].file_size
            check_unpacked(self.path, self.packed, self.unpacked)
            self.models[part] = ModelParser(self.path, self.bytes_of(part))
        return self.models[part]

    def bytes_of(self, part: str) -> bytes:
        """Returns the bytes of a part."""
        try:
            return self.archive.read(self.names[part])
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError) as error:
            raise SceneFileError(
                self.path, None, f"its part {part[:80]!r} cannot be unpacked: {reason(error)}"
            ) from error

    def placed(self, given: Placement, part: str, matrix: Doubles, depth: int) -> Iterator[tuple[Mesh, Doubles]]:
        """Yields the meshes of an object in their places. part: that names it. matrix: (4, 4), of what it is in."""
        self.visits += 1
        if depth > MAX_DEPTH or self.visits > MAX_PARTS:
            message = f"objects are nested deeper than {MAX_DEPTH}, or over {MAX_PARTS} of them are placed"
            raise SceneFileError(self.path, None, message)
        part = given.part or part
        found = self.model(part).objects.get(given.object_id)
        if found is None:
            raise SceneFileError(self.path, None, f"has no object {given.object_id[:80]!r}")
        whole = matrix @ given.matrix
        if (part, given.object_id) not in self.meshes:
            self.meshes[part, given.object_id] = self.mesh(found)
        mesh = self.meshes[part, given.object_id]
        if mesh is not None:
            yield mesh, whole
        for component in found.components:
            yield from self.placed(component, part, whole, depth + 1)

    def mesh(self, found: ModelObject) -> Mesh | None:
        """Returns the mesh of an object, or None where it has no triangles of its own."""
        points, corners = np.array(found.points).reshape(-1, 3), np.array(found.corners, np.int64).reshape(-1, 3)
        if not len(corners):
            return None
        check_numbers(self.path, "position", points)
        if corners.min() < 0 or corners.max() >= len(points):
            reach = f"{corners.min()} to {corners.max()}"
            raise SceneFileError(self.path, None, f"indices reach from {reach}, but there are {len(points)} vertices")
        return Mesh(vertices=points, triangles=corners.astype(np.int32), material=0)


def read_3mf(path: Path, data: bytes, document: Document) -> None:
    """Adds the meshes of a 3MF file to a document. Raises SceneFileError for what is none."""
    with opened(path, data) as archive:
        package = Package(path, archive, len(data))
        root = (
            ROOT if ROOT in package.names else next((name for name in package.names if name.endswith(".model")), ROOT)
        )
        document.materials.append(PLAIN)
        for item in package.model(root).build:
            for mesh, matrix in package.placed(item, root, IDENTITY, 0):
                package.triangles += len(mesh.triangles)
                if package.triangles > MAX_TRIANGLES:
                    raise SceneFileError(path, None, f"over {MAX_TRIANGLES} triangles")
                document.parts.append(Part(mesh, WORLD.inner(matrix=matrix), Origin(path)))
        if any(model.has_looks for model in package.models.values()):
            document.notes.add("colours of 3MF files are not read", path)


def opened(path: Path, data: bytes) -> zipfile.ZipFile:
    """Opens a package."""
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise SceneFileError(path, None, "is not a readable 3MF file: expected a packed folder") from error
