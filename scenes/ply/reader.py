"""This module makes a mesh of the elements of a PLY file: vertices, faces and strips of triangles."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from scenes.colors.srgb import decoded
from scenes.document import Document, Origin, Part
from scenes.errors import Notes, SceneFileError
from scenes.files.source_file import MAX_CORNERS, MAX_TRIANGLES
from scenes.meshes.mesh_validation import check_numbers, without_nan
from scenes.meshes.polygons import Triangulation, triangulated
from scenes.model import Doubles, Mesh
from scenes.ply.elements import INDICES, Array, Columns, Header, Lists, Places, few_corners, read_elements
from scenes.wavefront.surfaces import ObjSurfaces

POSITION, NORMAL = ("x", "y", "z"), ("nx", "ny", "nz")
COLOR_NAMES = (("red", "green", "blue"), ("r", "g", "b"), ("diffuse_red", "diffuse_green", "diffuse_blue"))
UV_NAMES = (("texture_u", "texture_v"), ("u", "v"), ("s", "t"), ("texture_s", "texture_t"))
CORNER_UVS = "texcoord"
#: The largest value of a colour, by the type that a header names.
LARGEST = {"uchar": 255.0, "uint8": 255.0, "ushort": 65535.0, "uint16": 65535.0}


def read_ply(path: Path, data: bytes, document: Document) -> None:
    """Adds the mesh of a PLY file to a document, with its picture or its colours.

    Raises SceneFileError for what is no PLY file, or refers to vertices that are not there.
    """
    header, columns, left = read_elements(path, data)
    note_unread(header, columns, document)
    if left:
        document.notes.add(f"{left} bytes after the last element are left out", path)
    reader = PlyMesh(header, columns)
    positions = reader.values("vertex", POSITION)
    if positions is None:
        raise SceneFileError(path, None, "expected vertices with x, y and z")
    check_numbers(path, "position", positions)
    cut = reader.triangles(positions)
    if not len(cut.corners):
        return
    normals = reader.values("vertex", NORMAL)
    if normals is not None:
        normals = without_nan(normals, "normal", path, document.notes)
        check_numbers(path, "normal", normals)
    triangles = reader.indices[cut.corners].astype(np.int32)
    mesh = Mesh(
        vertices=positions,
        triangles=triangles,
        normals=normals,
        normal_triangles=None if normals is None else triangles,
        material=0,
    )
    for number in cut.crossing.tolist():
        document.notes.add("a polygon that crosses itself is cut somehow", f"{path}, face {number}")
    mesh = reader.with_uvs(mesh, cut, document.notes)
    if not document.has_no_looks:
        mesh = dressed(mesh, reader, cut, document)
    document.parts.append(Part(mesh, origin=Origin(path)))


def note_unread(header: Header, columns: dict[str, Columns], document: Document) -> None:
    """Notes elements and properties that are not read."""
    known = {
        "vertex": {name for names in (POSITION, NORMAL, *COLOR_NAMES, *UV_NAMES) for name in names},
        "face": {
            name
            for names in (INDICES, (CORNER_UVS, index_name(columns.get("face", {}))), *COLOR_NAMES)
            for name in names
        },
        "tristrips": {*INDICES},
    }
    for element in header.elements:
        if element.name not in known:
            document.notes.add(f"the element {element.name!r} is not read", header.path, element.line)
            continue
        for number, own in enumerate(element.properties, 1):
            if own.name not in known[element.name]:
                message = f"the property {own.name!r} of {element.name!r} is not read"
                document.notes.add(message, header.path, element.line + number)


def index_name(columns: Columns) -> str:
    """Returns the name of the list of a face's vertices: a known one, or else the first list; "" without any."""
    lists = [name for name, values in columns.items() if isinstance(values, Lists)]
    return next((name for name in INDICES if name in lists), lists[0] if lists else "")


@dataclass(eq=False)
class PlyMesh:
    """Finds in the elements what a mesh has.

    columns: properties by element and name.
    indices: (c,) int64, the vertices of the corners of all polygons, once `triangles` has found them.
    """

    header: Header
    columns: dict[str, Columns]

    def __post_init__(self) -> None:
        """Finds the corners of polygons."""
        self.indices: Places = np.zeros(0, dtype=np.int64)
        self.faces = self.columns.get("face", {}).get(index_name(self.columns.get("face", {})))

    def values(self, element: str, names: tuple[str, ...]) -> Doubles | None:
        """Returns the properties of some names as (n, k) float64, or None where one of them is not there."""
        own = self.columns.get(element, {})
        found = [own[name] for name in names if name in own]
        arrays = [values for values in found if not isinstance(values, Lists)]
        if len(arrays) < len(names):
            return None
        return np.stack([values.astype(np.float64) for values in arrays], axis=-1)

    def triangles(self, positions: Doubles) -> Triangulation:
        """Returns the triangles of the faces, then those of the strips. Raises SceneFileError for indices of no vertex,
        and for faces with fewer than 3."""
        cut = Triangulation(*(np.zeros(shape, np.int64) for shape in ((0, 3), 0, 0)))
        if isinstance(self.faces, Lists) and len(self.faces.counts):
            self.check_faces(self.faces.counts)
            self.indices = self.checked(self.faces.values, len(positions))
            cut = triangulated(self.faces.counts, positions[self.indices])
        strips = self.columns.get("tristrips", {})
        lists = strips.get(index_name(strips))
        if isinstance(lists, Lists):
            corners = strip_triangles(lists)
            first = len(self.indices)
            self.indices = np.concatenate([self.indices, self.checked(np.maximum(lists.values, 0), len(positions))])
            cut = Triangulation(
                np.concatenate([cut.corners, corners + first]),
                np.concatenate([cut.polygons, np.full(len(corners), -1)]),
                cut.crossing,
            )
        if len(cut.corners) > MAX_TRIANGLES:
            raise SceneFileError(self.header.path, None, f"over {MAX_TRIANGLES} triangles")
        return cut

    def check_faces(self, counts: Places) -> None:
        """Raises for faces of fewer than three corners, and for too many triangles."""
        if counts.min() < 3:
            index = int(np.argmin(counts))
            raise few_corners(self.header.path, int(counts[index]), index)
        if counts.max() > MAX_CORNERS:
            index = int(np.argmax(counts))
            message = f"expected at most {MAX_CORNERS} corners of a face, got {counts[index]} of face {index}"
            raise SceneFileError(self.header.path, None, message)
        if int((counts - 2).sum()) > MAX_TRIANGLES:
            raise SceneFileError(self.header.path, None, f"over {MAX_TRIANGLES} triangles")

    def checked(self, values: Array, count: int) -> Places:
        """Returns indices as int64. Raises where one is of no vertex."""
        if not (np.isfinite(values) & (values >= 0) & (values < count)).all():
            reach = f"{values.min():g} to {values.max():g}"
            raise SceneFileError(self.header.path, None, f"indices reach from {reach}, but there are {count} vertices")
        return values.astype(np.int64)

    def with_uvs(self, mesh: Mesh, cut: Triangulation, notes: Notes) -> Mesh:
        """Returns a mesh with texture coordinates, if there are any; v, which runs up, runs down then."""
        lists = self.columns.get("face", {}).get(CORNER_UVS)
        if isinstance(lists, Lists) and isinstance(self.faces, Lists) and (lists.counts == 2 * self.faces.counts).all():
            uvs, triangles = lists.values.astype(np.float64).reshape(-1, 2), cut.corners.astype(np.int32)
            if (cut.polygons < 0).any():
                return mesh
        else:
            found = [values for names in UV_NAMES if (values := self.values("vertex", names)) is not None]
            if not found:
                return mesh
            uvs, triangles = found[0], mesh.triangles
        uvs = without_nan(uvs, "texture coordinate", self.header.path, notes)
        check_numbers(self.header.path, "texture coordinate", uvs)
        return replace(mesh, uvs=np.stack([uvs[:, 0], 1.0 - uvs[:, 1]], axis=-1), uv_triangles=triangles)

    def colors(self, element: str) -> Doubles | None:
        """Returns the linear colours (n, 3) of the rows of an element, or None."""
        for names in COLOR_NAMES:
            values = self.values(element, names)
            if values is not None:
                types = {
                    own.name: own.given for one in self.header.elements if one.name == element for own in one.properties
                }
                share = np.nan_to_num(values) / LARGEST.get(types[names[0]], 1.0)
                return decoded(np.rint(255.0 * np.clip(share, 0.0, 1.0)).astype(np.uint8))
        return None


def strip_triangles(strips: Lists) -> Places:
    """Returns the triangles (n, 3) of strips, as places in their lists: each corner makes one with the two before it,
    every other one the other way around; -1 begins anew, and triangles with two corners alike only turn a corner."""
    values = strips.values.astype(np.float64)
    if len(values) < 3:
        return np.zeros((0, 3), dtype=np.int64)
    begins = np.zeros(len(values), dtype=np.bool_)
    firsts = np.cumsum(strips.counts) - strips.counts
    begins[firsts[strips.counts > 0]] = True
    begins[1:] |= values[:-1] < 0.0
    start = np.maximum.accumulate(np.where(begins, np.arange(len(values)), 0))
    at = np.arange(len(values) - 2)
    is_whole = (start[at] == start[at + 2]) & (values[at] >= 0) & (values[at + 1] >= 0) & (values[at + 2] >= 0)
    is_whole &= (values[at] != values[at + 1]) & (values[at + 1] != values[at + 2]) & (values[at] != values[at + 2])
    at = at[is_whole]
    is_odd = (at - start[at]) % 2 == 1
    return np.stack([np.where(is_odd, at + 1, at), np.where(is_odd, at, at + 1), at + 2], axis=-1)


def dressed(mesh: Mesh, reader: PlyMesh, cut: Triangulation, document: Document) -> Mesh:
    """Returns a mesh with its picture, or else the colours of its faces or vertices, or else one plain grey."""
    surfaces = ObjSurfaces(document)
    pictures = reader.header.pictures
    for name, line in pictures[1:]:
        document.notes.add(f"the picture {name!r} is left out: one is read", reader.header.path, line)
    if mesh.uvs is not None and pictures:
        index = surfaces.picture(reader.header.path, *pictures[0])
        if index >= 0:
            return surfaces.pictured(mesh, index)
    of_faces, of_vertices = reader.colors("face"), reader.colors("vertex")
    if of_faces is not None and not (cut.polygons < 0).any():
        return surfaces.colored(mesh, np.repeat(of_faces[cut.polygons, None], 3, axis=1))
    if of_vertices is not None:
        return surfaces.colored(mesh, of_vertices[mesh.triangles])
    return surfaces.dressed(mesh, None)
