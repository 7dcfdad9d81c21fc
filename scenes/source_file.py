"""This module reads the bytes of a file, packed or not, with errors that say what is wrong with it, and notes which
files are read.
"""

import gzip
import io
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from scenes.errors import SceneFileError

#: The end of the names of packed files.
PACKED = ".gz"

#: The files that are read inside of `files_noted`.
_noted: ContextVar[list[Path] | None] = ContextVar("noted", default=None)


@contextmanager
def files_noted() -> Iterator[list[Path]]:
    """Gives a list to which each file that is read within the block is added, so that nothing is written over it."""
    before, found = _noted.get(), list[Path]()
    token = _noted.set(found)
    try:
        yield found
    finally:
        _noted.reset(token)
        if before is not None:
            before += found


def note_file(path: Path) -> None:
    """Notes that a file is read; `check_file` does so by itself."""
    if (noted := _noted.get()) is not None:
        noted.append(path)


def check_file(path: Path, max_bytes: int) -> None:
    """Raises SceneFileError unless the path is an ordinary file that is neither empty nor larger than max_bytes."""
    note_file(path)
    try:
        status = path.stat()
    except FileNotFoundError as error:
        raise SceneFileError(path, None, "no such file") from error
    except (OSError, ValueError) as error:  # a name with a null byte is a ValueError
        raise SceneFileError(path, None, f"cannot be read: {reason(error)}") from error
    if not stat.S_ISREG(status.st_mode):
        raise SceneFileError(path, None, "expected an ordinary file")
    if status.st_size == 0:
        raise SceneFileError(path, None, "the file is empty")
    if status.st_size > max_bytes:
        raise SceneFileError(path, None, f"the file has {status.st_size} bytes, at most {max_bytes} are read")


def suffix_of(path: Path) -> str:
    """Returns what the name of a file ends in, in small letters; of a packed one with what it ends in before that."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() + suffix if suffix == PACKED else suffix


def read_bytes(path: Path, max_bytes: int) -> bytes:
    """Reads all bytes of a file, at most max_bytes; what ends in .gz is unpacked, to at most so many too. Raises
    SceneFileError as `check_file` does, or where it fails."""
    check_file(path, max_bytes)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SceneFileError(path, None, f"cannot be read: {reason(error)}") from error
    return unpacked(path, data, max_bytes) if path.suffix.lower() == PACKED else data


def unpacked(path: Path, data: bytes, max_bytes: int) -> bytes:
    """Returns the bytes that a file of gzip holds (Deutsch: GZIP file format specification, RFC 1952, 1996)."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            found = file.read(max_bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise SceneFileError(path, None, f"cannot be unpacked: {reason(error)}") from error
    if len(found) > max_bytes:
        raise SceneFileError(path, None, f"unpacks to more than the {max_bytes} bytes that are read")
    if not found:
        raise SceneFileError(path, None, "the file is empty")
    return found


def as_utf8(text: bytes) -> bytes:
    """Returns a text in UTF-8: unchanged where it is UTF-8, or else decoded as Latin-1 (which any bytes are)."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("latin-1").encode("utf-8")
    return text


def reason(error: BaseException) -> str:
    """Returns the message of an exception on one line."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split())[:200] or type(error).__name__
