"""This module marks files as written by this program, and tells by the mark whether one is.

A format that has room for text says who wrote it: a comment, or what the format has for the name of the software. An
.npy has no such room: its header is padded so that the array begins a page into the file, where NumPy has it begin
after some lines.
"""

import re
import struct
import zipfile
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

#: What a comment says.
WRITTEN_BY = "written by tracecore"

#: How a file says who wrote it: by a comment; by the name of the software in a .png, an .exr or JSON; by the format of
#: rays; by its first line.
_MARK = re.compile(
    rb"written by tracecore|Software\0(string\0....)?tracecore |"
    rb'"(software|format)": ?"tracecore |\Atracecore ',
    re.DOTALL,
)

#: Bytes at either end of a file among which the mark is.
_ENDS = 4096

#: Where the array of an .npy begins, and the bytes before the text of its header: the magic string and the length.
_PAGE, _LEAD = 4096, 10
_ARRAY_BEGIN = np.lib.format.magic(1, 0) + struct.pack("<H", _PAGE - _LEAD)


def is_own(path: Path) -> bool:
    """Returns whether this program wrote a file. An empty one counts, as nothing is lost with it; one that cannot be
    read does not."""
    try:
        with path.open("rb") as file:
            head = file.read(_ENDS)
            file.seek(max(0, file.seek(0, 2) - _ENDS))
            ends = (head, file.read())
    except OSError:
        return False
    return not head or any(map(_MARK.search, ends)) or head.startswith(_ARRAY_BEGIN)


def write_array(file: BinaryIO, array: npt.NDArray[Any]) -> None:
    """Writes an array as an .npy with the mark."""
    array = np.ascontiguousarray(array)
    fields = np.lib.format.header_data_from_array_1_0(array)
    header = "{" + "".join(f"'{key}': {value!r}, " for key, value in sorted(fields.items())) + "}"
    file.write(_ARRAY_BEGIN + header.encode().ljust(_PAGE - _LEAD - 1) + b"\n")
    file.write(array.data)


def write_arrays(file: BinaryIO, arrays: dict[str, npt.NDArray[Any]], *, is_compressed: bool = False) -> None:
    """Writes arrays as an .npz with the mark, by their names."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            about = zipfile.ZipInfo(f"{name}.npy")
            about.compress_type = zipfile.ZIP_DEFLATED if is_compressed else zipfile.ZIP_STORED
            about.comment = WRITTEN_BY.encode()
            with archive.open(about, "w", force_zip64=True) as entry:
                np.lib.format.write_array(cast(BinaryIO, entry), np.asanyarray(array), allow_pickle=False)
