"""Ways of doing something, as types: a loop is written once, and compiled for each way without a call."""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

from collections.abc import Sequence
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import models, register_model

from renderer.simd.columns import I32
from tracecore.compilation.lanes import for_warp
from tracecore.compilation.vector import emitting


class Way(types.Type):
    """Is Numba's type of a way: loops are compiled for each.

    function: compiled, what is done.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(name=f"Way({function.__module__}.{function.__name__})")
        self.function = function


@register_model(Way)
class WayModel(models.OpaqueModel):
    """Says that a way holds nothing."""


@emitting
def call_way(typing: Any, way: Any, arguments: Any) -> Any:
    """Returns what the function of a way returns for a tuple of arguments."""

    def resolved() -> tuple[Any, Any]:
        """Returns the types of the function and of the call: for a warp, whose code is another, not the same."""
        function = way.function._numba_type_
        return function, typing.resolve_function_type(function, tuple(arguments), {})

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return context.get_function(*resolved())(builder, cgutils.unpack_tuple(builder, values[1]))

    return resolved()[1].return_type(way, arguments), emit


@emitting
def call_either(typing: Any, by_vectors: Any, by_lane: Any, arguments: Any) -> Any:
    """Returns what one of two compiled functions returns for a tuple of arguments: the one is for a CPU, the other for
    a lane of a warp. There is no code of the other."""
    function = by_lane if for_warp() else by_vectors
    call = typing.resolve_function_type(function, tuple(arguments), {})

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return context.get_function(function, call)(builder, cgutils.unpack_tuple(builder, values[2]))

    return call.return_type(by_vectors, by_lane, arguments), emit


def for_each_way(numbered: Sequence[tuple[Any, int]]) -> Any:
    """Returns a function for compiled code, which calls loop(way, number, more) for each of some ways.

    numbered: compiled functions, each with its number.
    """

    @emitting
    def call_loops(typing: Any, loop: Any, more: Any) -> Any:
        ways = [(Way(function), number) for function, number in numbered]
        calls = [typing.resolve_function_type(loop, (way, types.int32, more), {}) for way, _ in ways]

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            for (_, number), call in zip(ways, calls, strict=True):
                values = (context.get_dummy_value(), I32(number), arguments[1])
                context.get_function(loop, call)(builder, values)
            return context.get_dummy_value()

        return types.void(loop, more), emit

    return call_loops
