"""This module has vector loops over structures of arrays.

A column holds one number of many rays, side by side. Compiled code reads columns by address (see
`tracecore.compilation.vector.address`), so that nothing is counted or checked in a loop.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError

from renderer.simd import in_lanes
from shaders.vector import Vec3
from tracecore.compilation.cached import inlined
from tracecore.compilation.lanes import LANES, for_warp, lane
from tracecore.compilation.merging import has_widest_vectors
from tracecore.compilation.vector import address, all_elements, emitting
from tracecore.compilation.vector import get as get
from tracecore.compilation.vector import get_int as get_int
from tracecore.compilation.vector import get_word as get_word
from tracecore.rays import Floats

#: Rays handled together; columns of so many stay in the cache next to the core. A multiple of 2 * ELEMENTS.
CHUNK = 224

#: Numbers of the longest vector.
ELEMENTS = 16

#: From one column of scratch to the next, in numbers: CHUNK, and room for a last vector that is not full.
COLUMN = CHUNK + ELEMENTS

#: Bytes of a word, of a line of the cache, and from one column of scratch to the next.
WORD_BYTES = 4
LINE_BYTES = 64
COLUMN_BYTES = WORD_BYTES * COLUMN

FLOAT, I32, I64 = ir.FloatType(), ir.IntType(32), ir.IntType(64)

#: Words that are packed at a time, and a set of all of them. Eight have a table of 256 sets; for sixteen there is an
#: instruction where vectors have 512 bits.
VECTOR_WIDTH = 16 if has_widest_vectors() else 8
ALL_ELEMENTS = (1 << VECTOR_WIDTH) - 1
WIDE = ir.VectorType(I32, VECTOR_WIDTH)


def fields(kind: str, names: str) -> list[tuple[str, str, tuple[int, ...]]]:
    """Returns the fields of a record that has columns of scratch of one type.

    kind: as NumPy writes the type.
    names: of the columns, with ":3" behind one that stands for three.
    """
    parts = [name.partition(":") for name in names.split()]
    return [(name, kind, (int(count), COLUMN) if count else (COLUMN,)) for name, _, count in parts]


class _Distinct(ir.values.MDValue):
    """This is a node of metadata that is equal to none but itself."""

    def __init__(self, module: Any) -> None:
        super().__init__(module, (), name=str(len(module.metadata)))

    def descr(self, lines: list[str]) -> None:
        """Writes LLVM's text for the node, as llvmlite asks for it."""
        operands = ", ".join(operand.get_reference() for operand in self.operands)
        lines += (f"distinct !{{ {operands} }}", "\n")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


@emitting
def each(typing: Any, body: Any, count: Any, data: Any) -> Any:
    """Calls body(i, data) for every i below count.

    What the body does for one i must depend on nothing that it does for another. Loops in Python cannot say so, and
    LLVM then compares the addresses of all columns each time, or gives up. What a `whole` count leaves over is done
    number by number.

    body: a compiled function, which is merged into the loop.
    count: how often it is called.
    data: must hold no arrays, but their addresses.
    """
    return _loop(typing, body, data, vectors=1)


@emitting
def each_listed(typing: Any, body: Any, count: Any, data: Any) -> Any:
    """Does what `each` does where the body, called for k, is about element number k of a list, and reads and writes
    what belongs to that element too."""
    return _loop(typing, body, data, vectors=1, in_warp=in_lanes.listed)


@emitting
def each_ray(typing: Any, body: Any, count: Any, data: Any) -> Any:
    """Does what `each` does for the rays of a batch, of which there may be more than a chunk has."""
    return _loop(typing, body, data, vectors=1, in_warp=in_lanes.loop)


@emitting
def each_pair(typing: Any, body: Any, count: Any, data: Any) -> Any:
    """Does what `each` does, two vectors at a time: where one instruction waits for the other, those of the second fill
    the gaps.

    It suits short bodies, as registers have to do for both, and counts that `whole_pairs` hardly changes.
    """
    return _loop(typing, body, data, vectors=2)


def _loop(typing: Any, body: Any, data: Any, vectors: int, in_warp: Any = in_lanes.own) -> Any:
    if not isinstance(body, types.Dispatcher):
        raise TypingError(f"each takes a compiled function, not {body}")
    called = typing.resolve_function_type(body, (types.int64, data), {})

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, last, value = arguments
        if for_warp():
            in_warp(builder, last, lambda i: context.get_function(body, called)(builder, (i, value)))
            return context.get_dummy_value()
        entry, loop = builder.block, builder.append_basic_block("each")
        done = builder.append_basic_block("each.done")
        blocks = len(builder.function.blocks)
        builder.cbranch(builder.icmp_signed(">", last, I64(0)), loop, done)
        builder.position_at_end(loop)
        i = builder.phi(I64)
        i.add_incoming(I64(0), entry)
        context.get_function(body, called)(builder, (i, value))
        following = builder.add(i, I64(1), flags=["nsw"])
        i.add_incoming(following, builder.block)
        jump = builder.cbranch(builder.icmp_signed("<", following, last), loop, done)
        if vectors > 0:
            _declare_independent(builder.module, [loop, *builder.function.blocks[blocks:]], jump, vectors)
        builder.position_at_end(done)
        return context.get_dummy_value()

    return types.void(body, types.int64, data), emit


@emitting
def each_alone(typing: Any, body: Any, count: Any, data: Any) -> Any:
    """Does what `each` does, one by one where that is faster than vectors which would gather and scatter most of their
    numbers: the elements of a list. The body may do anything with what belongs to its own element."""
    return _loop(typing, body, data, vectors=0, in_warp=in_lanes.listed)


def _constant(of_vectors: int, of_lanes: int) -> Any:
    """Returns the type and the code of a number that differs for the lanes of a warp."""
    return types.int64(), lambda *_: I64(of_lanes if for_warp() else of_vectors)


@emitting
def width(typing: Any) -> Any:
    """Returns how many elements of a column are looked at together."""
    return _constant(VECTOR_WIDTH, LANES)


@emitting
def column_words(typing: Any) -> Any:
    """Returns how many words lie from one column of scratch to the next."""
    return _constant(COLUMN, LANES)


@inlined
def column_bytes() -> int:
    """Returns how many bytes lie from one column of scratch to the next."""
    return WORD_BYTES * column_words()


def column_bytes_now() -> int:
    """Returns the same to whoever emits instructions."""
    return WORD_BYTES * (LANES if for_warp() else COLUMN)


def for_lanes(columns: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the record of columns of scratch for the lanes of a warp, each of which has an element."""
    return np.dtype([(name, one.base, (*one.shape[:-1], LANES)) for name, (one, *_) in (columns.fields or {}).items()])


@emitting
def is_in_place(typing: Any) -> Any:
    """Returns whether rays that go on take the places of those before: a warp writes them to another batch."""
    return types.boolean(), lambda *_: ir.Constant(ir.IntType(1), int(not for_warp()))


@emitting
def as_floats(typing: Any, words: Any) -> Any:
    """Returns an array of uint32 as float32 of the same bits."""
    returned = words.copy(dtype=types.float32)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given = context.make_array(words)(context, builder, arguments[0])
        found = context.make_array(returned)(context, builder)
        for name in ("meminfo", "parent", "nitems", "itemsize", "shape", "strides"):
            setattr(found, name, getattr(given, name))
        found.data = builder.bitcast(given.data, found.data.type)
        return found._getvalue()

    return returned(words), emit


@emitting
def in_advance(typing: Any, count: Any) -> Any:
    """Returns of how many rows a processor asks for lines of the cache in advance: of none where it is a GPU's."""
    return types.int64(types.int64), lambda _context, _builder, _signature, values: I64(0) if for_warp() else values[0]


@emitting
def chunk_room(typing: Any) -> Any:
    """Returns how many hits are brought to scratch together, no more than CHUNK."""
    return _constant(CHUNK, LANES)


@emitting
def _longest(typing: Any) -> Any:
    """Returns what counts are rounded up to: lanes write no more than they are asked to."""
    return _constant(ELEMENTS, 1)


@inlined
def whole(count: int) -> int:
    """Returns a count rounded up to whole vectors, for columns that may be written behind the last element."""
    return (count + (_longest() - 1)) & -_longest()


@inlined
def whole_pairs(count: int) -> int:
    """Returns a count rounded up to whole pairs of vectors."""
    return whole(count) if _longest() == 1 else (count + (2 * ELEMENTS - 1)) & (-2 * ELEMENTS)


def _declare_independent(module: Any, blocks: list[Any], jump: Any, vectors: int) -> None:
    """Tells LLVM that what the calls in a loop read and write does not depend on other iterations.

    It also says how many vectors are done at a time: by itself LLVM takes as many as it likes, and does what is left at
    the end number by number.
    """
    group, loop = _Distinct(module), _Distinct(module)
    for block in blocks:
        for call in block.instructions:
            if isinstance(call, ir.CallInstr):
                call.set_metadata("llvm.access.group", group)
    independent = module.add_metadata([ir.MetaDataString(module, "llvm.loop.parallel_accesses"), group])
    at_a_time = module.add_metadata([ir.MetaDataString(module, "llvm.loop.interleave.count"), I32(vectors)])
    loop.operands = (loop, independent, at_a_time)
    jump.set_metadata("llvm.loop", loop)


@emitting
def put(typing: Any, column: Any, index: Any, value: Any) -> Any:
    """Writes 32 bits, a float32, int32 or uint32, at an index of the column at an address."""
    if value not in (types.float32, types.int32, types.uint32):
        raise TypingError(f"a column takes numbers of 32 bits, not {value}")

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first = builder.inttoptr(arguments[0], arguments[2].type.as_pointer())
        builder.store(arguments[2], builder.gep(first, [arguments[1]]), align=WORD_BYTES)
        return context.get_dummy_value()

    return types.void(types.int64, index, value), emit


@inlined
def get3(columns: int, step: int, index: int) -> Vec3:
    """Returns a vector from three columns, `step` bytes apart."""
    return (get(columns, index), get(columns + step, index), get(columns + 2 * step, index))


@inlined
def put3(columns: int, step: int, index: int, vector: Vec3) -> None:
    """Writes a vector to three columns, `step` bytes apart."""
    put(columns, index, vector[0])
    put(columns + step, index, vector[1])
    put(columns + 2 * step, index, vector[2])


def _four(builder: Any, rows: Any, index: Any) -> Any:
    kind = ir.VectorType(FLOAT, 4)
    return builder.gep(builder.inttoptr(rows, kind.as_pointer()), [index])


@emitting
def get_four(typing: Any, rows: Any, index: Any) -> Any:
    """Returns row `index` of four float32 each, at an address that is a multiple of 16."""
    returned = types.UniTuple(types.float32, 4)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row = builder.load(_four(builder, *arguments), align=16)
        return context.make_tuple(builder, returned, [builder.extract_element(row, I32(k)) for k in range(4)])

    return returned(types.int64, index), emit


@emitting
def put_four(typing: Any, rows: Any, index: Any, numbers: Any) -> Any:
    """Writes row `index` of four float32 each, at an address that is a multiple of 16."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row: Any = ir.Constant(ir.VectorType(FLOAT, 4), ir.Undefined)
        for k, number in enumerate(cgutils.unpack_tuple(builder, arguments[2])):
            row = builder.insert_element(row, number, I32(k))
        builder.store(row, _four(builder, arguments[0], arguments[1]), align=16)
        return context.get_dummy_value()

    return types.void(types.int64, index, numbers), emit


@inlined
def column(scratch: Floats, i: int) -> Vec3:
    """Returns vector i of three columns of scratch."""
    return get3(address(scratch), column_bytes(), i)


@inlined
def set_column(scratch: Floats, i: int, vector: Vec3) -> None:
    """Sets vector i of three columns of scratch."""
    put3(address(scratch), column_bytes(), i, vector)


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
            return in_lanes.pack_elements(builder, elements, sources, index, targets, packed)
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
        if for_warp():
            in_lanes.copy_line(builder, arguments[0], arguments[1], ELEMENTS)
            return context.get_dummy_value()
        loaded = builder.load(builder.inttoptr(arguments[0], line.as_pointer()), align=WORD_BYTES)
        stored = builder.store(loaded, builder.inttoptr(arguments[1], line.as_pointer()), align=LINE_BYTES)
        stored.set_metadata("nontemporal", builder.module.add_metadata([I32(1)]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), emit


@emitting
def prefetch(typing: Any, where: Any) -> Any:
    """Asks for the line of the cache at an address, which may be any: it is read soon, or never."""
    return prefetching(is_written=False)


def prefetching(is_written: bool) -> Any:
    """Returns the type and the code of what asks for a line at an address."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if for_warp():  # where one warp waits, another has its turn
            return context.get_dummy_value()
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, I32, I32, I32])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [builder.inttoptr(arguments[0], pointer), I32(int(is_written)), I32(3), I32(1)])
        return context.get_dummy_value()

    return types.void(types.int64), emit


@inlined
def three(columns: int, step: int) -> tuple[int, int, int]:
    """Returns the addresses of three columns, `step` bytes apart."""
    return (columns, columns + step, columns + 2 * step)


@emitting
def rows(typing: Any, first: Any, step: Any, count: Any) -> Any:
    """Returns the addresses of some columns, `step` bytes apart: of as many as a constant says."""
    if not isinstance(count, types.IntegerLiteral):
        raise TypingError("rows takes a constant for the number of columns")
    returned = types.UniTuple(types.int64, count.literal_value)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        places = [builder.add(arguments[0], builder.mul(arguments[1], I64(k))) for k in range(len(returned))]
        return context.make_tuple(builder, returned, places)

    return returned(types.int64, types.int64, count), emit


@inlined
def column_of(scratch: Floats) -> tuple[int, int, int]:
    """Returns the addresses of three columns of scratch."""
    return three(address(scratch), column_bytes())


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


@emitting
def add_to(typing: Any, where: Any, number: Any) -> Any:
    """Adds to the int64 at an address, which nobody else changes meanwhile."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], I64.as_pointer())

        def add() -> None:
            builder.store(builder.add(builder.load(place), arguments[1]), place)

        if for_warp():  # by an instruction that nobody waits for
            with builder.if_then(builder.icmp_unsigned("==", lane(builder), I64(0))):
                builder.atomic_rmw("add", place, arguments[1], "monotonic")
        else:
            add()
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), emit


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
    return _constant(CHUNK - VECTOR_WIDTH, LANES - 1)


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
    for i in range(0, count, width()):
        length += put_elements(indices + WORD_BYTES * length, elements_of(words, wanted, i, count), i)
    close_list(indices, length)
    return length


@inlined
def close_list(indices: int, length: int) -> None:
    """Adds indices behind a chunk to a list of indices of it, so that `each` may go on to the end of a vector."""
    if _longest() > 1:
        for i in range(ELEMENTS):
            put(indices, length + i, np.int32(CHUNK + i))


@inlined
def fill_up(column: int, count: int, number: int) -> None:
    """Writes a number, int32, behind the first ones of a column, to the end of a vector."""
    if _longest() > 1:
        for i in range(ELEMENTS):
            put(column, count + i, number)
