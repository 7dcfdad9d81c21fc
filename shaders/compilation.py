"""How shading functions are compiled: to be inlined in the loops of whoever calls them, which keep the machine code."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Decorator: IEEE arithmetic, no interpreter lock; callers that are cached on disk carry the code with them."""
    return cast(F, numba.njit(nogil=True, error_model="numpy", forceinline=True)(function))
