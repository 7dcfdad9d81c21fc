"""Units: functions that have machine code of their own, which compiled code calls by its address.

What calls a unit is not merged with it. A large loop is made of a few of them, each of which is optimised once, and
several processes compile them side by side (`tracecore.compilation.unit_calls`): each is kept on disk by itself, and
the type of its result is told beforehand, so that a caller can be typed before the unit is compiled. A call hands on
all fields of all arguments one by one, so that a unit should do much work in each.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call, attr-defined"

import inspect
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

from numba import types

from tracecore.compilation.cached import Cached, keep_on_disk
from tracecore.compilation.lanes import for_warp, is_left_out
from tracecore.compilation.numba_inside import make_intrinsic_template
from tracecore.compilation.unit_calls import call_by_address, call_by_name, call_of


class Unit(Cached):
    """Is a function with machine code of its own. Python may call it too.

    returns: Numba's type of its result.
    need: what it is for, if it is made ready only where `unit_calls.need` was told of that.
    """

    is_unit = True

    def __init__(self, function: Callable[..., Any], returns: Any, need: str | None = None) -> None:
        super().__init__(function)
        self.returns, self.need = returns, need

    @property
    def _numba_type_(self) -> Any:
        """Returns what Numba takes a name of the unit for. What a warp does not need is left out."""
        if is_left_out(self.need):
            return self._left_out
        return self._called_by_name if for_warp() else self._called_by_address

    @cached_property
    def _called_by_address(self) -> Any:
        """Returns the type of an intrinsic that calls by the address in the cell."""

        return self._intrinsic(self, lambda kinds: partial(call_by_address, call_of(self.py_func, *kinds)))

    @cached_property
    def _called_by_name(self) -> Any:
        """Returns the type of an intrinsic that calls the piece of code for a warp that the unit is."""
        return self._intrinsic((self, "by name"), lambda kinds: partial(call_by_name, call_of(self.py_func, *kinds)))

    @cached_property
    def _left_out(self) -> Any:
        """Returns the type of an intrinsic that does nothing, and returns zero."""

        def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            if signature.return_type == types.none:
                return context.get_dummy_value()
            return context.get_constant_null(signature.return_type)

        return self._intrinsic(emit, lambda kinds: emit)

    def _intrinsic(self, key: Any, emitter: Callable[[tuple[Any, ...]], Any]) -> Any:
        """Returns the type of an intrinsic that is called like the unit.

        key: tells it from others.
        emitter: returns what emits it, by Numba's types of its arguments.
        """
        of_context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_ONLY)
        called = inspect.signature(self.py_func).parameters.values()

        def typed(_context: Any, *arguments: Any) -> tuple[Any, Any]:
            kinds = tuple(map(types.unliteral, arguments))
            return self.returns(*kinds), emitter(kinds)

        vars(typed)["__signature__"] = inspect.Signature(
            [of_context, *(one.replace(annotation=inspect.Parameter.empty) for one in called)]
        )
        return types.Function(make_intrinsic_template(key, typed, self.py_func.__name__))

    def address(self, arguments: tuple[Any, ...]) -> int:
        """Returns the address of its machine code for arguments of these types."""
        self.compile(self.returns(*arguments))
        result = self.overloads[arguments]
        return int(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))

    def has_code(self, arguments: tuple[Any, ...]) -> bool:
        """Returns whether there is machine code for arguments of these types, in memory or on disk."""
        return arguments in self.overloads or self.is_on_disk(self.returns(*arguments))


def unit(returns: Any, need: str | None = None) -> Callable[[Callable[..., Any]], Unit]:
    """Decorates a function to be a unit.

    returns: Numba's type of its result.
    need: see `Unit`.
    """
    return lambda function: keep_on_disk(Unit(function, returns, need))
