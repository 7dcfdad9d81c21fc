"""Files of machine code, of which those that are damaged or cannot be written are as if they were not there."""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

import hashlib
import pickle
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import llvmlite.binding
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.runtime.nrt import rtsys
from numba.cpython import hashing as _hashing  # noqa: F401 - brings the secrets by which Python hashes, as symbols too

DIGEST_BYTES = 32


#: Where in what Numba keeps of a function its code is, and its source with types.
CODE, ANNOTATION = 0, 6


class MachineCode(CompileResultCacheImpl):
    """Keeps the machine code of a function alone. Numba would also keep what it was made of, for callers that are to be
    merged with it: here these are merged with its part (`tracecore.compilation.merging`). Reading it takes as long as
    reading the rest.
    """

    def reduce(self, cres: Any) -> tuple[Any, ...]:
        """Returns what is kept of compiled code."""
        kept = list(super().reduce(cres))
        name, kind, (machine_code, _) = kept[CODE]
        entries = {cres.fndesc.llvm_func_name, cres.fndesc.llvm_cpython_wrapper_name}
        defined = entries.intersection(function.name for function in cres.library.get_defined_functions())
        kept[CODE], kept[ANNOTATION] = (name, kind, (machine_code, stand_in(sorted(defined)))), ""
        return tuple(kept)


def stand_in(names: Sequence[str]) -> bytes:
    """Returns LLVM's bitcode of a module by which Numba knows that there are functions of these names, whatever they
    do.
    """
    text = "".join(f'define void @"{name}"() {{ ret void }}\n' for name in names)
    bitcode: bytes = llvmlite.binding.parse_assembly(text).as_bitcode()
    return bitcode


class CheckedFiles(IndexDataCacheFile):
    """Are the files of one function's code: an index, and one for each signature that begins with its SHA-256. The
    index is read again only where it has been replaced.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._read: tuple[Any, dict[Any, str]] = None, {}

    def _save_data(self, name: str, data: Any) -> None:
        text = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(hashlib.sha256(text).digest() + text)

    def _load_data(self, name: str) -> Any:
        data = Path(self._data_path(name)).read_bytes()
        if hashlib.sha256(data[DIGEST_BYTES:]).digest() != data[:DIGEST_BYTES]:
            raise pickle.UnpicklingError(f"{name} is damaged")
        return pickle.loads(data[DIGEST_BYTES:])

    def _load_index(self) -> Any:
        try:
            found = Path(self._index_path).stat()
            written = found.st_ino, found.st_mtime_ns, found.st_size
            if written != self._read[0]:
                self._read = written, super()._load_index()
        except Exception:  # whatever bytes are read as a pickle may raise anything
            return {}
        return dict(self._read[1])


class CheckedCache(FunctionCache):
    """Keeps the code of one function."""

    _impl_class = MachineCode

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        files = self._cache_file
        self._cache_file = CheckedFiles(self._cache_path, self._impl.filename_base, files._source_stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Returns the code for a signature, or None where there is none that can be read.

        Numba would first have its context learn how everything is compiled, which takes a quarter of a second. Machine
        code needs the symbols of Numba's runtime alone.
        """
        try:
            rtsys.initialize(target_context)
            return self._load_overload(sig, target_context)
        except Exception:  # as above
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Writes the code for a signature, if it can be written; else the next run compiles again."""
        with suppress(OSError):
            super().save_overload(sig, data)

    def has_entry(self, sig: Any, target_context: Any) -> bool:
        """Returns whether the index names a file for a signature."""
        return self._index_key(sig, target_context.codegen()) in self._cache_file._load_index()

    def signatures(self) -> list[Any]:
        """Returns the signatures of the index's files, also of those that other machines have written."""
        return list(dict.fromkeys(key[0] for key in self._cache_file._load_index()))

    def has_any_entry(self) -> bool:
        """Returns whether the index names a file for whatever signature."""
        return bool(self._cache_file._load_index())
