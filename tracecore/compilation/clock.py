"""Tells compiled code the time, and lets it give way to other threads."""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

import time
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from tracecore.compilation.vector import I32, I64, emitting

SECOND = 1_000_000_000


@emitting
def nanoseconds(typing: Any) -> Any:
    """Returns the time of the C library's steady clock, `time.CLOCK_MONOTONIC`, as int64."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        timespec = cgutils.alloca_once(builder, ir.ArrayType(I64, 2))
        pointer = builder.bitcast(timespec, I64.as_pointer())
        kind = ir.FunctionType(I32, [I32, I64.as_pointer()])
        function = cgutils.get_or_insert_function(builder.module, kind, "clock_gettime")
        builder.call(function, [ir.Constant(I32, time.CLOCK_MONOTONIC), pointer])
        seconds, rest = cgutils.unpack_tuple(builder, builder.load(timespec), 2)
        return builder.add(builder.mul(seconds, ir.Constant(I64, SECOND)), rest)

    return types.int64(), emit


@emitting
def give_way(typing: Any) -> Any:
    """Lets another thread have this core, if one waits for it."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(I32, []), "sched_yield")
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), emit
