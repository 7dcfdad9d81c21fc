"""Fingerprints of values are equal where two values are equal to the last bit, and different otherwise.

A fingerprint is taken by walking a value, whatever it is made of. A new field of a dataclass is therefore part of it
without anybody thinking of it, and a value of a type that the walk does not know is an error rather than a gap.
"""

import hashlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

#: Fields that do not count, with the reason of each, by their dataclass.
LeftOut = Mapping[type, Mapping[str, str]]

#: Types whose `repr` tells their values apart.
PLAIN_TYPES = (bool, int, float, complex, str, bytes, type(None))

Array = npt.NDArray[Any]
ArrayKey = tuple[int, tuple[int, ...], tuple[int, ...], str]

#: Takes bytes.
Put = Callable[[bytes], None]

#: How a value is reached: from which other, by which of its fields or parts; the outermost one by its name from none.
Where = tuple[Any, str | int]


class Fingerprints:
    """Takes the fingerprints of values.

    left_out: fields of dataclasses, and of those derived from them, that do not count.
    """

    def __init__(self, left_out: LeftOut | None = None) -> None:
        self._left_out = left_out or {}
        self._known: dict[ArrayKey, tuple[Array, bytes]] = {}
        self._fields: dict[type, tuple[bytes, list[str]]] = {}

    def of(self, value: object) -> str:
        """Returns the fingerprint of a value, 64 hexadecimal digits.

        value: made of None, numbers, texts, bytes, enumerations, arrays, dataclasses, tuples, lists, mappings, classes
        and functions. The fingerprint of a class or function is of its name and of the source file that has it.

        Raises TypeError where the value holds anything else; the message says where.
        """
        digest = hashlib.blake2b(digest_size=32)
        self._put(digest.update, value, (None, type(value).__name__))
        return digest.hexdigest()

    def remember(self, value: object) -> None:
        """Keeps what the arrays of a value give, so that other values that share their memory take less time.

        value: as for `of`. Its arrays are held, and must not be written to any more.
        """
        for array in arrays_in(value):
            self._known[_key(array)] = (array, _array_digest(array))

    def _put(self, put: Put, value: object, where: Where) -> None:
        """Puts bytes that no other value puts."""
        kind = type(value)
        if isinstance(value, Enum):
            put(_mark(kind, value.name))
        elif isinstance(value, PLAIN_TYPES):
            put(_mark(kind, ascii(value)))
        elif isinstance(value, np.ndarray | np.generic):
            self._put_array(put, np.asarray(value), where)
        elif is_dataclass(value) and not isinstance(value, type):
            mark, names = self._fields_of(kind)
            put(mark)
            for name in names:
                self._put(put, getattr(value, name), (where, name))
        elif isinstance(value, Mapping | tuple | list):
            put(_mark(kind, len(value)))
            for index, item in enumerate(value.items() if isinstance(value, Mapping) else value):
                self._put(put, item, (where, index))
        elif isinstance(value, ModuleType | BuiltinFunctionType):
            put(_mark(kind, f"{getattr(value, '__module__', '')} {value.__name__}"))
        elif isinstance(code := getattr(value, "py_func", value), FunctionType | type):
            self._put_code(put, code, where)
        else:
            raise TypeError(
                f"no fingerprint of {_path(where)}: got a {kind.__module__}.{kind.__qualname__}; expected numbers, "
                "texts, arrays, dataclasses, tuples, lists, mappings, classes or functions. Leave the field out with a "
                "reason, or teach `renderer.run.resuming.fingerprint` its type"
            )

    def _fields_of(self, kind: type) -> tuple[bytes, list[str]]:
        """Returns what a dataclass begins with, and the names of its fields that count."""
        if kind not in self._fields:
            left_out = {name for base in kind.__mro__ for name in self._left_out.get(base, ())}
            names = [field.name for field in fields(kind) if field.name not in left_out]
            self._fields[kind] = _mark(kind, " ".join(names)), names
        return self._fields[kind]

    def _put_array(self, put: Put, array: Array, where: Where) -> None:
        """Puts the bytes of an array: its type, its shape and a digest of its numbers."""
        if array.dtype.hasobject:
            raise TypeError(f"no fingerprint of {_path(where)}: got an array of objects; expected one of numbers")
        put(_mark(np.ndarray, f"{array.dtype!r} {array.shape}"))
        known = self._known.get(_key(array))
        put(known[1] if known else _array_digest(array))

    def _put_code(self, put: Put, code: FunctionType | type, where: Where) -> None:
        """Puts the bytes of a function or class: its name, the source file that has it, and what it encloses."""
        put(_mark(type(code), f"{code.__module__} {code.__qualname__}"))
        put(_source_digest(code))
        if isinstance(code, FunctionType):
            enclosed = tuple(cell.cell_contents for cell in code.__closure__ or ())
            self._put(put, (code.__defaults__, code.__kwdefaults__, enclosed), where)


def _path(where: Where) -> str:
    """Returns how a value is reached, as text."""
    outer, step = where
    if outer is None:
        return str(step)
    return _path(outer) + (f"[{step}]" if isinstance(step, int) else f".{step}")


def arrays_in(value: object) -> Iterator[Array]:
    """Yields all arrays in dataclasses, mappings, tuples and lists."""
    if isinstance(value, np.ndarray):
        yield value
    elif is_dataclass(value) and not isinstance(value, type):
        yield from arrays_in([getattr(value, field.name) for field in fields(value)])
    elif isinstance(value, Mapping):
        yield from arrays_in(list(value.values()))
    elif isinstance(value, tuple | list):
        for item in value:
            yield from arrays_in(item)


def _key(array: Array) -> ArrayKey:
    """Returns what two views of the same numbers share."""
    return array.ctypes.data, array.shape, array.strides, array.dtype.str


def _array_digest(array: Array) -> bytes:
    """Returns 32 bytes that stand for the numbers of an array, row after row."""
    numbers = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return hashlib.blake2b(numbers.data, digest_size=32).digest()


@cache
def _source_digest(code: Callable[..., object]) -> bytes:
    """Returns 32 bytes that stand for the source file of a function or class; of what has none, for its own code."""
    try:
        path = inspect.getsourcefile(code) or ""
        with open(path, "rb") as file:
            text = file.read()
    except (OSError, TypeError):
        text = code.__code__.co_code if isinstance(code, FunctionType) else b""
    return hashlib.blake2b(text, digest_size=32).digest()


def _mark(kind: type, about: object) -> bytes:
    """Returns the line that a part of a value begins with: its type and what is said of it, without line breaks."""
    return f"{kind.__module__}.{kind.__qualname__} {about}\n".encode()
