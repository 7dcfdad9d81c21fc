"""Calls of units by their addresses (`tracecore.compilation.units`), and how units are made ready: several processes
compile side by side. (Numba compiles one function at a time in a process.)

A caller finds the address in a cell of memory, whose name its machine code holds. The cells of all units that it calls
are filled before it can run, also where it comes from the cache on disk.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

import ctypes
import hashlib
import importlib

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pickle import loads
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba.core import cgutils

from tracecore.compilation.numba_inside import dumps, global_compiler_lock
from tracecore.environment import number
from tracecore.threads import usable_cores

_cells: dict[str, ctypes.c_void_p] = {}

#: What pieces of code for a warp call, by its name there.
called_by_name: dict[str, "Call"] = {}


@dataclass(frozen=True)
class Call:
    """Is what a piece of machine code needs before it can run: a unit's code for arguments of these types.

    module, name: of the unit.
    arguments: Numba's types.
    """

    module: str
    name: str
    arguments: tuple[Any, ...]

    def __call__(self) -> None:
        """Makes the cell. Numba calls this before it loads machine code that looks there."""
        if self.cell not in _cells:
            _cells[self.cell] = ctypes.c_void_p()
            llvmlite.binding.add_symbol(self.cell, ctypes.addressof(_cells[self.cell]))

    @cached_property
    def cell(self) -> str:
        """Returns the name of the cell."""
        kinds = hashlib.sha256(" ".join(map(str, self.arguments)).encode()).hexdigest()
        return f"{self.module}.{self.name}.{kinds[:32]}"

    @property
    def unit(self) -> Any:
        """Returns the unit; for a warp also the function that a kernel begins with (`gpu_code`)."""
        return getattr(importlib.import_module(self.module), self.name)

    def is_ready(self) -> bool:
        """Returns whether the cell holds an address."""
        return self.cell in _cells and bool(_cells[self.cell].value)

    def is_on_disk(self) -> bool:
        """Returns whether the unit was compiled."""
        return self.unit.has_code(self.arguments)

    def prepare(self) -> None:
        """Compiles the unit, or loads its code, and fills the cell."""
        self()
        _cells[self.cell].value = self.unit.address(self.arguments)


@cache
def call_of(function: Callable[..., Any], *arguments: Any) -> Call:
    """Returns a call of a function for arguments of some of Numba's types, the same for the same ones: the name of a
    cell takes milliseconds where they have hundreds of arrays."""
    return Call(function.__module__, function.__name__, arguments)


def call_by_address(call: Call, context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
    """Makes the instructions of a call, in Numba's own convention; it is an error if the cell was not filled."""
    call()
    context.active_code_library._reload_init.add(call)
    convention = context.call_conv
    pointer = convention.get_function_type(signature.return_type, signature.args).as_pointer()
    cell = builder.module.globals.get(call.cell) or ir.GlobalVariable(builder.module, ir.IntType(64), call.cell)
    address = builder.load(cell)
    with cgutils.if_unlikely(builder, cgutils.is_null(builder, address)):
        convention.return_user_exc(builder, RuntimeError, (f"{call.module}.{call.name} is not ready to be called",))
    return _called(context, builder, builder.inttoptr(address, pointer), signature, values)


def call_by_name(call: Call, context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
    """Makes the instructions of a call in code for a warp, of which the unit is another piece (`gpu_code`)."""
    kind = context.call_conv.get_function_type(signature.return_type, signature.args)
    called_by_name[call.cell] = call
    return _called(context, builder, cgutils.get_or_insert_function(builder.module, kind, call.cell), signature, values)


def _called(context: Any, builder: Any, function: Any, signature: Any, values: Sequence[Any]) -> Any:
    convention = context.call_conv
    status, result = convention.call_function(builder, function, signature.return_type, signature.args, values)
    with cgutils.if_unlikely(builder, status.is_error):
        convention.return_status_propagate(builder, status)
    return result


#: How many processes compile side by side: as the environment says here, else one for each core up to so many.
PROCESSES = "TRACECORE_COMPILE_PROCESSES"
MOST_PROCESSES = 4

#: What a process does that helps.
HELP = "from tracecore.compilation.unit_calls import help_to_compile; help_to_compile()"

#: What was told of by `need`, and calls of units that wait for it.
_needs: set[str] = set()
_postponed: set[Call] = set()

#: Those that run.
_others: list["subprocess.Popen[bytes]"] = []


def prepare(calls: Sequence[Call]) -> None:
    """Fills the cells of calls, but of those whose units nobody needs so far. Other processes help where several units
    were never compiled.
    """
    _postponed.update(one for one in calls if one.unit.need not in (None, *_needs))
    left = [one for one in calls if not one.is_ready() and one not in _postponed]
    if not left:
        return
    with helped([one for one in left if not one.is_on_disk()]):
        for one in busy_last(left):
            one.prepare()


def need(name: str) -> None:
    """Has the units that are for something be ready from now on. A call of one that is not raises `RuntimeError`."""
    with global_compiler_lock:
        _needs.add(name)
        waiting = [one for one in _postponed if one.unit.need == name]
        _postponed.difference_update(waiting)
        prepare(waiting)


def busy_last(calls: Sequence[Call]) -> Iterator[Call]:
    """Yields calls, and last those whose units another process compiled when it was their turn."""
    busy = []
    for one in calls:
        if one.unit.is_free():
            yield one
        else:
            busy.append(one)
    yield from busy


def helped(missing: Sequence[Call]) -> AbstractContextManager[None]:
    """Has other processes compile units while the block does so, each in another order."""
    orders = [[*missing[first:], *missing[:first]] for first in starts(len(missing), processes())]
    return beside([(HELP, dumps(order)) for order in orders[1:]])


def processes() -> int:
    """Returns how many processes are to compile these units side by side: one for each idle core.

    Raises `VariableError` if the environment says what is no number of them.
    """
    idle = max(1, min(usable_cores(), MOST_PROCESSES) - sum(one.poll() is None for one in _others))
    return int(number(PROCESSES, idle))


def starts(length: int, count: int) -> list[int]:
    """Returns where in a list of some length so many processes begin, one after each part of it at most."""
    count = max(1, min(length, count))
    return [i * length // count for i in range(count)]


@contextmanager
def beside(programs: Sequence[tuple[str, bytes]]) -> Iterator[None]:
    """Runs programs in Python until the block ends, each in a process of its own.

    programs: text and standard input of each.
    """
    started = [start(*program) for program in programs]
    _others.extend(started)
    try:
        yield
    finally:
        for one in started:
            one.kill()
            one.wait()
            _others.remove(one)


def start(program: str, text: bytes) -> "subprocess.Popen[bytes]":
    """Starts a program in Python that compiles, with a standard input, by itself. Returns its process."""
    from tracecore.child_process import start_python

    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process: subprocess.Popen[bytes] = start_python(["-c", program], {PROCESSES: "1"}, **streams)
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin as pipe:
        pipe.write(text)
    return process


def help_to_compile() -> None:
    """Compiles the units that standard input names, as far as their functions are found in this process too: the one
    that asks compiles the others, and tells what is wrong with them.
    """
    for one in busy_last(loads(sys.stdin.buffer.read())):
        with suppress(Exception):
            one.prepare()
