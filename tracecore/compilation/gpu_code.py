"""Makes code for a GPU of compiled functions: from the same source as that of the CPU, and with the same bits.

Numba turns a function into LLVM's instructions, and LLVM makes code for GPUs as it does for CPUs. No product and sum
are contracted, divisions and roots are rounded to nearest, denormals are kept. llvmlite has LLVM's back ends for the
GPUs of NVIDIA and AMD, so that neither a compiler of CUDA nor another front end is needed.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call, attr-defined"

import functools
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types

from tracecore.collector import collector_paused
from tracecore.compilation.lanes import I32, I64, Parts, compiling_for_warp, instruction
from tracecore.compilation.merging import part
from tracecore.compilation.numba_inside import default_manager, global_compiler_lock
from tracecore.compilation.side_by_side import Helpers, Job
from tracecore.compilation.unit_calls import Call, called_by_name
from tracecore.compilation.vector import emitting

TRIPLE = "nvptx64-nvidia-cuda"
LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"

#: The version of PTX that LLVM writes, and of CUDA, from which on a kernel takes more than 4 KB, as a driver tells it.
PTX, LEAST_CUDA = "+ptx81", 12_010

#: What Numba calls of the C library and of its runtime, as LLVM's own instructions. Nothing is counted or allocated.
SUPPORT = """
declare float @llvm.sqrt.f32(float)
declare double @llvm.sqrt.f64(double)
declare double @llvm.floor.f64(double)
define internal float @sqrtf(float %x) alwaysinline {
  %root = call float @llvm.sqrt.f32(float %x)
  ret float %root
}
define internal double @sqrt(double %x) alwaysinline {
  %root = call double @llvm.sqrt.f64(double %x)
  ret double %root
}
define internal double @floor(double %x) alwaysinline {
  %whole = call double @llvm.floor.f64(double %x)
  ret double %whole
}
define internal void @NRT_incref(ptr %one) alwaysinline {
  ret void
}
define internal void @NRT_decref(ptr %one) alwaysinline {
  ret void
}
define internal ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) alwaysinline {
  ret ptr null
}
"""
SUPPORTED = re.findall(r"(?:define|declare) .*@([\w.]+)\(", SUPPORT)

#: In Numba's own instructions: what `SUPPORT` has instead, the machine that they are for, and its own functions; then
#: variables that others could see, and how functions begin.
_NAMES = "|".join(map(re.escape, SUPPORTED))
_UNWANTED = re.compile(
    rf"^(?:target |declare .*@(?:(?:{_NAMES})\(|llvm\.x86\.)).*\n|^define .*@(?:{_NAMES})\(.*\n(?:.*\n)*?}}\n", re.M
)
_GLOBAL = re.compile(r"= (?:common |linkonce |linkonce_odr )(?:local_unnamed_addr |unnamed_addr )?global")
_HEAD = re.compile(r"^define (?:linkonce_odr |internal |private )?(.*?)(?: #\d+)? \{$", re.M)

#: The entry takes by value what the function takes: a GPU has these bytes among its constants, so that no lane waits
#: for a field of it or keeps one in a register.
ENTRY = """
declare i32 @{name}(ptr, ptr, ptr)
define {convention} void @{kernel}(ptr {passing} %given) #999 {{
  %result = alloca ptr
  %error = alloca ptr
  %status = call i32 @{name}(ptr %result, ptr %error, ptr %given)
  ret void
}}
attributes #999 = {{ nounwind {attributes} }}
"""

#: Memory of a block, which lies next to its multiprocessor's core.
SHARED = "warp_scratch"


@emitting
def warp_index(typing: Any) -> Any:
    """Returns which warp of the launch this is. Each is a block: what all lanes do alike takes registers once."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.zext(instruction(builder, "llvm.nvvm.read.ptx.sreg.ctaid.x", I32), I64)

    return types.int64(), emit


@emitting
def beside_core(typing: Any, array: Any) -> Any:
    """Returns an array like another one, C-contiguous, in the shared memory that this warp has."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = context.make_array(array)(context, builder, arguments[0])
        shared = builder.module.globals.get(SHARED)
        if shared is None:
            shared = ir.GlobalVariable(builder.module, ir.ArrayType(ir.IntType(8), 0), SHARED, addrspace=3)
            shared.align = 16
        found.data = builder.bitcast(builder.addrspacecast(shared, ir.IntType(8).as_pointer()), found.data.type)
        return found._getvalue()

    return array(array), emit


class Piece(NamedTuple):
    """Holds LLVM's instructions of a function for the lanes of a warp, for no machine yet.

    bitcode: with all that the function calls, but for other pieces. It has the name of its call (`Call.cell`).
    calls: of units that are other pieces.
    """

    bitcode: bytes
    calls: tuple[Call, ...]


class WarpCode(NamedTuple):
    """Holds all pieces of a function for the lanes of a warp.

    name: of the function.
    size: of what it takes, bytes.
    """

    pieces: tuple[bytes, ...]
    name: str
    size: int


def warp_code(entry: Call, made_of: Parts, helpers: Helpers | None = None) -> WarpCode:
    """Returns the code of a function that takes one thing, `Borrowed`, and returns nothing.

    made_of: loops and needs.
    helpers: compile pieces side by side, where there are some.
    """

    def jobs(calls: Iterable[Call]) -> list[Job]:
        return [Job(piece_of, (call, made_of)) for call in calls]

    first = jobs([entry, *(call for _, call in made_of.loops)])
    found = (helpers or Helpers(1)).done(first, lambda piece: jobs(piece.calls))
    others = sorted(found.keys() - first[:1], key=lambda job: str(job.arguments[0].cell))
    (taken,) = entry.arguments
    size = default_manager[taken.kind].get_value_type().get_abi_size(llvm.create_target_data(LAYOUT))
    return WarpCode(tuple(found[job].bitcode for job in (first[0], *others)), entry.cell, size)


def piece_of(call: Call, made_of: Parts) -> Piece:
    """Returns the piece that a call is of."""
    function, kinds = call.unit, call.arguments
    with global_compiler_lock, collector_paused(), compiling_for_warp(made_of):
        compiled = part(getattr(function, "py_func", function), False)
        compiled.compile(getattr(function, "returns", types.void)(*kinds))
        made = compiled.overloads[kinds]
        module = llvm.parse_assembly(_alone(str(made.library._final_module)))
    own = module.get_function(made.fndesc.llvm_func_name)
    own.name, own.linkage = call.cell, "external"
    called = (one.name for one in module.functions if one.is_declaration)
    return Piece(module.as_bitcode(), tuple(called_by_name[name] for name in called if name in called_by_name))


def _alone(text: str) -> str:
    """Returns instructions of which nothing is seen from outside, with all that they call but for other pieces. They
    are megabytes, and each look at all of them takes its time."""
    text = _UNWANTED.sub("", text)
    text = _GLOBAL.sub("= internal global", text)
    return _HEAD.sub(r"define internal \1 alwaysinline {", text) + SUPPORT


def linked(code: WarpCode, entry: str) -> Any:
    """Returns LLVM's module of all pieces and of an entry, of which alone anything is seen from outside."""
    module = llvm.parse_assembly(entry)
    seen = {one.name for one in module.functions if not one.is_declaration}
    for bitcode in code.pieces:
        module.link_in(llvm.parse_bitcode(bitcode))
    for one in module.functions:
        if not one.is_declaration and one.name not in seen:
            one.linkage = "internal"
    return module


@functools.cache
def _back_end(triple: str) -> Any:
    """Returns LLVM's back end for a machine."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.set_option("tracecore", "-nvptx-fma-level=0")
    return llvm.Target.from_triple(triple)


def ptx_of(code: WarpCode, kernel: str, architecture: str, threads: int, registers: int) -> str:
    """Returns PTX of a kernel for NVIDIA's GPUs, which takes what the function takes.

    architecture: such as "sm_90".
    threads: of a block, at most.
    registers: of a thread, at most.
    """
    machine = _back_end(TRIPLE).create_target_machine(cpu=architecture, features=PTX, opt=3)
    entry = ENTRY.format(
        convention="ptx_kernel",
        passing=f"byval([{code.size} x i8]) align 16",
        kernel=kernel,
        name=code.name,
        attributes=f'"nvvm.maxntid"="{threads}" "nvvm.maxnreg"="{registers}"',
    )
    module = linked(code, f'target datalayout = "{LAYOUT}"\ntarget triple = "{TRIPLE}"\n{entry}')
    optimise(module, machine)
    placed = llvm.parse_assembly(shared_places(str(module)))
    optimise(placed, machine)
    return str(machine.emit_assembly(placed))


#: The address of shared memory as LLVM's constants have it, by numbers and by pointers.
_SCRATCH = f"addrspacecast (ptr addrspace(3) @{SHARED} to ptr)"
_WITHIN = rf"(?:getelementptr [a-z ]*\(i8, ptr {re.escape(_SCRATCH)}, i64 (-?\d+)\)|{re.escape(_SCRATCH)})"
_NUMBER = (
    rf"(?:add (?:nsw |nuw )*\(i64 ptrtoint \(ptr {_WITHIN} to i64\), i64 (-?\d+)\)|ptrtoint \(ptr {_WITHIN} to i64\))"
)


def shared_places(text: str) -> str:
    """Returns optimised instructions that find what lies in shared memory by pointers to it, where they had numbers:
    LLVM then knows where it lies, and that nothing else does."""

    def offset(found: re.Match[str], first: int) -> int:
        return sum(int(number or 0) for number in found.groups()[first : first + 3])

    def pointer(found: re.Match[str]) -> str:
        return f"getelementptr (i8, ptr {_SCRATCH}, i64 {offset(found, 0)})"

    text = re.sub(rf"inttoptr \(i64 {_NUMBER} to ptr\)", pointer, text)
    sums = {}
    for found in re.finditer(rf"^  (%\S+) = add (?:nsw |nuw )*i64 (%\S+), {_NUMBER}$", text, flags=re.M):
        sums[found.group(1)] = found.group(2), offset(found, 2)

    def place(found: re.Match[str]) -> str:
        name, number = found.groups()
        if number not in sums:
            return found.group(0)
        index, constant = sums[number]
        first = f"getelementptr (i8, ptr {_SCRATCH}, i64 {constant})"
        return f"  {name} = getelementptr i8, ptr {first}, i64 {index}"

    return re.sub(r"^  (%\S+) = inttoptr i64 (%\S+) to ptr$", place, text, flags=re.M)


def optimise(module: Any, machine: Any) -> None:
    """Optimises a module of LLVM's for a machine; lanes are its vectors."""
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
