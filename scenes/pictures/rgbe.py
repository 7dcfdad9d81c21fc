"""This module reads pictures of Radiance, .hdr: three bytes of mantissas and one of the exponent that they share.

Ward: Real Pixels, in Graphics Gems II, 1991. Rows are packed by runs in either of two ways, or not at all. The lines
EXPOSURE and COLORCORR of the header count for nothing, as in most programs.
"""

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from scenes.colors.spectra import RGB_OF_XYZ
from scenes.errors import SceneFileError
from scenes.files.source_file import count_pixels, read_bytes
from scenes.model import Doubles, Floats

MAX_FILE_BYTES = 1 << 30
MAX_HEADER_BYTES = 1 << 16
#: Rows so wide may be packed in the newer way, which two bytes of 2 announce.
NEWER_WIDTHS = range(8, 0x8000)
#: Above this a byte of the newer way counts equal bytes, else different ones.
MOST_DIFFERENT = 128
#: Exponents are stored with this added, mantissas in 256ths.
BIAS = 128 + 8
RESOLUTION = re.compile(rb"([-+])([XY]) +(\d{1,9}) +([-+])([XY]) +(\d{1,9})[ \t\r]*$")
#: What texels are: red, green and blue, or X, Y and Z.
XYZE = b"32-bit_rle_xyze"
FORMATS = (b"32-bit_rle_rgbe", XYZE)

Bytes = npt.NDArray[np.uint8]


def read_rgbe(path: Path, max_texels: int) -> Floats:
    """Reads a picture, (height, width, 3) float32, top row first and left column first.

    max_texels: that are read.

    Raises SceneFileError where it cannot be read, or is larger.
    """
    data = read_bytes(path, MAX_FILE_BYTES)
    start, kind = header(path, data)
    end = data.find(b"\n", start, start + 256)
    match = RESOLUTION.match(data[start : max(end, start)])
    if match is None or match[2] == match[5]:
        raise SceneFileError(path, None, "expected a resolution such as '-Y 512 +X 1024' after the header")
    rows, columns = int(match[3]), int(match[6])
    if not 0 < rows * columns <= max_texels:
        raise SceneFileError(path, None, f"the image has {columns}x{rows} texels, at most {max_texels} are read")
    count_pixels(path, columns * rows, len(data))
    texels = unpacked(path, data, end + 1, (rows, columns))
    picture = linear(texels.reshape(rows, columns, 4))
    if kind == XYZE:
        picture = np.maximum(picture @ RGB_OF_XYZ.T, 0.0)
    return oriented(picture, match).astype(np.float32)


def header(path: Path, data: bytes) -> tuple[int, bytes]:
    """Returns where the header ends, and the format that it says."""
    if not data.startswith(b"#?"):
        raise SceneFileError(path, None, "expected a picture of Radiance, which begins with '#?'")
    found = re.compile(rb"\r?\n\r?\n").search(data, 0, MAX_HEADER_BYTES)
    if found is None:
        raise SceneFileError(path, None, "expected an empty line after the header")
    kind = FORMATS[0]
    for line in data[: found.start()].splitlines():
        name, _, value = line.partition(b"=")
        if name.strip() == b"FORMAT":
            kind = value.strip()
    if kind not in FORMATS:
        raise SceneFileError(path, None, f"expected the format 32-bit_rle_rgbe, got {kind[:40].decode('latin-1')!r}")
    return found.end(), kind


def linear(texels: Bytes) -> Doubles:
    """Returns the colours (..., 3) of texels (..., 4)."""
    exponents = texels[..., 3:].astype(np.int32)
    colors: Doubles = np.ldexp(texels[..., :3].astype(np.float64), exponents - BIAS)
    return np.where(exponents > 0, colors, 0.0)


def oriented(picture: Doubles, match: re.Match[bytes]) -> Doubles:
    """Returns a picture with its top row first, whichever way its resolution says that rows and columns go."""
    if match[1] == (b"+" if match[2] == b"Y" else b"-"):
        picture = picture[::-1]
    if match[4] == (b"-" if match[5] == b"X" else b"+"):
        picture = picture[:, ::-1]
    return picture if match[2] == b"Y" else picture.transpose(1, 0, 2)


def unpacked(path: Path, data: bytes, place: int, shape: tuple[int, int]) -> Bytes:
    """Returns the bytes of all texels, (rows columns, 4)."""
    rows, columns = shape
    texels = np.zeros((rows, columns, 4), np.uint8)
    short = SceneFileError(path, None, f"the picture ends early, or a run is longer than its row of {columns}")
    newer = bytes((2, 2, columns >> 8, columns & 255)) if columns in NEWER_WIDTHS else None
    for row in range(rows):
        if newer is not None and data[place : place + 4] == newer:
            place += 4
            for channel in range(4):
                place, line = newer_line(data, place, columns)
                if len(line) != columns:
                    raise short
                texels[row, :, channel] = np.frombuffer(line, np.uint8)
        else:
            place, old = older_row(data, place, columns)
            if len(old) != 4 * columns:
                raise short
            texels[row] = np.frombuffer(old, np.uint8).reshape(columns, 4)
    return texels.reshape(-1, 4)


def newer_line(data: bytes, place: int, columns: int) -> tuple[int, bytearray]:
    """Returns where one channel of a row ends, and its bytes, which are too many or too few where it is none."""
    line = bytearray()
    while len(line) < columns and place + 1 < len(data):
        count = data[place]
        if count == 0:
            break
        if count > MOST_DIFFERENT:
            line += data[place + 1 : place + 2] * (count - MOST_DIFFERENT)
            place += 2
        else:
            line += data[place + 1 : place + 1 + count]
            place += 1 + count
    return place, line


def older_row(data: bytes, place: int, columns: int) -> tuple[int, bytearray]:
    """Returns where a row ends that is not packed, or in the older way, and its bytes.

    A texel of (1, 1, 1, n) stands for n times the one before, and the next such one for 256 n times.
    """
    row = bytearray()
    shift = 0
    while len(row) < 4 * columns and place + 4 <= len(data):
        texel = data[place : place + 4]
        place += 4
        if texel[:3] == b"\1\1\1" and row:
            count = texel[3] << shift
            if count > columns:
                break
            row += row[-4:] * count
            shift += 8
        else:
            row += texel
            shift = 0
    return place, row
