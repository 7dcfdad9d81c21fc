"""This module writes files that are there in full or not at all, whatever interrupts their writing, and says what may
not be written over. All that the renderer writes goes through it.
"""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal

from renderer.errors import UsageError
from scenes.files.marks import is_own
from scenes.files.written_file import WriteError, part_of, put, target_of

#: Which files that are there already a command replaces: those that this program wrote, any or none.
Replace = Literal["own", "any", "none"]


@contextmanager
def temporary_beside(path: Path) -> Iterator[Path]:
    """Yields an empty new file beside `path`, with its suffix. At the end that file replaces `path` in one step.

    On any error, an interrupt too, it is removed instead, and what was at `path` stays as it was. A link stays, and
    what it leads to is replaced. A device or a pipe is written through, at the end. Raises `WriteError` where that
    fails.
    """
    with _named_errors(path):
        target = target_of(path)
        if target is None:
            with tempfile.TemporaryDirectory(prefix="tracecore-") as folder:
                (written := Path(folder, path.name)).touch()
                yield written
                put(written, path)
            return
    with _named_errors(path), part_of(target, path.suffix) as temporary, _named_errors(path, temporary):
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())  # its bytes are on the disk before it is at its path
        put(temporary, target)


@contextmanager
def _named_errors(path: Path, *others: Path) -> Iterator[None]:
    """Raises errors about `path`, and those about no file or another that stands for it, as `WriteError`."""
    try:
        yield
    except WriteError as error:
        raise WriteError(path, error) from error
    except OSError as error:
        if error.filename is not None and Path(str(error.filename)) not in (path, *others):
            raise
        raise WriteError(path, error) from error


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Opens `path` to write bytes; it changes only once all of them are on the disk. Raises as `temporary_beside`.

    The file can be read too: NumPy takes those that cannot past Python, and then does not know why writing failed.
    """
    with temporary_beside(path) as temporary, temporary.open("r+b") as file:
        yield file


def write_whole(path: Path, content: bytes) -> None:
    """Makes a file of these bytes, or leaves what is there."""
    with atomic_file(path) as file:
        file.write(content)


def write_each(*writes: Callable[[], object]) -> None:
    """Does all of these, also after one that fails. Raises its `OSError` then, in the end, or one for all that came."""
    errors = []
    for write in writes:
        try:
            write()
        except OSError as error:
            errors.append(error)
    if len(errors) > 1:
        raise OSError("; ".join(map(str, errors))) from errors[0]
    if errors:
        raise errors[0]


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path]) -> None:
    """Raises `UsageError` where a file that is to be written has been read, or two that are to be written are the same.

    outputs: None for what is not to be written.
    inputs: files that were read.
    """
    read = {_identity(path) for path in inputs}
    written = set()
    for path in outputs:
        if path is None or (place := _identity(path)) is None:
            continue
        if place in read:
            raise UsageError(f"cannot write '{path}': the scene or the command reads it; choose another name or folder")
        if place in written:
            raise UsageError(f"cannot write '{path}': another file of this command goes there; choose another name")
        written.add(place)


def check_replaceable(files: Iterable[Path | None], replace: Replace) -> None:
    """Raises `UsageError` where a file that is there may not be replaced.

    files: that are to be written; None for what is not.
    """
    for path in files:
        if path is None or replace == "any" or not path.is_file() or target_of(path) is None:
            continue
        if replace == "none":
            raise UsageError(
                f"cannot write '{path}': it is there already; choose another name, or leave out --no-clobber"
            )
        if not is_own(path):
            raise UsageError(
                f"cannot write '{path}': it is there already, and tracecore did not write it; choose another name, or "
                "replace it with --force"
            )


def _identity(path: Path) -> tuple[int, int] | Path | None:
    """Returns what two paths of one file share, or None for what is no file."""
    try:
        target = target_of(path)
        if target is None:
            return None
        status = target.stat()
        return status.st_dev, status.st_ino
    except OSError:  # not there yet
        return Path(os.path.realpath(path))
