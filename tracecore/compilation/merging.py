"""Merges the machine code of functions with whoever calls them, once.

By itself Numba makes machine code of each function that a compiled function calls, together with all that this one
calls itself, so that what is deepest is made again on every level above, and gives each an entry for callers in Python
and one for callers in C. Here only what Python calls becomes machine code. (All below is optimised by itself, though:
where the optimiser first saw loops inside of a whole driver, photons on real materials took 8% longer.)

References to arrays are not counted where nothing can come of it. Numba counts whoever refers to an array, which frees
the array of the last one. In a function that only looks at arrays of its arguments, nobody else than its caller owns
them, and no count reaches zero; but for every array of every tuple that is named or handed on, instructions are made,
and removed by the optimiser again if it can see that they cancel out. A scene has some seventy arrays. Numba's lowering
of such functions takes half of the time without them.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call, call-overload"

from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any

import numba
from numba.core import ir, types
from numba.core.compiler_machinery import AnalysisPass, register_pass

from tracecore.compilation.borrowing import Borrowed
from tracecore.compilation.lanes import for_warp, part_for_warp
from tracecore.compilation.numba_inside import (
    AnnotateTypes,
    Compiler,
    CPUDispatcher,
    JITCodeLibrary,
    get_host_cpu_features,
)

#: How everything is compiled: in IEEE arithmetic, to run without the interpreter lock.
OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

#: What an array may be indexed with to get a part of the same memory.
BASIC_INDICES = (types.Integer, types.SliceType, types.EllipsisType, types.NoneType)

#: Expressions whose arrays are those of their operands, whatever these are.
HANDING_ON = ("build_tuple", "cast", "phi", "exhaust_iter")


def use_widest_vectors() -> None:
    """Has Numba use all 512 bits of vectors where the processor has them, unless the user chose what it has.

    LLVM keeps to 256 on Intel's, as the first ones of them slowed down for wider ones. On Emerald Rapids photons are
    shaded in 16 to 18 ns a ray with 512 bits and in 19 with 256, on all of 16 cores at a time. Numba looks at its
    settings when it sees the first function that is to be compiled: later than this.
    """
    features = get_host_cpu_features()
    chosen = numba.config.CPU_NAME or numba.config.CPU_FEATURES  # type: ignore[attr-defined]
    if chosen is None and "+avx512f" in features.split(","):
        numba.config.CPU_FEATURES = f"{features},-prefer-256-bit"  # type: ignore[attr-defined]


use_widest_vectors()


def has_widest_vectors() -> bool:
    """Returns whether code is compiled for vectors of 512 bits."""
    if chosen := numba.config.CPU_FEATURES:  # type: ignore[attr-defined]
        features = str(chosen)
    elif numba.config.CPU_NAME:  # type: ignore[attr-defined]
        return False
    else:
        features = get_host_cpu_features()
    return "+avx512f" in features.split(",") and "-prefer-256-bit" in features.split(",")


class PartLibrary(JITCodeLibrary):
    """Holds code that is merged with that of a caller, and made machine code only there."""

    @property
    def codegen(self) -> Any:
        """Returns what Numba tells where a function's environment is."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Does nothing: only machine code has an environment."""

    def get_pointer_to_function(self, name: str) -> int:
        """Completes the code. It has no address, so that 0 is returned."""
        self._ensure_finalized()
        return 0

    def _optimize_functions(self, module: Any) -> None:
        """Leaves functions to `_optimize_final_module`, which begins with the same."""
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Optimises the module once. (Numba does it twice, with references counted in the first round; see
        `counting`.) What is for a warp is optimised for its GPU as a whole (`gpu_code`).
        """
        if for_warp():
            return
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class PartCompiler(Compiler):
    """Compiles to a `PartLibrary`, without counts of references where there is nothing to count."""

    def define_pipelines(self) -> Any:
        """Returns the pipelines of Numba, which now write to a `PartLibrary`."""
        self.state.library = PartLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        (pipeline,) = super().define_pipelines()
        pipeline.add_pass_after(LeaveUncounted, AnnotateTypes)
        pipeline.finalize()
        return [pipeline]


class MergedFunction(CPUDispatcher):
    """Is a function that Python calls, and that does not call itself. Compiled code that calls it is merged with its
    part.

    is_inlined: whether the part is always inlined.
    """

    def __init__(self, function: Callable[..., Any], is_inlined: bool = False) -> None:
        super().__init__(function, targetoptions=OPTIONS | {"nopython": True, "boundscheck": None})
        self._is_inlined = is_inlined

    @property
    def part(self) -> Any:
        """Returns the part, for Numba: that for a warp while one is compiled for."""
        if for_warp():
            return part_for_warp(self, lambda: part(self.py_func, self._is_inlined))
        return self._part

    @cached_property
    def _part(self) -> Any:
        return part(self.py_func, self._is_inlined)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.part)


class Merged:
    """Is a function that compiled code calls, and is merged with. Python may call it too, which compiles it alone.

    Numba hears of it when it is first called, so that hundreds of such functions take no time at each start.

    is_inlined: whether it is always inlined.
    """

    def __init__(self, function: Callable[..., Any], is_inlined: bool = False) -> None:
        self.py_func, self._is_inlined = function, is_inlined
        update_wrapper(self, function)

    @cached_property
    def whole(self) -> Any:
        """Returns what Python and Numba call."""
        return MergedFunction(self.py_func, self._is_inlined)

    @property
    def _numba_type_(self) -> Any:
        return self.whole._numba_type_

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Calls the machine code."""
        return self.whole(*arguments, **named)


def part(function: Callable[..., Any], is_inlined: bool) -> Any:
    """Returns a function that only compiled code calls."""
    options = OPTIONS | {"no_cpython_wrapper": True, "forceinline": is_inlined}
    return numba.njit(pipeline_class=PartCompiler, **options)(function)


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
