"""The folders of what is kept between runs.

The name of that of machine code has a hash over all compiled sources that a function can reach, so that no stale code
can be loaded. Those of older sources are removed after a month without use.
"""

import atexit
import functools
import hashlib
import logging
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import llvmlite
import numba

from tracecore.compilation.private_folder import PrivateFolder, UnsafeFolderError

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


@functools.cache
def source_hash(package: str) -> str:
    """Returns a hash of every compiled source and table in reach of a package, wherever it is installed, of the
    compiler's versions and of the processor chosen.
    """
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parents[2]
    for reached in REACH[package]:
        for path in sorted((root / reached).rglob("*.py")):
            source = path.read_bytes()
            if any(word in source for word in (b"compiled", b"njit", b"intrinsic")):
                digest.update(str(path.relative_to(root)).encode() + source)
        for path in sorted((root / reached).rglob("*.npy")):  # tables, which compiled code holds as constants
            digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
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
