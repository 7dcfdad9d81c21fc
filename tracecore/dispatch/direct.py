"""What tracers that answer in the thread that asks have in common: ports, threads for whole arrays, statistics."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tracecore.arrays import Array
from tracecore.bvh.tree import BinaryTree
from tracecore.cpu.traversal import CpuTree
from tracecore.dispatch.port import (
    DIRECT,
    POLLED,
    PORT_BATCHES,
    PORT_INVALID,
    PORT_RAYS,
    PORT_TRACED,
    asked_of,
    new_port,
    no_tree,
)
from tracecore.dispatch.ring import RingMemory
from tracecore.dispatch.tracer import DEPTH, BvhStatistics, OpenTracer, TracerLimits, TracerStatistics
from tracecore.errors import KernelError
from tracecore.rays import BATCH_RAYS, HIT_FLOATS, Floats, Hits, Query, checked_rays
from tracecore.threads import usable_cores
from tracecore.triangles import moved_triangles

if TYPE_CHECKING:
    from tracecore.dispatch.queue import RayQueue

#: Seconds after which a port that nobody answers would raise an error; nothing here is ever late.
NO_TIMEOUT = 3600.0


@dataclass
class Counts:
    """The work of one thread, which alone writes it. seconds: wall time spent tracing."""

    batches: int = 0
    rays: int = 0
    invalid: int = 0
    seconds: float = 0.0

    def add(self, other: "Counts") -> None:
        """Take in the work of another thread."""
        self.batches += other.batches
        self.rays += other.rays
        self.invalid += other.invalid
        self.seconds += other.seconds


class DirectPort:
    """Port of a `DirectTracer`: its thread traces in compiled code where the tracer has a tree for it, else in Python
    when the loop asks."""

    def __init__(self, tracer: "DirectTracer", slots: int, slot_rays: int, log_rows: int) -> None:
        self._tracer = tracer
        self._polled = Counts()
        tree = tracer.thread_tree()
        kind = POLLED if tree is None else DIRECT
        memory = RingMemory(slots, slot_rays, np.zeros)
        self.port = new_port(memory, slice(0, slots), kind, tree or no_tree(), NO_TIMEOUT, log_rows)

    @property
    def counts(self) -> Counts:
        """The work done through this port."""
        if self.port.kind == POLLED:
            return self._polled
        counters = self.port.counters.tolist()
        return Counts(
            batches=counters[PORT_BATCHES],
            rays=counters[PORT_RAYS],
            invalid=counters[PORT_INVALID],
            seconds=counters[PORT_TRACED] * 1e-9,
        )

    def poll(self) -> None:
        """Trace what has been rung."""
        port = self.port
        for asked in asked_of(port):
            hits = np.empty((len(asked.rays), HIT_FLOATS), np.float32)
            self._tracer.trace(asked.rays, hits, Query.ANY if asked.is_any else Query.CLOSEST, self._polled)
            port.hits[asked.slot, :, : len(asked.rays)] = hits.T
            port.flags[asked.slot] = asked.number << 32

    def check(self) -> None:
        """Raise `KernelError` if the tracer is closed."""
        self._tracer.check_open()

    def drain(self) -> None:
        """Forget what has been rung."""
        self.port.flags[:] = self.port.doorbells >> np.uint64(32) << np.uint64(32)

    def close(self) -> None:
        """Leave the work done with the tracer."""
        self._tracer.retire(self)


class DirectTracer(OpenTracer, ABC):
    """A tracer that works in the calling thread; whole arrays are spread over a pool of threads.

    A subclass gives `name`, `device`, `bvh`, and `_trace`, which may be called from many threads at once; and `_move`
    if it can move its triangles.

    threads: of the pool, None for all usable cores.
    triangles: how many there are.
    """

    name: str
    device: str
    dispatch: str = "direct"
    batches = 1
    bvh: BvhStatistics
    tree: BinaryTree | None = None

    def __init__(self, threads: int | None = None, triangles: int = 0) -> None:
        self._triangle_count = triangles
        self.threads = usable_cores() if threads is None else threads
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix=f"tracer-{self.name}")
        self._lock = threading.Lock()
        self._in_use: list[DirectPort] = []
        self._retired = Counts()
        self._is_open = True

    @abstractmethod
    def _trace(self, rays: Floats, hits: Floats, query: Query) -> int:
        """Write the hits of all rays. Returns how many rays were invalid."""

    def _move(self, triangles: Floats) -> None:
        """Moves the triangles, (t, 3, 3) float32, checked."""
        raise KernelError(f"the tracer '{self.name}' does not move its triangles; open another one")

    def update(self, triangles: Array) -> None:
        """As `Tracer.update` says."""
        self.check_open()
        if self._in_use:
            raise KernelError(f"a queue or a port of the tracer '{self.name}' is open; close it before triangles move")
        self._move(moved_triangles(triangles, self._triangle_count))

    def trace(self, rays: Floats, hits: Floats, query: Query, counts: Counts) -> None:
        """Trace in this thread. rays: (n, 8) float32; hits: (n, 4) float32, written. The work is added to `counts`."""
        self.check_open()
        start = time.perf_counter()
        counts.invalid += self._trace(rays, hits, query)
        counts.seconds += time.perf_counter() - start
        counts.batches += 1
        counts.rays += len(rays)

    def check_open(self) -> None:
        """Raise `KernelError` if the tracer is closed."""
        if not self._is_open:
            raise KernelError(f"the tracer '{self.name}' is closed; open another one")

    def open_queue(self, depth: int = DEPTH, batch_rays: int = BATCH_RAYS) -> "RayQueue":
        """Returns a queue for the calling thread, as `Tracer.open_queue` says."""
        from tracecore.dispatch.queue import RayQueue

        return RayQueue(self.open_ports(1, depth, batch_rays)[0], self.name)

    def open_ports(self, threads: int, slots: int, slot_rays: int, log_rows: int = 0) -> list[DirectPort]:
        """Returns ports for compiled loops, one for each of so many threads, as `Tracer.open_ports` says."""
        self.check_open()
        ports = [DirectPort(self, slots, slot_rays, log_rows) for _ in range(threads)]
        with self._lock:
            self._in_use.extend(ports)
        return ports

    def thread_tree(self) -> CpuTree | None:
        """Returns what compiled code needs to trace in place, for one thread; None where only Python can trace."""
        return None

    def retire(self, user: DirectPort) -> None:
        """Keep the counts of a port that is used no more."""
        with self._lock:
            if user in self._in_use:
                self._in_use.remove(user)
                self._retired.add(user.counts)

    def closest_hit(self, rays: Array) -> Hits:
        """(n, 8) float32 rays -> (n, 4) float32 hits, any n; the least `t`, and of equal ones the least `prim_id`."""
        return self._trace_all(rays, Query.CLOSEST)

    def any_hit(self, rays: Array) -> Hits:
        """(n, 8) float32 rays -> (n, 4) float32: t = u = v = 0 and `prim_id` 0 where something is hit, else a miss."""
        return self._trace_all(rays, Query.ANY)

    def _trace_all(self, given: Array, query: Query) -> Hits:
        self.check_open()
        rays = checked_rays(given)
        hits = np.empty((len(rays), HIT_FLOATS), np.float32)
        batches = range(0, len(rays), BATCH_RAYS)
        starts = iter(batches)  # shared: each thread takes the next batch
        threads = min(self.threads, len(batches))
        if threads <= 1:
            self._trace_batches(rays, hits, query, starts)
        else:
            workers = [self._pool.submit(self._trace_batches, rays, hits, query, starts) for _ in range(threads)]
            for worker in workers:
                worker.result()
        return hits.view(Hits)

    def _trace_batches(self, rays: Floats, hits: Floats, query: Query, starts: Iterator[int]) -> None:
        counts = Counts()
        for start in starts:
            end = start + BATCH_RAYS
            self.trace(rays[start:end], hits[start:end], query, counts)
        with self._lock:
            self._retired.add(counts)

    def statistics(self) -> TracerStatistics:
        """Returns what has been done so far."""
        total = Counts()
        with self._lock:
            total.add(self._retired)
            for user in self._in_use:
                total.add(user.counts)
        busy = total.seconds / self.threads
        return TracerStatistics(
            batches=total.batches,
            rays=total.rays,
            busy_seconds=busy,
            kernel_rays_per_second=total.rays / busy if busy > 0.0 else 0.0,
            invalid_rays=total.invalid,
        )

    def limits(self, _rays: Floats) -> TracerLimits:
        """Returns how fast all threads together traced so far, whatever the rays; there is no bus."""
        return TracerLimits(kernel_rays_per_second=self.statistics().kernel_rays_per_second, bus_bytes_per_second=None)

    def close(self) -> None:
        """End the threads. Statistics can still be read."""
        self._is_open = False
        self._pool.shutdown()
