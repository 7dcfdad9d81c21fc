"""A kernel made of compiled functions for the lanes of a warp (`tracecore.compilation.gpu_code`), on a GPU."""

from __future__ import annotations

import hashlib
from concurrent.futures import Future
from functools import cached_property
from threading import Thread
from typing import TYPE_CHECKING

import numpy as np

from tracecore.compilation.lanes import LANES
from tracecore.compilation.watching import making
from tracecore.cuda.device import CudaDevice, Stream
from tracecore.environment import number
from tracecore.threads import usable_cores

if TYPE_CHECKING:
    from tracecore.compilation.lanes import Parts
    from tracecore.compilation.unit_calls import Call

#: Registers of a thread: few enough that some warps work while others wait for memory.
REGISTERS = 168

#: How many processes compile the pieces of a kernel: as the environment says (`unit_calls.PROCESSES`), else a third of
#: the cores, as several kernels are compiled at a time, up to so many.
MOST_PROCESSES = 6

#: Machine code that is made, or will be once it is compiled, by the name of its file and the device.
_code: dict[tuple[str, int], Future[bytes]] = {}


class WarpKernel:
    """Is a function that each warp of a launch runs, loaded on a GPU. A warp is a block.

    It is compiled meanwhile: whoever starts it first waits for that, and gets what the compiler and the driver raise.

    device: the GPU; the calling thread is attached to it.
    call: of the function, which takes one named tuple, `Borrowed`, and returns nothing.
    made_of: loops and needs.
    scratch: bytes of shared memory of a warp.
    """

    def __init__(self, device: CudaDevice, call: Call, made_of: Parts, scratch: int) -> None:
        self._device, self._call, self._scratch = device, call, scratch
        self._code = begin_to_compile(device, call, made_of)

    def start(self, warps: int, argument: int, stream: Stream) -> None:
        """Starts so many warps. argument: address of the tuple on the device."""
        given = np.array([argument], np.uint64)
        pointers = np.array([given.ctypes.data], np.uint64)
        self._device.driver.launch_kernel(
            self._entry, warps, 1, 1, LANES, 1, 1, self._scratch, stream.address, pointers.ctypes.data, 0
        )

    @cached_property
    def _entry(self) -> int:
        driver = self._device.driver
        entry = driver.load_function(self._device.module(self._code.result()), self._call.name)
        driver.allow_shared(entry, self._scratch)
        return entry


def begin_to_compile(device: CudaDevice, call: Call, made_of: Parts) -> Future[bytes]:
    """Returns the machine code of a function, which a thread reads from disk or compiles. See `WarpKernel`."""
    called = [(which, one.cell) for which, one in made_of.loops]
    wanted = repr((call.cell, called, sorted(made_of.needs), device.architecture, REGISTERS))
    key = f"{hashlib.sha256(wanted.encode()).hexdigest()[:32]}.cubin", device.index
    if key not in _code or (_code[key].done() and _code[key].exception() is not None):
        code = _code[key] = Future[bytes]()

        def make() -> None:
            try:
                device.attach()
                code.set_result(_machine_code(device, call, made_of, key[0]))
            except BaseException as error:  # for those who wait
                code.set_exception(error)

        Thread(target=make, name=call.name, daemon=True).start()
    return _code[key]


def _machine_code(device: CudaDevice, call: Call, made_of: Parts, name: str) -> bytes:
    from tracecore.compilation.gpu_code import ptx_of, warp_code
    from tracecore.compilation.private_folder import cache_folder
    from tracecore.compilation.side_by_side import Helpers, Job
    from tracecore.compilation.unit_calls import PROCESSES

    def make() -> bytes:
        processes = int(number(PROCESSES, min(usable_cores() // 3, MOST_PROCESSES)))
        with making(call.name), Helpers(processes if made_of.loops else 1) as helpers:
            code = warp_code(call, made_of, helpers)
            (ptx,) = helpers.done([Job(ptx_of, (code, call.name, device.architecture, LANES, REGISTERS))]).values()
            return device.driver.assemble(ptx)

    return cache_folder(call.module.partition(".")[0]).kept(name, make)
