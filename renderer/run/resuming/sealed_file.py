"""A sealed file holds what is known of arrays, and the arrays, and is known to be whole.

A line says what the file is and of which version, a line of JSON has its header with the types and shapes of the
arrays; then come the arrays as they are in memory, and a digest of all of it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from renderer.atomic_file import atomic_file

DIGEST_BYTES = 32

#: Bytes that are written or read at a time.
BLOCK_BYTES = 1 << 24

#: Types of arrays, as the header names them.
TYPES = ("<f8", "<f4", "<i8", "<u4")

Arrays = dict[str, npt.NDArray[Any]]
Header = dict[str, Any]


def write(
    path: Path,
    first_line: bytes,
    header: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    before: Callable[[], None] | None = None,
) -> None:
    """Writes a file in full, or leaves what is there.

    first_line: says what it is.
    header: plain values by name.
    arrays: float64, float32, int64 or uint32.
    before: called when all is on the disk, before the file takes its place.
    """
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    with atomic_file(path) as file:
        for part in _parts(first_line, header, arrays):
            digest.update(part)
            file.write(part)
        file.write(digest.digest())
        file.flush()
        os.fsync(file.fileno())
        if before is not None:
            before()


def read_header(path: Path, first_line: bytes) -> Header | None:
    """Returns the header of a file; None where it is damaged, or something else. Raises `OSError`."""
    with path.open("rb") as file:
        end = os.fstat(file.fileno()).st_size - DIGEST_BYTES
        if file.read(len(first_line)) != first_line or not _is_whole(file, end):
            return None
        file.seek(len(first_line))
        header: Header = json.loads(file.readline())
        return header


def read_arrays(path: Path, first_line: bytes) -> Arrays:
    """Returns the arrays of a file whose header has been read."""
    with path.open("rb") as file:
        file.seek(len(first_line))
        told = json.loads(file.readline())["arrays"]
        return {name: _array(file, TYPES[TYPES.index(kind)], shape) for name, (kind, shape) in told.items()}


def _parts(first_line: bytes, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Iterator[Any]:
    """Yields the bytes of a file, but for the digest."""
    plain = {name: np.ascontiguousarray(one, one.dtype.newbyteorder("<")) for name, one in arrays.items()}
    told = {name: (one.dtype.newbyteorder("<").str, one.shape) for name, one in plain.items()}
    yield first_line
    yield f"{json.dumps({**header, 'arrays': told})}\n".encode()
    for one in plain.values():
        numbers = one.reshape(-1).view(np.uint8).data
        for start in range(0, len(numbers), BLOCK_BYTES):
            yield numbers[start : start + BLOCK_BYTES]


def _is_whole(file: BinaryIO, end: int) -> bool:
    """Tells whether the digest at the end of a file is that of all before it. end: bytes before the digest."""
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    file.seek(0)
    for start in range(0, end, BLOCK_BYTES):
        digest.update(file.read(min(BLOCK_BYTES, end - start)))
    return end > 0 and file.read() == digest.digest()


def _array(file: BinaryIO, kind: str, shape: list[int]) -> npt.NDArray[Any]:
    """Reads the next array."""
    found = np.fromfile(file, kind, int(np.prod(shape)))
    return found.astype(found.dtype.newbyteorder("="), copy=False).reshape(shape)
