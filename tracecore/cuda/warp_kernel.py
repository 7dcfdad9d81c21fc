"""A kernel made of compiled functions for the lanes of a warp (`tracecore.compilation.gpu_code`), on a GPU."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from tracecore.compilation.lanes import LANES
from tracecore.cuda.device import CudaDevice, Stream

if TYPE_CHECKING:
    from tracecore.compilation.lanes import Parts

#: Registers of a thread: few enough that some warps work while others wait for memory.
REGISTERS = 168


class WarpKernel:
    """Is a function that each warp of a launch runs, loaded on a GPU. A warp is a block.

    device: the GPU; the calling thread is attached to it.
    function: takes one named tuple, `Borrowed`, and returns nothing.
    argument: Numba's type of the tuple.
    made_of: loops and needs.
    scratch: bytes of shared memory of a warp.
    """

    def __init__(
        self, device: CudaDevice, function: Callable[..., Any], argument: Any, made_of: Parts, scratch: int
    ) -> None:
        self._driver, self._scratch = device.driver, scratch
        cubin = kept_machine_code(device, function, argument, made_of)
        self._entry = self._driver.load_function(device.module(cubin), function.__name__)
        self._driver.allow_shared(self._entry, scratch)

    def start(self, warps: int, argument: int, stream: Stream) -> None:
        """Starts so many warps. argument: address of the tuple on the device."""
        given = np.array([argument], np.uint64)
        pointers = np.array([given.ctypes.data], np.uint64)
        self._driver.launch_kernel(
            self._entry, warps, 1, 1, LANES, 1, 1, self._scratch, stream.address, pointers.ctypes.data, 0
        )


def kept_machine_code(device: CudaDevice, function: Callable[..., Any], argument: Any, made_of: Parts) -> bytes:
    """Returns machine code of a function, from disk where it was compiled before."""
    from tracecore.compilation.gpu_code import ptx_of, warp_code
    from tracecore.compilation.private_folder import cache_folder

    called = [(which, unit.py_func.__name__, *map(str, arguments)) for which, unit, arguments in made_of.loops]
    parts = (str(argument), called, sorted(made_of.needs))
    wanted = repr((function.__module__, function.__name__, *parts, device.architecture, REGISTERS))
    folder, name = cache_folder(function.__module__.partition(".")[0]), hashlib.sha256(wanted.encode()).hexdigest()
    name = f"{name[:32]}.cubin"
    with suppress(OSError):
        return folder.read_checked(name)
    code = warp_code(function, argument, made_of)
    cubin = device.driver.assemble(ptx_of(code, function.__name__, device.architecture, LANES, REGISTERS))
    with suppress(OSError):  # a full disk keeps nothing
        folder.write_checked(name, cubin)
    return cubin
