"""A kernel made of compiled functions for the lanes of a warp (`tracecore.compilation.gpu_code`), on a GPU."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tracecore.compilation.lanes import LANES
from tracecore.cuda.device import CudaDevice, Stream

if TYPE_CHECKING:
    from tracecore.compilation.gpu_code import Loops

#: Threads of a block, and registers of a thread: blocks enough that some warps work while others wait for memory.
BLOCK, REGISTERS = LANES, 168


class WarpKernel:
    """Is a function that each warp of a launch runs, loaded on a GPU.

    device: the GPU; the calling thread is attached to it.
    function: takes one named tuple, `Borrowed`, and returns nothing.
    argument: Numba's type of the tuple.
    loops: see `tracecore.compilation.lanes.loops`.
    scratch: bytes of shared memory of a warp.
    """

    def __init__(
        self, device: CudaDevice, function: Callable[..., Any], argument: Any, loops: Loops, scratch: int
    ) -> None:
        self.device = device
        name = function.__name__
        cubin = kept_machine_code(device, function, argument, loops)
        self.entry = device.driver.load_function(device.module(cubin), name)
        self._shared = scratch * (BLOCK // LANES)
        device.driver.allow_shared(self.entry, self._shared)

    @property
    def registers(self) -> int:
        """Returns how many registers a thread has."""
        return self.device.driver.function_attribute(self.entry, "NUM_REGS")

    @property
    def warps_at_once(self) -> int:
        """Returns how many warps the whole device runs at once."""
        blocks = self.device.driver.blocks_at_once(self.entry, BLOCK, self._shared) * self.device.multiprocessors
        return blocks * BLOCK // LANES

    def start(self, warps: int, argument: int, stream: Stream) -> None:
        """Starts so many warps. argument: address of the tuple on the device."""
        given = np.array([argument], np.uint64)
        pointers = np.array([given.ctypes.data], np.uint64)
        blocks = -(-warps * LANES // BLOCK)
        self.device.driver.launch_kernel(
            self.entry, blocks, 1, 1, BLOCK, 1, 1, self._shared, stream.address, pointers.ctypes.data, 0
        )


def kept_machine_code(device: CudaDevice, function: Callable[..., Any], argument: Any, loops: Loops) -> bytes:
    """Returns machine code of a function, from disk where it was compiled before."""
    from tracecore.compilation.cache_folder import cache_folder
    from tracecore.compilation.gpu_code import ptx_of, warp_code

    kinds = [str(kind) for _, arguments in loops for kind in arguments]
    wanted = repr((function.__module__, function.__name__, str(argument), kinds, device.architecture, BLOCK, REGISTERS))
    folder, name = cache_folder(function.__module__.partition(".")[0]), hashlib.sha256(wanted.encode()).hexdigest()
    name = f"{name[:32]}.cubin"
    try:
        return folder.read_checked(name)
    except OSError:
        pass
    code = warp_code(function, argument, loops)
    cubin = device.driver.assemble(ptx_of(code, function.__name__, device.architecture, BLOCK, REGISTERS))
    folder.write_checked(name, cubin)
    return cubin
