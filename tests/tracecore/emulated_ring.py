"""An emulated resident kernel that serves queues of other threads."""

import threading
from typing import Any, get_args

import numpy as np

from tracecore.checks.ray_cases import Floats
from tracecore.cutouts import CutoutTables
from tracecore.dispatch.port import PORT_COUNTERS, Counters
from tracecore.dispatch.queue import RayQueue
from tracecore.dispatch.resident import RingPort
from tracecore.dispatch.ring import say
from tracecore.emulator.ring import EmulatedRing
from tracecore.emulator.tracer import Order
from tracecore.kernels.ring_records import END, GO_ON, RING_STATE
from tracecore.kernels.strategy import KernelStrategy

#: An order of lanes, for requests.
SHUFFLED = get_args(Order).index("shuffled")


class KernelHost(EmulatedRing):
    """A resident kernel and its ring; ports take it for the host of the kernel.

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
        super().__init__(kernel, packed, shape, has_cutouts=cutouts is not None, patience=patience, timeout=60.0)
        self.error: str | None = None
        self.port_counters: list[Counters] = []

    def start(self) -> None:
        """Start the kernel in a thread of its own, to stay."""
        say(self.memory.stop, GO_ON)
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def stop(self) -> None:
        say(self.memory.stop, END)
        self.thread.join()
        assert self.error is None
        state = self.device["state"].view(RING_STATE)
        assert state["queued"] == state["finished"]

    def run(self, **chosen: Any) -> str | None:
        """Run the kernel in this thread until it ends, and keep what is wrong. chosen: fields of the request."""
        self.error = super().run(**chosen)
        return self.error

    def serve(self) -> None:
        """The kernel runs, or the test says when."""

    def queue(self, depth: int = 4) -> RayQueue:
        host: Any = self
        port = RingPort(host, self.memory, depth, log_rows=0)
        self.port_counters.append(port.port.counters)
        return RayQueue(port, self.name)

    def counted(self, counter: int) -> int:
        """Returns a counter's sum over all queues there have been."""
        return int(np.sum([np.zeros(PORT_COUNTERS, np.int64), *self.port_counters], axis=0)[counter])
