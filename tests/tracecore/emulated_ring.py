"""Resident dispatch without a GPU: the very kernel, emulated, and the ring that it serves."""

import threading
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
from ray_cases import Floats

from tracecore.cutouts import CutoutTables
from tracecore.dispatch.port import PORT_COUNTERS, Counters
from tracecore.dispatch.queue import RayQueue
from tracecore.dispatch.resident import RingPort
from tracecore.dispatch.ring import RingMemory, say
from tracecore.emulator.library import LibraryPool, Request, compile_library
from tracecore.emulator.tracer import EmulatedScene, Order, memory_ranges
from tracecore.kernels.ring_records import END, GO_ON, RING_STATE
from tracecore.kernels.strategy import KernelStrategy

#: An order of lanes, for requests.
SHUFFLED = get_args(Order).index("shuffled")


class KernelHost:
    """A resident kernel and its ring, emulated; ports take it for the host of the kernel.

    shape: slots, and rays of each. patience: seconds, see `RingMemory.record`.
    """

    name, by_launches, timeout = "emulated", False, 60.0

    def __init__(
        self,
        triangles: Floats,
        kernel: KernelStrategy,
        shape: tuple[int, int],
        cutouts: CutoutTables | None = None,
        patience: float = 60.0,
    ) -> None:
        packed = kernel.pack(kernel.build(triangles), triangles, cutouts)
        path = compile_library(kernel, kernel.stack_for(packed), resident=True, has_cutouts=cutouts is not None)
        self.library = LibraryPool.of(path)
        self.memory = memory = RingMemory(*shape, np.zeros)
        self.scene = EmulatedScene(packed, kernel.layout.scene)
        self.device = {name: np.zeros(size, np.uint8) for name, size in memory.device_bytes.items()}
        self.error: str | None = None
        self.port_counters: list[Counters] = []
        self.record = memory.record({name: array.ctypes.data for name, array in self.device.items()}, patience)
        shared: list[npt.NDArray[Any]] = [memory.rays, memory.hits]
        self.memories = np.concatenate([self.scene.memories, memory_ranges([*shared, self.device["staged"]])])
        self.threads = kernel.block_size

    def start(self) -> None:
        """Start the kernel in a thread of its own, to stay."""
        say(self.memory.stop, GO_ON)
        self.device["state"][:] = 0
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def stop(self) -> None:
        """Let the kernel end when all is done."""
        say(self.memory.stop, END)
        self.thread.join()
        assert self.error is None
        state = self.device["state"].view(RING_STATE)
        assert state["queued"] == state["finished"]

    def run(self, **chosen: Any) -> None:
        """Run the kernel in this thread until it ends. chosen: fields of the request."""
        request = Request(
            scene=self.scene.record.ctypes.data,
            arguments=self.record.ctypes.data,
            blocks=1,
            threads=self.threads,
            time_limit=60 * 10**9,
            memories=self.memories.ctypes.data,
            memories_count=len(self.memories),
            **chosen,
        )
        with self.library.borrow() as library:
            self.error = library.emulate(request)

    def serve(self) -> None:
        """The kernel runs, or the test says when."""

    def queue(self, depth: int = 4) -> RayQueue:
        """Returns a queue to the ring."""
        host: Any = self
        port = RingPort(host, self.memory, depth, log_rows=0)
        self.port_counters.append(port.port.counters)
        return RayQueue(port, self.name)

    def counted(self, counter: int) -> int:
        """Returns a counter's sum over all queues there have been."""
        return int(np.sum([np.zeros(PORT_COUNTERS, np.int64), *self.port_counters], axis=0)[counter])
