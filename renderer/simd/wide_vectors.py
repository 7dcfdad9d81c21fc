"""This module has what loops over sixteen numbers at once need beside `tracecore.compilation.vector`: parts of words as
numbers, choices, and sums.

Sixteen elements are one vector where vectors have 512 bits, and two where they have 256: what comes out is the same, as
each element is worked out alone and sums are taken in one order.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from renderer.simd.columns import (
    ALL_ELEMENTS,
    ELEMENTS,
    FLOAT,
    I32,
    I64,
    VECTOR_WIDTH,
    WORD_BYTES,
    get_word,
    prefetching,
    put,
)
from renderer.simd.packing import pack_elements
from renderer.simd.ways import call_either
from tracecore.compilation.cached import inlined
from tracecore.compilation.vector import FLOAT16, all_elements, emitting, lowest_bit

#: Rows that are written together, and their words.
ROWS = 8

#: All of sixteen elements, as a set.
ALL_SIXTEEN = (1 << ELEMENTS) - 1

_WORDS, _BITS = ir.VectorType(I32, ELEMENTS), ir.VectorType(ir.IntType(1), ELEMENTS)


@inlined
def first_elements(count: int) -> int:
    """Returns the set of the first `count` of sixteen elements, or of all where it is larger."""
    return ALL_SIXTEEN >> max(0, ELEMENTS - count)


def _words(builder: Any, where: Any) -> Any:
    return builder.load(builder.inttoptr(where, _WORDS.as_pointer()), align=WORD_BYTES)


@emitting
def part_of_words(typing: Any, where: Any, shift: Any, mask: Any) -> Any:
    """Returns (word >> shift) & mask, at most 24 bits, of sixteen uint32 at an address, as float32."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        where, shift, mask = arguments
        shifted = builder.lshr(_words(builder, where), all_elements(builder, shift, ELEMENTS))
        masked = builder.and_(shifted, all_elements(builder, mask, ELEMENTS))
        return builder.sitofp(masked, ir.VectorType(FLOAT, ELEMENTS))

    return FLOAT16(types.int64, types.uint32, types.uint32), emit


@emitting
def powers_of_words(typing: Any, where: Any, shift: Any, bias: Any) -> Any:
    """Returns 2 to the (word >> shift) - bias of sixteen uint32 at an address, where these are powers of float32."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        where, shift, bias = arguments
        shifted = builder.lshr(_words(builder, where), all_elements(builder, shift, ELEMENTS))
        exponent = builder.add(shifted, all_elements(builder, builder.sub(I32(127), bias), ELEMENTS))
        shifted = builder.shl(exponent, ir.Constant(_WORDS, [23] * ELEMENTS))
        return builder.bitcast(shifted, ir.VectorType(FLOAT, ELEMENTS))

    return FLOAT16(types.int64, types.uint32, types.uint32), emit


@emitting
def three_columns(typing: Any) -> Any:
    """Returns the address of three columns of 2 * ELEMENTS words, one behind the other, that are there until the
    function ends.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ptrtoint(cgutils.alloca_once(builder, ir.ArrayType(I32, 6 * ELEMENTS)), I64)

    return types.int64(), emit


@inlined
def pack_sixteen(elements: int, sources: tuple[int, int, int], targets: tuple[int, int, int], packed: int) -> int:
    """Copies the elements of a set side by side to `packed` in the target of each source, see `pack_elements`. A lane
    has sixteen elements of its own."""
    return call_either(pack_vectors, pack_words, (elements, sources, targets, packed))


@inlined
def pack_vectors(elements: int, sources: tuple[int, int, int], targets: tuple[int, int, int], packed: int) -> int:
    """Does what `pack_sixteen` does by vectors."""
    for k in range(0, ELEMENTS, VECTOR_WIDTH):
        packed = pack_elements((elements >> k) & ALL_ELEMENTS, sources, k, targets, packed)
    return packed


@inlined
def pack_words(elements: int, sources: tuple[int, int, int], targets: tuple[int, int, int], packed: int) -> int:
    """Does what `pack_sixteen` does word by word."""
    while elements != 0:
        k = lowest_bit(elements)
        put(targets[0], packed, get_word(sources[0], k))
        put(targets[1], packed, get_word(sources[1], k))
        put(targets[2], packed, get_word(sources[2], k))
        elements, packed = elements & (elements - 1), packed + 1
    return packed


@emitting
def signed_like(typing: Any, magnitude: Any, sign: Any) -> Any:
    """Returns sixteen magnitudes with the signs of other elements."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.VectorType(FLOAT, ELEMENTS)
        name = f"llvm.copysign.v{ELEMENTS}f32"
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind, kind]), name)
        return builder.call(function, arguments)

    return FLOAT16(FLOAT16, FLOAT16), emit


@emitting
def only(typing: Any, elements: Any, vector: Any) -> Any:
    """Returns the elements of a set, and 0 for the others."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        elements, vector = arguments
        chosen = builder.bitcast(builder.trunc(elements, ir.IntType(ELEMENTS)), _BITS)
        return builder.select(chosen, vector, ir.Constant(vector.type, [0.0] * ELEMENTS))

    return FLOAT16(types.int64, FLOAT16), emit


@emitting
def sum_of(typing: Any, vector: Any) -> Any:
    """Returns the sum of sixteen elements as float64, always in the same order: halves are added until one is left."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        half, count = builder.fpext(arguments[0], ir.VectorType(ir.DoubleType(), ELEMENTS)), ELEMENTS
        while count > 1:
            count //= 2
            low, high = (
                builder.shuffle_vector(
                    half, half, ir.Constant(ir.VectorType(I32, count), list(range(first, first + count)))
                )
                for first in (0, count)
            )
            half = builder.fadd(low, high)
        return builder.extract_element(half, I32(0))

    return types.float64(FLOAT16), emit


@emitting
def prefetch_line(typing: Any, where: Any) -> Any:
    """Asks for the line of the cache that is at an address and will be written."""
    return prefetching(is_written=True)


@emitting
def put_rows(typing: Any, sources: Any, index: Any, rows: Any) -> Any:
    """Turns ROWS words from an index of as many columns on into ROWS rows.

    sources: tuple of the addresses of the columns.
    rows: address of the rows' addresses, int64.
    """
    eight = ir.VectorType(I32, ROWS)

    def mixed(builder: Any, a: Any, b: Any, mask: list[int]) -> Any:
        return builder.shuffle_vector(a, b, ir.Constant(eight, mask))

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        columns = []
        for source in cgutils.unpack_tuple(builder, arguments[0]):
            word = builder.gep(builder.inttoptr(source, I32.as_pointer()), [arguments[1]])
            columns.append(builder.load(builder.bitcast(word, eight.as_pointer()), align=WORD_BYTES))
        # Words change places with those 1, 2 and 4 columns apart: a transposition by halves.
        low, high = [0, 8, 1, 9, 4, 12, 5, 13], [2, 10, 3, 11, 6, 14, 7, 15]
        columns = [mixed(builder, columns[k], columns[k + 1], mask) for k in (0, 2, 4, 6) for mask in (low, high)]
        low, high = [0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]
        columns = [mixed(builder, columns[k], columns[k + 2], mask) for k in (0, 1, 4, 5) for mask in (low, high)]
        low, high = [0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]
        words = [mixed(builder, columns[k], columns[k + 4], mask) for mask in (low, high) for k in (0, 1, 2, 3)]
        targets = builder.inttoptr(arguments[2], I64.as_pointer())
        for k, row in enumerate(words):
            target = builder.load(builder.gep(targets, [I64(k)]), align=8)
            builder.store(row, builder.inttoptr(target, eight.as_pointer()), align=WORD_BYTES)
        return context.get_dummy_value()

    return types.void(sources, types.int64, types.int64), emit
