"""This module opens a glTF or GLB file: its header, its buffers and the extensions that it needs.

Khronos Group: glTF 2.0 Specification (2021). Buffers and pictures are in the file, in data URIs, or in files of its
folder or below.
"""

import base64
import binascii
import json
import os
import struct
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from scenes.errors import Notes, SceneFileError
from scenes.files.source_file import OUTSIDE, OutsideError, may_be_read, read_bytes
from scenes.gltf.extensions import INSTEAD, NEEDED, READ, UNSEEN
from scenes.gltf.values import Item
from scenes.keys.place import Place, quoted

MAX_FILE_BYTES = 1 << 30
MAX_MESSAGE = 200
#: The header of a GLB file, and that of a chunk.
GLB_HEADER_BYTES, CHUNK_HEADER_BYTES = 12, 8


class GltfFile:
    """Holds the header of a file and reads what it refers to. notes: take in lines about what is not read as it is."""

    def __init__(self, path: Path, notes: Notes) -> None:
        """Raises SceneFileError where the file is no glTF 2.0, is not whole, or shows nothing without an
        extension that is not read."""
        self.path = path
        data = read_bytes(path, MAX_FILE_BYTES)
        text, self.binary = chunks(path, data) if path.suffix.lower() == ".glb" else (data, b"")
        self.root = Item(Place(path), parsed(path, text))
        self.notes = notes
        self._noted: set[str] = set()
        self.rows = cache(self.root.children)
        self.buffer = cache(self._buffer)
        check_version(self.root)
        self.check_extensions()

    def note(self, text: str) -> None:
        """Adds a line for those who read the file, each once."""
        if text not in self._noted:
            self._noted.add(text)
            self.notes.add(text, self.path)

    def check_extensions(self) -> None:
        """Notes each extension that is not read. Raises for one that is required and without which nothing is seen."""
        required, used = (self.root.list_of(key) for key in ("extensionsRequired", "extensionsUsed"))
        for name in dict.fromkeys(map(str, [*required, *used])):
            if name in NEEDED and name in required:
                message = f"the extension {quoted(name)} is not read, and its meshes are packed by it; unpack them by"
                raise self.root.place.inside("extensionsRequired").error(f"{message} {NEEDED[name]}")
            if name not in READ | UNSEEN:
                instead = f": {INSTEAD[name]}" if name in INSTEAD else ""
                self.notes.add_loss(f"the extension {quoted(name)} is not read{instead}", self.path)

    def _buffer(self, index: int) -> bytes:
        """Returns the bytes of a buffer, as many as it is said to have."""
        item = self.rows("buffers")[index]
        length = item.whole("byteLength")
        data = self.data_of(item) if item.has("uri") else self.binary
        if len(data) < length:
            raise item.place.error(f"is cut off: {length} bytes are needed, there are {len(data)}")
        return data[:length]

    def view(self, index: int) -> memoryview:
        """Returns the bytes of a buffer view."""
        item = self.rows("bufferViews")[index]
        buffer = item.index("buffer", self.rows("buffers"), "buffers")
        if buffer is None:
            raise item.error("buffer", "a buffer")
        data = self.buffer(buffer)
        start, length = item.whole("byteOffset", 0), item.whole("byteLength")
        if start + length > len(data):
            message = f"reaches beyond its buffer: byte {start + length} of {len(data)}"
            raise item.place.error(message)
        return memoryview(data)[start : start + length]

    def data_of(self, item: Item) -> bytes:
        """Returns the bytes that the URI of an item stands for. Raises where there is no such file in the folder."""
        uri = item.text("uri")
        if uri.startswith("data:"):
            return data_uri(item, uri)
        name = unquote(uri)
        path = self.path.parent / os.path.normpath(name.replace("\\", "/"))
        if ":" in name or "\0" in name or not path.is_file():
            raise item.place.error(f"refers to {quoted(name)}, which is not in its folder")
        if not may_be_read(path):
            raise OutsideError(self.path, None, f"{item.place.keys}: {quoted(name)} {OUTSIDE}")
        return read_bytes(path, MAX_FILE_BYTES)


def data_uri(item: Item, uri: str) -> bytes:
    head, comma, text = uri.partition(",")
    try:
        if comma and head.endswith(";base64"):
            return base64.b64decode(unquote(text), validate=True)
    except (ValueError, binascii.Error):
        pass
    raise item.place.inside("uri").error("expected data in base64")


def parsed(path: Path, text: bytes) -> dict[str, Any]:
    """Returns the JSON object of a header."""
    try:
        header = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"expected a glTF header in JSON: {error.msg}"[:MAX_MESSAGE]
        raise SceneFileError(path, error.lineno, message) from error
    except (ValueError, RecursionError) as error:  # bytes that are no text, numbers of very many digits, deep lists
        raise SceneFileError(path, None, "expected a glTF header in JSON") from error
    if not isinstance(header, dict):
        raise SceneFileError(path, None, "expected a glTF header in JSON, an object")
    return header


def chunks(path: Path, data: bytes) -> tuple[bytes, bytes]:
    """Returns the JSON chunk of a GLB file and its binary one, which may be empty."""
    if not data.startswith(b"glTF"):
        raise SceneFileError(path, None, "is not a readable GLB file: it does not begin with glTF")
    if len(data) < GLB_HEADER_BYTES + CHUNK_HEADER_BYTES:
        needed = GLB_HEADER_BYTES + CHUNK_HEADER_BYTES
        raise SceneFileError(path, None, f"is cut off: a header has {needed} bytes, there are {len(data)}")
    version, total = struct.unpack_from("<II", data, 4)
    if version != 2:
        raise SceneFileError(path, None, f"is binary glTF {version}; glTF 2.0 is read: convert it")
    found: list[tuple[bytes, bytes]] = []
    start = GLB_HEADER_BYTES
    while start + CHUNK_HEADER_BYTES <= min(total, len(data)) and len(found) < 2:
        length, kind = struct.unpack_from("<I4s", data, start)
        start += CHUNK_HEADER_BYTES
        found.append((kind, data[start : start + length]))
        start += length
        if start > len(data):
            raise SceneFileError(path, None, f"is cut off: its header needs {start} bytes, there are {len(data)}")
    if total > len(data):
        raise SceneFileError(path, None, f"is cut off: its header needs {total} bytes, there are {len(data)}")
    if not found or found[0][0] != b"JSON":
        raise SceneFileError(path, None, "is not a readable GLB file: its first chunk is not JSON")
    return found[0][1], found[1][1] if len(found) > 1 and found[1][0] == b"BIN\0" else b""


def check_version(root: Item) -> None:
    """Raises unless the file is glTF 2. In glTF 1.0 lists are objects."""
    asset = root.child("asset")
    default = "1.0" if isinstance(root.values.get("accessors"), dict) else "2.0"
    for name in ("version", "minVersion"):
        version = asset.text(name, default)
        if version.split(".")[0] != "2":
            raise root.place.error(f"is glTF {quoted(version)}; glTF 2.0 is read: convert it")
