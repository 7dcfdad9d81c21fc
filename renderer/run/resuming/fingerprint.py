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


class Fingerprints:
    """Takes the fingerprints of values.

    left_out: fields of dataclasses, and of those derived from them, that do not count.
    """

    def __init__(self, left_out: LeftOut | None = None) -> None:
        self._left_out = left_out or {}
        self._known: dict[ArrayKey, tuple[Array, bytes]] = {}

    def of(self, value: object) -> str:
        """Returns the fingerprint of a value, 64 hexadecimal digits.

        value: made of None, numbers, texts, bytes, enumerations, arrays, dataclasses, tuples, lists, mappings, classes
        and functions. The fingerprint of a class or function is of its name and of the source file that has it.

        Raises TypeError where the value holds anything else; the message says where.
        """
        digest = hashlib.blake2b(digest_size=32)
        for part in self._parts(value, type(value).__name__):
            digest.update(part)
        return digest.hexdigest()

    def remember(self, value: object) -> None:
        """Keeps what the arrays of a value give, so that other values that share their memory take less time.

        value: as for `of`. Its arrays are held, and must not be written to any more.
        """
        for array in arrays_in(value):
            self._known[_key(array)] = (array, _array_digest(array))

    def _parts(self, value: object, where: str) -> Iterator[bytes]:
        """Yields bytes that no other value yields. where: how the value is reached from the outermost one."""
        kind = type(value)
        if isinstance(value, Enum):
            yield _mark(kind, value.name)
        elif isinstance(value, PLAIN_TYPES):
            yield _mark(kind, ascii(value))
        elif isinstance(value, np.ndarray | np.generic):
            yield from self._of_array(np.asarray(value), where)
        elif is_dataclass(value) and not isinstance(value, type):
            yield from self._of_fields(value, where)
        elif isinstance(value, Mapping):
            yield _mark(kind, len(value))
            for index, pair in enumerate(value.items()):
                yield from self._parts(pair, f"{where}, pair {index},")
        elif isinstance(value, tuple | list):
            yield _mark(kind, len(value))
            for index, item in enumerate(value):
                yield from self._parts(item, f"{where}[{index}]")
        elif isinstance(value, ModuleType | BuiltinFunctionType):
            yield _mark(kind, f"{getattr(value, '__module__', '')} {value.__name__}")
        elif isinstance(code := getattr(value, "py_func", value), FunctionType | type):
            yield from self._of_code(code, where)
        else:
            raise TypeError(
                f"no fingerprint of {where}: got a {kind.__module__}.{kind.__qualname__}; expected numbers, texts, "
                "arrays, dataclasses, tuples, lists, mappings, classes or functions. Leave the field out with a "
                "reason, or teach `renderer.run.resuming.fingerprint` its type"
            )

    def _of_fields(self, value: Any, where: str) -> Iterator[bytes]:
        """Yields the bytes of a dataclass: its name and all of its fields that count."""
        kind = type(value)
        left_out = {name for base in kind.__mro__ for name in self._left_out.get(base, ())}
        names = [field.name for field in fields(value) if field.name not in left_out]
        yield _mark(kind, " ".join(names))
        for name in names:
            yield from self._parts(getattr(value, name), f"{where}.{name}")

    def _of_array(self, array: Array, where: str) -> Iterator[bytes]:
        """Yields the bytes of an array: its type, its shape and a digest of its numbers."""
        if array.dtype.hasobject:
            raise TypeError(f"no fingerprint of {where}: got an array of objects; expected one of numbers")
        yield _mark(np.ndarray, f"{array.dtype!r} {array.shape}")
        known = self._known.get(_key(array))
        yield known[1] if known else _array_digest(array)

    def _of_code(self, code: FunctionType | type, where: str) -> Iterator[bytes]:
        """Yields the bytes of a function or class: its name, the source file that has it, and what it encloses."""
        yield _mark(type(code), f"{code.__module__} {code.__qualname__}")
        yield _source_digest(code)
        if isinstance(code, FunctionType):
            enclosed = tuple(cell.cell_contents for cell in code.__closure__ or ())
            yield from self._parts((code.__defaults__, code.__kwdefaults__, enclosed), where)


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
