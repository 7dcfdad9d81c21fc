"""Files of machine code, of which those that are damaged or cannot be written are as if they were not there."""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

import functools
import hashlib
import linecache
import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import llvmlite.binding
from numba.core.errors import NumbaWarning

from tracecore.compilation.cache_folder import CODE_SUFFIX
from tracecore.compilation.numba_inside import CompileResult, NullCache, dumps, rtsys
from tracecore.compilation.private_folder import PrivateFolder

#: Where in what Numba keeps of a function its code is, and its source with types.
CODE, ANNOTATION = 0, 6


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
    return tuple(kept)


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
    """

    def __init__(self, function: Callable[..., Any], folder: PrivateFolder) -> None:
        self._function, self._folder = function, folder
        self._read: dict[str, tuple[Any, Any]] = {}
        name = f"{function.__module__}.{function.__qualname__}".replace("<", "").replace(">", "")
        self._prefix = f"{name}-{function.__code__.co_firstlineno}."

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
            warnings.warn(f"{self._prefix} cannot be kept: it has addresses of this process", NumbaWarning, 2)
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

    def has_any_entry(self) -> bool:
        """Returns whether there is a file for whatever signature."""
        return any(name.startswith(self._prefix) for name in self._folder.names())

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
        return f"{self._prefix}{_hash(str(codegen.magic_tuple()), _source(code.co_filename), code.co_code, around)}."


@functools.cache
def _source(path: str) -> str:
    """Returns a hash of a source."""
    return _hash("".join(linecache.getlines(path)))


def _hash(*parts: str | bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part.encode() if isinstance(part, str) else part).digest())
    return digest.hexdigest()[:32]
