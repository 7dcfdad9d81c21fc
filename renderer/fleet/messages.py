"""Messages between the processes of a fleet: objects through a socket, and their large arrays in memory that is shared.

The sender writes an array to a slot of its arena, and the receiver reads it there. When nobody has the array any more,
the receiver says so, and the slot is used again: memory that is new costs more than the copy.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import socket
import struct
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

#: Smaller arrays go through the socket.
LEAST_SHARED = 1 << 20

#: What comes first: how many parts follow; then of each its bytes, and its slot or NO_SLOT.
_COUNT = struct.Struct("<I")
_PART = struct.Struct("<Qq")
NO_SLOT = -1


class Slot(NamedTuple):
    """Is a piece of an arena. offset, size: bytes."""

    offset: int
    size: int


class Arena:
    """Memory that the sender of messages shares with their receiver.

    file: of the memory, as `arena_file` makes it, or None where there is none: then all goes through the socket.
    """

    def __init__(self, file: int | None) -> None:
        self._file, self._end = file, 0
        self._free: list[Slot] = []
        self._taken: dict[int, Slot] = {}
        self._maps: dict[int, mmap.mmap] = {}
        self._lock = threading.Lock()

    def put(self, content: memoryview) -> int:
        """Copies bytes to a slot, and returns its offset; NO_SLOT where they are few, or where there is no room."""
        if self._file is None or content.nbytes < LEAST_SHARED:
            return NO_SLOT
        with self._lock:
            slot = self._slot(content.nbytes)
        if slot is None:
            return NO_SLOT
        np.frombuffer(self._maps[slot.offset], np.uint8, content.nbytes)[:] = np.frombuffer(content, np.uint8)
        return slot.offset

    def free(self, offset: int) -> None:
        """Takes back a slot that the receiver has no use for any more."""
        with self._lock:
            self._free.append(self._taken.pop(offset))

    def _slot(self, size: int) -> Slot | None:
        """Returns a free slot of so many bytes, if need be a new one; None where there is no memory."""
        assert self._file is not None
        slot = next((slot for slot in reversed(self._free) if size <= slot.size <= 2 * size), None)
        if slot is not None:
            self._free.remove(slot)
        else:
            slot = Slot(self._end, -(-size // mmap.PAGESIZE) * mmap.PAGESIZE)
            try:
                os.posix_fallocate(self._file, slot.offset, slot.size)
                self._maps[slot.offset] = mmap.mmap(self._file, slot.size, offset=slot.offset)
            except OSError:
                return None
            self._end += slot.size
        self._taken[slot.offset] = slot
        return slot


class SharedView:
    """What a receiver sees of the sender's arena.

    file: as of `Arena`.
    on_free: is told the offset of each slot that is not used any more, in any thread.
    """

    def __init__(self, file: int | None, on_free: Callable[[int], None]) -> None:
        self._file, self._on_free = file, on_free
        self._maps: dict[int, mmap.mmap] = {}

    def get(self, offset: int, size: int) -> memoryview:
        """Returns the bytes of a slot; it is free when the last array that lies there is gone."""
        assert self._file is not None
        if offset not in self._maps:  # as large as the array for which the slot was made
            whole = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
            self._maps[offset] = mmap.mmap(self._file, whole, offset=offset)
        shared = self._maps[offset]
        holder = np.frombuffer(shared, np.uint8, size)
        weakref.finalize(holder, self._on_free, offset).atexit = False
        return holder.data


NO_ARENA = Arena(None)
NO_VIEW = SharedView(None, lambda offset: None)


def arena_file() -> int | None:
    """Returns a new file of memory that ends with the last process that has it open; None where there is none such."""
    with contextlib.suppress(AttributeError, OSError):
        return os.memfd_create("tracecore")
    return None


def send(channel: socket.socket, message: Any, arena: Arena = NO_ARENA) -> None:
    """Sends a message. Raises `OSError` where nobody is there to take it."""
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(text), *(buffer.raw() for buffer in buffers)]
    slots = [NO_SLOT, *(arena.put(part) for part in parts[1:])]
    head = [_PART.pack(part.nbytes, slot) for part, slot in zip(parts, slots, strict=True)]
    channel.sendall(_COUNT.pack(len(parts)) + b"".join(head))
    for part, slot in zip(parts, slots, strict=True):
        if slot == NO_SLOT:
            channel.sendall(part)


def receive(channel: socket.socket, view: SharedView = NO_VIEW) -> Any:
    """Returns the next message. Raises `EOFError` where the other side has ended, and `TimeoutError`."""
    count = _COUNT.unpack(_read(channel, _COUNT.size))[0]
    head: Sequence[tuple[int, int]] = [_PART.unpack(_read(channel, _PART.size)) for _ in range(count)]
    parts = [_read(channel, size) if slot == NO_SLOT else view.get(slot, size) for size, slot in head]
    return pickle.loads(parts[0], buffers=parts[1:])


def _read(channel: socket.socket, length: int) -> memoryview:
    data = np.empty(length, np.uint8).data
    done = 0
    while done < length:
        got = channel.recv_into(data[done:])
        if got == 0:
            raise EOFError("the other process has ended")
        done += got
    return data
