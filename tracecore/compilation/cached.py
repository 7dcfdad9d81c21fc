"""Compiles Python to machine code through Numba, with a cache on disk that notices every change.

Numba's own cache looks at the file of the compiled function alone and so keeps stale code when a function that it calls
changes. Here the folder has a hash over all compiled sources in its name (`tracecore.compilation.cache_folder`), and a
file that is damaged is made anew (`tracecore.compilation.cache_file`).
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call, attr-defined"

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from typing import Any, TypeVar

from numba.core import event as events

from tracecore.collector import collector_paused
from tracecore.compilation.cache_file import CodeCache
from tracecore.compilation.cache_folder import cache_folder
from tracecore.compilation.merging import Merged, MergedFunction
from tracecore.compilation.numba_inside import ARRAY_MATH, global_compiler_lock
from tracecore.compilation.private_folder import PrivateFolder
from tracecore.compilation.side_by_side import prepare
from tracecore.compilation.unit_calls import Call
from tracecore.compilation.watching import made, making, reached

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

Kept = TypeVar("Kept", bound="Cached")


class Cached(MergedFunction):
    """Is a function whose machine code is kept on disk. Of several processes that need it one compiles, and the others
    wait for its code.
    """

    def compile(self, sig: Any) -> Any:
        """Compiles for a signature, or loads the code. Returns its entry point, as Numba does.

        Callers have the code once what it calls by address is ready, which other processes may be compiling.
        """
        with global_compiler_lock, collector_paused(), self._watched(sig):
            _import_without_scipy(ARRAY_MATH)
            with only_process(self._folder, self._lock):
                entry_point = super().compile(sig)
            while self._made:
                code = self._made.pop()
                prepare([one for one in code.reload_init if isinstance(one, Call)])
                super().add_overload(code)
            return entry_point

    @contextmanager
    def _watched(self, sig: Any) -> Iterator[None]:
        """Lets a watcher see what the block compiles, if there is no code for a signature."""
        if sig in self.overloads or self.is_on_disk(sig):
            yield
        else:
            with making(self.py_func.__name__, self._parts), events.install_listener("numba:compile", _Parts()):
                yield
        made(self._parts)

    def _parts(self) -> set[Any]:
        """Returns the functions that its machine code may be made of, but for those in code that is there already."""
        return reached(self, lambda one: isinstance(one, Cached) and one.is_unit and one.has_any_code())

    #: Whether what calls it is not merged with it; and whether `load` has been called.
    is_unit = False
    _has_loaded = False

    def has_any_code(self) -> bool:
        """Returns whether there is code of it on disk, for whatever arguments."""
        return self._cache.has_any_entry()

    def load(self) -> None:
        """Loads what code of it there is on disk, for whatever arguments, so that the first call need not: once
        in a process."""
        if not self._has_loaded:
            for sig in self._cache.signatures(self.targetctx):
                self.compile(sig)
            self._has_loaded = True

    def add_overload(self, cres: Any) -> None:
        """Keeps machine code back from callers. Numba calls this while it holds its lock."""
        self._made.append(cres)

    @cached_property
    def _made(self) -> list[Any]:
        return []

    def enable_caching(self) -> None:
        """Has the code kept on disk. Numba calls this."""
        self._cache = CodeCache(self.py_func, self._folder)

    def is_on_disk(self, sig: Any) -> bool:
        """Returns whether there is a file of the code for a signature."""
        return bool(self._cache.has_entry(sig, self.targetctx))

    def is_free(self) -> bool:
        """Returns whether no process compiles it at the moment."""
        return is_free(self._folder, self._lock)

    @property
    def _folder(self) -> PrivateFolder:
        return cache_folder(self.py_func.__module__.partition(".")[0])

    @property
    def _lock(self) -> str:
        return f"{self.py_func.__module__}.{self.py_func.__name__}.lock"


class _Parts(events.Listener):
    """Tells of each function that Numba begins to compile."""

    def on_start(self, event: Any) -> None:
        """Is called by Numba."""
        made(lambda: {event.data["dispatcher"].py_func})

    def on_end(self, event: Any) -> None:
        """Is called by Numba."""


@contextmanager
def only_process(folder: PrivateFolder, name: str) -> Iterator[None]:
    """Lets one process at a time, and one thread, run the block; a file of a folder stands for it. (All of them on
    systems that cannot lock files so.)
    """
    if fcntl is None:
        yield
        return
    try:
        file = folder.descriptor(name, os.O_WRONLY | os.O_CREAT)
    except OSError:  # a full disk, which cannot keep what is compiled either
        yield
        return
    with os.fdopen(file, "w"):
        fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
        yield


def is_free(folder: PrivateFolder, name: str) -> bool:
    """Returns whether nobody runs the block of `only_process` that a file stands for."""
    if fcntl is None or not folder.has(name):
        return True
    with os.fdopen(folder.descriptor(name, os.O_WRONLY), "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _import_without_scipy(module: str) -> None:
    """Imports a module of Numba's that looks for the linear algebra of SciPy, which takes 0.3 s where there is one and
    which no function here calls."""
    wanted = "scipy.linalg.cython_blas"
    if module in sys.modules or wanted in sys.modules:
        return
    sys.modules[wanted] = None  # type: ignore[assignment]  # by which Python knows that there is none
    try:
        import_module(module)
    finally:
        del sys.modules[wanted]


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a function to be machine code that runs without the interpreter lock, in IEEE arithmetic, cached on
    disk.
    """
    return keep_on_disk(Cached(function))


def keep_on_disk(function: Kept) -> Kept:
    """Returns the function, whose machine code is kept from now on."""
    function.enable_caching()
    return function


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a part of the compiled functions that call it; it is merged into them."""
    return Merged(function, is_inlined=True)
