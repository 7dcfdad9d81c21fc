"""This module holds the transfer curve of sRGB, both ways (IEC 61966-2-1: Default RGB colour space - sRGB, 1999)."""

from typing import Any

import numpy as np
import numpy.typing as npt

from scenes.model import Doubles

#: The line that the curve begins with: how steep it is, and up to which linear and which encoded value it goes.
SLOPE, LINE_END, ENCODED_END = 12.92, 0.0031308, 0.04045


def _linear_of(encoded: npt.NDArray[np.floating[Any]]) -> Doubles:
    return np.where(encoded <= ENCODED_END, encoded / SLOPE, ((encoded + 0.055) / 1.055) ** 2.4)


#: The linear value of each of the 256 bytes, and from which linear value on each of them but 0 is the nearest.
_DECODED, _LEAST = _linear_of(np.arange(256) / 255.0), _linear_of((np.arange(1, 256) - 0.5) / 255.0)

#: Parts of 0..1 of one width, in each of which one byte at most begins; the byte that each begins with, and from which
#: linear value on the next one is the nearest. The last part is what is 1.
_PARTS = 1 << 12
_FIRST_BYTE = np.searchsorted(_LEAST, np.arange(_PARTS + 1) / _PARTS, side="right").astype(np.uint8)
_NEXT_LEAST = np.append(_LEAST, np.inf)[_FIRST_BYTE]


def decoded(encoded: npt.NDArray[np.uint8], dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """Returns the linear values of sRGB bytes.

    encoded: uint8, any shape.
    dtype: floating point type of what is returned, which is of the same shape and in 0..1.
    """
    return _DECODED.astype(dtype)[encoded]


def encoded(linear: Doubles) -> Doubles:
    """Encodes linear values as sRGB, in 0..1.

    linear: float64, any shape; what is below 0 counts as 0, what is above 1 as 1.
    """
    clipped = np.clip(linear, 0.0, 1.0)
    return np.where(clipped <= LINE_END, SLOPE * clipped, 1.055 * clipped ** (1.0 / 2.4) - 0.055)


def encoded_bytes(linear: Doubles) -> npt.NDArray[np.uint8]:
    """Encodes linear values as sRGB bytes, to the nearest, by a table: a power takes many times as long.

    linear: as of `encoded`.
    """
    least = np.minimum(linear, 1.0)
    parts = (least * _PARTS).astype(np.intp)
    return _FIRST_BYTE.take(parts, mode="clip") + (least >= _NEXT_LEAST.take(parts, mode="clip"))
