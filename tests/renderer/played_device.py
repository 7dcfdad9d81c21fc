"""A device that a thread plays: it hears doorbells and raises flags as a resident kernel does, or does not."""

import threading

import numpy as np

from tracecore.dispatch.port import LISTENING, are_ready, new_port, no_tree
from tracecore.dispatch.ring import RingMemory
from tracecore.errors import KernelError
from tracecore.kernels.ring_records import ANY_HIT_BIT, COUNT_MASK, ENDLESS_BIT, FAULT_SHIFT
from tracecore.tracers.cpu import CpuTracer


class PlayedPort:
    """Port to a `PlayedTracer`."""

    def __init__(self, tracer, first, slots, log_rows):
        self._tracer = tracer
        self.port = new_port(tracer.memory, slice(first, first + slots), LISTENING, no_tree(), tracer.timeout, log_rows)
        self.is_settled = self.is_closed = False

    def check(self):
        if self._tracer.dies:
            raise KernelError("the device has died")

    def poll(self):
        raise AssertionError("the device listens by itself")

    def drain(self):
        self.is_settled = are_ready(self.port, 10**9)

    def close(self):
        self.is_closed = True


class PlayedTracer:
    """Answers with the CPU's hits. silent: never. faulty: with a error. Counts what it is asked."""

    name = device = "played"
    dispatch = "resident"

    def __init__(self, triangles, *, threads=1, batches=4, timeout=60.0, silent=False, faulty=False):
        self.threads, self.batches, self.timeout = threads, batches, timeout
        self.silent, self.faulty, self.dies = silent, faulty, False
        self.asked, self.most_rung = [], 0
        self._judge = CpuTracer(triangles, threads=1)
        self._stop = threading.Event()
        self._thread = None

    def open_ports(self, threads, slots, slot_rays, log_rows=0):
        self.memory = RingMemory(threads * slots, slot_rays, np.zeros)
        self.ports = [PlayedPort(self, i * slots, slots, log_rows) for i in range(threads)]
        self._thread = threading.Thread(target=self._play, daemon=True)
        self._thread.start()
        return self.ports

    def _play(self):
        memory = self.memory
        while not self._stop.wait(0.0005):
            rung = np.flatnonzero(memory.doorbells >> np.uint64(32) != memory.flags >> np.uint64(32)).tolist()
            self.most_rung = max(self.most_rung, len(rung))
            for slot in [] if self.silent else rung:
                self._answer(slot)

    def _answer(self, slot):
        memory = self.memory
        number, low = divmod(int(memory.doorbells[slot]), 1 << 32)
        count, any_hit = low & COUNT_MASK, bool(low & ANY_HIT_BIT)
        self.asked.append((count, any_hit))
        rays = np.ascontiguousarray(memory.rays[slot, :, :count].T)
        if low & ENDLESS_BIT:
            rays[:, 3], rays[:, 7] = 0.0, np.inf
        hits = self._judge.any_hit(rays) if any_hit else self._judge.closest_hit(rays)
        memory.hits[slot, :, :count] = hits.T
        memory.flags[slot] = (number << 32) | (int(self.faulty) << FAULT_SHIFT)

    def close(self):
        self._stop.set()
        if self._thread:
            self._thread.join()
        self._judge.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
