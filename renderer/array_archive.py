"""Reads arrays from NumPy archives that anybody may have written: nothing is unpacked or unpickled, and how large an
array is becomes known before it takes memory.
"""

import math
import struct
import tokenize
import zipfile
from typing import Any, BinaryIO, cast

import numpy as np

#: What a file that is no such archive, or is damaged, makes the readers of zip, NumPy and JSON raise.
DAMAGES = (
    ValueError,
    TypeError,
    KeyError,
    EOFError,
    RuntimeError,
    SyntaxError,
    OverflowError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
)


def read_array(archive: zipfile.ZipFile, name: str, dtype: np.dtype[Any], most_bytes: int) -> np.ndarray[Any, Any]:
    """Returns an array of an archive, which cannot be written to.

    archive: not compressed.
    name: of the array.
    dtype: its elements must have.
    most_bytes: that it may take with its header.

    Raises one of `DAMAGES` where the archive has no such array.
    """
    entry = archive.getinfo(f"{name}.npy")
    if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
        raise ValueError(f"'{name}' is compressed")
    if entry.file_size > most_bytes:
        raise ValueError(f"'{name}' has {entry.file_size} bytes, more than {most_bytes}")
    with archive.open(entry) as opened:
        return array_in(cast(BinaryIO, opened), entry.file_size, name, dtype)


def array_in(file: BinaryIO, size: int, name: str, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Returns the array of an opened .npy, which cannot be written to.

    size: of the file, bytes.
    name, dtype: as of `read_array`, which says what is raised.
    """
    version = np.lib.format.read_magic(file)
    read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, is_fortran, found = read_header[version](file)
    if found != dtype or is_fortran or min(shape, default=0) < 0:
        raise ValueError(f"'{name}' should be {dtype} by rows, is {found}")
    expected = math.prod(shape) * dtype.itemsize
    if file.tell() + expected != size:
        raise ValueError(f"'{name}' should have {expected} bytes, has {size - file.tell()}")
    return np.frombuffer(file.read(), dtype).reshape(shape)
