"""Messages between the processes of a fleet, through a socket: objects, whose arrays travel beside them uncopied."""

from __future__ import annotations

import pickle
import socket
import struct
from typing import Any

import numpy as np

#: What comes first: how many parts follow; then the bytes of each.
_COUNT = struct.Struct("<I")
_BYTES = struct.Struct("<Q")


def send(channel: socket.socket, message: Any) -> None:
    """Sends a message. Raises `OSError` where nobody is there to take it."""
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(text), *(buffer.raw() for buffer in buffers)]
    channel.sendall(_COUNT.pack(len(parts)) + b"".join(_BYTES.pack(part.nbytes) for part in parts))
    for part in parts:
        channel.sendall(part)


def receive(channel: socket.socket) -> Any:
    """Returns the next message. Raises `EOFError` where the other side has ended, and `TimeoutError`."""
    count = _COUNT.unpack(_read(channel, _COUNT.size))[0]
    lengths = [_BYTES.unpack(_read(channel, _BYTES.size))[0] for _ in range(count)]
    text, *buffers = [_read(channel, length) for length in lengths]
    return pickle.loads(text, buffers=buffers)


def _read(channel: socket.socket, length: int) -> memoryview:
    data = np.empty(length, np.uint8).data
    done = 0
    while done < length:
        got = channel.recv_into(data[done:])
        if got == 0:
            raise EOFError("the other process has ended")
        done += got
    return data
