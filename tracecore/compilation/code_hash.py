"""Hashes what functions are made of, wherever they were written and whatever has become of their files since: machine
code that is kept on disk is found by it."""

import hashlib
import inspect
import marshal
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import numpy as np

from tracecore.compilation.watching import named, reached

#: Bytecode is written without references, so that the same code has the same bytes.
MARSHAL_VERSION = 2


def code_hash(functions: Iterable[Any]) -> str:
    """Returns a hash of functions that are compiled, of all that they call, and of the numbers and arrays that these
    name.
    """
    found = set().union(*(reached(one, lambda other: False) for one in functions))
    parts = sorted(part for one in found for part in _parts(one))
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def _parts(function: Any) -> Iterable[bytes]:
    """Yields a digest of a function's code, and of each value that it names."""
    place = f"{function.__module__} {function.__qualname__}"
    code = function.__code__.replace(co_filename="", co_firstlineno=1, co_linetable=b"")  # wherever it stands
    yield _digest(place, marshal.dumps(code, MARSHAL_VERSION))
    yield _digest(f"{place} defaults", repr((function.__defaults__, function.__kwdefaults__)).encode())
    for name, value in named(function):
        yield _digest(f"{place} {name}", _bytes_of(value))


def _digest(place: str, content: bytes) -> bytes:
    return hashlib.sha256(place.encode() + b"\n" + content).digest()


def _bytes_of(value: Any) -> bytes:
    """Returns bytes that stand for a value, none of a function or a module: what is called is looked at by itself."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} ".encode() + value.tobytes()
    if isinstance(value, type):
        return f"{value.__qualname__} {getattr(value, '_fields', '')} {inspect.get_annotations(value)}".encode()
    return b"" if callable(value) or isinstance(value, ModuleType) else repr(value).encode()
