"""The folders of what is kept between runs, which nobody else can have written to, as what lies there is believed and
run.

The name of that of machine code has a hash over all compiled sources that a function can reach, so that no stale code
can be loaded. Those of older sources are removed after a month without use.

As SSH does with its keys (Ylonen and others: OpenSSH, `safe_path` in misc.c), a folder and all above it have to be
owned by this user or by root, and writable for nobody else; where others may write to one above it, such as /tmp, they
may not move what is not theirs. They are looked at from the top, so that what has been looked at stays what it is. The
folder is opened once, and its files are opened in what was opened, whatever is at its path by then.
"""

import atexit
import functools
import hashlib
import logging
import os
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import llvmlite
import numba

#: Names of files that are still written.
UNFINISHED = ".part-"

DIGEST_BYTES = 32

#: Windows keeps users' folders apart by itself, and opens files by their paths alone.
HAS_OWNERS = hasattr(os, "getuid")

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

#: How files are opened: not those that links lead to, not by processes that are started, and as bytes.
OPEN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

log = logging.getLogger(__name__)

#: Which packages' compiled functions a package's compiled functions may call.
REACH = {
    "tracecore": ("tracecore",),
    "shaders": ("tracecore", "shaders"),
    "renderer": ("tracecore", "shaders", "renderer"),
}

#: How names of files of machine code end.
CODE_SUFFIX = ".nbc"
MONTH_SECONDS = 30 * 24 * 3600.0


class UnsafeFolderError(PermissionError):
    """Says which folder others can write to, or put another in place of."""


class PrivateFolder:
    """Is a folder of this user's own, which is made where it is missing, with those above it.

    is_new: whether it has just been made, so that only what is opened of it counts, and not what is above it.
    Raises `UnsafeFolderError` where others have a hand in it, and `OSError` where it cannot be had.
    """

    def __init__(self, path: Path, *, is_new: bool = False) -> None:
        self.path = Path(os.path.realpath(path))
        self._number: int | None = None
        if not HAS_OWNERS:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            return
        for place in (*(() if is_new else reversed(self.path.parents)), self.path):
            try:
                found = place.lstat()
            except FileNotFoundError:
                with suppress(FileExistsError):  # another process may be as far
                    place.mkdir(mode=0o700)
                found = place.lstat()
            check(place, found, is_own=place == self.path)
        self._number = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | OPEN)
        opened = os.fstat(self._number)
        if (opened.st_dev, opened.st_ino) != (found.st_dev, found.st_ino):
            self.close()
            raise UnsafeFolderError(f"{self.path} was put in place of another folder")

    def __enter__(self) -> "PrivateFolder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the folder."""
        if self._number is not None:
            os.close(self._number)
            self._number = None

    @property
    def working_path(self) -> str:
        """Returns what leads to the very folder that was opened, for a loader or a process that begins there."""
        inside = f"/proc/self/fd/{self._number}"
        return inside if self._number is not None and os.path.isdir(inside) else str(self.path)

    def names(self) -> list[str]:
        """Returns the names of its files."""
        if self._number is None:
            return os.listdir(self.path)
        own = os.open(".", os.O_RDONLY | os.O_DIRECTORY | OPEN, dir_fd=self._number)  # threads share where they are
        try:
            return os.listdir(own)
        finally:
            os.close(own)

    def has(self, name: str) -> bool:
        """Returns whether there is such a file."""
        with suppress(OSError):
            self.stat(name)
            return True
        return False

    def stat(self, name: str) -> os.stat_result:
        """Returns what the system tells of a file. Raises `OSError` where there is none."""
        return os.stat(self._place(name), follow_symlinks=False, **self._within("dir_fd"))

    def open(self, name: str) -> BinaryIO:
        """Returns a file, open to be read. Raises `OSError` where there is none, or none of this user's alone."""
        file = os.fdopen(self.descriptor(name, os.O_RDONLY), "rb")
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or (HAS_OWNERS and _is_of_others(found)):
            file.close()
            raise PermissionError(f"{self.path / name} is no file of yours alone")
        return file

    def descriptor(self, name: str, flags: int) -> int:
        """Returns what `os.open` does, of a file in the folder."""
        return os.open(self._place(name), flags | OPEN, 0o600, **self._within("dir_fd"))

    def read_checked(self, name: str) -> bytes:
        """Returns what `write_checked` wrote. Raises `OSError` where there is no such file, or it has been damaged."""
        with self.open(name) as file:
            data = file.read()
        content, digest = data[:-DIGEST_BYTES], data[-DIGEST_BYTES:]
        if hashlib.sha256(content).digest() != digest:
            raise OSError(f"{self.path / name} is damaged")
        return content

    def write_checked(self, name: str, data: bytes) -> None:
        """Writes a file, as `write` does, with its SHA-256 at its end, which loaders of programs look past."""
        self.write(name, (data, hashlib.sha256(data).digest()))

    def kept(self, name: str, make: Callable[[], bytes]) -> bytes:
        """Returns what `write_checked` wrote, or else what is made and written now. A full disk keeps nothing."""
        with suppress(OSError):
            return self.read_checked(name)
        made = make()
        with suppress(OSError):
            self.write_checked(name, made)
        return made

    def write(self, name: str, parts: Iterable[Any]) -> None:
        """Writes a file, in full or not at all. parts: its bytes. Raises `OSError` where that cannot be done."""
        with self.unfinished() as unfinished:
            with os.fdopen(self.descriptor(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
                for part in parts:
                    file.write(part)
                file.flush()
                os.fsync(file.fileno())
            within = self._within("src_dir_fd", "dst_dir_fd")
            os.replace(self._place(unfinished), self._place(name), **within)

    @contextmanager
    def unfinished(self) -> Iterator[str]:
        """Yields a name that no file has. A file that has it when the block ends is removed."""
        name = UNFINISHED + secrets.token_hex(8)
        try:
            yield name
        finally:
            with suppress(OSError):
                self.remove(name)

    def touch(self, name: str) -> None:
        """Sets the time of a file to now. Raises `OSError` where that cannot be done."""
        os.utime(self._place(name), **self._within("dir_fd"))

    def remove(self, name: str) -> None:
        """Removes a file. Raises `OSError` where that cannot be done."""
        os.unlink(self._place(name), **self._within("dir_fd"))

    def _place(self, name: str) -> str:
        return name if self._number is not None else str(self.path / name)

    def _within(self, *words: str) -> dict[str, Any]:
        """Returns the named arguments by which a function of `os` looks for a name in the folder."""
        return {} if self._number is None else dict.fromkeys(words, self._number)


def check(place: Path, found: os.stat_result, *, is_own: bool) -> None:
    """Raises `UnsafeFolderError` where others can change what a folder holds.

    found: what the system tells of it, of itself where it is a link.
    is_own: whether its files are believed, and not only one that lies there.
    """
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(f"{place} is no folder")
    if found.st_uid not in ({os.getuid()} if is_own else {0, os.getuid()}):
        raise UnsafeFolderError(f"{place} belongs to another user")
    if found.st_mode & OTHERS_WRITE and (is_own or not found.st_mode & stat.S_ISVTX):
        raise UnsafeFolderError(f"others may write to {place} (chmod go-w {place})")


def _is_of_others(found: os.stat_result) -> bool:
    return found.st_uid != os.getuid() or bool(found.st_mode & OTHERS_WRITE)


#: What a source has one of that is compiled, or that has constants and types which such sources name.
COMPILED_WORDS = (b"compil", b"njit", b"intrinsic", b"numpy", b"NamedTuple")


@functools.cache
def source_hash(package: str) -> str:
    """Returns a hash of every source that may be compiled and of every table in reach of a package, wherever it is
    installed, of the compiler's versions and of the processor chosen.
    """
    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256(b"".join(folder_hash(root / name) for name in REACH[package]))
    cpu = os.environ.get("NUMBA_CPU_NAME", "host")
    digest.update(f"{sys.version} {numba.__version__} {llvmlite.__version__} {cpu}".encode())
    return digest.hexdigest()[:16]


@functools.cache
def folder_hash(root: Path) -> bytes:
    """Returns a hash of the sources that may be compiled, and of the tables that they hold as constants, in a folder
    with all below it. Packages have folders in common, which are read once."""
    digest = hashlib.sha256()
    for folder, inner, files in os.walk(root):
        inner.sort()
        for file in sorted(files):
            if not file.endswith((".py", ".npy")):
                continue
            path = os.path.join(folder, file)
            with open(path, "rb") as opened:
                content = opened.read()
            if file.endswith(".npy") or any(word in content for word in COMPILED_WORDS):
                digest.update(path.removeprefix(str(root)).encode() + content)
    return digest.digest()


def cache_root() -> Path:
    """Returns where caches live: `TRACECORE_CACHE`, else the user's cache folder, else a temporary
    one.
    """
    if chosen := os.environ.get("TRACECORE_CACHE"):
        return Path(chosen)
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "tracecore"
    try:
        return Path.home() / ".cache" / "tracecore"
    except RuntimeError:  # no home folder
        return _temporary_root()


def _temporary_root() -> Path:
    return Path(tempfile.gettempdir()) / f"tracecore-cache-{os.getuid() if hasattr(os, 'getuid') else 'user'}"


@functools.cache
def cache_folder(package: str) -> PrivateFolder:
    """Returns the folder of a package's compiled code for these very sources: a private one, or where there is none a
    new one, which goes when the process ends. Code of others than these packages may call what the renderer's may.
    """
    known = package if package in REACH else "renderer"
    if folder := private_folder(f"{known}-{source_hash(known)}"):
        _remove_unused(folder.path.parent)
        return folder
    new = Path(tempfile.mkdtemp(prefix="tracecore-cache-"))
    atexit.register(shutil.rmtree, new, ignore_errors=True)
    return PrivateFolder(new, is_new=True)


def private_folder(name: str) -> PrivateFolder | None:
    """Returns the folder of a name for what is kept between runs: it exists, can be written to, and nobody else can
    have written to it, as what lies there is believed. None where there is no such folder, and a note where others can.
    """
    for root in (cache_root, _temporary_root):
        try:
            folder = PrivateFolder(root() / name)
            os.utime(folder.path)
        except UnsafeFolderError as error:
            _tell(str(error))
        except OSError:
            continue
        else:
            if os.access(folder.path, os.W_OK):
                return folder
            folder.close()
    return None


@functools.cache
def _tell(what: str) -> None:
    """Notes once that a folder is not used."""
    log.info("note: %s: no compiled code is kept or believed there; set TRACECORE_CACHE to a folder of your own", what)


def _remove_unused(root: Path) -> None:
    for package in REACH:
        for folder in root.glob(f"{package}-*"):
            if time.time() - folder.stat().st_mtime > MONTH_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


def has_cached_code(package: str) -> bool:
    """Returns whether some of a package's code, as it is now, has been compiled before."""
    return any(name.endswith(CODE_SUFFIX) for name in cache_folder(package).names())
