"""This module finds PNG files whose rows are too few or too short, which decoders take for black without a word.

W3C: Portable Network Graphics (PNG) Specification (second edition, 2003), chapters 8 and 11.
"""

import struct
import zlib
from collections.abc import Iterator

SIGNATURE = b"\x89PNG\r\n\x1a\n"
HEADER, DATA = b"IHDR", b"IDAT"
#: Numbers of a pixel by the type of its colours.
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
#: The passes of Adam7: first column and row, and the steps to the next ones.
PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
#: Bytes that are unpacked at a time.
STEP = 1 << 20


def missing_rows(data: bytes) -> str | None:
    """Returns what is wrong with the rows of a PNG file, or None where there are as many bytes as they need, or where
    it is no PNG file that decoders read at all."""
    if not data.startswith(SIGNATURE):
        return None
    parts = list(chunks(data))
    if not parts or parts[0][0] != HEADER or len(parts[0][1]) != 13:
        return None
    width, height, bits, color, _, _, interlaced = struct.unpack(">IIBBBBB", parts[0][1])
    needed = row_bytes(width, height, bits * CHANNELS.get(color, 0), bool(interlaced))
    found = unpacked_bytes([part for kind, part in parts if kind == DATA], needed)
    return None if found >= needed else f"its rows have {found} bytes, and need {needed}"


def chunks(data: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """Yields the kind and the data of each chunk, up to one that is cut off."""
    view, start = memoryview(data), len(SIGNATURE)
    while start + 8 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, start)
        yield kind, view[start + 8 : start + 8 + length]
        start += 12 + length


def row_bytes(width: int, height: int, bits: int, interlaced: bool) -> int:
    """Returns how many bytes all rows have, each with one that names its filter. bits: of a pixel."""
    if not interlaced:
        return height * (1 + (width * bits + 7) // 8)
    total = 0
    for column, row, across, down in PASSES:
        columns, rows = (width - column + across - 1) // across, (height - row + down - 1) // down
        total += rows * (1 + (columns * bits + 7) // 8) if columns > 0 and rows > 0 else 0
    return total


def unpacked_bytes(parts: list[memoryview], most: int) -> int:
    """Returns how many bytes parts of a deflated stream unpack to, as far as they can be unpacked, and counts no more
    than are asked for."""
    stream, found = zlib.decompressobj(), 0
    for part in parts:
        waiting: bytes | memoryview = part
        while waiting and found < most:
            try:
                found += len(stream.decompress(waiting, STEP))
            except zlib.error:
                return found
            waiting = stream.unconsumed_tail
    return found
