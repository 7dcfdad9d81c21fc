"""This module multiplies and adds with a single rounding."""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

#: LLVM's names of the instruction.
_NAMES = {types.float32: "llvm.fma.f32", types.float64: "llvm.fma.f64"}


def emitting(emitter: Callable[..., Any]) -> Any:
    """Returns Numba's decorator without a type, since what is called is not what is written here."""
    return intrinsic(emitter)


@emitting
def fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """Returns a b + c, rounded once, in float32 if all three are. It is one instruction, and gives the same bits where
    a processor needs more of them."""
    if not all(isinstance(kind, types.Number) for kind in (a, b, c)):
        raise TypingError(f"fma takes three numbers, not {a}, {b} and {c}")
    kind = types.float32 if a == b == c == types.float32 else types.float64

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = arguments[0].type
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(number, [number] * 3), _NAMES[kind])
        return builder.call(function, arguments)

    return kind(kind, kind, kind), emit
