"""Calls of units by their addresses (`tracecore.compilation.units`).

A caller finds the address in a cell of memory, whose name its machine code holds. The cells of all units that it calls
are filled before it can run, also where it comes from the cache on disk.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

import ctypes
import hashlib
import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba.core import cgutils

_cells: dict[str, ctypes.c_void_p] = {}


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
        """Returns the unit."""
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
    function = builder.inttoptr(address, pointer)
    status, result = convention.call_function(builder, function, signature.return_type, signature.args, values)
    with cgutils.if_unlikely(builder, status.is_error):
        convention.return_status_propagate(builder, status)
    return result
