"""The folders of what is kept between runs.

The name of that of machine code has a hash over all compiled sources that a function can reach, so that no stale code
can be loaded. Those of older sources are removed after a month without use.
"""

import atexit
import functools
import hashlib
import itertools
import os
import shutil
import stat
import sys
import tempfile
import time
from pathlib import Path

import llvmlite
import numba

#: Which packages' compiled functions a package's compiled functions may call.
REACH = {"tracecore": ("tracecore",), "shaders": ("shaders",), "renderer": ("tracecore", "shaders", "renderer")}
MONTH_SECONDS = 30 * 24 * 3600.0


@functools.cache
def source_hash(package: str) -> str:
    """Returns a hash of every compiled source and table in reach of a package, of the compiler's versions and of the
    processor chosen.
    """
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parents[2]
    for reached in REACH[package]:
        for path in sorted((root / reached).rglob("*.py")):
            source = path.read_bytes()
            if any(word in source for word in (b"compiled", b"njit", b"intrinsic")):
                digest.update(str(path).encode() + source)
        for path in sorted((root / reached).rglob("*.npy")):  # tables, which compiled code holds as constants
            digest.update(str(path).encode() + path.read_bytes())
    cpu = os.environ.get("NUMBA_CPU_NAME", "host")
    digest.update(f"{sys.version} {numba.__version__} {llvmlite.__version__} {cpu}".encode())
    return digest.hexdigest()[:16]


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
def cache_folder(package: str) -> Path:
    """Returns the folder of a package's compiled code for these very sources: a private one, or where there is none a
    new one, which goes when the process ends.
    """
    if folder := private_folder(f"{package}-{source_hash(package)}"):
        _remove_unused(folder.parent)
        return folder
    folder = Path(tempfile.mkdtemp(prefix="tracecore-cache-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def private_folder(name: str) -> Path | None:
    """Returns the folder of a name for what is kept between runs: it exists, can be written to, and nobody else can
    have written to it, as what lies there is believed. None where there is no such folder.
    """
    for root in (cache_root(), _temporary_root()):
        folder = root / name
        try:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            if not is_private(folder):
                continue
            with tempfile.TemporaryFile(dir=folder):
                pass
            os.utime(folder)
        except OSError:
            continue
        return folder
    return None


def is_private(folder: Path) -> bool:
    """Returns whether a folder is this user's, nobody else may write to it, and nobody else can put another one in its
    place: where others may write to a folder above it, they may not move what is not theirs.
    """
    if not hasattr(os, "getuid"):  # Windows keeps users' folders apart by itself
        return True
    own, path = folder.lstat(), folder.absolute()
    if not stat.S_ISDIR(own.st_mode) or own.st_uid != os.getuid() or own.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return False
    return all(_is_held(child, parent) for child, parent in itertools.pairwise((path, *path.parents)))


def _is_held(child: Path, parent: Path) -> bool:
    """Returns whether nobody else can replace what a folder holds."""
    mode = parent.stat().st_mode
    return not mode & stat.S_IWOTH or bool(mode & stat.S_ISVTX and child.lstat().st_uid in (0, os.getuid()))


def _remove_unused(root: Path) -> None:
    for package in REACH:
        for folder in root.glob(f"{package}-*"):
            if time.time() - folder.stat().st_mtime > MONTH_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


def has_cached_code(package: str) -> bool:
    """Returns whether some of a package's code, as it is now, has been compiled before."""
    return any(cache_folder(package).rglob("*.nbi"))
