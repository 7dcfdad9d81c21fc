"""This module says how shading functions are compiled: they are inlined in the loops of whoever calls them, which keep
the machine code. What Python calls is `kept` on disk."""

from collections.abc import Callable
from typing import TypeVar, cast

from tracecore.compilation.cached import compiled as kept
from tracecore.compilation.merging import Merged
from tracecore.compilation.vector import address, emitting, get, get_int, get_word

__all__ = ["address", "called", "compiled", "emitting", "get", "get_int", "get_word", "kept"]

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compiles a function with IEEE arithmetic and without the interpreter lock; callers that are cached on disk carry
    its code with them."""
    return cast(F, Merged(function, is_inlined=True))


def called(function: F) -> F:
    """Compiles as `compiled` does, for what few hits need: it stays out of the loops of those that do not."""
    return cast(F, Merged(function))
