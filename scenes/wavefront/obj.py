"""This module reads OBJ files: values, and faces with their indices at each corner, as arrays; line by line only what
else there is."""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from scenes.colors.srgb import decoded
from scenes.document import Document, Origin, Part
from scenes.errors import Notes, SceneFileError
from scenes.files.source_file import MAX_CORNERS, MAX_TRIANGLES
from scenes.meshes.geometry import MAX_COORDINATE
from scenes.meshes.mesh_validation import without_nan
from scenes.meshes.polygons import triangulated
from scenes.model import Doubles, Indices, Mesh
from scenes.wavefront.lines import MAX_QUOTE, NUMBER, Flags, ObjLines, Places, numbers_in, plain_text
from scenes.wavefront.mtl import Entry, read_libraries, without_comment
from scenes.wavefront.surfaces import ObjSurfaces

CORNER = re.compile(rb"[+-]?\d+(/[+-]?\d*){0,2}")
#: Stands for an index that a corner does not have.
MISSING = -(1 << 62)
SLASH = ord("/")
#: Kinds of values by their place in a corner, which are the first words of lines: what they are called, and how many
#: numbers a line has at least.
VALUES = {b"v": ("vertex", 3), b"vt": ("texture coordinate", 1), b"vn": ("normal", 3)}
FACES = (b"f", b"fo")
#: Lines that name parts, of which nothing depends here.
NAMES = ("g", "o")
#: Smoothing groups that are none.
NOT_SMOOTH = ("off", "0", "")
#: Kinds of lines that are not read are noted up to so many.
MAX_KINDS = 20
COLORED = 6


@dataclass(frozen=True, eq=False)
class Faces:
    """Holds polygons, and their corners one after the other.

    lines, counts, starts: (f,) int64, the line of each face, how many corners it has, and which is its first.
    vertices, uvs, normals: (c,) int64, indices from 0 at the corners, -1 for none.
    """

    lines: Places
    counts: Places
    starts: Places
    vertices: Places
    uvs: Places
    normals: Places


def read_faces(lines: ObjLines, own: Places, totals: dict[bytes, Places]) -> Faces:
    """Reads some lines as faces.

    totals: (n,) int64 by kind, how many values there are up to each line of the file.
    """
    counts = lines.counts[own] - 1
    few = np.flatnonzero(counts < 3)
    if len(few):
        raise lines.error(int(own[few[0]]), f"expected 3 or more corners of a face, got {counts[few[0]]}")
    fields = corner_fields(lines, own, counts)
    if (most := counts.max(initial=0)) > MAX_CORNERS:
        line = int(own[np.argmax(counts)])
        raise lines.error(line, f"expected at most {MAX_CORNERS} corners of a face, got {most}")
    line_of_corner = np.repeat(own, counts)
    found = [
        resolved(lines, values, line_of_corner, totals[kind], name)
        for values, (kind, (name, _)) in zip(fields, VALUES.items(), strict=True)
    ]
    return Faces(own, counts, np.cumsum(counts) - counts, *found)


def corner_fields(lines: ObjLines, own: Places, counts: Places) -> tuple[Places, Places, Places]:
    """Returns the three numbers, (c,) each, of the corners of some lines, with MISSING for those that are not there."""
    text = lines.joined(own)
    widths = np.ones(int(counts.sum()), dtype=np.int64)
    if b"/" in text:
        bytes_ = np.frombuffer(text, np.uint8)
        is_start = np.flatnonzero((bytes_[:-1] == ord(" ")) & (bytes_[1:] != ord(" "))) + 1
        slashes = np.flatnonzero(bytes_ == SLASH)
        widths += np.bincount(np.searchsorted(is_start, slashes, "right") - 1, minlength=len(widths))
        if (bytes_[is_start] == SLASH).any():
            raise bad_corner(lines, own)
        missing = b"/%d" % MISSING
        text = text.replace(b"//", missing + b"/").replace(b"/ ", missing + b" ").replace(b"/", b" ")
    found = numbers_in(text, np.int64)
    if found is None or len(found) != widths.sum() or widths.max(initial=1) > len(VALUES):
        raise bad_corner(lines, own)
    numbers = np.append(found.astype(np.int64), MISSING)
    starts = np.cumsum(widths) - widths
    vertices, uvs, normals = (numbers[np.where(widths > k, starts + k, -1)] for k in range(3))
    if (vertices == MISSING).any():
        raise bad_corner(lines, own)
    return vertices, uvs, normals


def bad_corner(lines: ObjLines, own: Places) -> SceneFileError:
    """Returns the error about the first corner of some lines that is none."""
    for line in own.tolist():
        for word in lines.words(line):
            if not CORNER.fullmatch(word):
                shown = word[:MAX_QUOTE].decode("utf-8", "replace")
                return lines.error(line, f"expected indices that count from 1, got {shown!r}")
    return SceneFileError(lines.path, None, "expected the corners of faces as indices that count from 1")


def resolved(lines: ObjLines, values: Places, line_of_corner: Places, totals: Places, name: str) -> Places:
    """Returns indices from 0, -1 for what is missing. values: counted from 1, or back from the line if negative."""
    count = int(totals[-1]) if len(totals) else 0
    is_given: Flags = values != MISSING
    indices = np.where(values > 0, values - 1, totals[line_of_corner] + values)
    wrong = np.flatnonzero(is_given & ((values == 0) | (indices < 0) | (indices >= count)))
    if len(wrong):
        line, value = int(line_of_corner[wrong[0]]), int(values[wrong[0]])
        if value == 0:
            raise lines.error(line, "expected indices that count from 1, got 0")
        raise lines.error(line, f"{name} index {value}, but there are {count if value > 0 else totals[line]}")
    return np.where(is_given, indices, -1)


def read_obj(path: Path, data: bytes, document: Document) -> None:
    """Adds the meshes of an OBJ file to a document, a part for each material, with the materials.

    Raises SceneFileError for what is no OBJ file, or refers to values that are not there.
    """
    lines = ObjLines(path, plain_text(path, data, document.notes))
    counts = {kind: lines.of_kind(kind) for kind in VALUES}
    values = {kind: read_values(lines, kind, np.flatnonzero(own), document.notes) for kind, own in counts.items()}
    if values[b"v"].shape[1] < COLORED <= (lines.counts[counts[b"v"]] - 1).max(initial=0):
        document.notes.add("colours of some vertices only are left out", path)
    is_face = np.logical_or.reduce([lines.of_kind(kind) for kind in FACES])
    faces = read_faces(lines, np.flatnonzero(is_face), {kind: np.cumsum(own) for kind, own in counts.items()})
    if int((faces.counts - 2).sum()) > MAX_TRIANGLES:
        raise SceneFileError(path, None, f"over {MAX_TRIANGLES} triangles")
    others = read_others(lines, np.flatnonzero(~is_face & ~np.logical_or.reduce(list(counts.values()))))
    others.note(lines, document, is_flat=bool((faces.normals < 0).any()))
    Builder(lines, document, values, faces, others).build()


def read_values(lines: ObjLines, kind: bytes, own: Places, notes: Notes) -> Doubles:
    """Returns the numbers (n, k) of the lines of a kind: as many columns as the line with the fewest has."""
    needed = VALUES[kind][1]
    given = lines.counts[own] - 1
    short = np.flatnonzero(given < needed)
    found = None if len(short) else numbers_in(lines.joined(own), np.float64)
    if found is None or len(found) != given.sum():
        raise bad_number(lines, own, kind)
    numbers = np.asarray(found, dtype=np.float64)
    width = int(given.min(initial=needed if not len(own) else COLORED))
    starts = np.cumsum(given) - given
    rows: Doubles = numbers[starts[:, None] + np.arange(width)]
    if kind != b"v":
        rows = without_nan(rows, VALUES[kind][0], lines.path, notes)
    used = rows[:, : max(needed, 2)]  # a texture coordinate has a second one as a rule
    bad = ~(np.abs(used) <= MAX_COORDINATE).all(axis=1)
    if bad.any():
        line = int(own[np.argmax(bad)])
        got = " ".join(f"{number:g}" for number in used[np.argmax(bad)])
        raise lines.error(line, f"expected {expected(kind)}, at most {MAX_COORDINATE:g}, got {got}")
    return rows


def expected(kind: bytes) -> str:
    """Returns what has to stand on a line of a kind."""
    name, needed = VALUES[kind]
    return f"{needed} finite number{'s' if needed > 1 else ''} of a {name}"


def bad_number(lines: ObjLines, own: Places, kind: bytes) -> SceneFileError:
    """Returns the error about the first of some lines that has too few numbers, or what is none."""
    for line in own.tolist():
        words = list(lines.words(line))
        wrong = [word for word in words if not NUMBER.fullmatch(word)]
        if wrong or len(words) < VALUES[kind][1]:
            got = repr(wrong[0][:MAX_QUOTE].decode("utf-8", "replace")) if wrong else f"{len(words)} words"
            return lines.error(line, f"expected {expected(kind)}, got {got}")
    return SceneFileError(lines.path, None, f"expected {expected(kind)} on each line")


@dataclass(eq=False)
class Others:
    """Holds what the lines say that are neither values nor faces.

    materials: lines, and the names of the materials from there on.
    libraries: numbers of lines in the file, and the names of MTL files.
    smooth: the first line that asks for smooth normals, or -1.
    unread: the first line of each kind that is not read.
    """

    materials: list[tuple[int, str]] = field(default_factory=list)
    libraries: list[tuple[int, str]] = field(default_factory=list)
    smooth: int = -1
    unread: dict[str, int] = field(default_factory=dict)

    def note(self, lines: ObjLines, document: Document, *, is_flat: bool) -> None:
        """Notes what is not read. is_flat: there are corners without normals."""
        if self.smooth >= 0 and is_flat:
            message = "smoothing groups are not read: without normals surfaces are flat"
            document.notes.add(message, lines.path, lines.number(self.smooth))
        for kind, line in list(self.unread.items())[:MAX_KINDS]:
            message = f"lines that begin with {kind[:MAX_QUOTE]!r} are not read"
            document.notes.add(message, lines.path, lines.number(line))
        if len(self.unread) > MAX_KINDS:
            document.notes.add(f"lines of {len(self.unread) - MAX_KINDS} more kinds are not read", lines.path)


def read_others(lines: ObjLines, own: Places) -> Others:
    """Reads lines that are neither values nor faces."""
    found = Others()
    for line in own.tolist():
        kind, rest = lines.content(line)
        if kind == "usemtl":
            found.materials.append((line, rest))
        elif kind == "mtllib":
            found.libraries.append((lines.number(line), rest))
        elif kind == "s":
            if found.smooth < 0 and without_comment(rest) not in NOT_SMOOTH:
                found.smooth = line
        elif kind not in NAMES:
            found.unread.setdefault(kind, line)
    return found


@dataclass(frozen=True, eq=False)
class Builder:
    """Makes parts of what was read. values: by their kind."""

    lines: ObjLines
    document: Document
    values: dict[bytes, Doubles]
    faces: Faces
    others: Others

    def build(self) -> None:
        """Adds a part for each material, the last first; and one more for its faces without texture coordinates."""
        if not len(self.faces.counts):
            return
        path, notes = self.lines.path, self.document.notes
        if self.document.has_no_looks:
            self.others.libraries.clear()
            self.others.materials.clear()
        library = read_libraries(path, self.others.libraries, notes)
        names, materials = self.material_of_faces()
        surfaces = ObjSurfaces(self.document)
        crossing: list[int] = []
        for key, own in self.groups(materials):
            mesh, at, crosses = self.mesh_of(own, bare=bool(key % 2))
            entry = self.entry(names[key // 2], library)
            self.document.parts.append(Part(self.dressed(mesh, at, entry, surfaces), origin=Origin(path)))
            crossing += crosses
        for line in sorted(crossing):
            notes.add("a polygon that crosses itself is cut somehow", path, self.lines.number(line))

    def material_of_faces(self) -> tuple[list[tuple[int, str]], Places]:
        """Returns the lines that first name each material, and the index (f,) of each face's material among them."""
        index: dict[str, int] = {"": 0}
        first = [(-1, "")]
        given = [0]
        for line, name in self.others.materials:
            if name not in index:
                index[name] = len(first)
                first.append((line, name))
            given.append(index[name])
        changes = np.array([line for line, _ in self.others.materials], dtype=np.int64)
        return first, np.array(given)[np.searchsorted(changes, self.faces.lines)]

    def groups(self, materials: Places) -> list[tuple[int, Places]]:
        """Returns the faces of each group under its key, which is twice the material, and one more where there are no
        texture coordinates. The material that is used last comes first."""
        is_bare = np.minimum.reduceat(self.faces.uvs, self.faces.starts) < 0
        keys = 2 * materials + is_bare
        order = np.argsort(keys, kind="stable")
        used, starts = np.unique(keys[order], return_index=True)
        groups = list(zip(used.tolist(), np.split(order, starts[1:]), strict=True))
        begins: dict[int, int] = {}
        for key, own in groups:
            begins[key // 2] = min(begins.get(key // 2, len(keys)), int(own[0]))
        return sorted(groups, key=lambda group: (-begins[group[0] // 2], group[0]))

    def entry(self, named: tuple[int, str], library: dict[str, Entry]) -> Entry | None:
        """Returns the entry of a name in the library, or None where it has none, which is noted."""
        line, name = named
        found = library.get(name) or library.get(without_comment(name))
        if found is None and line >= 0:
            message = f"there is no material {name[:MAX_QUOTE]!r}: what has it is plain"
            self.document.notes.add(message, self.lines.path, self.lines.number(line))
        return found

    def mesh_of(self, own: Places, *, bare: bool) -> tuple[Mesh, Places, list[int]]:
        """Returns the mesh of some faces, the corners (n, 3) of its triangles, and the lines of faces that cross
        themselves. bare: without texture coordinates."""
        counts = self.faces.counts[own]
        corners = np.repeat(self.faces.starts[own] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        cut = triangulated(counts, self.values[b"v"][self.faces.vertices[corners], :3])
        if len(np.unique(counts)) > 1:
            cut = cut.in_order
        at = corners[cut.corners]
        vertices, triangles = used_rows(self.values[b"v"], self.faces.vertices[at])
        normals, normal_triangles = self.normals_of(at)
        mesh = Mesh(
            vertices=np.ascontiguousarray(vertices[:, :3]),
            triangles=triangles,
            normals=normals,
            normal_triangles=normal_triangles,
            material=0,
        )
        if not bare:
            given, uv_triangles = used_rows(self.values[b"vt"], self.faces.uvs[at])
            v = given[:, 1] if given.shape[1] > 1 else np.zeros(len(given))
            mesh = replace(mesh, uvs=np.stack([given[:, 0], 1.0 - v], axis=-1), uv_triangles=uv_triangles)
        return mesh, at, self.faces.lines[own[cut.crossing]].tolist()

    def normals_of(self, at: Places) -> tuple[Doubles | None, Indices | None]:
        """Returns the normals of corners (n, 3), and their indices; corners without any get one of no length."""
        indices = self.faces.normals[at]
        if (indices < 0).all():
            return None, None
        normals = np.concatenate([self.values[b"vn"][:, :3], np.zeros((1, 3))])
        return used_rows(normals, np.where(indices < 0, len(normals) - 1, indices))

    def dressed(self, mesh: Mesh, at: Places, entry: Entry | None, surfaces: ObjSurfaces) -> Mesh:
        """Returns a mesh with its material, or with the colours of its vertices where it has none."""
        colors = self.values[b"v"][:, 3:COLORED]
        if colors.shape[1] < 3 or self.document.has_no_looks:
            return surfaces.dressed(mesh, entry)
        if entry is not None:
            message = "colours of vertices count for nothing where there is a material"
            self.document.notes.add(message, self.lines.path)
            return surfaces.dressed(mesh, entry)
        return surfaces.colored(mesh, linear(colors[self.faces.vertices[at]]))


def linear(colors: Doubles) -> Doubles:
    """Returns linear colours of those of vertices, which are sRGB in 0..1, or in 0..255 if some are above 1."""
    scale = 255.0 if colors.max(initial=0.0) <= 1.0 else 1.0
    return decoded(np.rint(np.clip(scale * np.nan_to_num(colors), 0.0, 255.0)).astype(np.uint8))


def used_rows(values: Doubles, indices: Places) -> tuple[Doubles, Indices]:
    """Returns the rows of values that indices of any shape refer to, and the indices among them."""
    if 2 * indices.size > len(values):
        is_used = np.zeros(len(values), dtype=np.bool_)
        is_used[indices] = True
        new = np.cumsum(is_used, dtype=np.int32) - np.int32(1)
        return (values if is_used.all() else values[is_used]), new[indices]
    used, inverse = np.unique(indices, return_inverse=True)
    return values[used], inverse.reshape(indices.shape).astype(np.int32)
