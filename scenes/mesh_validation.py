"""This module checks the counts and indices of mesh files against what the files hold, before a loader believes them.

Loaders take indices of 0, counts beyond the end of the file and huge empty arrays without a word. Each check here is
quick, allocates in proportion to the file at most, and raises SceneFileError.
"""

import json
import math
import re
import struct
from pathlib import Path
from typing import Any

from scenes.errors import SceneFileError

#: Bytes of arrays that a glTF file may declare without storing them (sparse accessors).
MAX_UNBACKED_BYTES = 1 << 26
#: How often the arrays of a glTF file may use its bytes.
MAX_REUSE = 4
MAX_QUOTE = 40
MAX_MESSAGE = 200
OBJ_KINDS = {b"v": "vertex", b"vt": "texture coordinate", b"vn": "normal"}
PLY_SIZES = {
    **dict.fromkeys(("char", "uchar", "int8", "uint8"), 1),
    **dict.fromkeys(("short", "ushort", "int16", "uint16"), 2),
    **dict.fromkeys(("int", "uint", "float", "int32", "uint32", "float32"), 4),
    **dict.fromkeys(("double", "float64", "int64", "uint64"), 8),
}
#: End of a PLY header.
END_HEADER = re.compile(rb"^end_header[ \t]*\r?\n", re.MULTILINE)
#: The header of a GLB file and that of its first chunk.
GLB_HEADER_BYTES = 20
STL_HEADER_BYTES = 84
STL_TRIANGLE_BYTES = 50
#: What follows the last line of an ASCII STL file that begins a facet.
AFTER_LAST_FACET = re.compile(rb".*^[ \t]*facet\b(.*)", re.DOTALL | re.MULTILINE | re.IGNORECASE)
GLTF_COMPONENT_BYTES = {5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4}
GLTF_COMPONENTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}


class ObjCounts:
    """Counts the values of an OBJ file, and keeps the extreme indices of its faces with the lines that they are on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.triangles = 0
        self.counts = dict.fromkeys(OBJ_KINDS, 0)
        self.largest = dict.fromkeys(OBJ_KINDS, (0, 0))
        self.smallest = dict.fromkeys(OBJ_KINDS, (0, 0))
        self.counts_at_relative: dict[bytes, int] = {}

    def read_line(self, number: int, words: list[bytes]) -> None:
        """Takes in one line."""
        if words[0] in OBJ_KINDS:
            self.read_values(number, words)
        elif words[0] == b"f":
            if len(words) < 4:
                raise SceneFileError(self.path, number, f"expected 3 or more corners of a face, got {len(words) - 1}")
            self.triangles += len(words) - 3
            for corner in words[1:]:
                self.read_corner(number, corner)

    def read_values(self, number: int, words: list[bytes]) -> None:
        """Counts a line of coordinates."""
        kind = words[0]
        needed = 2 if kind == b"vt" else 3
        self.counts[kind] += 1
        try:
            finite = len(words) > needed and all(math.isfinite(float(word)) for word in words[1 : needed + 1])
        except ValueError:
            finite = False
        if not finite:
            raise SceneFileError(self.path, number, f"expected {needed} finite numbers of a {OBJ_KINDS[kind]}")

    def read_corner(self, number: int, corner: bytes) -> None:
        """Takes in a corner of a face: vertex, vertex/texture, vertex//normal or all three."""
        for kind, word in zip(OBJ_KINDS, corner.split(b"/"), strict=False):
            if word == b"" and kind != b"v":
                continue
            try:
                index = int(word)
            except ValueError:
                index = 0
            if index == 0:
                shown = corner[:MAX_QUOTE].decode("latin-1")
                raise SceneFileError(self.path, number, f"expected indices that count from 1, got {shown!r}")
            if index > self.largest[kind][0]:
                self.largest[kind] = (index, number)
            if index < self.smallest[kind][0]:
                self.smallest[kind] = (index, number)
                self.counts_at_relative.setdefault(kind, self.counts[kind])

    def check(self) -> None:
        """Raises unless all indices refer to something, once all lines are read."""
        for kind, name in OBJ_KINDS.items():
            count = self.counts[kind]
            for index, number in (self.largest[kind], self.smallest[kind]):
                if abs(index) > count:
                    raise SceneFileError(self.path, number, f"{name} index {index}, but there are {count}")
            if self.counts_at_relative.get(kind, count) != count:
                message = "expected all coordinates before the first face with negative indices"
                raise SceneFileError(self.path, self.smallest[kind][1], message)


def obj_triangles(path: Path, data: bytes) -> int:
    """Counts the triangles of an OBJ file. Raises for numbers and indices that are none."""
    claims = ObjCounts(path)
    for number, line in enumerate(data.replace(b"\\\n", b" ").split(b"\n"), 1):
        words = line.split()
        if words:
            claims.read_line(number, words)
    claims.check()
    return claims.triangles


def check_ply(path: Path, data: bytes) -> None:
    """Raises when the elements that a PLY header names cannot all be in the file."""
    end = END_HEADER.search(data)
    if end is None:
        raise SceneFileError(path, None, "expected a PLY header up to end_header")
    header = data[: end.start()].decode("latin-1")
    body = data[end.end() :]
    is_ascii = re.search(r"^format\s+ascii\b", header, re.MULTILINE) is not None
    needed = sum(count * (1 if is_ascii else size) for count, size in ply_elements(path, header))
    present = len(body.splitlines()) if is_ascii else len(body)
    if needed > present:
        unit = "lines" if is_ascii else "bytes"
        raise SceneFileError(path, None, f"is cut off: its header needs {needed} {unit}, there are {present}")


def ply_elements(path: Path, header: str) -> list[tuple[int, int]]:
    """Returns the count and least number of bytes of each element of a PLY header."""
    elements: list[tuple[int, int]] = []
    for number, line in enumerate(header.splitlines(), 1):
        words = line.split()
        if words[:1] == ["element"]:
            if len(words) != 3 or not words[2].isdecimal() or len(words[2]) > 12:
                raise SceneFileError(path, number, "expected a name and a count of elements")
            elements.append((int(words[2]), 0))
        elif words[:1] == ["property"] and elements and len(words) >= 3:
            type_of_size = words[2] if words[1] == "list" else words[1]
            count, size = elements[-1]
            elements[-1] = (count, size + PLY_SIZES.get(type_of_size, 1))
    return elements


def is_stl_text(data: bytes) -> bool:
    """Returns whether an STL file is ASCII. Binary ones may begin with the same word, but hold zeros."""
    return b"\0" not in data and re.search(rb"solid", data, re.IGNORECASE) is not None


def check_stl(path: Path, data: bytes) -> None:
    """Raises when an STL file ends within its triangles, or does not have the size that its count of them gives."""
    if is_stl_text(data):
        rest = AFTER_LAST_FACET.match(data)
        if rest is not None and b"endsolid" not in rest[1].lower():
            raise SceneFileError(path, None, "is cut off: there is no endsolid after the last facet")
        return
    if b"\0" not in data:
        raise SceneFileError(path, None, "is not a readable STL file")
    if len(data) < STL_HEADER_BYTES:
        raise SceneFileError(path, None, f"is cut off: a header has {STL_HEADER_BYTES} bytes, there are {len(data)}")
    (count,) = struct.unpack_from("<I", data, STL_HEADER_BYTES - 4)
    needed = STL_HEADER_BYTES + count * STL_TRIANGLE_BYTES
    if needed != len(data):
        fault = "is cut off" if needed > len(data) else "is not a readable STL file"
        raise SceneFileError(path, None, f"{fault}: {count} triangles need {needed} bytes, there are {len(data)}")


def check_gltf(path: Path, data: bytes) -> dict[str, Any]:
    """Checks a glTF or GLB file and returns its header. Raises when a GLB file is not whole, the arrays are not within
    its buffers, or colours are none."""
    text = glb_header(path, data) if path.suffix.lower() == ".glb" else data
    try:
        header: dict[str, Any] = json.loads(text)
        fault = gltf_fault(header)
    except (UnicodeDecodeError, RecursionError) as error:
        raise SceneFileError(path, None, "expected a glTF header in JSON") from error
    except json.JSONDecodeError as error:
        raise SceneFileError(path, None, f"expected a glTF header in JSON: {error}"[:MAX_MESSAGE]) from error
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        message = "expected a glTF header with buffers, accessors and materials that fit together"
        raise SceneFileError(path, None, message) from error
    if fault:
        raise SceneFileError(path, None, fault)
    return header


def glb_header(path: Path, data: bytes) -> bytes:
    """Returns the JSON chunk of a GLB file."""
    if not data.startswith(b"glTF"):
        raise SceneFileError(path, None, "is not a readable GLB file: it does not begin with glTF")
    if len(data) < GLB_HEADER_BYTES:
        raise SceneFileError(path, None, f"is cut off: a header has {GLB_HEADER_BYTES} bytes, there are {len(data)}")
    total, length, kind = struct.unpack_from("<II4s", data, 8)
    needed = max(total, GLB_HEADER_BYTES + length)
    if needed > len(data):
        raise SceneFileError(path, None, f"is cut off: its header needs {needed} bytes, there are {len(data)}")
    if kind != b"JSON":
        raise SceneFileError(path, None, "is not a readable GLB file: its first chunk is not JSON")
    return data[GLB_HEADER_BYTES : GLB_HEADER_BYTES + length]


def gltf_fault(header: dict[str, Any]) -> str:
    """Returns what is wrong with the colours and arrays of a glTF header, or ""."""
    return gltf_color_fault(header) or gltf_array_fault(header)


def gltf_color_fault(header: dict[str, Any]) -> str:
    """Returns what is wrong with the colours of materials, or ""; trimesh makes 0 of those that are none."""
    for number, material in enumerate(header.get("materials", [])):
        base = material.get("pbrMetallicRoughness", {}).get("baseColorFactor", [])
        for color in (base, material.get("emissiveFactor", [])):
            if not all(math.isfinite(channel) for channel in color):
                return f"expected finite colours of material {number}, got {color}"[:MAX_MESSAGE]
            if any(channel < 0.0 for channel in color):
                return f"expected colours not below 0 of material {number}, got {color}"[:MAX_MESSAGE]
    return ""


def gltf_array_fault(header: dict[str, Any]) -> str:
    """Returns what is wrong with the accessors, or ""."""
    buffers = [int(buffer["byteLength"]) for buffer in header.get("buffers", [])]
    views = header.get("bufferViews", [])
    for number, view in enumerate(views):
        offset, length = int(view.get("byteOffset", 0)), int(view["byteLength"])
        if min(offset, length) < 0 or offset + length > buffers[int(view["buffer"])]:
            return f"buffer view {number} reaches beyond its buffer"
    backed, unbacked = 0, 0
    for number, accessor in enumerate(header.get("accessors", [])):
        count, offset = int(accessor["count"]), int(accessor.get("byteOffset", 0))
        item = GLTF_COMPONENTS[accessor["type"]] * GLTF_COMPONENT_BYTES[accessor["componentType"]]
        if min(count, offset) < 0:
            return f"accessor {number} has a negative count or offset"
        if "bufferView" not in accessor:
            unbacked += count * item
            continue
        view = views[accessor["bufferView"]]
        backed += count * item
        if count and offset + (count - 1) * int(view.get("byteStride", item)) + item > int(view["byteLength"]):
            return f"accessor {number} claims {count} items, more than its buffer view holds"
    if unbacked > MAX_UNBACKED_BYTES or backed > MAX_REUSE * sum(buffers) + MAX_UNBACKED_BYTES:
        return f"the arrays claim {backed + unbacked} bytes, far more than the file gives"
    return ""
