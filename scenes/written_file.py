"""This module puts files that have been written in their places: in one step where a file is or shall be, and through
devices, pipes and the like, which stay what they are."""

import errno
import os
import shutil
import stat
import sys
from pathlib import Path

from scenes.source_file import reason


class WriteError(OSError):
    """A file cannot be written; the message is one line with its name and the reason."""

    def __init__(self, path: Path | str, error: BaseException) -> None:
        super().__init__(getattr(error, "errno", None), reason(error), str(path))

    def __str__(self) -> str:
        return f"cannot write '{self.filename}': {self.strerror}"


def target_of(path: Path) -> Path | None:
    """Returns the file that is replaced by writing to a path, links followed, whether it is there or not.

    For what is no file, such as a device or a pipe, and for the file that this process prints to, it is None: these are
    written through. Raises OSError where the path leads nowhere, as a link to itself does.
    """
    target = Path(os.path.realpath(path))
    try:
        status = path.stat()
        is_named = os.path.samestat(status, target.stat())
    except FileNotFoundError:  # the second of a path such as /dev/fd/3, of what has no name
        return None if path.exists() else target
    is_file = is_named and stat.S_ISREG(status.st_mode)
    return target if is_file and printing_descriptor(status) is None else None


def printing_descriptor(status: os.stat_result) -> int | None:
    """Returns the descriptor by which this process prints to a file, or None where it does not."""
    for descriptor in (1, 2):
        try:
            if os.path.samestat(status, os.fstat(descriptor)):
                return descriptor
        except OSError:  # closed
            continue
    return None


def write_through(written: Path, path: Path) -> None:
    """Copies a file to what a path stands for, which is no file and stays what it is. Raises OSError, at once too where
    it is a pipe that nobody reads."""
    printing = printing_descriptor(path.stat())
    if printing is None:
        descriptor = opened(path)
    else:  # after what has been printed, and before what will be
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        descriptor = os.dup(printing)
    with os.fdopen(descriptor, "wb") as sink, written.open("rb") as source:
        shutil.copyfileobj(source, sink)


def opened(path: Path) -> int:
    """Returns a descriptor to write to what is no file. Raises OSError where that would wait for a reader."""
    try:
        descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OSError(errno.ENXIO, "nobody reads from this pipe") from error
        raise
    if hasattr(os, "set_blocking"):  # Windows has it from Python 3.12 on, and opens nothing that does not wait
        os.set_blocking(descriptor, True)
    return descriptor


def put(written: Path, path: Path) -> None:
    """Moves a file to a path, which is replaced in one step; or writes it through, where a path stands for no file.

    Raises WriteError.
    """
    try:
        target = target_of(path)
        if target is None:
            write_through(written, path)
        else:
            _replace(written, target)
    except OSError as error:
        raise WriteError(path, error) from error


def _replace(written: Path, target: Path) -> None:
    """Moves a file, by way of the target's folder where that is on another disk."""
    try:
        os.replace(written, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        beside = target.with_name(f".part-{os.getpid()}-{os.urandom(4).hex()}")
        try:
            shutil.copyfile(written, beside)
            os.replace(beside, target)
        finally:
            beside.unlink(missing_ok=True)
