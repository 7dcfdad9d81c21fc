"""This module puts files that have been written in their places: in one step where a file is or shall be, and through
devices, pipes and the like, which stay what they are. Until then they are beside their places, under another name."""

import errno
import hashlib
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from scenes.files.source_file import reason

try:
    import fcntl
except ImportError:  # of Windows
    fcntl = None  # type: ignore[assignment]


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
    except (FileNotFoundError, NotADirectoryError):  # the former for a path such as /dev/fd/3, of what has no name
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
        with part_of(target) as part:
            shutil.copyfile(written, part)
            os.replace(part, target)


@contextmanager
def part_of(target: Path, suffix: str = "", *, is_folder: bool = False) -> Iterator[Path]:
    """Yields a new empty file, or a folder, beside a file that is to be written; whatever is left of it at the end is
    removed.

    suffix: of its name.

    Others know that its writer lives by a lock, which the system gives up with the process, whatever ends it. What
    writers of the same file have left that are dead is removed first. Raises WriteError.
    """
    remove_leftovers(target)
    try:
        part, lock = _new_part(target, suffix, is_folder)
    except OSError as error:
        raise WriteError(target, error) from error
    try:
        yield part
    finally:
        _remove(part)
        if lock is not None:
            os.close(lock)


def remove_leftovers(target: Path) -> None:
    """Removes what was left beside a file by those that began to write it and are dead. Nothing is removed where the
    system has no locks."""
    prefix = _prefix(target)
    with suppress(OSError):
        for part in [entry for entry in os.scandir(target.parent) if entry.name.startswith(prefix)]:
            with suppress(OSError):  # its writer lives, or it is gone
                lock = _locked(Path(part.path))
                if lock is not None:
                    _remove(Path(part.path))
                    os.close(lock)


def _prefix(target: Path) -> str:
    """Returns how the names begin under which a file is written at first; they are short, whatever its own is."""
    return f".part-{hashlib.blake2b(os.fsencode(target.name), digest_size=8).hexdigest()}-"


def _new_part(target: Path, suffix: str, is_folder: bool) -> tuple[Path, int | None]:
    """Returns a new file or folder with the descriptor that locks it, or None where there are no locks."""
    while True:
        part = target.with_name(f"{_prefix(target)}{os.urandom(4).hex()}{suffix}")
        part.mkdir() if is_folder else part.touch(exist_ok=False)
        try:
            return part, _locked(part)
        except (FileNotFoundError, BlockingIOError):  # taken for a leftover before it was locked
            continue
        except OSError:  # a file system without locks, on which nobody else gets one either
            return part, None


def _locked(part: Path) -> int | None:
    """Returns a descriptor that locks a file or a folder until it is closed, or None where the system has no locks.

    Raises OSError where another process has locked it, and FileNotFoundError where it is not there any more.
    """
    if fcntl is None:
        return None
    descriptor = os.open(part, (os.O_RDONLY if part.is_dir() else os.O_RDWR) | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(descriptor), part.lstat()):
            raise FileNotFoundError(part)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _remove(part: Path) -> None:
    with suppress(OSError):
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)
