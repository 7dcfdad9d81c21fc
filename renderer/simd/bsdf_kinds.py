"""The BSDF that a loop is compiled for, as a type: loops are written once, and compiled for each BSDF of a scene.

A loop has an argument of type `BsdfKind`, which holds nothing. What it calls through that argument (`sample`,
`evaluate`, ...) is the function of the BSDF whose kind it is. Scenes call the loop by its address (`call_at`), so that
photons and eye paths are compiled once for all BSDFs, also for those that are yet to be written.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

import hashlib
import importlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import NumbaError, TypingError
from numba.extending import models, register_model

from renderer.simd.columns import FLOAT, WORD_BYTES, column_bytes_now
from shaders.bsdfs.bsdf import BENT_NORMALS, Bsdf, Drawn, Seen, Value, sizes_of
from shaders.custom import THREE, compiled_alone, tuple_of
from shaders.errors import ShaderError
from tracecore.compilation.code_hash import code_hash
from tracecore.compilation.lanes import for_warp, loops
from tracecore.compilation.unit_calls import call_of, prepare
from tracecore.compilation.units import Unit
from tracecore.compilation.vector import emitting

I64 = ir.IntType(64)


class BsdfKind(types.Type):
    """Is Numba's type of a BSDF.

    module: whose row, `BSDF`, other processes find.
    code: a hash of what its functions are made of, since machine code that is kept on disk is found by this type's
        name.
    lacks: see `Bsdf`.
    """

    def __init__(self, module: str, code: str, lacks: tuple[str, ...]) -> None:
        super().__init__(name=f"BsdfKind({', '.join((module, code, *lacks))})")
        self.module, self.code, self.lacks = module, code, lacks

    @property
    def key(self) -> tuple[str, str, tuple[str, ...]]:
        """Returns what tells two kinds apart."""
        return self.module, self.code, self.lacks

    @property
    def row(self) -> Bsdf:
        """Returns the BSDF. Raises `ShaderError` in another process that does not find it."""
        if self not in _rows and kind_of(replace(importlib.import_module(self.module).BSDF, lacks=self.lacks)) != self:
            raise ShaderError(f"the BSDF of {self.module} is not that of the process which asks for its loops")
        return _rows[self]


@register_model(BsdfKind)
class KindModel(models.OpaqueModel):
    """Says that a kind holds nothing."""


#: BSDFs of kinds that were met.
_rows: dict[BsdfKind, Bsdf] = {}

#: Functions of a BSDF that loops call.
CALLED = ("sample", "evaluate", "entering", "reflectance", "albedo", "eta")


def kind_of(bsdf: Bsdf) -> BsdfKind:
    """Returns the kind of a BSDF: the same for all whose loops are the same."""
    parameters: Any = bsdf.parameters
    functions = tuple(getattr(bsdf, name) for name in CALLED)
    kind = BsdfKind(
        functions[0].__module__, _code_of(functions, parameters, (bsdf.has_tangent, bsdf.has_rest)), bsdf.lacks
    )
    _rows.setdefault(kind, bsdf)
    return kind


@cache
def _code_of(functions: tuple[Any, ...], parameters: Any, answers: tuple[bool, ...]) -> str:
    code = code_hash(one for one in functions if one is not None)
    shape = f"{code} {functions[-1] is None} {sizes_of(parameters)} {answers}"
    return hashlib.sha256(shape.encode()).hexdigest()[:16]


#: Addresses of the loops of all BSDFs that were ever met, (MOST_KINDS, MOST_LOOPS), and which they are.
MOST_KINDS, MOST_LOOPS = 256, 12
ADDRESSES = np.zeros((MOST_KINDS, MOST_LOOPS), np.int64)
_numbers: dict[BsdfKind, int] = {}


def number_of(bsdf: Bsdf) -> int:
    """Returns the row of a BSDF's loops in `ADDRESSES`. Raises `ShaderError` where there are too many BSDFs."""
    kind = kind_of(bsdf)
    if kind not in _numbers and len(_numbers) == MOST_KINDS:
        raise ShaderError(f"expected no more than {MOST_KINDS} BSDFs in one process")
    return _numbers.setdefault(kind, len(_numbers))


def kinds_of(bsdfs: Iterable[int]) -> list[BsdfKind]:
    """Returns the kinds of BSDFs that have these rows in `ADDRESSES`."""
    kinds = list(_numbers)
    return [kinds[number] for number in bsdfs]


def make_ready(bsdfs: npt.NDArray[np.int64], loops: Mapping[int, tuple[Unit, tuple[Any, ...]]]) -> None:
    """Compiles loops of BSDFs, or loads their code, and writes their addresses.

    bsdfs: numbers of the BSDFs.
    loops: by column of `ADDRESSES`, the unit, and Numba's types of its arguments but for the kind.

    Raises `ShaderError`, one line with the BSDF, the function and what is wrong, where they do not compile.
    """
    kinds = list(_numbers)
    missing = [
        (number, which, unit, (kinds[number], *arguments))
        for number in bsdfs.tolist()
        for which, (unit, arguments) in loops.items()
        if not ADDRESSES[number, which]
    ]
    try:
        prepare([call_of(unit.py_func, *arguments) for _, _, unit, arguments in missing])
        for number, which, unit, arguments in missing:
            ADDRESSES[number, which] = unit.address(arguments)
    except NumbaError:
        for number in bsdfs.tolist():
            check_functions(kinds[number].row)
        raise


def check_functions(bsdf: Bsdf) -> None:
    """Raises `ShaderError` where a function of a BSDF does not compile by itself, or returns something else."""
    numbers, number = tuple_of(bsdf.parameters), types.float32
    seen = types.BaseTuple.from_types([THREE, types.boolean, THREE, number, types.int64], Seen)
    drawn = types.BaseTuple.from_types([THREE, THREE, types.int32], Drawn)
    value = types.BaseTuple.from_types([THREE, THREE, number], Value)
    for name, arguments, returned in (
        ("sample", (numbers, seen, THREE), drawn),
        ("evaluate", (numbers, THREE, seen), value),
        ("entering", (numbers, THREE), THREE),
        ("reflectance", (numbers, THREE), THREE),
        ("albedo", (numbers, THREE), THREE),
        ("eta", (numbers, types.boolean), number),
    ):
        if function := getattr(bsdf, name):
            compiled_alone(f"{name} of shader {bsdf.name!r}", function, arguments, returned)


def _calling(name: str, kind: Any, typing: Any, *arguments: Any) -> Any:
    """Returns the type and the code of a call of a function of the BSDF."""

    def resolved() -> tuple[Any, Any]:
        """Returns the types of the function and of the call: for a warp, whose code is another, not the same."""
        function = getattr(kind.row, name)._numba_type_
        return function, typing.resolve_function_type(function, arguments, {})

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        function, called = resolved()
        result = context.get_function(function, called)(builder, values[1:])
        return context.cast(builder, result, called.return_type, signature.return_type)

    return resolved()[1].return_type(kind, *arguments), emit


@emitting
def sample(typing: Any, kind: Any, parameters: Any, seen: Any, u: Any) -> Any:
    """Calls `Bsdf.sample`."""
    return _calling("sample", kind, typing, parameters, seen, u)


@emitting
def evaluate(typing: Any, kind: Any, parameters: Any, wi: Any, seen: Any) -> Any:
    """Calls `Bsdf.evaluate`."""
    return _calling("evaluate", kind, typing, parameters, wi, seen)


@emitting
def entering(typing: Any, kind: Any, parameters: Any, w: Any) -> Any:
    """Calls `Bsdf.entering`."""
    return _calling("entering", kind, typing, parameters, w)


@emitting
def reflectance(typing: Any, kind: Any, parameters: Any, w: Any) -> Any:
    """Calls `Bsdf.reflectance`."""
    return _calling("reflectance", kind, typing, parameters, w)


@emitting
def albedo(typing: Any, kind: Any, parameters: Any, wo: Any) -> Any:
    """Calls `Bsdf.albedo`."""
    return _calling("albedo", kind, typing, parameters, wo)


@emitting
def eta(typing: Any, kind: Any, parameters: Any, is_outside: Any) -> Any:
    """Calls `Bsdf.eta`; 1 where there is none."""
    if kind.row.eta is not None:
        return _calling("eta", kind, typing, parameters, is_outside)
    return types.float32(kind, parameters, is_outside), lambda *_: ir.Constant(FLOAT, 1.0)


@emitting
def has_tangent(typing: Any, kind: Any) -> Any:
    """Returns `Bsdf.has_tangent`."""
    return _known(kind, kind.row.has_tangent)


@emitting
def has_rest(typing: Any, kind: Any) -> Any:
    """Returns `Bsdf.has_rest`."""
    return _known(kind, kind.row.has_rest)


@emitting
def has_bent_normals(typing: Any, kind: Any) -> Any:
    """Returns whether some surfaces have a shading normal that is not the flat one."""
    return _known(kind, BENT_NORMALS not in kind.lacks)


@emitting
def is_of_media(typing: Any, kind: Any) -> Any:
    """Returns whether a BSDF is that of particles in a medium."""
    return _known(kind, kind.row.is_of_media)


def _known(kind: Any, answer: bool) -> Any:
    """Returns the type and the code of what is known when a loop is compiled."""
    return types.boolean(kind), lambda *_: ir.Constant(ir.IntType(1), int(answer))


@emitting
def numbers_at(typing: Any, kind: Any, columns: Any, i: Any) -> Any:
    """Returns the parameters of a hit. columns: address of the columns of its numbers."""
    result = tuple_of(kind.row.parameters)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, columns, i = arguments
        fields, k = [], 0
        for name, own in zip(result.fields, result.types, strict=True):
            places = range(k, k + (1 if own == types.float32 else 3))
            k = places.stop
            if name in kind.lacks:
                numbers = [FLOAT(0.0) for _ in places]
            else:
                numbers = [builder.load(_place(builder, columns, i, place), align=WORD_BYTES) for place in places]
            fields.append(numbers[0] if own == types.float32 else context.make_tuple(builder, own, numbers))
        return context.make_tuple(builder, result, fields)

    return result(kind, types.int64, i), emit


@emitting
def set_numbers(typing: Any, kind: Any, columns: Any, i: Any, parameters: Any) -> Any:
    """Writes the parameters of a hit. columns: as `numbers_at` takes them."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, columns, i, value = arguments
        numbers: list[Any] = []
        for field, own in zip(cgutils.unpack_tuple(builder, value), parameters.types, strict=True):
            numbers += [field] if own == types.float32 else cgutils.unpack_tuple(builder, field)
        for k, number in enumerate(numbers):
            builder.store(number, _place(builder, columns, i, k), align=WORD_BYTES)
        return context.get_dummy_value()

    return types.void(kind, types.int64, i, parameters), emit


def _place(builder: Any, columns: Any, i: Any, number: int) -> Any:
    column = builder.inttoptr(builder.add(columns, I64(number * column_bytes_now())), FLOAT.as_pointer())
    return builder.gep(column, [i])


@emitting
def call_at(typing: Any, place: Any, which: Any, arguments: Any) -> Any:
    """Calls the loop at an address, which is compiled for some kind, with a tuple of its other arguments.

    which: the column of `ADDRESSES` that it stands in, a constant.
    """
    if not isinstance(which, types.IntegerLiteral):
        raise TypingError("call_at takes a constant for the column of a loop")
    kinds = (BsdfKind("", "", ()), *map(types.unliteral, arguments.types))

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        convention, (where, _, others) = context.call_conv, values
        unpacked = [
            context.cast(builder, one, own, types.unliteral(own))
            for one, own in zip(cgutils.unpack_tuple(builder, others), arguments.types, strict=True)
        ]
        if for_warp():
            _call_numbered(typing, context, builder, where, (which.literal_value, unpacked))
            return context.get_dummy_value()
        with cgutils.if_unlikely(builder, cgutils.is_null(builder, where)):
            convention.return_user_exc(builder, RuntimeError, ("the loops of a BSDF were not made ready",))
        function = builder.inttoptr(where, convention.get_function_type(types.none, kinds).as_pointer())
        passed = [context.get_constant_null(kinds[0]), *unpacked]
        status, _ = convention.call_function(builder, function, types.none, kinds, passed)
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return context.get_dummy_value()

    return types.void(types.int64, which, arguments), emit


def _call_numbered(typing: Any, context: Any, builder: Any, number: Any, passed: tuple[int, Any]) -> None:
    """Calls one of a warp's loops (`tracecore.compilation.lanes.loops`) by its number.

    passed: which of a BSDF's loops it is, and the arguments but for the kind.
    """
    which, values = passed
    done = builder.append_basic_block("loops.done")
    choice = builder.switch(number, done)
    for own, (column, called) in enumerate(loops()):
        if column != which:
            continue
        function = called.unit._numba_type_
        call = typing.resolve_function_type(function, called.arguments, {})
        block = builder.append_basic_block("loop")
        choice.add_case(I64(own), block)
        builder.position_at_end(block)
        context.get_function(function, call)(builder, [context.get_constant_null(called.arguments[0]), *values])
        builder.branch(done)
    builder.position_at_end(done)
