"""Gives compiled code short vectors of float32: the elements of a processor's vector unit.

LLVM does not turn loops over eight boxes or four triangles into vector instructions by itself, so these Numba
intrinsics emit its vector types directly. It lowers them to what the processor has: one AVX instruction or two of SSE
for eight elements.

A vector lives inside compiled functions only. `+ - * /` and unary `-` work element by element, each rounded once to
nearest: no product and sum are ever contracted. Comparisons give an `int64` with one bit per element, element 0 the
lowest; NaN compares false.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic, lower_builtin, models, register_model

from tracecore.compilation.lanes import for_warp, in_first_lane
from tracecore.compilation.numba_inside import AbstractTemplate, infer_global, signature

FLOAT = ir.FloatType()
I32 = ir.IntType(32)
I64 = ir.IntType(64)


class VectorType(types.Type):
    """Is Numba's type of a vector of so many float32 elements."""

    def __init__(self, elements: int) -> None:
        super().__init__(name=f"Vector({elements})")
        self.elements = elements


@register_model(VectorType)
class VectorModel(models.PrimitiveModel):
    """Says that a vector is one LLVM value."""

    def __init__(self, manager: Any, kind: VectorType) -> None:
        super().__init__(manager, kind, ir.VectorType(FLOAT, kind.elements))


FLOAT4 = VectorType(4)
FLOAT8 = VectorType(8)
FLOAT16 = VectorType(16)


def emitting(emitter: Callable[..., Any]) -> Any:
    """Decorates a function as Numba's `intrinsic` does, without a type: what is called is not what is written here."""
    return intrinsic(emitter)


@emitting
def address(typing: Any, array: Any) -> Any:
    """Returns where an array's first byte is, as int64: unlike an array it is no reference, which would be counted in
    every loop.

    It is for C-contiguous arrays that Python passed in. They outlive the call; Numba frees its own after their last
    use.
    """
    if not isinstance(array, types.Array) or array.layout != "C":
        raise TypingError(f"an address is taken of C-contiguous arrays, not of {array}")

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ptrtoint(context.make_array(array)(context, builder, arguments[0]).data, I64)

    return types.int64(array), emit


def _load(kind: Any, value: Any, widen: Any = None) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = builder.load(builder.inttoptr(arguments[0], value.as_pointer()), align=4)
        return builder.sext(loaded, widen) if widen else loaded

    return kind(types.int64), emit


@emitting
def load4(typing: Any, where: Any) -> Any:
    """Loads four float32 from an address."""
    return _load(FLOAT4, ir.VectorType(FLOAT, 4))


@emitting
def load8(typing: Any, where: Any) -> Any:
    """Loads eight float32 from an address."""
    return _load(FLOAT8, ir.VectorType(FLOAT, 8))


@emitting
def load16(typing: Any, where: Any) -> Any:
    """Loads sixteen float32 from an address."""
    return _load(FLOAT16, ir.VectorType(FLOAT, 16))


@emitting
def load_float(typing: Any, where: Any) -> Any:
    """Loads a float32 from an address."""
    return _load(types.float32, FLOAT)


@emitting
def load_double(typing: Any, where: Any) -> Any:
    """Loads a float64 from an address."""
    return _load(types.float64, ir.DoubleType())


@emitting
def load_int(typing: Any, where: Any) -> Any:
    """Loads an int32 from an address, as int64."""
    return _load(types.int64, I32, I64)


@emitting
def load_long(typing: Any, where: Any) -> Any:
    """Loads an int64 from an address."""
    return _load(types.int64, I64)


def _get(kind: Any, value: Any, index: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first = builder.inttoptr(arguments[0], value.as_pointer())
        return builder.load(builder.gep(first, [arguments[1]]), align=4)

    return kind(types.int64, index), emit


@emitting
def get(typing: Any, column: Any, index: Any) -> Any:
    """Returns the float32 at an index of the column at an address."""
    return _get(types.float32, FLOAT, index)


@emitting
def get_int(typing: Any, column: Any, index: Any) -> Any:
    """Returns the int32 at an index of the column at an address."""
    return _get(types.int32, I32, index)


@emitting
def get_word(typing: Any, column: Any, index: Any) -> Any:
    """Returns the uint32 at an index of the column at an address."""
    return _get(types.uint32, I32, index)


@emitting
def store(typing: Any, where: Any, value: Any) -> Any:
    """Writes a vector or a number, in its own size, to an address."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[1], builder.inttoptr(arguments[0], arguments[1].type.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(types.int64, value), emit


def all_elements(builder: Any, value: Any, elements: int) -> Any:
    """Returns LLVM's vector whose elements are all one value, for functions that emit instructions."""
    first = builder.insert_element(ir.Constant(ir.VectorType(value.type, elements), ir.Undefined), value, I32(0))
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(I32, elements), [0] * elements))


def _splat(elements: int) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return all_elements(builder, arguments[0], elements)

    return VectorType(elements)(types.float32), emit


@emitting
def splat4(typing: Any, value: Any) -> Any:
    """Returns four elements of one value, rounded to float32."""
    return _splat(4)


@emitting
def splat8(typing: Any, value: Any) -> Any:
    """Returns eight elements of one value, rounded to float32."""
    return _splat(8)


@emitting
def splat16(typing: Any, value: Any) -> Any:
    """Returns sixteen elements of one value, rounded to float32."""
    return _splat(16)


@emitting
def element(typing: Any, value: Any, index: Any) -> Any:
    """Returns one element as float32."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.extract_element(arguments[0], builder.trunc(arguments[1], I32))

    return types.float32(value, types.int64), emit


def _operator(function: Callable[..., Any], instruction: str, arity: int) -> None:
    """Lets an operator of Python mean a vector instruction."""

    @infer_global(function)
    class Template(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            if len(args) == arity and isinstance(args[0], VectorType) and all(kind == args[0] for kind in args):
                return signature(args[0], *args)
            return None

    @lower_builtin(function, *[VectorType] * arity)
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return getattr(builder, instruction)(*arguments)


@emitting
def whole(typing: Any, value: Any, index: Any) -> Any:
    """Returns one element without its fraction, as int64, of a vector whose elements fit in an int32."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers = builder.fptosi(arguments[0], ir.VectorType(I32, value.elements))
        return builder.sext(builder.extract_element(numbers, builder.trunc(arguments[1], I32)), I64)

    return types.int64(value, types.int64), emit


_operator(operator.add, "fadd", 2)
_operator(operator.sub, "fsub", 2)
_operator(operator.mul, "fmul", 2)
_operator(operator.truediv, "fdiv", 2)
_operator(operator.neg, "fneg", 1)


def _select(comparison: str, left: Any, right: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(builder.fcmp_ordered(comparison, *arguments), *arguments)

    return left(left, right), emit


@emitting
def least(typing: Any, left: Any, right: Any) -> Any:
    """Returns, element by element, `left if left < right else right`: the right one where either is NaN."""
    return _select("<", left, right)


@emitting
def greatest(typing: Any, left: Any, right: Any) -> Any:
    """Returns, element by element, `left if left > right else right`: the right one where either is NaN."""
    return _select(">", left, right)


def _ternary(builder: Any, name: str, arguments: Any) -> Any:
    value = arguments[0].type
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(value, [value] * 3), name)
    return builder.call(function, arguments)


@emitting
def fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """Returns a * b + c, rounded once, of vectors of one width or of three float32."""
    kind = a if isinstance(a, VectorType) else types.float32

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _ternary(
            builder, f"llvm.fma.v{kind.elements}f32" if isinstance(kind, VectorType) else "llvm.fma.f32", arguments
        )

    return kind(kind, kind, kind), emit


def _compare(comparison: str, left: Any, right: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = builder.fcmp_ordered(comparison, *arguments)
        return builder.zext(builder.bitcast(bits, ir.IntType(left.elements)), I64)

    return types.int64(left, right), emit


@emitting
def less(typing: Any, left: Any, right: Any) -> Any:
    """Returns the bits of the elements where left < right."""
    return _compare("<", left, right)


@emitting
def less_equal(typing: Any, left: Any, right: Any) -> Any:
    """Returns the bits of the elements where left <= right."""
    return _compare("<=", left, right)


@emitting
def lowest_bit(typing: Any, bits: Any) -> Any:
    """Returns the index of the lowest bit set in an int64 that is not 0."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], cgutils.true_bit)

    return types.int64(types.int64), emit


@emitting
def multiply_add(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """Returns a * b + c, rounded once or twice, whichever is faster here: for bounds with a margin, never for hits."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _ternary(builder, f"llvm.fmuladd.v{a.elements}f32", arguments)

    return a(a, a, a), emit


@emitting
def float_bits(typing: Any, value: Any) -> Any:
    """Returns the 32 bits of a float32, as an int64 of the same sign: these order non-negative values."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.sext(builder.bitcast(arguments[0], I32), I64)

    return types.int64(types.float32), emit


@emitting
def bits_float(typing: Any, bits: Any) -> Any:
    """Returns the float32 of the lowest 32 bits of an int64."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(builder.trunc(arguments[0], I32), FLOAT)

    return types.float32(types.int64), emit


@emitting
def load_acquire(typing: Any, where: Any) -> Any:
    """Loads the uint64 at an address, a multiple of 8; all that its writer wrote before it (`store_release`) is seen
    then.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def load() -> Any:
            return builder.load_atomic(builder.inttoptr(arguments[0], I64.as_pointer()), "acquire", 8)

        return in_first_lane(builder, load) if for_warp() else load()

    return types.uint64(types.int64), emit


@emitting
def fetch_add(typing: Any, where: Any, value: Any) -> Any:
    """Adds to the int64 at an address, a multiple of 8, that threads share. Returns what was there before."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], I64.as_pointer())

        def add() -> Any:
            return builder.atomic_rmw("add", place, arguments[1], "monotonic")

        return in_first_lane(builder, add) if for_warp() else add()

    return types.int64(types.int64, types.int64), emit


@emitting
def store_release(typing: Any, where: Any, value: Any) -> Any:
    """Writes a uint64 at an address, a multiple of 8, after all that was written before."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store_atomic(arguments[1], builder.inttoptr(arguments[0], I64.as_pointer()), "release", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.uint64), emit
