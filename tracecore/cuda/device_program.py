"""A program on a GPU: its machine code loaded there, and launches of its kernels."""

import numpy as np
import numpy.typing as npt

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
        self.launch(entry, blocks, stream, self.record(entry, **members))

    def record(self, entry: str, **members: DeviceMemory | int) -> npt.NDArray[np.void]:
        """Returns the struct that a kernel takes, for many launches: (1,) of its dtype."""
        record = np.zeros(1, self._program.entries[entry])
        for name, member in members.items():
            record[name] = member.address if isinstance(member, DeviceMemory) else member
        return record

    def launch(self, entry: str, blocks: int, stream: Stream, record: npt.NDArray[np.void]) -> None:
        """Starts a kernel, as `start` does. record: as of `record`, of a kernel that takes the same struct."""
        pointers = np.array([record.ctypes.data], np.uint64)
        grid_and_block, shared_bytes = (blocks, 1, 1, self._program.block_size, 1, 1), 0
        launch_kernel, function = self._device.driver.launch_kernel, self._functions[entry]
        launch_kernel(function, *grid_and_block, shared_bytes, stream.address, pointers.ctypes.data, 0)
