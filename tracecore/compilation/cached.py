"""Compiles Python to machine code through Numba, with a cache on disk that notices every change.

Numba's own cache looks at the file of the compiled function alone and so keeps stale code when a function that it calls
changes. Here the folder has a hash over all compiled sources in its name (`tracecore.compilation.private_folder`), and
a file of machine code that is damaged or cannot be written is as if it were not there.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call, attr-defined"

import functools
import hashlib
import linecache
import os
import pickle
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from importlib import import_module
from typing import Any, TypeVar, cast

import llvmlite.binding
from numba.core import event as events
from numba.core.errors import NumbaWarning

from tracecore.collector import collector_paused
from tracecore.compilation.merging import Merged, MergedFunction
from tracecore.compilation.numba_inside import (
    ARRAY_MATH,
    CompileResult,
    Environment,
    NullCache,
    dumps,
    global_compiler_lock,
    rtsys,
)
from tracecore.compilation.private_folder import CODE_SUFFIX, PrivateFolder, cache_folder
from tracecore.compilation.unit_calls import Call, prepare
from tracecore.compilation.watching import made, making, reached

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

Kept = TypeVar("Kept", bound="Cached")

#: Where in what Numba keeps of a function its code is, its source with types, and the environments of all that is
#: merged with it.
CODE, ANNOTATION, ENVIRONMENTS = 0, 6, 8


class Cached(MergedFunction):
    """Is a function whose machine code is kept on disk. Of several processes that need it one compiles, and the others
    wait for its code.
    """

    def compile(self, sig: Any) -> Any:
        """Compiles for a signature, or loads the code. Returns its entry point, as Numba does.

        Callers have the code once what it calls by address is ready, which other processes may be compiling.
        """
        with global_compiler_lock, collector_paused(), self._watched(sig):
            with only_process(self._folder, self._lock):
                entry_point = super().compile(sig)
            while self._made:
                code = self._made.pop()
                prepare([one for one in code.reload_init if isinstance(one, Call)])
                super().add_overload(code)
            return entry_point

    @contextmanager
    def _watched(self, sig: Any) -> Iterator[None]:
        """Has Numba ready and lets a watcher see what the block compiles, if there is no code for a signature."""
        if sig in self.overloads or self.is_on_disk(sig):
            yield
        else:
            _import_without_scipy(ARRAY_MATH)
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
        return any(name.startswith(self._cache.prefix) for name in self._folder.names())

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


def load_all(functions: Iterable[Callable[..., Any]]) -> None:
    """Loads the code of compiled functions that is on disk, and compiles none.

    Reading what Numba keeps of a large loop takes Python a tenth of a second. It is done once, while a scene is read or
    a device got ready, and not by all threads at their first call, when they would wait for each other.
    """
    for function in functions:
        cast("Cached", function).load()


def begin_to_load(functions: Iterable[Callable[..., Any]]) -> None:
    """Loads the code of functions in a thread of its own. Who calls one of them before waits for it."""
    threading.Thread(target=load_all, args=(functions,), name="code", daemon=True).start()


def reduced(compiled: Any) -> tuple[Any, ...]:
    """Returns what is kept of compiled code: the machine code alone. Numba would also keep what it was made of, for
    callers that are to be merged with it: here these are merged with its part (`tracecore.compilation.merging`).
    Reading it takes as long as reading the rest.
    """
    kept = list(compiled._reduce())
    name, kind, (machine_code, _) = kept[CODE]
    entries = {compiled.fndesc.llvm_func_name, compiled.fndesc.llvm_cpython_wrapper_name}
    defined = entries.intersection(function.name for function in compiled.library.get_defined_functions())
    kept[CODE], kept[ANNOTATION] = (name, kind, (machine_code, stand_in(sorted(defined)))), ""
    kept[ENVIRONMENTS] = tuple(map(without_module, kept[ENVIRONMENTS]))
    return tuple(kept)


def without_module(environment: Any) -> Any:
    """Returns an environment of the same name and constants that needs no other module than Numba. Machine code reads
    the constants alone; Numba would import what it was made of, such as all that it knows of arrays and texts, which
    takes a tenth of a second.
    """
    own = Environment({"__name__": "numba"})
    own.consts[:], own.env_name = environment.consts, environment.env_name
    return own


def stand_in(names: Sequence[str]) -> bytes:
    """Returns LLVM's bitcode of a module by which Numba knows that there are functions of these names, whatever they
    do.
    """
    text = "".join(f'define void @"{name}"() {{ ret void }}\n' for name in names)
    bitcode: bytes = llvmlite.binding.parse_assembly(text).as_bitcode()
    return bitcode


class CodeCache(NullCache):
    """Keeps the code of one function: a file for each signature, with a checksum. Names tell for which function, for
    which source and processor, and for which signature, so that no index is needed.

    folder: where the files are.
    prefix: of the names of all files of the function.
    """

    def __init__(self, function: Callable[..., Any], folder: PrivateFolder) -> None:
        self._function, self._folder = function, folder
        self._read: dict[str, tuple[Any, Any]] = {}
        name = f"{function.__module__}.{function.__qualname__}".replace("<", "").replace(">", "")
        self.prefix = f"{name}-{function.__code__.co_firstlineno}."

    @property
    def cache_path(self) -> str:
        """Returns the path of the folder. Numba shows it."""
        return str(self._folder.path)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Returns the code for a signature, or None where there is none that can be read.

        Numba would first have its context learn how everything is compiled, which takes a quarter of a second. Machine
        code needs the symbols of Numba's runtime alone.
        """
        try:
            rtsys.initialize(target_context)
            found, kept = self._content(self._name(sig, target_context.codegen()))
            return CompileResult._rebuild(target_context, *kept) if found == sig else None
        except Exception:  # whatever bytes are read as a pickle may raise anything
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Writes the code for a signature, if it can be written; else the next run compiles again."""
        if data.library.has_dynamic_globals or any(not one.can_cache for one in data.lifted):
            warnings.warn(f"{self.prefix} cannot be kept: it has addresses of this process", NumbaWarning, 2)
            return
        with suppress(OSError):
            self._folder.write_checked(self._name(sig, data.codegen), dumps((sig, reduced(data))))

    def has_entry(self, sig: Any, target_context: Any) -> bool:
        """Returns whether there is a file for a signature."""
        return self._folder.has(self._name(sig, target_context.codegen()))

    def signatures(self, target_context: Any) -> Iterator[Any]:
        """Yields the signatures of all files that can be read. What was read is there for `load_overload` too."""
        prefix = self._machine_prefix(target_context.codegen())
        for name in self._folder.names():
            if name.startswith(prefix):
                try:
                    sig, kept = self._content(name)
                except Exception:  # as above
                    continue
                self._read = {name: (sig, kept)}
                yield sig
                self._read = {}

    def _content(self, name: str) -> tuple[Any, Any]:
        """Returns the signature in a file, and what is kept of its code."""
        content: tuple[Any, Any] | None = self._read.get(name)
        return content or pickle.loads(self._folder.read_checked(name))

    def _name(self, sig: Any, codegen: Any) -> str:
        return f"{self._machine_prefix(codegen)}{_hash(str(sig))}{CODE_SUFFIX}"

    def _machine_prefix(self, codegen: Any) -> str:
        """Returns how names of files begin that are for this machine, and for the source as it is."""
        code, cells = self._function.__code__, self._function.__closure__ or ()
        around = dumps(tuple(cell.cell_contents for cell in cells)) if cells else b""
        return f"{self.prefix}{_hash(str(codegen.magic_tuple()), _source(code.co_filename), code.co_code, around)}."


@functools.cache
def _source(path: str) -> str:
    """Returns a hash of a source."""
    return _hash("".join(linecache.getlines(path)))


def _hash(*parts: str | bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part.encode() if isinstance(part, str) else part).digest())
    return digest.hexdigest()[:32]
