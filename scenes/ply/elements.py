"""This module reads the header of a PLY file and the elements after it, as arrays. A body of text is made binary first:
all of its numbers are float64."""

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scenes.errors import SceneFileError
from scenes.files.source_file import as_utf8
from scenes.wavefront.lines import ALL_BLANK, MAX_QUOTE, NUMBER, numbers_in

Array = npt.NDArray[Any]
Places = npt.NDArray[np.int64]

TYPES = {
    **dict.fromkeys(("char", "int8"), "i1"),
    **dict.fromkeys(("uchar", "uint8"), "u1"),
    **dict.fromkeys(("short", "int16"), "i2"),
    **dict.fromkeys(("ushort", "uint16"), "u2"),
    **dict.fromkeys(("int", "int32"), "i4"),
    **dict.fromkeys(("uint", "uint32"), "u4"),
    **dict.fromkeys(("float", "float32"), "f4"),
    **dict.fromkeys(("double", "float64"), "f8"),
    "int64": "i8",
    "uint64": "u8",
}
ORDERS = {"ascii": "<", "binary_little_endian": "<", "binary_big_endian": ">"}
END_HEADER = re.compile(rb"^end_header[ \t]*(\r\n|\n|\r)", re.MULTILINE)
#: Digits of a count, so that a hostile one is none.
MAX_DIGITS = 12
#: Names of the lists of the vertices of faces, and the fewest items of lists by element and name.
INDICES = ("vertex_indices", "vertex_index")
FEWEST = {("face", name): 3 for name in INDICES}


@dataclass(frozen=True)
class Property:
    """Describes a number of each row of an element, or a list of them.

    given, dtype: of a number, as the header has it and as it is stored.
    count_dtype: of the length of a list, or None of a single number.
    """

    name: str
    given: str
    dtype: np.dtype[Any]
    count_dtype: np.dtype[Any] | None = None

    @property
    def least_bytes(self) -> int:
        return (self.count_dtype or self.dtype).itemsize


@dataclass(frozen=True, eq=False)
class PlyElement:
    """Describes rows of properties. line: of the header."""

    name: str
    count: int
    line: int
    properties: list[Property] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Header:
    """Holds what a header says. pictures: names of files, and the lines that name them."""

    path: Path
    elements: list[PlyElement]
    pictures: list[tuple[str, int]]


@dataclass(frozen=True, eq=False)
class Lists:
    """Holds a list for each row of an element. counts: (n,) int64. values: (sum of counts,), one after the other."""

    counts: Places
    values: Array


Columns = dict[str, Array | Lists]


def read_elements(path: Path, data: bytes) -> tuple[Header, dict[str, Columns], int]:
    """Returns the header of a file, the properties of each element by name, and how many bytes come after the last.

    Raises SceneFileError for a header that is none and a file that ends too early.
    """
    end = END_HEADER.search(data)
    if not data.startswith(b"ply") or end is None:
        raise SceneFileError(path, None, "expected a PLY header, from ply up to end_header")
    lines = as_utf8(data[: end.start()]).decode("utf-8").splitlines()
    is_text = any(line.split()[:2] == ["format", "ascii"] for line in lines)
    header = read_header(path, lines, is_text)
    body = data[end.end() :]
    if is_text:
        body = binary(path, body, len(lines) + 2)
    columns: dict[str, Columns] = {}
    at = 0
    for element in header.elements:
        columns[element.name], at = read_rows(path, element, body, at)
    if is_text and at < len(body):
        raise SceneFileError(path, None, f"there are {(len(body) - at) // 8} numbers more than its header says")
    return header, columns, len(body) - at


def read_header(path: Path, lines: list[str], is_text: bool) -> Header:
    """Reads the lines of a header up to its end."""
    header, order = Header(path, [], []), ""
    for number, line in enumerate(lines, 1):
        words = line.split()
        kind = words[0] if words else ""
        if kind == "format":
            if len(words) < 2 or words[1] not in ORDERS:
                raise SceneFileError(path, number, f"expected a format that is one of {', '.join(ORDERS)}")
            order = ORDERS[words[1]]
        elif kind == "element":
            if len(words) != 3 or not words[2].isdecimal() or len(words[2]) > MAX_DIGITS:
                raise SceneFileError(path, number, "expected a name and a count of elements")
            header.elements.append(PlyElement(words[1], int(words[2]), number))
        elif kind == "property":
            if not header.elements:
                raise SceneFileError(path, number, "expected an element before its properties")
            header.elements[-1].properties.append(read_property(path, number, words, order, is_text))
        elif kind == "comment" and words[1:2] and words[1].lower() == "texturefile":
            header.pictures.append((line.split(None, 2)[2].strip() if len(words) > 2 else "", number))
    if not order:
        raise SceneFileError(path, None, "expected a line of the header that says the format")
    return header


def read_property(path: Path, number: int, words: list[str], order: str, is_text: bool) -> Property:
    is_list = words[1:2] == ["list"]
    types = words[2:4] if is_list else words[1:2]
    if len(words) != (5 if is_list else 3) or not all(name in TYPES for name in types):
        known = ", ".join(TYPES)
        raise SceneFileError(
            path, number, f"expected a property: list or not, types that are among {known}, and a name"
        )
    dtypes = [np.dtype("<f8" if is_text else order + TYPES[name]) for name in types]
    return Property(words[-1], types[-1], dtypes[-1], dtypes[0] if is_list else None)


def binary(path: Path, body: bytes, first_line: int) -> bytes:
    """Returns the numbers of a text as float64. first_line: of the text, in the file."""
    clean = body.translate(ALL_BLANK)
    numbers = numbers_in(clean, np.float64) if body.strip() else np.zeros(0)
    if numbers is None:
        for line, text in enumerate(body.split(b"\n"), first_line):
            for word in text.split():
                if not NUMBER.fullmatch(word):
                    shown = word[:MAX_QUOTE].decode("utf-8", "replace")
                    raise SceneFileError(path, line, f"expected numbers, got {shown!r}")
        raise SceneFileError(path, None, "expected numbers after the header")
    return numbers.astype("<f8").tobytes()


def read_rows(path: Path, element: PlyElement, body: bytes, at: int) -> tuple[Columns, int]:
    """Returns the properties of an element whose rows begin at some byte, and the byte after them."""
    least = element.count * sum(own.least_bytes for own in element.properties)
    if at + least > len(body):
        rows = "1 row" if element.count == 1 else f"{element.count} rows"
        verb = "is" if element.count == 1 else "are"
        message = f"is cut off: {rows} of element {element.name!r} {verb} more than there is left"
        raise SceneFileError(path, None, message)
    if not element.properties or element.count == 0:
        return {}, at
    alike = dtype_of_first(element, body, at)
    after = at + element.count * alike.itemsize
    found = None if after > len(body) else columns_of(element, np.frombuffer(body, alike, element.count, at))
    if found is not None:
        return found, after
    return walked(path, element, body, at)


def dtype_of_first(element: PlyElement, body: bytes, at: int) -> np.dtype[Any]:
    """Returns the type of the first row of an element: lists are arrays of its lengths."""
    fields: list[Any] = []
    for index, own in enumerate(element.properties):
        if own.count_dtype is not None:
            fields.append((f"count{index}", own.count_dtype))
            after = at + np.dtype(fields).itemsize
            length = (
                np.frombuffer(body, own.count_dtype, 1, after - own.count_dtype.itemsize)[0]
                if after <= len(body)
                else 0
            )
            count = int(length) if 0 <= length <= len(body) else 0
            fields.append((f"value{index}", own.dtype, (count,)))
        else:
            fields.append((f"value{index}", own.dtype))
    return np.dtype(fields)


def columns_of(element: PlyElement, rows: Array) -> Columns | None:
    """Returns the properties of rows that are all of a type, or None where lists have other lengths."""
    columns: Columns = {}
    for index, own in enumerate(element.properties):
        values = rows[f"value{index}"]
        if own.count_dtype is None:
            columns[own.name] = values
            continue
        counts = rows[f"count{index}"]
        if not (counts == values.shape[1]).all():
            return None
        columns[own.name] = Lists(np.full(len(rows), values.shape[1], np.int64), values.reshape(-1))
    return columns


def walked(path: Path, element: PlyElement, body: bytes, at: int) -> tuple[Columns, int]:
    """Returns what `read_rows` does, row by row."""
    places: list[list[int]] = [[] for _ in element.properties]
    counts: list[list[int]] = [[] for _ in element.properties]
    readers = [None if own.count_dtype is None else reader_of(own.count_dtype) for own in element.properties]
    row = -1
    try:
        for row in range(element.count):
            for index, (own, unpack) in enumerate(zip(element.properties, readers, strict=True)):
                count = 1
                if unpack is not None and own.count_dtype is not None:
                    count = int(unpack(body, at)[0])
                    if 0 <= count < FEWEST.get((element.name, own.name), 0):
                        raise few_corners(path, count, row)
                    at += own.count_dtype.itemsize
                places[index].append(at)
                counts[index].append(count)
                at += count * own.dtype.itemsize
                if count < 0 or at > len(body):
                    raise ValueError
    except SceneFileError:
        raise
    except (struct.error, ValueError, OverflowError) as error:
        message = f"is cut off: row {row} of element {element.name!r} ends after it"
        raise SceneFileError(path, None, message) from error
    columns: Columns = {}
    for own, begins, lengths in zip(element.properties, places, counts, strict=True):
        columns[own.name] = gathered(own, body, np.array(begins, np.int64), np.array(lengths, np.int64))
    return columns, at


def few_corners(path: Path, count: int, row: int) -> SceneFileError:
    """Returns the error about a face that has too few corners."""
    return SceneFileError(path, None, f"expected 3 or more corners of a face, got {count} of face {row}")


def reader_of(dtype: np.dtype[Any]) -> Callable[[bytes, int], tuple[Any, ...]]:
    """Returns what reads a number of a type from a place among bytes."""
    letter = {"l": "q", "L": "Q"}.get(dtype.char, dtype.char) if dtype.itemsize == 8 else dtype.char
    return struct.Struct((">" if dtype.byteorder == ">" else "<") + letter).unpack_from


def gathered(own: Property, body: bytes, begins: Places, counts: Places) -> Array | Lists:
    """Returns a property of rows. begins: (n,) where its values begin in each. counts: (n,), how many there are."""
    first = np.repeat(begins - (np.cumsum(counts) - counts) * own.dtype.itemsize, counts)
    values = taken(body, first + np.arange(len(first)) * own.dtype.itemsize, own.dtype)
    return values if own.count_dtype is None else Lists(counts, values)


def taken(body: bytes, places: Places, dtype: np.dtype[Any]) -> Array:
    """Returns the numbers of a type that begin at some bytes."""
    found = np.frombuffer(body, np.uint8)[places[:, None] + np.arange(dtype.itemsize)]
    return np.ascontiguousarray(found).view(dtype).reshape(-1)
