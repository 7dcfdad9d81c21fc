"""What the primitives of `renderer.simd.columns` are for the lanes of a warp (`tracecore.compilation.lanes`).

Each function makes LLVM's instructions from the arguments of the primitive of its name.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="no-untyped-call"

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from tracecore.compilation.lanes import I1, I32, I64, LANES, is_in, lane, meet, rank, sum_over_lanes, vote

#: Bytes of a word, and what columns are aligned to.
WORD_BYTES = 4


def own(builder: Any, last: Any, body: Callable[[Any], None]) -> None:
    """Has each lane below `last` do its own index: a chunk has an element for each lane, which nobody else looks at."""
    index = lane(builder)
    with builder.if_then(builder.icmp_signed("<", index, last)):
        body(index)


def listed(builder: Any, last: Any, body: Callable[[Any], None]) -> None:
    """Does the same between two meetings: the body is about what other lanes had before, and have again."""
    meet(builder)
    own(builder, last, body)
    meet(builder)


def loop(builder: Any, last: Any, body: Callable[[Any], None]) -> None:
    """Has each lane do its own indices below `last`, between two meetings."""
    meet(builder)
    first = lane(builder)
    entry, doing = builder.block, builder.append_basic_block("lanes")
    done = builder.append_basic_block("lanes.done")
    builder.cbranch(builder.icmp_signed("<", first, last), doing, done)
    builder.position_at_end(doing)
    i = builder.phi(I64)
    i.add_incoming(first, entry)
    body(i)
    following = builder.add(i, I64(LANES), flags=["nsw"])
    i.add_incoming(following, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, last), doing, done)
    builder.position_at_end(done)
    meet(builder)


def _word(builder: Any, column: Any, index: Any) -> Any:
    return builder.gep(builder.inttoptr(column, I32.as_pointer()), [index])


def matches(builder: Any, source: Any, mask: Any, bits: Any) -> Any:
    """Returns which lanes' words have these bits under a mask."""
    word = builder.load(_word(builder, source, lane(builder)), align=WORD_BYTES)
    return vote(builder, builder.icmp_unsigned("==", builder.and_(word, mask), bits))


def put_elements(builder: Any, target: Any, elements: Any, first: Any) -> Any:
    """Has each lane of the set write its number."""
    place = _word(builder, target, rank(builder, elements))
    number = builder.trunc(builder.add(first, lane(builder)), I32)
    with builder.if_then(is_in(builder, elements)):
        builder.store(number, place, align=WORD_BYTES)
    meet(builder)
    return builder.ctpop(elements)


def pack_elements(builder: Any, arguments: Any) -> Any:
    """Has each lane of the set copy its words, once all have read theirs: a target may be its source."""
    elements, sources, index, targets, packed = arguments
    own, place = builder.add(index, lane(builder)), builder.add(packed, rank(builder, elements))
    mine = is_in(builder, elements)
    read, words = builder.append_basic_block("read"), []
    before, after = builder.block, builder.append_basic_block("read.done")
    builder.cbranch(mine, read, after)
    builder.position_at_end(read)
    loaded = [
        builder.load(_word(builder, one, own), align=WORD_BYTES) for one in cgutils.unpack_tuple(builder, sources)
    ]
    builder.branch(after)
    builder.position_at_end(after)
    for one in loaded:
        word = builder.phi(I32)
        word.add_incoming(one, read)
        word.add_incoming(ir.Constant(I32, ir.Undefined), before)
        words.append(word)
    meet(builder)
    with builder.if_then(mine):
        for target, word in zip(cgutils.unpack_tuple(builder, targets), words, strict=True):
            builder.store(word, _word(builder, target, place), align=WORD_BYTES)
    meet(builder)
    return builder.add(packed, builder.ctpop(elements))


def put_columns(builder: Any, arguments: tuple[Any, ...]) -> None:
    """Has each lane turn a row's words into columns, four at a time."""
    first, row_bytes, indices, quads, target, left = arguments
    own, four = lane(builder), ir.VectorType(I32, 4)
    with builder.if_then(builder.icmp_signed("<", own, left)):
        number = builder.sext(builder.load(_word(builder, indices, own), align=WORD_BYTES), I64)
        row = builder.add(first, builder.mul(number, row_bytes))
        for quad, offset in enumerate(cgutils.unpack_tuple(builder, quads)):
            place = builder.inttoptr(builder.add(row, offset), four.as_pointer())
            words = builder.load(place, align=4 * WORD_BYTES)
            for k in range(4):
                column = builder.add(target, I64((4 * quad + k) * LANES * WORD_BYTES))
                builder.store(builder.extract_element(words, I32(k)), _word(builder, column, own), align=WORD_BYTES)
    meet(builder)


def sum_of_words(builder: Any, column: Any, count: Any) -> Any:
    """Returns the sum of the first `count` words of a column, no more than there are lanes, uint32."""
    index = lane(builder)
    before, adding = builder.block, builder.append_basic_block("word")
    after = builder.append_basic_block("word.done")
    builder.cbranch(builder.icmp_signed("<", index, count), adding, after)
    builder.position_at_end(adding)
    word = builder.load(_word(builder, column, index), align=WORD_BYTES)
    builder.branch(after)
    builder.position_at_end(after)
    mine = builder.phi(I32)
    mine.add_incoming(word, adding)
    mine.add_incoming(I32(0), before)
    return sum_over_lanes(builder, mine)


def fitting(builder: Any, elements: Any, packed: Any) -> tuple[Any, Any]:
    """Returns those of a set for which there is room, and how many lanes were looked at to find them: all, or up to the
    last one that fits."""
    room = builder.sub(I64(LANES), packed)
    mine = builder.and_(is_in(builder, elements), builder.icmp_signed("<", rank(builder, elements), room))
    taken = vote(builder, mine)
    bits = builder.sub(I64(64), builder.ctlz(taken, I1(0)))
    return taken, builder.select(builder.icmp_unsigned("==", taken, elements), I64(LANES), bits)
