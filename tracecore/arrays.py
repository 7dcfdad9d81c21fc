"""Takes arrays of other libraries, which share their memory by DLPack and know nothing of NumPy; tells which lie on a
GPU; and goes through large arrays a piece at a time.
"""

from collections.abc import Iterator
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt


class SupportsDlpack(Protocol):
    """Describes an array of any library that lends its memory (Python array API standard, 2022: Data interchange)."""

    def __dlpack__(self, *, stream: Any = None) -> Any:
        """Returns a capsule of the memory."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """Returns the kind of device in whose memory it lies, and the index of that device."""


class SupportsCuda(Protocol):
    """Describes an array that lies on a GPU, as of CuPy, Numba, PyTorch and Warp (Numba: CUDA Array Interface, v3)."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Returns the address, shape, type and strides."""


#: What is taken for an array: what NumPy takes, and what lends its memory.
Array = npt.ArrayLike | SupportsDlpack | SupportsCuda

#: Kinds of memory of DLPack that kernels read: a GPU's own, and what CUDA moves there.
GPU_MEMORY = (2, 13)


def lies_on_gpu(array: Array) -> bool:
    """Returns whether an array lies in the memory of a GPU of NVIDIA's, by what it says itself."""
    if isinstance(array, np.ndarray):
        return False
    if not hasattr(array, "__dlpack_device__"):
        return hasattr(array, "__cuda_array_interface__")
    try:
        return cast("SupportsDlpack", array).__dlpack_device__()[0] in GPU_MEMORY
    except BufferError:  # it lies on several devices
        return False


def as_numpy(array: Array) -> npt.NDArray[Any]:
    """Returns an array as NumPy has it, the same memory where that can be.

    array: anything that NumPy takes, or that has `__dlpack__` and lies in the machine's memory.
    Raises TypeError for an array that lies elsewhere, as in the memory of a GPU.
    """
    if hasattr(array, "__array__") or not hasattr(array, "__dlpack__"):
        return np.asarray(array)
    try:
        return np.from_dlpack(cast("Any", array))
    except (BufferError, RuntimeError) as error:
        raise TypeError(f"the array cannot be had in the machine's memory ({error}); copy it there first") from error


#: Rows of a piece.
PIECE_ROWS = 1 << 12


def pieces(rows: int) -> Iterator[slice]:
    """Yields slices of an array of so many rows, so that what is made of each in float64 takes little memory."""
    for start in range(0, rows, PIECE_ROWS):
        yield slice(start, start + PIECE_ROWS)
