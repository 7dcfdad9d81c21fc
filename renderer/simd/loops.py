"""This module has loops over columns: what is done for one element depends on nothing that is done for another."""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

from typing import Any

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError

from renderer.simd import in_lanes
from renderer.simd.columns import ELEMENTS, I32, I64, constant
from tracecore.compilation.cached import inlined
from tracecore.compilation.lanes import for_warp
from tracecore.compilation.vector import emitting


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
    numbers: the elements of a list, or rays of a batch. The body may do anything with what belongs to its own."""
    return _loop(typing, body, data, vectors=0, in_warp=in_lanes.loop)


@emitting
def longest(typing: Any) -> Any:
    """Returns what counts are rounded up to: lanes write no more than they are asked to."""
    return constant(ELEMENTS, 1)


@inlined
def whole(count: int) -> int:
    """Returns a count rounded up to whole vectors, for columns that may be written behind the last element."""
    return (count + (longest() - 1)) & -longest()


@inlined
def whole_pairs(count: int) -> int:
    """Returns a count rounded up to whole pairs of vectors."""
    return whole(count) if longest() == 1 else (count + (2 * ELEMENTS - 1)) & (-2 * ELEMENTS)


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
