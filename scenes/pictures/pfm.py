"""This module reads portable float maps, .pfm: three lines of text, then rows of float32, the lowest row first.

Debevec: Portable FloatMap Image Format, 2001. The third line is a factor; a negative one says that numbers are
little-endian.
"""

import re
from pathlib import Path

import numpy as np

from scenes.errors import SceneFileError
from scenes.files.source_file import count_pixels, read_bytes
from scenes.model import Floats

MAX_FILE_BYTES = 1 << 30
HEADER = re.compile(rb"P([Ff])\s+(\d{1,9})\s+(\d{1,9})\s+([-+.\deE]{1,30})[ \t\r]*\n")


def read_floats(path: Path, max_texels: int) -> Floats:
    """Reads a map of colours or greys, (height, width, 3) float32, top row first.

    max_texels: that are read.

    Raises SceneFileError where it cannot be read, or is larger.
    """
    data = read_bytes(path, MAX_FILE_BYTES)
    header = HEADER.match(data)
    try:
        factor = float(header[4]) if header else 0.0
    except ValueError:
        factor = 0.0
    if header is None or not 0.0 < abs(factor) < np.inf:
        raise SceneFileError(path, None, "is not a readable .pfm file: expected PF or Pf, width, height and a factor")
    channels, width, height = 3 if header[1] == b"F" else 1, int(header[2]), int(header[3])
    if not 0 < width * height <= max_texels:
        raise SceneFileError(path, None, f"the image has {width}x{height} texels, at most {max_texels} are read")
    count_pixels(path, width * height, len(data))
    rest, needed = len(data) - header.end(), 4 * channels * width * height
    if rest < needed:
        raise SceneFileError(path, None, f"is cut off: its texels take {needed} bytes, there are {rest}")
    numbers = np.frombuffer(data, "<f4" if factor < 0.0 else ">f4", channels * width * height, header.end())
    with np.errstate(all="ignore"):  # what overflows is not finite, and found by whoever reads it
        rows = numbers.reshape(height, width, channels)[::-1].astype(np.float32) * np.float32(abs(factor))
    return np.ascontiguousarray(np.broadcast_to(rows, (height, width, 3)))
