"""A kernel made of compiled functions for the lanes of a warp (`tracecore.compilation.gpu_code`), on a GPU."""

from __future__ import annotations

import hashlib
from concurrent.futures import Future
from functools import cached_property
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

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

#: Modules that are loaded, or will be once they are compiled, by the name of the file of their PTX and the device.
_modules: dict[tuple[str, int], Future[Any]] = {}


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
        self._module = begin_to_compile(device, call, made_of)

    def start(self, warps: int, given: npt.NDArray[np.uint8], stream: Stream) -> None:
        """Starts so many warps. given: bytes of the tuple (`device_arrays.laid_out`); a launch has its own copy."""
        pointers = np.array([given.ctypes.data], np.uint64)
        self._device.driver.launch_kernel(
            self._entry, warps, 1, 1, LANES, 1, 1, self._scratch, stream.address, pointers.ctypes.data, 0
        )

    @cached_property
    def _entry(self) -> int:
        driver = self._device.driver
        entry = driver.load_function(self._module.result(), self._call.name)
        driver.allow_shared(entry, self._scratch)
        return entry


def begin_to_compile(device: CudaDevice, call: Call, made_of: Parts) -> Future[Any]:
    """Returns the module of a function, whose PTX a thread reads from disk or compiles. See `WarpKernel`.

    The driver makes machine code of the PTX, and keeps it on disk. (It would also give machine code back, as for a
    linker. That spills a third more numbers to memory: photons of the kitchen take a twelfth longer to shade.)
    """
    called = [(which, one.cell) for which, one in made_of.loops]
    wanted = repr((call.cell, called, sorted(made_of.needs), device.architecture, REGISTERS))
    key = f"{hashlib.sha256(wanted.encode()).hexdigest()[:32]}.ptx", device.index
    if key not in _modules or (_modules[key].done() and _modules[key].exception() is not None):
        module = _modules[key] = Future[Any]()

        def make() -> None:
            try:
                ptx = _ptx(device, call, made_of, key[0])
                device.attach()
                module.set_result(device.driver.load_module(ptx + b"\0"))
            except BaseException as error:  # for those who wait
                module.set_exception(error)

        Thread(target=make, name=call.name, daemon=True).start()
    return _modules[key]


def _ptx(device: CudaDevice, call: Call, made_of: Parts, name: str) -> bytes:
    from tracecore.compilation.gpu_code import ptx_of, warp_code
    from tracecore.compilation.private_folder import cache_folder
    from tracecore.compilation.side_by_side import Helpers, Job
    from tracecore.compilation.unit_calls import PROCESSES

    def make() -> bytes:
        processes = int(number(PROCESSES, min(usable_cores() // 3, MOST_PROCESSES)))
        with making(call.name), Helpers(processes if made_of.loops else 1) as helpers:
            code = warp_code(call, made_of, helpers)
            (ptx,) = helpers.done([Job(ptx_of, (code, call.name, device.architecture, LANES, REGISTERS))]).values()
            return str(ptx).encode()

    return cache_folder(call.module.partition(".")[0]).kept(name, make)
