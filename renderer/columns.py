"""Loops over columns that become vector instructions, and rows of 32 bytes made columns eight at a time.

A column holds one number of many rays, side by side. Compiled code reads columns by address (see
`tracecore.vector.address`), so that nothing is counted or checked in a loop.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError

from shaders.vector import Vec3
from tracecore.compiled import inlined
from tracecore.rays import Floats
from tracecore.vector import address, all_lanes, emitting, load4_in_8, load8, store, transpose8

#: Rays handled together; columns of so many stay in the cache next to the core. A multiple of LANES.
CHUNK = 192

#: Numbers of the longest vector.
LANES = 16

#: From one column of scratch to the next, in numbers: CHUNK, and places for a last vector that is not full.
COLUMN = CHUNK + LANES

WORD_BYTES = 4
ROW_BYTES = 32
COLUMN_BYTES = WORD_BYTES * COLUMN

FLOAT, I32, I64 = ir.FloatType(), ir.IntType(32), ir.IntType(64)

Places = npt.NDArray[np.int32]
Sources = tuple[int, int, int, int, int, int, int, int]


class _Distinct(ir.values.MDValue):
    """A node of metadata that is equal to none but itself."""

    def __init__(self, module: Any) -> None:
        super().__init__(module, (), name=str(len(module.metadata)))

    def descr(self, lines: list[str]) -> None:
        """LLVM's text for it, as llvmlite asks for it."""
        operands = ", ".join(operand.get_reference() for operand in self.operands)
        lines += (f"distinct !{{ {operands} }}", "\n")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


@emitting
def each(typing: Any, body: Any, count: Any, data: Any) -> Any:
    """Call body(i, data) for every i below count: a compiled function that is merged into the loop.

    What it does for one i must depend on nothing that it does for another. Loops in Python cannot say so, and LLVM then
    compares the addresses of all columns each time, or gives up. data: must hold no arrays, but their addresses. What a
    `whole` count leaves over is done number by number.
    """
    if not isinstance(body, types.Dispatcher):
        raise TypingError(f"each takes a compiled function, not {body}")
    called = typing.resolve_function_type(body, (types.int64, data), {})

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, last, value = arguments
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
        _declare_independent(builder.module, [loop, *builder.function.blocks[blocks:]], jump)
        builder.position_at_end(done)
        return context.get_dummy_value()

    return types.void(body, types.int64, data), emit


@inlined
def whole(count: int) -> int:
    """A count rounded up to whole vectors, where places behind the last one may be written."""
    return (count + (LANES - 1)) & -LANES


def _declare_independent(module: Any, blocks: list[Any], jump: Any) -> None:
    """Say that what the calls in a loop read and write does not depend on other turns of it.

    One vector at a time: of two at a time LLVM would leave up to a vector and a half to the end, one number by one.
    """
    group, loop = _Distinct(module), _Distinct(module)
    for block in blocks:
        for call in block.instructions:
            if isinstance(call, ir.CallInstr):
                call.set_metadata("llvm.access.group", group)
    independent = module.add_metadata([ir.MetaDataString(module, "llvm.loop.parallel_accesses"), group])
    one_vector = module.add_metadata([ir.MetaDataString(module, "llvm.loop.interleave.count"), I32(1)])
    loop.operands = (loop, independent, one_vector)
    jump.set_metadata("llvm.loop", loop)


def _get(kind: Any, value: Any, place: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first = builder.inttoptr(arguments[0], value.as_pointer())
        return builder.load(builder.gep(first, [arguments[1]]), align=WORD_BYTES)

    return kind(types.int64, place), emit


@emitting
def get(typing: Any, column: Any, place: Any) -> Any:
    """The float32 at a place of the column at an address."""
    return _get(types.float32, FLOAT, place)


@emitting
def get_int(typing: Any, column: Any, place: Any) -> Any:
    """The int32 at a place of the column at an address."""
    return _get(types.int32, I32, place)


@emitting
def get_word(typing: Any, column: Any, place: Any) -> Any:
    """The uint32 at a place of the column at an address."""
    return _get(types.uint32, I32, place)


@emitting
def put(typing: Any, column: Any, place: Any, value: Any) -> Any:
    """Write 32 bits, a float32, int32 or uint32, at a place of the column at an address."""
    if value not in (types.float32, types.int32, types.uint32):
        raise TypingError(f"a column takes numbers of 32 bits, not {value}")

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first = builder.inttoptr(arguments[0], arguments[2].type.as_pointer())
        builder.store(arguments[2], builder.gep(first, [arguments[1]]), align=WORD_BYTES)
        return context.get_dummy_value()

    return types.void(types.int64, place, value), emit


@inlined
def get3(columns: int, step: int, place: int) -> Vec3:
    """A vector from three columns, `step` bytes apart."""
    return (get(columns, place), get(columns + step, place), get(columns + 2 * step, place))


@inlined
def put3(columns: int, step: int, place: int, vector: Vec3) -> None:
    """Write a vector to three columns, `step` bytes apart."""
    put(columns, place, vector[0])
    put(columns + step, place, vector[1])
    put(columns + 2 * step, place, vector[2])


@inlined
def column(scratch: Floats, i: int) -> Vec3:
    """Vector i of three columns of scratch."""
    return get3(address(scratch), COLUMN_BYTES, i)


@inlined
def set_column(scratch: Floats, i: int, vector: Vec3) -> None:
    """Set vector i of three columns of scratch."""
    put3(address(scratch), COLUMN_BYTES, i, vector)


def _packed_lanes() -> list[int]:
    """For each set of eight lanes their numbers, a byte each, side by side from the lowest byte on."""
    sets = ([lane for lane in range(8) if bits >> lane & 1] for bits in range(256))
    return [sum(lane << 8 * k for k, lane in enumerate(lanes)) for lanes in sets]


@emitting
def matches8(typing: Any, words: Any, mask: Any, bits: Any) -> Any:
    """Which of the eight uint32 at an address have these bits under a mask: an int64, a bit for each, lane 0 lowest."""
    eight = ir.VectorType(I32, 8)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place, mask, bits = arguments
        loaded = builder.load(builder.inttoptr(place, eight.as_pointer()), align=WORD_BYTES)
        equal = builder.icmp_unsigned(
            "==", builder.and_(loaded, all_lanes(builder, mask, 8)), all_lanes(builder, bits, 8)
        )
        return builder.zext(builder.bitcast(equal, ir.IntType(8)), I64)

    return types.int64(types.int64, types.uint32, types.uint32), emit


@emitting
def put_lanes(typing: Any, target: Any, lanes: Any, first: Any) -> Any:
    """Write first + lane, int32, side by side to an address for the lanes of a set; eight are written in all.

    lanes: the set, 0..255. Returns how many they are. A table has their numbers for each set.
    """
    eight, table = ir.VectorType(I32, 8), ir.ArrayType(I64, 256)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, lanes, first = arguments
        packed = cgutils.global_constant(builder, "packed_lanes", ir.Constant(table, _packed_lanes()))
        entry = builder.load(builder.gep(packed, [I64(0), lanes]))
        numbers = builder.zext(builder.bitcast(entry, ir.VectorType(ir.IntType(8), 8)), eight)
        places = builder.add(numbers, all_lanes(builder, builder.trunc(first, I32), 8))
        builder.store(places, builder.inttoptr(target, eight.as_pointer()), align=WORD_BYTES)
        return builder.ctpop(lanes)

    return types.int64(types.int64, types.int64, types.int64), emit


@inlined
def list_places(words: int, wanted: tuple[np.uint32, np.uint32], count: int, places: int) -> int:
    """List where words of a column have the wanted bits of a mask, and close the list. Returns its length.

    wanted: mask and bits. A list has room for LANES places more than it may have.
    """
    mask, bits = wanted
    length = 0
    for i in range(0, count, 8):
        lanes = matches8(words + WORD_BYTES * i, mask, bits) & (0xFF >> max(0, i + 8 - count))
        length += put_lanes(places + WORD_BYTES * length, lanes, i)
    close_list(places, length)
    return length


@inlined
def close_list(places: int, length: int) -> None:
    """Add places behind a chunk to a list of places of it, so that `each` may go on to the end of a vector."""
    for i in range(LANES):
        put(places, length + i, np.int32(CHUNK + i))


@inlined
def gather_columns(rows: int, row_bytes: int, places: Places, count: int, columns: int) -> None:
    """The first 32 bytes of the rows at `places` become eight columns of scratch.

    Eight places at a time are read, also if count is no multiple of eight: all of them must exist.
    """
    for i in range(0, count, 8):
        _transpose(_rows(rows, row_bytes, places, i), columns + WORD_BYTES * i)


@inlined
def gather_half_columns(rows: int, row_bytes: int, places: Places, count: int, columns: int) -> None:
    """As `gather_columns`: the first 16 bytes become four columns."""
    for i in range(0, count, 8):
        _transpose_half(_rows(rows, row_bytes, places, i), columns + WORD_BYTES * i)


@inlined
def _rows(rows: int, row_bytes: int, places: Places, i: int) -> Sources:
    """Addresses of the rows at eight places."""
    return (
        _row(rows, row_bytes, places, i),
        _row(rows, row_bytes, places, i + 1),
        _row(rows, row_bytes, places, i + 2),
        _row(rows, row_bytes, places, i + 3),
        _row(rows, row_bytes, places, i + 4),
        _row(rows, row_bytes, places, i + 5),
        _row(rows, row_bytes, places, i + 6),
        _row(rows, row_bytes, places, i + 7),
    )


@inlined
def _row(rows: int, row_bytes: int, places: Places, i: int) -> int:
    """Address of the row at one of the places."""
    return rows + row_bytes * int(places[i])


@inlined
def _transpose(sources: Sources, target: int) -> None:
    """Eight times eight words to columns."""
    a, b, c, d, e, f, g, h = sources
    rows = transpose8((load8(a), load8(b), load8(c), load8(d), load8(e), load8(f), load8(g), load8(h)))
    store(target, rows[0])
    store(target + COLUMN_BYTES, rows[1])
    store(target + 2 * COLUMN_BYTES, rows[2])
    store(target + 3 * COLUMN_BYTES, rows[3])
    store(target + 4 * COLUMN_BYTES, rows[4])
    store(target + 5 * COLUMN_BYTES, rows[5])
    store(target + 6 * COLUMN_BYTES, rows[6])
    store(target + 7 * COLUMN_BYTES, rows[7])


@inlined
def _transpose_half(sources: Sources, target: int) -> None:
    """Eight times four words to columns."""
    a, b, c, d, e, f, g, h = sources
    rows = transpose8(
        (
            load4_in_8(a),
            load4_in_8(b),
            load4_in_8(c),
            load4_in_8(d),
            load4_in_8(e),
            load4_in_8(f),
            load4_in_8(g),
            load4_in_8(h),
        )
    )
    store(target, rows[0])
    store(target + COLUMN_BYTES, rows[1])
    store(target + 2 * COLUMN_BYTES, rows[2])
    store(target + 3 * COLUMN_BYTES, rows[3])
