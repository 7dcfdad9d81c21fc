"""This module checks the counts of STL and glTF files against what the files hold, before a loader believes them.

Loaders take counts beyond the end of the file and huge empty arrays without a word. Each check here is
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
MAX_MESSAGE = 200
#: The header of a GLB file and that of its first chunk.
GLB_HEADER_BYTES = 20
STL_HEADER_BYTES = 84
STL_TRIANGLE_BYTES = 50
#: What follows the last line of an ASCII STL file that begins a facet.
AFTER_LAST_FACET = re.compile(rb".*^[ \t]*facet\b(.*)", re.DOTALL | re.MULTILINE | re.IGNORECASE)
GLTF_COMPONENT_BYTES = {5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4}
GLTF_COMPONENTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}


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
