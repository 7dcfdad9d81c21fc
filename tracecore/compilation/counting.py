"""Leaves out the counting of references to arrays where nothing can come of it.

Numba counts whoever refers to an array, which frees the array of the last one. In a function that only looks at arrays
of its arguments, nobody else than its caller owns them, and no count reaches zero; but for every array of every tuple
that is named or handed on, instructions are made, and removed by the optimiser again if it can see that they cancel
out. A scene has some seventy arrays. Numba's lowering of such functions takes half of the time without them.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

from typing import Any

from numba.core import ir, types
from numba.core.compiler_machinery import AnalysisPass, register_pass

from tracecore.compilation.borrowing import Borrowed

#: What an array may be indexed with to get a part of the same memory.
BASIC_INDICES = (types.Integer, types.SliceType, types.EllipsisType, types.NoneType)

#: Expressions whose arrays are those of their operands, whatever these are.
HANDING_ON = ("build_tuple", "cast", "phi", "exhaust_iter")


@register_pass(analysis_only=True, mutates_CFG=False)
class LeaveUncounted(AnalysisPass):
    """Is a compiler's pass, between typing and lowering: has a function lowered without counts if it needs none."""

    _name = "leave_uncounted"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Sets the context by which the function is lowered; returns False, as statements stay as they are."""
        if borrows_only(state):
            state.targetctx = state.targetctx.subtarget(enable_nrt=False)
            vars(state.targetctx).pop("nrt", None)  # kept from the context that counts
        return False


def borrows_only(state: Any) -> bool:
    """Returns whether a function that has been typed refers to no arrays but those of its arguments and returns none.

    state: of Numba's compiler.
    """
    if _is_counted(state, state.return_type):
        return False
    assigned = (one for block in state.func_ir.blocks.values() for one in block.find_insts(ir.Assign))
    return all(
        not _is_counted(state, state.typemap[one.target.name]) or _is_borrowed(one.value, state.typemap)
        for one in assigned
    )


def _is_counted(state: Any, kind: Any) -> bool:
    """Returns whether there is something to count in values of a type."""
    return bool(state.targetctx.data_model_manager[kind].contains_nrt_meminfo())


def _is_borrowed(value: Any, typemap: Any) -> bool:
    """Returns whether what is assigned is made of arrays that were there before."""
    if not isinstance(value, ir.Expr):
        return isinstance(value, ir.Arg | ir.Var | ir.Global | ir.FreeVar | ir.Const)
    if value.op == "call":
        return isinstance(typemap[value.func.name], types.NamedTupleClass)
    if value.op in ("getattr", "getitem", "static_getitem"):
        owner = typemap[value.value.name]
        return isinstance(owner, types.BaseTuple | Borrowed) or (
            isinstance(owner, types.Array) and value.op != "getattr" and _is_basic(_index_type(value, typemap))
        )
    return value.op in HANDING_ON


def _index_type(value: Any, typemap: Any) -> Any:
    index = value.index if value.op == "getitem" else value.index_var
    return None if index is None else typemap[index.name]


def _is_basic(index: Any) -> bool:
    parts: Any = index if isinstance(index, types.BaseTuple) else (index,)
    return all(isinstance(one, BASIC_INDICES) for one in parts)
