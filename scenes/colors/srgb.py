"""This module holds the transfer curve of sRGB, both ways (IEC 61966-2-1: Default RGB colour space - sRGB, 1999)."""

from typing import Any

import numpy as np
import numpy.typing as npt

from scenes.model import Doubles

#: The linear value of each of the 256 bytes.
_ENCODED = np.arange(256) / 255.0
_DECODED = np.where(_ENCODED <= 0.04045, _ENCODED / 12.92, ((_ENCODED + 0.055) / 1.055) ** 2.4)


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
    return np.where(clipped <= 0.0031308, 12.92 * clipped, 1.055 * clipped ** (1.0 / 2.4) - 0.055)
