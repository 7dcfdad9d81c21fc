"""This module reads the bytes of a file, with errors that say what is wrong with it, and notes which files are read."""

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from scenes.errors import SceneFileError

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


def read_bytes(path: Path, max_bytes: int) -> bytes:
    """Reads all bytes of a file, at most max_bytes. Raises SceneFileError as `check_file` does, or where it fails."""
    check_file(path, max_bytes)
    try:
        return path.read_bytes()
    except OSError as error:
        raise SceneFileError(path, None, f"cannot be read: {reason(error)}") from error


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
