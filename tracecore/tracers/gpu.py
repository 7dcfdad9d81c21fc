"""The tracer on an NVIDIA GPU: streamed dispatch, one launch per batch, or resident dispatch, one kernel that stays."""

import threading
import time
from functools import partial
from types import TracebackType
from typing import Self

import numpy as np

from tracecore.analysis.steps import StepCounts
from tracecore.bvh.tree import BinaryTree
from tracecore.cuda.device import (
    DeviceKernel,
    DeviceMemory,
    DeviceScene,
    Launch,
    Stream,
    attach_thread,
    cuda_errors,
    gpu_unavailable_reason,
    pinned,
    timeout_seconds,
)
from tracecore.cuda.nvrtc import CompiledKernel
from tracecore.cutouts import CutoutTables
from tracecore.dispatch.device_lock import vacant_device
from tracecore.dispatch.direct import usable_cores
from tracecore.dispatch.in_flight import DEPTH
from tracecore.dispatch.port import BATCHES, COUNTERS, INVALID, RAYS
from tracecore.dispatch.resident import RingPort, Service
from tracecore.dispatch.ring import RingQueue
from tracecore.dispatch.streamed import CopiedBatch, Meter, Session, StreamedQueue
from tracecore.dispatch.tracer import BvhStatistics, Limits, TracerStatistics
from tracecore.errors import KernelError
from tracecore.kernels.step_records import COUNTS, RAY_COUNTS
from tracecore.kernels.strategies import find_strategy
from tracecore.kernels.strategy import KernelStrategy
from tracecore.rays import HIT, HIT_FLOATS, RAY_FLOATS, Floats, Query, checked_rays

__all__ = ["GpuTracer", "gpu_unavailable_reason"]

#: How batches reach the device; the default first.
DISPATCHES = ("resident", "streamed")

#: Batches in flight for each thread that runs a compiled loop: few stay in a core's cache, many outlast a launch.
LANES = {"resident": 4, "streamed": 16}

#: Slots of the ring that queues get in resident dispatch; twice their usual batches if that is more.
LEAST_SLOTS = 64

#: Rays of one launch when a whole array is traced.
CHUNK_RAYS = 1 << 21


#: Launches and copies of which the fastest tells how fast it can be; bytes of a copy.
LIMIT_ROUNDS, LIMIT_BYTES = 5, 1 << 26


class GpuTracer:
    """Traces on the current GPU.

    triangles: (t, 3, 3) float32, checked. dispatch: how queues' batches reach the device; whole arrays are launched in
    large pieces. kernel: a registered name, a strategy, or None for the default.
    threads: CPU threads that a driver should feed it from. tree: over the triangles, of this kernel; by default it is
    built. cutouts: of the triangles, None if all are solid. Raises `KernelError` where the kernel is unknown, does not
    compile or has too small a stack for the tree, `DeviceError` where CUDA fails. Waits are bounded
    (`TRACECORE_GPU_TIMEOUT`, seconds). May be shared by threads; a queue belongs to one.
    """

    device = "gpu"

    def __init__(
        self,
        triangles: Floats,
        kernel: str | KernelStrategy | None = None,
        *,
        threads: int | None = None,
        dispatch: str = DISPATCHES[0],
        tree: BinaryTree | None = None,
        cutouts: CutoutTables | None = None,
    ) -> None:
        start = time.perf_counter()
        strategy = find_strategy(kernel)
        tree = tree or strategy.build(triangles)
        self.tree: BinaryTree | None = tree
        packed = strategy.pack(tree, triangles, cutouts)
        stack_size, has_cutouts = strategy.stack_for(packed), cutouts is not None
        self.name = strategy.name
        self.threads = threads or usable_cores()
        self.bvh = BvhStatistics(
            nodes=packed.nodes,
            bytes=packed.bytes,
            sah_cost=tree.sah_cost,
            build_seconds=time.perf_counter() - start,
        )
        with vacant_device(), cuda_errors("cannot set up the GPU"):
            attach_thread()
            scene = DeviceScene(packed, strategy.layout.scene)
            self._load = partial(DeviceKernel, strategy, stack_size, has_cutouts=has_cutouts)
            launched = self._load()
            self.session = Session(launched, scene, Meter(), timeout_seconds())
            ring_kernel = self._load(resident=True)
            slots = max(2 * DEPTH * self.threads, LEAST_SLOTS)
            by_launches = dispatch == "streamed"
            self._service = Service(ring_kernel, scene, timeout_seconds(), slots, by_launches=by_launches)
        self.dispatch = dispatch
        self.lanes = LANES[dispatch]
        self._lock = threading.Lock()
        self._queues: list[StreamedQueue | RingQueue] = []
        self._ports: list[RingPort] = []
        self._is_open = True

    @property
    def compiled(self) -> CompiledKernel:
        """The kernel in use, with its resources."""
        return self.session.kernel.compiled

    def open_queue(self) -> StreamedQueue | RingQueue:
        """A queue for the calling thread."""
        self._check_open()
        service = self._service
        queue = StreamedQueue(self.session) if service.by_launches else service.open_queue(self.session.meter)
        with self._lock:
            self._queues.append(queue)
        return queue

    def open_ports(self, threads: int, slots: int, slot_rays: int, log_rows: int = 0) -> list[RingPort]:
        """Ports for compiled loops, one for each of so many threads, see `port`."""
        self._check_open()
        ports = self._service.open_ports(threads, slots, slot_rays, log_rows)
        with self._lock:
            self._ports += ports
        return ports

    def closest_hit(self, rays: Floats) -> Floats:
        """(n, 8) float32 rays -> (n, 4) float32 hits, any n; the least `t`, and of equal ones the least `prim_id`."""
        return self._trace_all(rays, Query.CLOSEST)

    def any_hit(self, rays: Floats) -> Floats:
        """(n, 8) float32 rays -> (n, 4) float32: t = u = v = 0 and `prim_id` 0 where something is hit, else a miss."""
        return self._trace_all(rays, Query.ANY)

    def _trace_all(self, rays: Floats, query: Query) -> Floats:
        self._check_open()
        rays = checked_rays(rays)
        hits = np.empty((len(rays), HIT_FLOATS), np.float32)
        if len(rays) == 0:
            return hits
        with vacant_device():
            self._launch_all(rays, hits, query)
        return hits

    def _launch_all(self, rays: Floats, hits: Floats, query: Query) -> None:
        queue = StreamedQueue(self.session, CopiedBatch)
        batch = queue.batch(min(len(rays), CHUNK_RAYS))
        for start in range(0, len(rays), CHUNK_RAYS):
            count = min(len(rays) - start, CHUNK_RAYS)
            batch.rays[:count] = rays[start : start + count]
            queue.submit(batch, count, query)
            queue.wait(batch)
            hits[start : start + count] = batch.hits[:count]
        queue.close()

    def limits(self, rays: Floats) -> Limits:
        """How fast the kernel alone traces such rays, (n, 8) float32, and how fast the bus takes bytes to the device.

        The rays are repeated to fill the device, lie in its own memory, and are traced in one launch, timed by its
        clock. Nothing else of this process runs there meanwhile.
        """
        self._check_open()
        rays = checked_rays(rays)
        attach_thread()
        with vacant_device(), cuda_errors("cannot measure what limits the GPU"):
            return Limits(kernel_rays_per_second=self._kernel_rate(rays), bus_bytes_per_second=self._bus_rate())

    def _kernel_rate(self, rays: Floats) -> float:
        if len(rays) == 0:
            return 0.0
        many = np.resize(rays, (CHUNK_RAYS, RAY_FLOATS))  # whole copies one after the other
        return len(many) / min(self._launched(many, Query.CLOSEST, LIMIT_ROUNDS))

    def launch_seconds(self, rays: Floats, query: Query, launches: int) -> list[float]:
        """Of so many launches over all rays, (n, 8) float32, n > 0, one after the other, by the device's clock; rays
        and hits lie in its memory. Nothing else of this process runs there meanwhile."""
        self._check_open()
        rays = checked_rays(rays)
        attach_thread()
        with vacant_device(), cuda_errors(f"cannot trace {len(rays)} rays"):
            return self._launched(rays, query, launches)

    def _launched(self, rays: Floats, query: Query, launches: int) -> list[float]:
        on_device, hits = DeviceMemory.holding(rays), DeviceMemory.zeros(len(rays) * HIT.itemsize)
        launch = Launch(self.session.kernel, self.session.scene, (on_device.address, hits.address))
        stream = Stream()
        seconds = []
        for _ in range(launches):
            launch.start(len(rays), query, stream)
            self._pass(stream)
            start, end, _ = launch.report()
            seconds.append((end - start) / 1e9)
        return seconds

    def count_steps(self, rays: Floats, query: Query = Query.CLOSEST) -> StepCounts:
        """What the kernel does for rays, (n, 8) float32, n > 0, in launches of a build that counts."""
        self._check_open()
        rays = checked_rays(rays)
        attach_thread()
        with vacant_device(), cuda_errors("cannot count steps"):
            kernel = self._load(counted=True)
            parts = (rays[start : start + CHUNK_RAYS] for start in range(0, len(rays), CHUNK_RAYS))
            return StepCounts.joined([self._counted(kernel, part, query) for part in parts])

    def _counted(self, kernel: DeviceKernel, rays: Floats, query: Query) -> StepCounts:
        """Of one launch."""
        on_device, hits = DeviceMemory.holding(rays), DeviceMemory.zeros(len(rays) * HIT.itemsize)
        counts = DeviceMemory.zeros(COUNTS.itemsize + len(rays) * RAY_COUNTS.itemsize)
        launch = Launch(kernel, self.session.scene, (on_device.address, hits.address), counts.address)
        stream = Stream()
        launch.start(len(rays), query, stream)
        self._pass(stream)
        launch.report()
        return StepCounts.read(counts.copied())

    def _bus_rate(self) -> float:
        host, device, stream = pinned(LIMIT_BYTES, np.uint8), DeviceMemory.zeros(LIMIT_BYTES), Stream()
        seconds = []
        for _ in range(LIMIT_ROUNDS):
            start = time.perf_counter()
            stream.copy_up(device.address, host.ctypes.data, LIMIT_BYTES)
            self._pass(stream)
            seconds.append(time.perf_counter() - start)
        return LIMIT_BYTES / min(seconds)

    def _pass(self, stream: Stream) -> None:
        """Wait for all work in a stream. Raises `KernelError` where it does not end."""
        stream.mark()
        if not stream.wait(self.session.timeout):
            self.session.is_lost = True
            raise KernelError(f"the GPU has not answered in {self.session.timeout:g} s: end this process")

    def statistics(self) -> TracerStatistics:
        """What has been done so far: launches that have been waited for.

        busy_seconds: union of the launches' times by the device's clock, each from its first block's start to its last
        block's end. kernel_rays_per_second: all rays by that time, small launches and large ones alike.
        """
        with self._lock:
            tallies = [port.port.tally for port in self._ports]
        done = np.sum(tallies, axis=0) if tallies else np.zeros(COUNTERS, np.int64)
        through_ports = (int(done[BATCHES]), int(done[RAYS]), int(done[INVALID]))
        return self.session.meter.statistics(self._service.busy_seconds, through_ports)

    def close(self) -> None:
        """Wait for what is in flight and give memory back. Statistics can still be read."""
        self._is_open = False
        with self._lock:
            queues, self._queues = self._queues, []
        for queue in queues:
            queue.close()
        self._service.stop()

    def _check_open(self) -> None:
        if not self._is_open:
            raise KernelError(f"the tracer '{self.name}' is closed; open another one")

    def __enter__(self) -> Self:
        """The tracer itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()
