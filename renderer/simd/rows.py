"""This module turns rows, such as records of triangles, into columns of scratch, a vector of rows at a time."""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from renderer.simd import in_lanes
from renderer.simd.columns import COLUMN_BYTES, I32, I64, VECTOR_WIDTH, WIDE, WORD_BYTES, in_chunk, width
from tracecore.compilation.cached import inlined
from tracecore.compilation.lanes import for_warp
from tracecore.compilation.vector import emitting


@inlined
def gather_columns(rows: int, row_bytes: int, indices: int, count: int, columns: tuple[tuple[int, ...], int]) -> None:
    """Turns words of rows into columns of scratch.

    indices: address of the rows' numbers, int32. VECTOR_WIDTH of them at a time are read, also if count is no
        multiple of it: all of these rows must exist.
    columns: by how many bytes each four words are behind the start of a row, and where the first column goes.
    """
    quads, target = columns
    for i in range(0, in_chunk(count), width()):
        put_columns(rows, row_bytes, indices + WORD_BYTES * i, quads, (target + WORD_BYTES * i, count - i))


@emitting
def put_columns(typing: Any, rows: Any, row_bytes: Any, indices: Any, quads: Any, target: Any) -> Any:
    """Turns four words, some bytes behind the start of each of `width()` rows, into four columns of scratch, and
    the next ones into the next four. target: also has how many rows are left, all of which a vector takes.

    Two or four rows share a vector, and words are permuted within its quarters alone. A few rows at a time are read as
    a whole, so that registers hold their addresses.
    """
    quarters = VECTOR_WIDTH // 4

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first, row_bytes, indices, quads, goal = arguments
        target, left = cgutils.unpack_tuple(builder, goal)
        if for_warp():
            in_lanes.put_columns(builder, (first, row_bytes, indices, quads, target, left))
            return context.get_dummy_value()
        numbers = builder.inttoptr(indices, I32.as_pointer())
        offsets, vectors = cgutils.unpack_tuple(builder, quads), []
        for k in range(4):
            numbered = [
                builder.load(builder.gep(numbers, [I64(k + 4 * quarter)]), align=WORD_BYTES)
                for quarter in range(quarters)
            ]
            read = [builder.add(first, builder.mul(builder.sext(number, I64), row_bytes)) for number in numbered]
            vectors.append([_joined(builder, [builder.add(row, offset) for row in read]) for offset in offsets])
        for quad in range(len(offsets)):
            for k, words in enumerate(_transposed(builder, [vector[quad] for vector in vectors])):
                column = builder.add(target, I64((4 * quad + k) * COLUMN_BYTES))
                builder.store(words, builder.inttoptr(column, WIDE.as_pointer()), align=WORD_BYTES)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, quads, target), emit


def _joined(builder: Any, rows: list[Any]) -> Any:
    """Returns four words from each of some addresses, side by side."""
    parts = [builder.load(builder.inttoptr(row, ir.VectorType(I32, 4).as_pointer()), align=WORD_BYTES) for row in rows]
    while len(parts) > 1:
        elements = list(range(2 * parts[0].type.count))
        parts = [_mixed(builder, a, b, elements) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def _transposed(builder: Any, vectors: list[Any]) -> list[Any]:
    """Returns the columns of four vectors, where quarter q of vector k has the words of row k + 4 q."""
    low, high = [0, VECTOR_WIDTH, 1, VECTOR_WIDTH + 1], [2, VECTOR_WIDTH + 2, 3, VECTOR_WIDTH + 3]
    first, second = (
        [_mixed(builder, vectors[k], vectors[k + 1], _in_quarters(mask)) for mask in (low, high)] for k in (0, 2)
    )
    low, high = [0, 1, VECTOR_WIDTH, VECTOR_WIDTH + 1], [2, 3, VECTOR_WIDTH + 2, VECTOR_WIDTH + 3]
    return [_mixed(builder, first[k], second[k], _in_quarters(mask)) for k in (0, 1) for mask in (low, high)]


def _in_quarters(mask: list[int]) -> list[int]:
    """Returns the permutation that does with all fours of two vectors what `mask` does with the first four words."""
    return [element + quarter for quarter in range(0, VECTOR_WIDTH, 4) for element in mask]


def _mixed(builder: Any, a: Any, b: Any, mask: list[int]) -> Any:
    """Returns a vector of words of two vectors, taken by number."""
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(I32, len(mask)), mask))
