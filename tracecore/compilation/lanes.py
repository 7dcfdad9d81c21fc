"""Compiles for the lanes of a warp what is otherwise compiled for the elements of a vector.

Loops over columns are written once, over a few primitives (`renderer.simd.columns`). On a CPU these are instructions
for vectors; here each is what 32 lanes of a GPU do together, as one: every lane runs the whole function, a loop over a
column gives each lane its own elements, and a set of elements is what the lanes vote. What is not in such a loop all
lanes compute alike, from the same numbers, so that they never part but within the body of a loop.

The functions below make LLVM's instructions for whoever emits a primitive.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="no-untyped-call"

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils

#: Lanes of a warp. AMD's have 64: sets of elements are int64, and have room for them.
LANES = 32

I1, I32, I64 = ir.IntType(1), ir.IntType(32), ir.IntType(64)
ALL_LANES = I32(-1)


#: Loops that code for a warp calls by their numbers: which of several each is, and a call of the unit
#: (`unit_calls.Call`).
Loops = tuple[tuple[int, Any], ...]


class Parts(NamedTuple):
    """Says what code for a warp is made of.

    loops: that it calls by their numbers.
    needs: what it is for: units that are for something else (`Unit.need`) are left out.
    """

    loops: Loops
    needs: frozenset[str]


#: What code without loops of BSDFs and units is made of.
NO_PARTS = Parts((), frozenset())


class _Target(threading.local):
    """Says what the thread compiles for."""

    is_warp = False
    made_of = NO_PARTS
    parts: dict[Any, Any] = {}  # noqa: RUF012


_target = _Target()

#: What stands for functions that were compiled, by what the code is made of. Numba's types refer to them weakly, and
#: are compared later.
_kept: dict[Parts, dict[Any, Any]] = {}


def for_warp() -> bool:
    """Returns whether the calling thread compiles for the lanes of a warp."""
    return _target.is_warp


def part_for_warp(key: Any, make: Callable[[], Any]) -> Any:
    """Returns what stands for a function in the code that is compiled, made once for it: other code has other loops."""
    if key not in _target.parts:
        _target.parts[key] = make()
    return _target.parts[key]


def loops() -> Loops:
    """Returns the loops of the code that is compiled."""
    return _target.made_of.loops


def is_left_out(need: str | None) -> bool:
    """Returns whether what is for something is left out of the code that is compiled."""
    return for_warp() and need is not None and need not in _target.made_of.needs


@contextmanager
def compiling_for_warp(made_of: Parts) -> Iterator[None]:
    """Has the block compile for the lanes of a warp."""
    _target.is_warp, _target.made_of, _target.parts = True, made_of, _kept.setdefault(made_of, {})
    try:
        yield
    finally:
        _target.is_warp, _target.made_of, _target.parts = False, NO_PARTS, {}


def instruction(builder: Any, name: str, returned: Any, arguments: Sequence[Any] = ()) -> Any:
    """Makes one of a GPU's own instructions, and returns what it gives."""
    kind = ir.FunctionType(returned, [one.type for one in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


def lane(builder: Any) -> Any:
    """Returns the number of the lane, int64."""
    return builder.zext(instruction(builder, "llvm.nvvm.read.ptx.sreg.laneid", I32), I64)


def meet(builder: Any) -> None:
    """Has all lanes come here before one goes on, and see what the others wrote before."""
    instruction(builder, "llvm.nvvm.bar.warp.sync", ir.VoidType(), [ALL_LANES])


def vote(builder: Any, answer: Any) -> Any:
    """Returns the set of the lanes whose answer, an i1, is yes: int64, lane 0 lowest."""
    return builder.zext(instruction(builder, "llvm.nvvm.vote.ballot.sync", I32, [ALL_LANES, answer]), I64)


def from_first(builder: Any, value: Any) -> Any:
    """Returns the int64 that lane 0 has."""
    halves = [builder.trunc(value, I32), builder.trunc(builder.lshr(value, I64(32)), I32)]
    low, high = (
        instruction(builder, "llvm.nvvm.shfl.sync.idx.i32", I32, [ALL_LANES, one, I32(0), I32(31)]) for one in halves
    )
    return builder.or_(builder.zext(low, I64), builder.shl(builder.zext(high, I64), I64(32)))


def in_first_lane(builder: Any, act: Callable[[], Any]) -> Any:
    """Has lane 0 alone do something; returns to all lanes the int64 that it makes, or None if it makes none."""
    meet(builder)
    before, doing = builder.block, builder.append_basic_block("first.lane")
    done = builder.append_basic_block("first.lane.done")
    builder.cbranch(builder.icmp_unsigned("==", lane(builder), I64(0)), doing, done)
    builder.position_at_end(doing)
    made = act()
    after = builder.block
    builder.branch(done)
    builder.position_at_end(done)
    if made is None:
        meet(builder)
        return None
    value = builder.phi(I64)
    value.add_incoming(made, after)
    value.add_incoming(I64(0), before)
    return from_first(builder, value)


def rank(builder: Any, elements: Any) -> Any:
    """Returns how many lanes below this one are in a set, int64."""
    below = builder.sub(builder.shl(I64(1), lane(builder)), I64(1))
    return builder.ctpop(builder.and_(elements, below))


def is_in(builder: Any, elements: Any) -> Any:
    """Returns whether this lane is in a set, i1."""
    return builder.trunc(builder.lshr(elements, lane(builder)), I1)


def sum_over_lanes(builder: Any, number: Any) -> Any:
    """Returns the sum of an int32 over all lanes."""
    return instruction(builder, "llvm.nvvm.redux.sync.add", I32, [number, ALL_LANES])
