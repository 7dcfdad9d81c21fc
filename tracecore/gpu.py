"""The tracer on an NVIDIA GPU: streamed dispatch, one launch per batch, or resident dispatch, one kernel that stays."""

import threading
import time
from contextlib import nullcontext
from types import TracebackType
from typing import Self

import numpy as np

from tracecore.direct import usable_cores
from tracecore.errors import KernelError
from tracecore.gpu_device import (
    DeviceKernel,
    DeviceScene,
    attach_thread,
    cuda_errors,
    gpu_unavailable_reason,
    timeout_seconds,
)
from tracecore.nvrtc import CompiledKernel
from tracecore.rays import HIT_FLOATS, Floats, checked_rays
from tracecore.resident import Service
from tracecore.ring import RingQueue
from tracecore.strategies import find_strategy
from tracecore.strategy import KernelStrategy
from tracecore.streamed import CopiedBatch, Meter, Session, StreamedQueue
from tracecore.tracer import BvhStatistics, Query, TracerStatistics

__all__ = ["GpuTracer", "gpu_unavailable_reason"]

#: How batches reach the device; the default first.
DISPATCHES = ("streamed", "resident")

#: Rays of one launch when a whole array is traced.
CHUNK_RAYS = 1 << 21


class GpuTracer:
    """Traces on the current GPU.

    triangles: (t, 3, 3) float32, checked. dispatch: how queues' batches reach the device; whole arrays are launched in
    large pieces. kernel: a registered name, a strategy, or None for the default.
    threads: CPU threads that a driver should feed it from. Raises `KernelError` where the kernel is unknown, does not
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
    ) -> None:
        start = time.perf_counter()
        strategy = find_strategy(kernel)
        tree = strategy.build(triangles)
        packed = strategy.layout.pack(tree, triangles)
        stack_size = strategy.stack_for(packed)
        self.name = strategy.name
        self.threads = threads or usable_cores()
        self.bvh = BvhStatistics(
            nodes=packed.nodes,
            bytes=packed.bytes,
            sah_cost=tree.sah_cost,
            build_seconds=time.perf_counter() - start,
        )
        with cuda_errors("cannot set up the GPU"):
            attach_thread()
            scene = DeviceScene(packed, strategy.layout.scene)
            self.session = Session(DeviceKernel(strategy, stack_size), scene, Meter(), timeout_seconds())
            self._service = None
            if dispatch == "resident":
                self._service = Service(DeviceKernel(strategy, stack_size, resident=True), scene, timeout_seconds())
        self.dispatch = dispatch
        self._lock = threading.Lock()
        self._queues: list[StreamedQueue | RingQueue] = []
        self._is_open = True

    @property
    def compiled(self) -> CompiledKernel:
        """The kernel in use, with its resources."""
        return self.session.kernel.compiled

    def open_queue(self) -> StreamedQueue | RingQueue:
        """A queue for the calling thread."""
        self._check_open()
        queue = StreamedQueue(self.session) if self._service is None else self._service.open_queue(self.session.meter)
        with self._lock:
            self._queues.append(queue)
        return queue

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
        with self._service.paused() if self._service else nullcontext():
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

    def statistics(self) -> TracerStatistics:
        """What has been done so far: launches that have been waited for.

        busy_seconds: union of the launches' times by the device's clock, each from its first block's start to its last
        block's end. kernel_rays_per_second: all rays by that time, small launches and large ones alike.
        """
        return self.session.meter.statistics(self._service.busy_seconds if self._service else 0.0)

    def close(self) -> None:
        """Wait for what is in flight and give memory back. Statistics can still be read."""
        self._is_open = False
        with self._lock:
            queues, self._queues = self._queues, []
        for queue in queues:
            queue.close()
        if self._service:
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
