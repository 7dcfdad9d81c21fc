"""Memory of a GPU, and what goes up to it and comes down: by way of pinned memory, into which all threads copy."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tracecore.cuda.device import CudaDevice, Stream
from tracecore.cuda.driver import Handle
from tracecore.threads import Piece, in_pieces

#: Bytes of pinned memory through which contents of any size are copied to the device and back, a piece at a time.
STAGING_BYTES = 1 << 26

#: Bytes that a thread puts there at a time.
PIECE = 1 << 21

Bytes = npt.NDArray[np.uint8]


class DeviceMemory:
    """Bytes on a device.

    device: whose memory it is; the calling thread is attached to it. size: bytes. Raises `RuntimeError` or
    `MemoryError` where there is no room.
    """

    def __init__(self, device: CudaDevice, size: int) -> None:
        self._device = device
        self._memory: Handle = device.driver.allocate(size)
        self.size = size
        self.address = int(self._memory.ptr)

    @classmethod
    def zeros(cls, device: CudaDevice, size: int) -> Self:
        """So many bytes, all zero. Raises `DeviceError` where the device does not answer."""
        return cls.filled(device, size, 0)

    @classmethod
    def filled(cls, device: CudaDevice, size: int, value: int) -> Self:
        """So many bytes, all of a value. Raises `DeviceError` where the device does not answer."""
        memory, stream = cls(device, size), Stream(device)
        if size > 0:
            stream.clear(memory.address, size, value)
        stream.finish(memory)
        return memory

    @classmethod
    def holding(cls, device: CudaDevice, content: npt.NDArray[Any]) -> Self:
        """A copy of an array's bytes. Raises `DeviceError` where the device does not answer."""
        (memory,) = cls.holding_each(device, [content])
        return memory

    @classmethod
    def holding_each(cls, device: CudaDevice, contents: Sequence[npt.NDArray[Any]]) -> list[Self]:
        """Copies of the bytes of arrays, through the same pinned memory. Raises as `holding`."""
        if not contents:
            return []
        memories = [cls(device, content.nbytes) for content in contents]
        staging, stream = staged(device, sum(memory.size for memory in memories))
        used = 0
        for memory, content in zip(memories, contents, strict=True):
            given, start = content.reshape(-1).view(np.uint8), 0
            while start < memory.size:
                if used == len(staging):
                    stream.finish(memories, staging)
                    used = 0
                count = min(memory.size - start, len(staging) - used)
                part = _Part(given[start : start + count], staging[used:], memory.address + start)
                in_pieces(partial(_send, device, stream, part), count, PIECE)
                start, used = start + count, used + count
        stream.finish(memories, staging)
        return memories

    def copied(self, size: int | None = None) -> npt.NDArray[np.uint8]:
        """The bytes, or so many of the first, on the host. All work that writes them is done. Raises `DeviceError` as
        `holding`.
        """
        found = np.empty(self.size if size is None else size, np.uint8)
        staging, stream = staged(self._device, len(found))
        for start in range(0, len(found), STAGING_BYTES):
            part = found[start : start + STAGING_BYTES]
            stream.copy_down(staging.ctypes.data, self.address + start, part.size)
            stream.finish(self, staging)
            part[:] = staging[: part.size]
        return found


class _Part(NamedTuple):
    """Holds bytes that go up. content: what they are. staging: their room in pinned memory. address: where they go."""

    content: Bytes
    staging: Bytes
    address: int


def _send(device: CudaDevice, stream: Stream, part: _Part, piece: Piece) -> None:
    """Starts to copy a piece of some bytes."""
    device.ensure_attached()
    first, end = piece
    part.staging[first:end] = part.content[first:end]
    stream.copy_up(part.address + first, part.staging.ctypes.data + first, end - first)


def staged(device: CudaDevice, size: int) -> tuple[npt.NDArray[np.uint8], Stream]:
    """Returns the pinned memory and the stream that a copy of so many bytes goes through, a piece at a time."""
    return device.pinned(max(min(size, STAGING_BYTES), 1), np.uint8), Stream(device)
