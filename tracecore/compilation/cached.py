"""Compiles Python to machine code through Numba, with a cache on disk that notices every change.

Numba's own cache looks at the file of the compiled function alone and so keeps stale code when a function that it calls
changes. Here the name of the cache folder is a hash over all compiled sources that the function can reach, so that no
stale code can be loaded. Folders of older sources are removed after a month without use.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call, attr-defined"

import functools
import gc
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import llvmlite
import numba
from numba.core.compiler_lock import global_compiler_lock

from tracecore.compilation.merging import Merged, Whole
from tracecore.compilation.side_by_side import prepare
from tracecore.compilation.unit_calls import Call

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

Kept = TypeVar("Kept", bound="Cached")

#: Which packages' compiled functions a package's compiled functions may call.
REACH = {"tracecore": ("tracecore",), "shaders": ("shaders",), "renderer": ("tracecore", "shaders", "renderer")}
MONTH_SECONDS = 30 * 24 * 3600.0


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
    """Returns where caches of compiled code live: `TRACECORE_CACHE`, else the user's cache folder, else a temporary
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
    """Returns the folder of a package's compiled code for these very sources: it exists and can be written to."""
    for root in (cache_root(), _temporary_root()):
        folder = root / f"{package}-{source_hash(package)}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
            os.utime(folder)
        except OSError:
            continue
        _remove_unused(root)
        return folder
    return Path(tempfile.mkdtemp(prefix="tracecore-cache-"))


def _remove_unused(root: Path) -> None:
    for package in REACH:
        for folder in root.glob(f"{package}-*"):
            if time.time() - folder.stat().st_mtime > MONTH_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


def has_cached_code(package: str) -> bool:
    """Returns whether some of a package's code, as it is now, has been compiled before."""
    return any(cache_folder(package).rglob("*.nbi"))


class Cached(Whole):
    """Is a function whose machine code is kept on disk. Of several processes that need it one compiles, and the others
    wait for its code.
    """

    def compile(self, sig: Any) -> Any:
        """Compiles for a signature, or loads the code. Returns its entry point, as Numba does.

        Callers have the code once what it calls by address is ready, which other processes may be compiling.
        """
        with global_compiler_lock, collector_paused():
            with only_process(self._lock):
                entry_point = super().compile(sig)
            while self._made:
                code = self._made.pop()
                prepare([one for one in code.reload_init if isinstance(one, Call)])
                super().add_overload(code)
            return entry_point

    def add_overload(self, cres: Any) -> None:
        """Keeps machine code back from callers. Numba calls this while it holds its lock."""
        self._made.append(cres)

    @cached_property
    def _made(self) -> list[Any]:
        return []

    def is_on_disk(self, sig: Any) -> bool:
        """Returns whether there is a file of the code for a signature."""
        file = self._cache._cache_file
        return self._cache._index_key(sig, self.targetctx.codegen()) in file._load_index()

    def is_free(self) -> bool:
        """Returns whether no process compiles it at the moment."""
        return is_free(self._lock)

    @property
    def _lock(self) -> Path:
        return Path(str(self.stats.cache_path)) / f"{self.py_func.__name__}.lock"


@contextmanager
def only_process(path: Path) -> Iterator[None]:
    """Lets one process at a time, and one thread, run the block; a file stands for it. (All of them on systems that
    cannot lock files so.)
    """
    if fcntl is None:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
        yield


def is_free(path: Path) -> bool:
    """Returns whether nobody runs the block of `only_process` that a file stands for."""
    if fcntl is None or not path.exists():
        return True
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextmanager
def collector_paused() -> Iterator[None]:
    """Lets no garbage be looked for within the block: a compiler makes millions of objects that are still in use."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a function to be machine code that runs without the interpreter lock, in IEEE arithmetic, cached on
    disk.
    """
    return keep_on_disk(Cached(function))


def keep_on_disk(function: Kept) -> Kept:
    """Returns the function, whose machine code is kept from now on."""
    numba.config.CACHE_DIR = str(cache_folder(function.__module__.partition(".")[0]))
    function.enable_caching()
    return function


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a part of the compiled functions that call it; it is merged into them."""
    return Merged(function, is_inlined=True)
