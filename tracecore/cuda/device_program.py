"""A program on a GPU: its machine code loaded there, and launches of its kernels."""

from collections.abc import Callable

import numpy as np

from tracecore.cuda.device import CudaDevice, Stream
from tracecore.cuda.device_memory import DeviceMemory
from tracecore.kernels.program import Program

#: Members of a struct that a kernel takes: memory for a pointer, or a number.
Members = dict[str, DeviceMemory | int]


class DeviceProgram:
    """A program compiled for a GPU, and loaded there.

    device: the GPU; the calling thread is attached to it.
    """

    def __init__(self, device: CudaDevice, program: Program) -> None:
        self._device = device
        self._program = program
        module = device.module(device.driver.compile_program(program, device.architecture).cubin)
        self._functions = {entry: device.driver.load_function(module, entry) for entry in program.entries}

    @property
    def block_size(self) -> int:
        """Returns how many threads a block has."""
        return self._program.block_size

    def blocks_for(self, threads: int) -> int:
        """Returns how many blocks have so many threads."""
        return -(-threads // self._program.block_size)

    def start(self, entry: str, blocks: int, stream: Stream, **members: DeviceMemory | int) -> None:
        """Starts a kernel.

        entry: its name.
        blocks: of the launch, at least 1.
        members: of the struct that it takes, as in `Members`.
        """
        self.prepared(entry, **members)(blocks, stream)

    def prepared(self, entry: str, **members: DeviceMemory | int) -> Callable[[int, Stream], None]:
        """Returns what starts a kernel, time and again, as `start` does: by blocks and a stream."""
        driver, record = self._device.driver, np.zeros(1, self._program.entries[entry])
        for name, member in members.items():
            record[name] = member.address if isinstance(member, DeviceMemory) else member
        pointers = np.array([record.ctypes.data], np.uint64)
        function, address, threads = self._functions[entry], pointers.ctypes.data, self._program.block_size

        def start(blocks: int, stream: Stream, _used: object = (record, pointers)) -> None:
            driver.launch_kernel(function, blocks, 1, 1, threads, 1, 1, 0, stream.address, address, 0)

        return start
