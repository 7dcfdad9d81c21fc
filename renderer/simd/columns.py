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

from shaders.vector import Vec3
from tracecore.compilation.cached import inlined
from tracecore.compilation.lanes import LANES, for_warp, lane
from tracecore.compilation.merging import has_widest_vectors
from tracecore.compilation.vector import address, emitting
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


#: Name, type and offset of a column in a record.
Column = tuple[str, np.dtype[Any], int]


def fields(kind: str, names: str) -> list[tuple[str, str, tuple[int, ...]]]:
    """Returns the fields of a record that has columns of scratch of one type.

    kind: as NumPy writes the type.
    names: of the columns, with ":3" behind one that stands for three.
    """
    parts = [name.partition(":") for name in names.split()]
    return [(name, kind, (int(count), COLUMN) if count else (COLUMN,)) for name, _, count in parts]


def constant(of_vectors: int, of_lanes: int) -> Any:
    """Returns the type and the code of a number that differs for the lanes of a warp."""
    return types.int64(), lambda *_: I64(of_lanes if for_warp() else of_vectors)


@emitting
def width(typing: Any) -> Any:
    """Returns how many elements of a column are looked at together."""
    return constant(VECTOR_WIDTH, LANES)


@emitting
def column_words(typing: Any) -> Any:
    """Returns how many words lie from one column of scratch to the next."""
    return constant(COLUMN, LANES)


@inlined
def column_bytes() -> int:
    """Returns how many bytes lie from one column of scratch to the next."""
    return WORD_BYTES * column_words()


def column_bytes_now() -> int:
    """Returns the same to whoever emits instructions."""
    return WORD_BYTES * (LANES if for_warp() else COLUMN)


def overlaid(kept: list[Any], *stages: list[Any]) -> np.dtype[Any]:
    """Returns the record of columns of scratch of which those of all stages begin at the same place, behind those that
    are kept: what one stage has written there, no other one reads.

    kept, stages: fields.
    """
    first, columns, size = np.dtype(kept).itemsize, list[Column](), 0
    for start, part in [(0, np.dtype(kept)), *((first, np.dtype(stage)) for stage in stages)]:
        columns += [(name, kind, start + offset) for name, (kind, offset, *_) in (part.fields or {}).items()]
        size = max(size, start + part.itemsize)
    return record_of(columns, size)


def for_lanes(columns: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the record of columns of scratch for the lanes of a warp, each of which has an element."""
    parts = [
        (name, np.dtype((one.base, (*one.shape[:-1], LANES))), offset // COLUMN * LANES)
        for name, (one, offset, *_) in (columns.fields or {}).items()
    ]
    return record_of(parts, columns.itemsize // COLUMN * LANES)


def record_of(columns: list[Column], size: int) -> np.dtype[Any]:
    """Returns a record of so many bytes."""
    names, kinds, offsets = zip(*columns, strict=True)
    return np.dtype({"names": names, "formats": kinds, "offsets": offsets, "itemsize": size})


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
def array_at(typing: Any, like: Any, where: Any, length: Any) -> Any:
    """Returns an array at an address, of the type of another one: so many elements lie from one row to the next."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = context.make_array(like)(context, builder, arguments[0])
        size = found.itemsize
        found.data = builder.inttoptr(arguments[1], found.data.type)
        shape, strides = (cgutils.unpack_tuple(builder, one) for one in (found.shape, found.strides))
        shape[-1], strides[-2:] = arguments[2], [builder.mul(arguments[2], size), size][-like.ndim :]
        found.shape, found.strides = (cgutils.pack_array(builder, one) for one in (shape, strides))
        return found._getvalue()

    return like(like, types.int64, types.int64), emit


@emitting
def in_advance(typing: Any, count: Any) -> Any:
    """Returns of how many rows a processor asks for lines of the cache in advance: of none where it is a GPU's."""
    return types.int64(types.int64), lambda _context, _builder, _signature, values: I64(0) if for_warp() else values[0]


@emitting
def chunk_room(typing: Any) -> Any:
    """Returns how many hits are brought to scratch together, no more than CHUNK."""
    return constant(CHUNK, LANES)


@inlined
def in_chunk(count: int) -> int:
    """Returns a number of hits of a chunk, bounded by the room of a chunk: so the compiler sees that the lanes of a
    warp need no loop over them, and knows where these hits lie."""
    return min(count, chunk_room())


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
