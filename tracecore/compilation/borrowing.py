"""Lends arrays and named tuples of them to the functions below.

Numba counts each array that a function is called with, by atomic additions, for every array of a tuple; and it hands on
a tuple as all that is in it, one by one, whatever the function looks at. A scene has some seventy arrays. What is
borrowed is not counted, and a named tuple is one address: its fields are loaded where they are read.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call, override"

import functools
import hashlib
from typing import Any

import numpy as np
from llvmlite import ir
from numba import typeof
from numba.core import cgutils, types
from numba.extending import lower_getattr_generic, models, register_model

from tracecore.compilation.numba_inside import AttributeTemplate, infer_getattr
from tracecore.compilation.vector import emitting


class Borrowed(types.Type):
    """Is Numba's type of a named tuple that lies in memory as long as it is looked at, and never changes.

    kind: type of the named tuple.
    """

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        digest = hashlib.sha256(str(kind).encode()).hexdigest()
        super().__init__(name=f"Borrowed({kind.instance_class.__name__} {digest[:16]})")

    @property
    def key(self) -> Any:
        """Returns what decides whether two types are the same."""
        return self.name


@functools.cache
def borrowed_type(kind: Any) -> Any:
    """Returns the type of what is borrowed, of whatever type."""
    return Borrowed(kind) if isinstance(kind, types.NamedTuple | types.NamedUniTuple) else kind


#: Types of named tuples that were lent, by what decides them.
_lent: dict[Any, Borrowed] = {}


def lent_type(value: Any) -> Borrowed:
    """Returns the type of a named tuple that is lent. Numba takes milliseconds for a hundred arrays, so tuples that are
    alike have it asked once."""
    key = likeness(value)
    if key not in _lent:
        _lent[key] = Borrowed(typeof(value))
    return _lent[key]


def likeness(value: Any) -> Any:
    """Returns what decides the type of a value, at any depth."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        return value.dtype, value.ndim, flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned
    if isinstance(value, tuple):
        return (type(value), *map(likeness, value))
    return typeof(value)


@register_model(Borrowed)
class BorrowedModel(models.PrimitiveModel):
    """Says that what is borrowed is an address."""

    def __init__(self, manager: Any, kind: Borrowed) -> None:
        super().__init__(manager, kind, manager.lookup(kind.kind).get_value_type().as_pointer())


@emitting
def borrowed(typing: Any, value: Any) -> Any:
    """Returns the same array or named tuple, but not counted and, if it is a tuple, by its address.

    It is for what Python passed in, which outlives the call, and for what the caller borrowed.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lent = uncounted(context, builder, value, arguments[0])
        if borrowed_type(value) is value:
            return lent
        return cgutils.alloca_once_value(builder, lent)

    return borrowed_type(value)(value), emit


def uncounted(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Returns a value whose arrays have no owner that would be counted."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        parts = zip(kind, cgutils.unpack_tuple(builder, value), strict=True)  # type: ignore[call-overload]
        return context.make_tuple(builder, kind, [uncounted(context, builder, *each) for each in parts])
    return value


@infer_getattr
class BorrowedFields(AttributeTemplate):
    """Types the fields of what is borrowed: a named tuple in it is borrowed as well."""

    key = Borrowed

    def generic_resolve(self, lender: Borrowed, field: str) -> Any:
        """Returns the type of a field, or None if there is none of that name."""
        if field not in lender.kind.fields:
            return None
        return borrowed_type(lender.kind[lender.kind.fields.index(field)])


@lower_getattr_generic(Borrowed)
def load_field(context: Any, builder: Any, lender: Borrowed, address: Any, field: str) -> Any:
    """Makes the instructions that load a field, or find the address of one that is a named tuple."""
    index = lender.kind.fields.index(field)
    place = cgutils.gep_inbounds(builder, address, 0, index)
    return place if borrowed_type(lender.kind[index]) is not lender.kind[index] else _load(builder, place)


def _load(builder: Any, place: Any) -> Any:
    """Loads a value whose parts, one by one, never change."""
    kind = place.type.pointee
    if isinstance(kind, ir.LiteralStructType | ir.ArrayType):
        value = ir.Constant(kind, ir.Undefined)
        for i in range(len(kind.elements) if isinstance(kind, ir.LiteralStructType) else kind.count):
            value = builder.insert_value(value, _load(builder, cgutils.gep_inbounds(builder, place, 0, i)), i)
        return value
    loaded = builder.load(place)
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded
