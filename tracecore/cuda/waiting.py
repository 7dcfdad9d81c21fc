"""Waits for an event of CUDA's without the interpreter, whose lock whoever polls in Python would take from threads that
work, and then wait for at the end.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

from typing import Any

from llvmlite import ir
from numba import types

from tracecore.compilation.cached import compiled
from tracecore.compilation.clock import nanoseconds, rest
from tracecore.compilation.vector import I32, I64, emitting

#: Where an event is not there yet, the next question comes after this share of the time that has gone by, and after so
#: many nanoseconds at most.
REST_SHARE, MOST_REST = 16, 1_000_000


@emitting
def _answer(typing: Any, function: Any, given: Any) -> Any:
    """Returns what the function of C at an address answers to an address: int32."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(I32, [I64])
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), [arguments[1]])

    return types.int32(types.int64, types.int64), emit


@compiled
def await_answer_but(function: int, given: int, answer: int, nanoseconds_left: int) -> int:
    """Asks a function until it answers something else, or for so long. Returns its last answer.

    function: address of one of C's that takes an address and returns an int32.
    given: that address.
    """
    start = nanoseconds()
    last = _answer(function, given)
    while last == answer and nanoseconds() - start <= nanoseconds_left:
        rest(min((nanoseconds() - start) // REST_SHARE, MOST_REST))
        last = _answer(function, given)
    return last
