"""Runs code for the lanes of a warp on the CPU: a thread is a lane, and lanes meet at barriers of the C library.

What a vote or a shuffle of a GPU gives, threads tell each other through memory. Between two meetings any lane may be
ahead of others, as on a GPU: code that counts on lanes to go in step goes wrong here too, sooner or later.
"""

import ctypes
import re
import threading
from typing import Any

import llvmlite.binding as llvm

from tracecore.compilation.gpu_code import ENTRY, SHARED, WarpCode, linked, optimise
from tracecore.compilation.lanes import LANES

#: Bytes that stand for the shared memory of a warp.
SHARED_BYTES = 1 << 17

#: A GPU's instructions, by the functions below.
NAMES = {
    "llvm.nvvm.read.ptx.sreg.ctaid.x": "lanes_warp",
    "llvm.nvvm.read.ptx.sreg.laneid": "lanes_own",
    "llvm.nvvm.bar.warp.sync": "lanes_meet",
    "llvm.nvvm.vote.ballot.sync": "lanes_vote",
    "llvm.nvvm.shfl.sync.idx.i32": "lanes_read",
    "llvm.nvvm.redux.sync.add": "lanes_sum",
}

#: A loop over what all lanes said; `term` is what each one adds to the answer.
OVER_ALL = """
define internal i32 @{name}({arguments}) noinline {{
  {said}
  call void @lanes_say(i32 %mine)
  br label %each
each:
  %k = phi i32 [0, %0], [%following, %each]
  %total = phi i32 [0, %0], [%more, %each]
  %place = getelementptr [{lanes} x i32], ptr @lanes_said, i32 0, i32 %k
  %one = load volatile i32, ptr %place
  {term}
  %more = add i32 %total, %term
  %following = add i32 %k, 1
  %done = icmp eq i32 %following, {lanes}
  br i1 %done, label %end, label %each
end:
  ret i32 %more
}}
"""

FUNCTIONS = f"""
@lanes_said = internal global [{LANES} x i32] zeroinitializer
@lanes_which = internal global i32 0
@lanes_key = internal global i32 0
@lanes_barrier = internal global [64 x i8] zeroinitializer, align 64
declare i32 @pthread_barrier_wait(ptr)
declare ptr @pthread_getspecific(i32)
define ptr @place_of_which() {{
  ret ptr @lanes_which
}}
define ptr @place_of_key() {{
  ret ptr @lanes_key
}}
define ptr @place_of_barrier() {{
  ret ptr @lanes_barrier
}}
define internal i32 @lanes_warp() {{
  %which = load i32, ptr @lanes_which
  ret i32 %which
}}
define internal i32 @lanes_own() {{
  %key = load i32, ptr @lanes_key
  %kept = call ptr @pthread_getspecific(i32 %key)
  %number = ptrtoint ptr %kept to i64
  %short = trunc i64 %number to i32
  %own = sub i32 %short, 1
  ret i32 %own
}}
define internal void @lanes_meet(i32 %all) noinline {{
  %status = call i32 @pthread_barrier_wait(ptr @lanes_barrier)
  ret void
}}
define internal void @lanes_say(i32 %mine) noinline {{
  call void @lanes_meet(i32 0)
  %own = call i32 @lanes_own()
  %place = getelementptr [{LANES} x i32], ptr @lanes_said, i32 0, i32 %own
  store volatile i32 %mine, ptr %place
  call void @lanes_meet(i32 0)
  ret void
}}
define internal i32 @lanes_read(i32 %all, i32 %mine, i32 %lane, i32 %mask) noinline {{
  call void @lanes_say(i32 %mine)
  %place = getelementptr [{LANES} x i32], ptr @lanes_said, i32 0, i32 %lane
  %one = load volatile i32, ptr %place
  ret i32 %one
}}
""" + "".join(
    OVER_ALL.format(name=name, arguments=arguments, said=said, term=term, lanes=LANES)
    for name, arguments, said, term in (
        ("lanes_vote", "i32 %all, i1 %answer", "%mine = zext i1 %answer to i32", "%term = shl i32 %one, %k"),
        ("lanes_sum", "i32 %mine, i32 %all", "", "%term = add i32 %one, 0"),
    )
)


class LanesOnThreads:
    """Is code for a warp, made for this processor, without contraction as everything here.

    run: has a warp of a number run it.
    """

    def __init__(self, code: WarpCode) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._c = ctypes.CDLL(None)
        self._machine = llvm.Target.from_default_triple().create_target_machine(opt=2, jit=True)
        entry = ENTRY.format(
            convention="",
            passing="",
            kernel="entry",
            name=code.name,
            attributes="",
        )
        layout = f'target datalayout = "{self._machine.target_data}"\n'  # where fields of structures lie
        head = f'{layout}target triple = "{llvm.get_process_triple()}"\n'
        module = llvm.parse_assembly(_replaced(str(linked(code, head + entry))) + FUNCTIONS)
        optimise(module, self._machine)
        self._engine = llvm.create_mcjit_compiler(module, self._machine)
        self._engine.finalize_object()
        self._entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._engine.get_function_address("entry"))
        self._which = ctypes.c_uint.from_address(self._place("which"))
        self._key = ctypes.c_uint.from_address(self._place("key"))
        self._c.pthread_key_create(ctypes.byref(self._key), None)
        self._c.pthread_barrier_init(ctypes.c_void_p(self._place("barrier")), None, LANES)

    def run(self, warp: int, address: int) -> None:
        """Runs the code in so many threads. address: of what it takes."""
        self._which.value = warp
        threads = [threading.Thread(target=self._lane, args=(lane, address)) for lane in range(LANES)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _lane(self, lane: int, address: int) -> None:
        self._c.pthread_setspecific(self._key, ctypes.c_void_p(lane + 1))
        self._entry(address)

    def _place(self, name: str) -> Any:
        return ctypes.CFUNCTYPE(ctypes.c_void_p)(self._engine.get_function_address(f"place_of_{name}"))()


def _replaced(text: str) -> str:
    """Returns code that calls functions here for instructions of a GPU, and has memory that stands for the shared."""
    for name, own in NAMES.items():
        text = re.sub(rf"^declare [^\n]*@{re.escape(name)}\(.*\n", "", text, flags=re.M).replace(
            f"@{name}(", f"@{own}("
        )
    memory = f"@{SHARED} = internal global [{SHARED_BYTES} x i8] zeroinitializer, align 64"
    text = re.sub(rf"^@{SHARED} = .*$", memory, text, flags=re.M)
    return text.replace(f"addrspacecast ptr addrspace(3) @{SHARED} to ptr", f"bitcast ptr @{SHARED} to ptr")
