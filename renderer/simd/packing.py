"""This module finds the elements of a column that have some bits, packs them side by side, and lists their numbers."""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from renderer.simd import in_lanes
from renderer.simd.columns import (
    CHUNK,
    ELEMENTS,
    I32,
    I64,
    LINE_BYTES,
    VECTOR_WIDTH,
    WIDE,
    WORD_BYTES,
    constant,
    in_chunk,
    put,
    width,
)
from renderer.simd.loops import longest
from tracecore.compilation.cached import inlined
from tracecore.compilation.lanes import LANES, for_warp
from tracecore.compilation.vector import all_elements, emitting


@emitting
def matches(typing: Any, words: Any, mask: Any, bits: Any) -> Any:
    """Returns which of VECTOR_WIDTH uint32 at an address have these bits under a mask: an int64, a bit for each,
    element 0 lowest.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source, mask, bits = arguments
        if for_warp():
            return in_lanes.matches(builder, source, mask, bits)
        loaded = builder.load(builder.inttoptr(source, WIDE.as_pointer()), align=WORD_BYTES)
        masked = builder.and_(loaded, all_elements(builder, mask, VECTOR_WIDTH))
        equal = builder.icmp_unsigned("==", masked, all_elements(builder, bits, VECTOR_WIDTH))
        return builder.zext(builder.bitcast(equal, ir.IntType(VECTOR_WIDTH)), I64)

    return types.int64(types.int64, types.uint32, types.uint32), emit


def _packed_elements() -> list[int]:
    """Returns, for each set of eight elements, their numbers, a byte each, side by side from the lowest byte on."""
    sets = ([element for element in range(8) if bits >> element & 1] for bits in range(256))
    return [sum(element << 8 * k for k, element in enumerate(elements)) for elements in sets]


def _numbers_of(builder: Any, elements: Any) -> Any:
    """Returns the numbers of the elements in a set, side by side, and then anything below VECTOR_WIDTH.

    It takes one instruction, or a table.
    """
    if VECTOR_WIDTH == 8:
        packed = cgutils.global_constant(
            builder, "packed_elements", ir.Constant(ir.ArrayType(I64, 256), _packed_elements())
        )
        entry = builder.load(builder.gep(packed, [I64(0), elements]))
        return builder.zext(builder.bitcast(entry, ir.VectorType(ir.IntType(8), 8)), WIDE)
    mask = ir.VectorType(ir.IntType(1), VECTOR_WIDTH)
    kind = ir.FunctionType(WIDE, [WIDE, mask, WIDE])
    compress = cgutils.get_or_insert_function(
        builder.module, kind, f"llvm.experimental.vector.compress.v{VECTOR_WIDTH}i32"
    )
    chosen = builder.bitcast(builder.trunc(elements, ir.IntType(VECTOR_WIDTH)), mask)
    return builder.call(
        compress, [ir.Constant(WIDE, list(range(VECTOR_WIDTH))), chosen, ir.Constant(WIDE, [0] * VECTOR_WIDTH)]
    )


@emitting
def put_elements(typing: Any, target: Any, elements: Any, first: Any) -> Any:
    """Writes first + element, int32, side by side to an address for the elements of a set. It writes VECTOR_WIDTH
    in all.

    Returns how many elements they are.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, elements, first = arguments
        if for_warp():
            return in_lanes.put_elements(builder, target, elements, first)
        numbers = builder.add(
            _numbers_of(builder, elements), all_elements(builder, builder.trunc(first, I32), VECTOR_WIDTH)
        )
        builder.store(numbers, builder.inttoptr(target, WIDE.as_pointer()), align=WORD_BYTES)
        return builder.ctpop(elements)

    return types.int64(types.int64, types.int64, types.int64), emit


@emitting
def pack_elements(typing: Any, elements: Any, sources: Any, index: Any, targets: Any, packed: Any) -> Any:
    """Copies the elements of a set side by side to `packed` in the target of each source; VECTOR_WIDTH words are
    written in all.

    LLVM makes one instruction of words taken by number, where a processor has it.

    elements: the set, of VECTOR_WIDTH words from `index` on of each source.
    sources, targets: tuples of as many addresses of columns.

    Returns the sum of `packed` and how many elements they are.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        elements, sources, index, targets, packed = arguments
        if for_warp():
            return in_lanes.pack_elements(builder, arguments)
        numbers = _numbers_of(builder, elements)
        numbers = [builder.extract_element(numbers, I32(k)) for k in range(VECTOR_WIDTH)]
        for source, target in zip(
            cgutils.unpack_tuple(builder, sources), cgutils.unpack_tuple(builder, targets), strict=True
        ):
            words = builder.load(_at(builder, source, index), align=WORD_BYTES)
            chosen = ir.Constant(WIDE, ir.Undefined)
            for k, number in enumerate(numbers):
                chosen = builder.insert_element(chosen, builder.extract_element(words, number), I32(k))
            builder.store(chosen, _at(builder, target, packed), align=WORD_BYTES)
        return builder.add(packed, builder.ctpop(elements))

    return types.int64(types.int64, sources, types.int64, targets, types.int64), emit


@emitting
def count_elements(typing: Any, elements: Any) -> Any:
    """Returns how many elements are in a set."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), emit


def _at(builder: Any, column: Any, index: Any) -> Any:
    """Returns the address of VECTOR_WIDTH words from an index of a column on."""
    word = builder.gep(builder.inttoptr(column, I32.as_pointer()), [index])
    return builder.bitcast(word, WIDE.as_pointer())


@emitting
def copy_line(typing: Any, source: Any, target: Any) -> Any:
    """Copies 64 bytes to an address, a multiple of 64, past the caches: nobody here reads them soon."""
    line = ir.VectorType(I32, ELEMENTS)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = builder.load(builder.inttoptr(arguments[0], line.as_pointer()), align=WORD_BYTES)
        stored = builder.store(loaded, builder.inttoptr(arguments[1], line.as_pointer()), align=LINE_BYTES)
        stored.set_metadata("nontemporal", builder.module.add_metadata([I32(1)]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), emit


@inlined
def elements_of(words: int, wanted: tuple[np.uint32, np.uint32], i: int, count: int) -> int:
    """Returns which of `width()` words from i on, of a column of `count`, have the wanted bits of a mask.

    wanted: mask and bits.
    """
    mask, bits = wanted
    return matches(words + WORD_BYTES * i, mask, bits) & (((1 << width()) - 1) >> max(0, i + width() - count))


@emitting
def sum_of_words(typing: Any, words: Any, count: Any) -> Any:
    """Returns the sum of the first `count` words of a column, uint32."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words, count = arguments
        if for_warp():
            return in_lanes.sum_of_words(builder, words, count)
        total = cgutils.alloca_once_value(builder, I32(0))
        with cgutils.for_range(builder, count) as loop:
            word = builder.load(builder.gep(builder.inttoptr(words, I32.as_pointer()), [loop.index]), align=WORD_BYTES)
            builder.store(builder.add(builder.load(total), word), total)
        return builder.load(total)

    return types.uint32(types.int64, types.int64), emit


@inlined
def count_words(words: int, wanted: tuple[np.uint32, np.uint32], count: int) -> int:
    """Returns how many words of a column of `count` have the wanted bits of a mask."""
    found = 0
    for i in range(0, count, width()):
        found += count_elements(elements_of(words, wanted, i, count))
    return found


@inlined
def pack_columns(
    words: int, wanted: tuple[np.uint32, np.uint32], count: int, sources: tuple[int, ...], targets: tuple[int, ...]
) -> int:
    """Copies what columns have where words of a column have the wanted bits of a mask, side by side.

    words: address of the column of words.
    wanted: mask and bits.
    count: how many words there are.
    sources, targets: addresses of columns. A target may be its source. Words behind are written too, none of them
    behind a `whole` count.

    Returns how many elements are copied.
    """
    packed = 0
    for i in range(0, count, width()):
        packed = pack_elements(elements_of(words, wanted, i, count), sources, i, targets, packed)
    return packed


@inlined
def pack_chunk(
    words: int, wanted: tuple[np.uint32, np.uint32], count: int, sources: tuple[int, ...], targets: tuple[int, ...]
) -> tuple[int, int]:
    """Does what `pack_columns` does, to columns of scratch until they are full.

    Returns how many elements are copied, and how many were looked at.
    """
    packed, i = 0, 0
    while i < count and packed <= fullest():
        found = elements_of(words, wanted, i, count)
        elements, looked = fitting(found, packed)
        if elements != 0:  # where few are wanted, most lines of the other columns need not be read
            packed = pack_elements(elements, sources, i, targets, packed)
        i += looked
    return packed, min(i, count)


@emitting
def fullest(typing: Any) -> Any:
    """Returns with how many hits there is room for more: vectors are written as a whole."""
    return constant(CHUNK - VECTOR_WIDTH, LANES - 1)


@emitting
def fitting(typing: Any, elements: Any, packed: Any) -> Any:
    """Returns those of a set for which a chunk has room beside those packed already, and how many were looked at."""
    returned = types.UniTuple(types.int64, 2)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        elements, packed = arguments
        pair = in_lanes.fitting(builder, elements, packed) if for_warp() else (elements, I64(VECTOR_WIDTH))
        return context.make_tuple(builder, returned, pair)

    return returned(types.int64, types.int64), emit


@inlined
def pack_numbered(
    words: int,
    wanted: tuple[np.uint32, np.uint32],
    count: int,
    numbers: tuple[int, int],
    columns: tuple[tuple[int, ...], tuple[int, ...]],
) -> tuple[int, int]:
    """Does what `pack_chunk` does, with one column more: the numbers of the elements.

    numbers: that of element 0, and the address of a column that they go to.
    columns: sources and targets.
    """
    packed, i, (number, target), (sources, targets) = 0, 0, numbers, columns
    while i < count and packed <= fullest():
        found = elements_of(words, wanted, i, count)
        elements, looked = fitting(found, packed)
        if elements != 0:
            put_elements(target + WORD_BYTES * packed, elements, number + i)
            packed = pack_elements(elements, sources, i, targets, packed)
        i += looked
    return packed, min(i, count)


@inlined
def close_gaps(words: int, wanted: tuple[np.uint32, np.uint32], count: int, columns: tuple[int, ...]) -> int:
    """Packs columns as `pack_columns` does, each into itself: what lies in front of the first gap stays where it is."""
    packed = 0
    for i in range(0, count, width()):
        elements = elements_of(words, wanted, i, count)
        if packed == i and elements & (elements + 1) == 0:  # none is missing before the last one
            packed += count_elements(elements)
        else:
            packed = pack_elements(elements, columns, i, columns, packed)
    return packed


@inlined
def list_indices(words: int, wanted: tuple[np.uint32, np.uint32], count: int, indices: int) -> int:
    """Lists the indices where words of a column have the wanted bits of a mask, and closes the list. Returns its
    length.

    wanted: mask and bits.
    indices: address of the list, int32, which has room for ELEMENTS indices more than it may have.
    """
    length = 0
    for i in range(0, in_chunk(count), width()):
        length += put_elements(indices + WORD_BYTES * length, elements_of(words, wanted, i, count), i)
    close_list(indices, length)
    return length


@inlined
def close_list(indices: int, length: int) -> None:
    """Adds indices behind a chunk to a list of indices of it, so that `each` may go on to the end of a vector."""
    if longest() > 1:
        for i in range(ELEMENTS):
            put(indices, length + i, np.int32(CHUNK + i))


@inlined
def fill_up(column: int, count: int, number: int) -> None:
    """Writes a number, int32, behind the first ones of a column, to the end of a vector."""
    if longest() > 1:
        for i in range(ELEMENTS):
            put(column, count + i, number)
