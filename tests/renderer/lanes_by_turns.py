"""Runs code for the lanes of a warp on the CPU: lanes are fibers, which go on by turns, see `lanes_by_turns.cpp`."""

import ctypes
import functools
import re
import subprocess
import tempfile
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

import tracecore.emulator.library as emulator
from tracecore.compilation.gpu_code import ENTRY, SHARED, WarpCode, linked, optimise
from tracecore.compilation.lanes import LANES

#: Bytes that stand for the shared memory of a warp, and those of a lane's stack.
SHARED_BYTES, STACK_BYTES = 1 << 17, 1 << 18

#: A GPU's instructions, by functions of `lanes_by_turns.cpp`.
NAMES = {
    "llvm.nvvm.read.ptx.sreg.ctaid.x": "lanes_warp",
    "llvm.nvvm.read.ptx.sreg.laneid": "lanes_own",
    "llvm.nvvm.bar.warp.sync": "lanes_meet",
    "llvm.nvvm.vote.ballot.sync": "lanes_vote",
    "llvm.nvvm.shfl.sync.idx.i32": "lanes_read",
    "llvm.nvvm.redux.sync.add": "lanes_sum",
}


@functools.cache
def turns() -> ctypes.CDLL:
    """Returns the functions of `lanes_by_turns.cpp`, which code that is made here finds by their names. Skips the test
    where there is no g++."""
    if reason := emulator.emulator_unavailable_reason():
        pytest.skip(reason)
    source, flags = Path(__file__).with_suffix(".cpp"), ["-std=c++17", "-O1", "-fPIC", "-shared"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "turns.so")
        subprocess.run(["g++", *flags, f"-I{emulator.HEADERS}", "-o", path, source], check=True)
        library = ctypes.CDLL(path)
    for name in NAMES.values():
        llvm.add_symbol(name, ctypes.cast(library[name], ctypes.c_void_p).value)
    library.lanes_run.restype = ctypes.c_bool
    return library


class LanesByTurns:
    """Is code for a warp, made for this processor, without contraction as everything here.

    run: has a warp of a number run it.
    """

    def __init__(self, code: WarpCode) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._turns, self._stacks = turns(), np.empty(LANES * STACK_BYTES, np.uint8)
        self._machine = llvm.Target.from_default_triple().create_target_machine(opt=2, jit=True)
        entry = ENTRY.format(convention="", passing="", kernel="entry", name=code.name, attributes="")
        layout = f'target datalayout = "{self._machine.target_data}"\n'  # where fields of structures lie
        head = f'{layout}target triple = "{llvm.get_process_triple()}"\n'
        module = llvm.parse_assembly(_replaced(str(linked(code, head + entry))))
        optimise(module, self._machine)
        self._engine = llvm.create_mcjit_compiler(module, self._machine)
        self._engine.finalize_object()
        self._entry = ctypes.c_void_p(self._engine.get_function_address("entry"))

    def run(self, warp: int, address: int) -> None:
        """Runs the code in so many lanes. address: of what it takes."""
        stacks = (ctypes.c_void_p(self._stacks.ctypes.data), ctypes.c_uint64(STACK_BYTES))
        assert self._turns.lanes_run(warp, self._entry, ctypes.c_void_p(address), *stacks), "not all lanes have met"


def _replaced(text: str) -> str:
    """Returns code that calls functions here for instructions of a GPU, and has memory that stands for the shared."""
    for name, own in NAMES.items():
        text = text.replace(f"@{name}(", f"@{own}(")
    memory = f"@{SHARED} = internal global [{SHARED_BYTES} x i8] zeroinitializer, align 64"
    text = re.sub(rf"^@{SHARED} = .*$", memory, text, flags=re.M)
    return text.replace(f"addrspacecast ptr addrspace(3) @{SHARED} to ptr", f"bitcast ptr @{SHARED} to ptr")
