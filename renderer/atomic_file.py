"""This module writes files that are there in full or not at all, whatever interrupts their writing."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def temporary_beside(path: Path) -> Iterator[Path]:
    """Yields a name for a new file beside `path`, with its suffix. At the end that file replaces `path` in one step.

    On any error, an interrupt too, it is removed instead, and what was at `path` stays as it was.
    """
    temporary = path.with_name(f".part-{os.getpid()}-{os.urandom(4).hex()}{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Opens `path` to write bytes; it changes only once all of them are on the disk."""
    with temporary_beside(path) as temporary, temporary.open("xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def write_whole(path: Path, content: bytes) -> None:
    """Makes a file of these bytes, or leaves what is there."""
    with atomic_file(path) as file:
        file.write(content)
