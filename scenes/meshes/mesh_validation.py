"""This module checks what mesh files hold: the counts of STL files, before a loader believes them, and numbers.

Loaders take counts beyond the end of the file without a word. Each check here is quick, allocates in proportion to the
file at most, and raises SceneFileError.
"""

import re
import struct
from pathlib import Path

import numpy as np

from scenes.errors import Notes, SceneFileError
from scenes.meshes.geometry import bad_numbers
from scenes.model import Doubles

STL_HEADER_BYTES = 84
STL_TRIANGLE_BYTES = 50
#: What follows the last line of an ASCII STL file that begins a facet.
AFTER_LAST_FACET = re.compile(rb".*^[ \t]*facet\b(.*)", re.DOTALL | re.MULTILINE | re.IGNORECASE)


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


def check_numbers(path: Path, kind: str, values: Doubles) -> None:
    """Raises unless all numbers are finite and of a size that float32 can square. kind: what a row is called."""
    if wrong := bad_numbers(kind, values):
        raise SceneFileError(path, None, wrong)


def without_nan(values: Doubles, kind: str, path: Path, notes: Notes) -> Doubles:
    """Returns rows of numbers (n, k) with zeros for those with NaN, which is noted. A normal of zeros is the flat one.

    kind: what a row is called.
    """
    bad = np.isnan(values).any(axis=1, keepdims=True)
    if not bad.any():
        return values
    notes.add_loss(f"{kind}s that are NaN are left out: {np.count_nonzero(bad)}", path)
    return np.where(bad, 0.0, values)
