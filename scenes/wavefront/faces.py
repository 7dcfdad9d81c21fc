"""This module reads the faces of OBJ files: the indices of vertices, texture coordinates and normals at each corner."""

import re
from dataclasses import dataclass

import numpy as np

from scenes.errors import SceneFileError
from scenes.files.source_file import MAX_CORNERS
from scenes.wavefront.lines import MAX_QUOTE, Flags, ObjLines, Places, numbers_in

#: Kinds of values by their place in a corner, and what they are called.
KINDS = {b"v": "vertex", b"vt": "texture coordinate", b"vn": "normal"}
CORNER = re.compile(rb"[+-]?\d+(/[+-]?\d*){0,2}")
#: Stands for an index that a corner does not have.
MISSING = -(1 << 62)
SLASH = ord("/")


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
        for values, (kind, name) in zip(fields, KINDS.items(), strict=True)
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
    if found is None or len(found) != widths.sum() or widths.max(initial=1) > len(KINDS):
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
