"""Tells compiled code the time, and lets it rest and give way to other threads: by the C library, or by Windows itself.

Of Windows these are QueryPerformanceCounter, QueryPerformanceFrequency, Sleep and SwitchToThread, which every process
has.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

import sys
import time
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from tracecore.compilation.lanes import for_warp
from tracecore.compilation.vector import I32, I64, emitting

SECOND = 1_000_000_000

IS_WINDOWS = sys.platform == "win32"


@emitting
def nanoseconds(typing: Any) -> Any:
    """Returns the time of a steady clock, that of `time.perf_counter_ns` on Linux and on Windows, as int64; lanes of a
    warp have none: 0."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if for_warp():
            return I64(0)
        return _counted(builder) if IS_WINDOWS else _told(builder)

    return types.int64(), emit


def _told(builder: Any) -> Any:
    """Emits a question for the C library's steady clock."""
    timespec = cgutils.alloca_once(builder, ir.ArrayType(I64, 2))
    pointer = builder.bitcast(timespec, I64.as_pointer())
    kind = ir.FunctionType(I32, [I32, I64.as_pointer()])
    function = cgutils.get_or_insert_function(builder.module, kind, "clock_gettime")
    builder.call(function, [ir.Constant(I32, time.CLOCK_MONOTONIC), pointer])
    seconds, rest = cgutils.unpack_tuple(builder, builder.load(timespec), 2)
    return builder.add(builder.mul(seconds, ir.Constant(I64, SECOND)), rest)


def _counted(builder: Any) -> Any:
    """Emits a question for the counter of Windows. Whole seconds and the rest are apart, lest a product overflow."""
    ticks, frequency = (_asked(builder, f"QueryPerformance{name}") for name in ("Counter", "Frequency"))
    second = ir.Constant(I64, SECOND)
    seconds, rest = builder.sdiv(ticks, frequency), builder.srem(ticks, frequency)
    return builder.add(builder.mul(seconds, second), builder.sdiv(builder.mul(rest, second), frequency))


def _asked(builder: Any, name: str) -> Any:
    """Emits a call of a function of Windows that writes an int64, and returns that."""
    found = cgutils.alloca_once(builder, I64)
    kind = ir.FunctionType(I32, [I64.as_pointer()])
    builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [found])
    return builder.load(found)


@emitting
def give_way(typing: Any) -> Any:
    """Lets another thread have this core, if one waits for it."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        name = "SwitchToThread" if IS_WINDOWS else "sched_yield"
        builder.call(cgutils.get_or_insert_function(builder.module, ir.FunctionType(I32, []), name), [])
        return context.get_dummy_value()

    return types.void(), emit


@emitting
def rest(typing: Any, duration: Any) -> Any:
    """Lets the thread do nothing for about so many nanoseconds, int64, from 0 to less than a second."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (duration,) = arguments
        if IS_WINDOWS:
            kind = ir.FunctionType(ir.VoidType(), [I32])
            milliseconds = builder.trunc(builder.udiv(duration, ir.Constant(I64, SECOND // 1000)), I32)
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "Sleep"), [milliseconds])
        else:
            timespec = cgutils.alloca_once(builder, ir.ArrayType(I64, 2))
            builder.store(cgutils.pack_array(builder, [I64(0), duration]), timespec)
            pointer = builder.bitcast(timespec, I64.as_pointer())
            kind = ir.FunctionType(I32, [I64.as_pointer(), I64.as_pointer()])
            function = cgutils.get_or_insert_function(builder.module, kind, "nanosleep")
            builder.call(function, [pointer, I64.as_pointer()(None)])
        return context.get_dummy_value()

    return types.void(types.int64), emit
