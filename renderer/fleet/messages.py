"""Messages between the processes of a fleet: objects through a socket, and their large arrays in memory that is shared.

The sender writes an array to a slot of its arena, and the receiver reads it there. When nobody has the array any more,
the receiver says so, and the slot is used again: memory that is new costs more than the copy. Who has such an array
can send it on to other processes that see the arena too; then it is not copied.
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

#: What comes first: how many parts follow; then of each its bytes, and where it lies.
_COUNT = struct.Struct("<I")
_PART = struct.Struct("<Qiq")


class MessagePlace(NamedTuple):
    """Says where an array lies. file: number of the arena. offset: of the slot, bytes."""

    file: int
    offset: int


#: Says of the bytes of an array where the receiver of a message finds them.
PlaceOf = Callable[[memoryview], MessagePlace]

#: Of an array that lies in no arena, and goes through the socket.
NOWHERE = MessagePlace(-1, 0)


class Slot(NamedTuple):
    """Is a piece of an arena. offset, size: bytes."""

    offset: int
    size: int


class Arena:
    """Memory that the sender of messages shares with their receivers.

    file: of the memory, as `arena_file` makes it, or None where there is none: then all goes through the socket.
    number: of the file.
    """

    def __init__(self, file: int | None, number: int = 0) -> None:
        self._file, self._number, self._end = file, number, 0
        self._free: list[Slot] = []
        self._taken: dict[int, Slot] = {}
        self._maps: dict[int, mmap.mmap] = {}
        self._lock = threading.Lock()

    def put(self, content: memoryview) -> MessagePlace:
        """Copies bytes to a slot, and returns its place; NOWHERE where they are few, or where there is no room."""
        if self._file is None or content.nbytes < LEAST_SHARED:
            return NOWHERE
        with self._lock:
            slot = self._slot(content.nbytes)
        if slot is None:
            return NOWHERE
        np.frombuffer(self._maps[slot.offset], np.uint8, content.nbytes)[:] = np.frombuffer(content, np.uint8)
        return MessagePlace(self._number, slot.offset)

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
    """What a process sees of the arenas of others.

    files: of the arenas, as of `Arena`, by their numbers.
    on_free: is told the place of each slot that is not used any more, in any thread.
    """

    def __init__(
        self, files: Sequence[int | None], on_free: Callable[[MessagePlace], None] = lambda place: None
    ) -> None:
        self._files, self._on_free = files, on_free
        self._maps: dict[MessagePlace, mmap.mmap] = {}
        self._places: dict[int, MessagePlace] = {}  # of arrays that somebody has, by their addresses

    def get(self, place: MessagePlace, size: int) -> memoryview:
        """Returns the bytes of a slot; it is free when the last array that lies there is gone."""
        shared = self._maps.get(place)
        if shared is None or len(shared) < size:
            file = self._files[place.file]
            assert file is not None
            whole = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
            shared = self._maps[place] = mmap.mmap(file, whole, offset=place.offset)
        holder = np.frombuffer(shared, np.uint8, size)
        self._places[holder.ctypes.data] = place
        weakref.finalize(holder, self._forget, holder.ctypes.data, place).atexit = False
        return holder.data

    def place_of(self, content: memoryview) -> MessagePlace:
        """Returns where the bytes of an array lie that has come from an arena; NOWHERE of all others."""
        if content.nbytes < LEAST_SHARED:
            return NOWHERE
        return self._places.get(address_of(content), NOWHERE)

    def _forget(self, address: int, place: MessagePlace) -> None:
        self._places.pop(address, None)
        self._on_free(place)


NO_VIEW = SharedView([])


def arena_file() -> int | None:
    """Returns a new file of memory that ends with the last process that has it open; None where there is none such."""
    with contextlib.suppress(AttributeError, OSError):
        return os.memfd_create("tracecore")
    return None


def address_of(content: memoryview) -> int:
    """Returns where bytes lie in this process, of which there are some."""
    return int(np.frombuffer(content, np.uint8).ctypes.data)


def send(channel: socket.socket, message: Any, place_of: PlaceOf = lambda content: NOWHERE) -> None:
    """Sends a message. Raises `OSError` where nobody is there to take it.

    place_of: says of the bytes of an array where the receiver finds them, or NOWHERE.
    """
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(text), *(buffer.raw() for buffer in buffers)]
    places = [NOWHERE, *(place_of(part) for part in parts[1:])]
    head = [_PART.pack(part.nbytes, *place) for part, place in zip(parts, places, strict=True)]
    channel.sendall(_COUNT.pack(len(parts)) + b"".join(head))
    for part, place in zip(parts, places, strict=True):
        if place == NOWHERE:
            channel.sendall(part)


def receive(channel: socket.socket, view: SharedView = NO_VIEW) -> Any:
    """Returns the next message. Raises `EOFError` where the other side has ended, and `TimeoutError`."""
    count = _COUNT.unpack(_read(channel, _COUNT.size))[0]
    heads = [_PART.unpack(_read(channel, _PART.size)) for _ in range(count)]
    places = [(MessagePlace(file, offset), size) for size, file, offset in heads]
    parts = [_read(channel, size) if place == NOWHERE else view.get(place, size) for place, size in places]
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
