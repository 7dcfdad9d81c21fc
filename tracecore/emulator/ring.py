"""Resident dispatch without a GPU: the very kernel, emulated, and the ring that it serves."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tracecore.dispatch.ring import RingMemory
from tracecore.emulator.library import LibraryPool, Request, compile_library
from tracecore.emulator.tracer import TIMEOUT, EmulatedScene, memory_ranges
from tracecore.kernels.strategy import KernelStrategy
from tracecore.layout.device_layout import PackedTree


class EmulatedRing:
    """Holds a resident kernel and its ring.

    kernel: that stays.
    packed: the scene, as `kernel.pack` returns it.
    shape: slots, and rays of each.
    has_cutouts: whether there are triangles that are not solid.
    patience, timeout: seconds, see `RingMemory.record` and `EmulatedTracer`.
    Raises `KernelError` where the kernel does not compile, `DeviceError` where there is no g++.
    """

    def __init__(
        self,
        kernel: KernelStrategy,
        packed: PackedTree,
        shape: tuple[int, int],
        *,
        has_cutouts: bool = False,
        patience: float = TIMEOUT,
        timeout: float = TIMEOUT,
    ) -> None:
        path = compile_library(kernel, kernel.stack_for(packed), resident=True, has_cutouts=has_cutouts)
        self.library = LibraryPool.of(path)
        self.memory = RingMemory(*shape, np.zeros)
        self.scene = EmulatedScene(packed, kernel.layout.scene)
        self.device = {name: np.zeros(size, np.uint8) for name, size in self.memory.device_bytes.items()}
        addresses = {name: array.ctypes.data for name, array in self.device.items()}
        self.record = self.memory.record(addresses, patience)
        shared: list[npt.NDArray[Any]] = [self.memory.rays, self.memory.hits, self.device["staged"]]
        self.memories = np.concatenate([self.scene.memories, memory_ranges(shared)])
        self.threads = kernel.block_size
        self._timeout = timeout

    def run(self, **chosen: Any) -> str | None:
        """Runs the kernel in this thread until it ends. Returns what is wrong with it, or None.

        chosen: fields of the request, such as `is_weak`.
        """
        self.device["state"][:] = 0
        request = Request(
            scene=self.scene.record.ctypes.data,
            arguments=self.record.ctypes.data,
            blocks=1,
            threads=self.threads,
            time_limit=int(self._timeout * 1e9),
            memories=self.memories.ctypes.data,
            memories_count=len(self.memories),
            **chosen,
        )
        with self.library.borrow() as library:
            return library.emulate(request)
