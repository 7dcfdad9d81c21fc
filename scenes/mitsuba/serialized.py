"""This module reads `.serialized` files, in which Mitsuba 0.6 keeps several meshes.

Each begins with two numbers of 16 bits, 0x041C and the version, 3 or 4; what follows is deflated: flags, the name (in
version 4, ended by a zero), the numbers of vertices and triangles, then arrays. At the end of the file there are the
places where meshes begin, and how many there are. All numbers have their least byte first.
"""

import zlib
from pathlib import Path

import numpy as np

from scenes.errors import Notes, SceneFileError
from scenes.files.source_file import MAX_TRIANGLES, check_unpacked, read_bytes
from scenes.meshes.mesh_validation import without_nan
from scenes.model import Doubles, Mesh

MAX_FILE_BYTES = 1 << 30
MAGIC, VERSIONS = 0x041C, (3, 4)
#: Flags: what there is for each vertex, and how long numbers are.
NORMALS, UVS, COLORS, FACE_NORMALS, SINGLE, DOUBLE = 0x0001, 0x0002, 0x0008, 0x0010, 0x1000, 0x2000
MAX_NAME = 1 << 12


def read_serialized(path: Path, index: int, notes: Notes) -> tuple[Mesh, bool]:
    """Reads a mesh of a file, and whether it is to look flat.

    index: of the mesh, from 0.
    notes: what takes in that normals or texture coordinates are NaN.

    Raises SceneFileError where there is none of this index, or it cannot be read.
    """
    data = read_bytes(path, MAX_FILE_BYTES)
    start, version = place_of(path, data, index)
    stream = Inflated(path, data, start + 4)
    flags = int(stream.array(1, "<u4")[0])
    if version == max(VERSIONS):
        stream.skip_name()
    vertices, triangles = (int(count) for count in stream.array(2, "<u8"))
    if vertices > 3 * MAX_TRIANGLES or triangles > MAX_TRIANGLES:
        raise SceneFileError(path, None, f"mesh {index} has {triangles} triangles, at most {MAX_TRIANGLES} are read")
    kind = "<f8" if flags & DOUBLE else "<f4"
    check_unpacked(path, len(data), 3 * vertices * np.dtype(kind).itemsize + 12 * triangles)
    positions = stream.vectors(vertices, 3, kind)
    check_finite(path, positions)
    normals, uvs = None, None
    if flags & NORMALS:
        normals = without_nan(stream.vectors(vertices, 3, kind), "normal", path, notes)
        check_finite(path, normals)
    if flags & UVS:
        uvs = without_nan(stream.vectors(vertices, 2, kind), "texture coordinate", path, notes)
        check_finite(path, uvs)
    if flags & COLORS:
        stream.vectors(vertices, 3, kind)
    corners = stream.array(3 * triangles, "<u4").reshape(-1, 3)
    if corners.size and int(corners.max()) >= vertices:
        raise SceneFileError(path, None, f"a triangle of mesh {index} has a vertex that is not among its {vertices}")
    corners = corners.astype(np.int32)
    mesh = Mesh(
        vertices=positions,
        triangles=corners,
        material=0,
        normals=normals,
        normal_triangles=None if normals is None else corners,
        uvs=uvs,
        uv_triangles=None if uvs is None else corners,
    )
    return mesh, bool(flags & FACE_NORMALS)


def check_finite(path: Path, values: Doubles) -> None:
    """Raises SceneFileError where a number is not finite."""
    if not np.isfinite(values).all():
        raise SceneFileError(path, None, "expected finite numbers")


def place_of(path: Path, data: bytes, index: int) -> tuple[int, int]:
    """Returns where a mesh begins, and the version of the file."""
    if len(data) < 8 or int.from_bytes(data[:2], "little") != MAGIC:
        raise SceneFileError(path, None, "expected a .serialized file, which begins with 0x041C")
    version, count = int.from_bytes(data[2:4], "little"), int.from_bytes(data[-4:], "little")
    if version not in VERSIONS:
        raise SceneFileError(path, None, f"expected a .serialized file of version 3 or 4, got {version}")
    size = 8 if version == max(VERSIONS) else 4
    table = len(data) - 4 - size * count
    if table < 4:
        raise SceneFileError(path, None, f"the file is too short for the places of {count} meshes")
    if not 0 <= index < count:
        raise SceneFileError(path, None, f"expected a mesh from 0 to {count - 1}, got {index}")
    start = int.from_bytes(data[table + size * index :][:size], "little")
    if start + 4 > table or int.from_bytes(data[start : start + 2], "little") != MAGIC:
        raise SceneFileError(path, None, f"mesh {index} is not where the file says")
    return start, version


class Inflated:
    """Reads what is deflated from some place of a file on, and no more of it than is asked for."""

    def __init__(self, path: Path, data: bytes, start: int) -> None:
        self.path = path
        self._deflated = data[start:]
        self._stream = zlib.decompressobj()

    def take(self, size: int) -> bytes:
        """Returns so many bytes. Raises SceneFileError where there are fewer."""
        taken = bytearray()
        while len(taken) < size:
            try:
                part = self._stream.decompress(self._deflated, size - len(taken))
            except zlib.error as error:
                raise SceneFileError(self.path, None, "what is deflated cannot be inflated") from error
            self._deflated = self._stream.unconsumed_tail
            taken += part
            if len(taken) < size and (self._stream.eof or not (part or self._deflated)):
                raise SceneFileError(self.path, None, "the file ends within a mesh")
        return bytes(taken)

    def array(self, count: int, kind: str) -> np.ndarray:
        """Returns so many numbers. kind: of NumPy."""
        return np.frombuffer(self.take(count * np.dtype(kind).itemsize), kind)

    def vectors(self, count: int, width: int, kind: str) -> Doubles:
        """Returns vectors (count, width)."""
        return self.array(count * width, kind).reshape(-1, width).astype(np.float64)

    def skip_name(self) -> None:
        """Reads over the name of a mesh, which a zero ends."""
        for _ in range(MAX_NAME):
            if self.take(1) == b"\0":
                return
        raise SceneFileError(self.path, None, f"the name of a mesh has over {MAX_NAME} bytes")
