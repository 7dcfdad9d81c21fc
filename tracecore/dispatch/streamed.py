"""Streamed dispatch: one launch per batch, each batch with pinned memory and a stream of its own."""

import threading
import weakref
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from tracecore.cuda.device import (
    DeviceKernel,
    DeviceMemory,
    DeviceScene,
    Launch,
    Stream,
    cuda_errors,
    keep_for_good,
)
from tracecore.dispatch.busy_time import BusyTime
from tracecore.dispatch.in_flight import FlightBatch, FlightQueue
from tracecore.dispatch.tracer import TracerStatistics
from tracecore.errors import DeviceError, KernelError
from tracecore.rays import HIT, HIT_FLOATS, RAY, RAY_FLOATS, Query


class WorkCounters:
    """What a tracer's launches have done, from all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy = BusyTime()
        self._batches = self._rays = self._invalid = 0

    def add(self, rays: int, report: tuple[int, int, int]) -> None:
        """Count a launch that has come back. report: start and end in nanoseconds, invalid rays."""
        start, end, invalid = report
        self._busy.add(start, end)
        self.count(rays, invalid)

    def count(self, rays: int, invalid: int) -> None:
        """Count a batch that has come back, whose time is counted elsewhere."""
        with self._lock:
            self._batches += 1
            self._rays += rays
            self._invalid += invalid

    def statistics(
        self, served_seconds: float = 0.0, through_ports: tuple[int, int, int] = (0, 0, 0)
    ) -> TracerStatistics:
        """Totals. The kernel's rate is rays by the time in which there was something to trace.

        served_seconds: such time of the kernel that serves a ring. through_ports: batches, rays and invalid rays that
        came by ports to it.
        """
        with self._lock:
            own = (self._batches, self._rays, self._invalid)
        batches, rays, invalid = (here + there for here, there in zip(own, through_ports, strict=True))
        seconds = self._busy.seconds + served_seconds
        return TracerStatistics(
            batches=batches,
            rays=rays,
            busy_seconds=seconds,
            kernel_rays_per_second=rays / seconds if seconds > 0.0 else 0.0,
            invalid_rays=invalid,
        )


@dataclass
class LaunchContext:
    """What queues share.

    timeout: seconds to wait for a launch. failure: why nothing can be launched any more, in words; empty as long as all
    goes well.
    """

    kernel: DeviceKernel
    scene: DeviceScene
    work_counters: WorkCounters
    timeout: float
    failure: str = ""

    def check(self) -> None:
        """Raises `KernelError` where the device has failed or a launch has not come back."""
        if self.failure:
            raise KernelError(self.failure)

    def close(self) -> None:
        """Lets go of the scene, once: nothing is launched any more."""
        self.failure = self.failure or "the tracer is closed; open another one"
        del self.scene

    def finish(self, stream: Stream, silence: str) -> None:
        """Returns once all work before a stream's mark is done.

        silence: what it means that it never is, in words. Raises `KernelError` where that is so or the device failed,
        and at once where that was so before.
        """
        self.check()
        try:
            has_come_back = stream.wait(self.timeout)
        except KernelError as error:
            self.failure = str(error)
            raise
        if not has_come_back:
            self.failure = silence
            self.check()


def _keep_until_done(stream: Stream, launch: Launch) -> None:
    """Keeps for good what a batch holds that is dropped while it is being traced: the device may still write there."""
    with suppress(KernelError):
        if not stream.has_passed():
            keep_for_good(stream, launch)


class PinnedBatch(FlightBatch):
    """A batch whose rays the kernel reads, and whose hits it writes, straight in the host's memory.

    The calling thread is attached to the session's device.
    """

    #: Rays and hits in the device's own memory, if the kernel has them there.
    _on_device: tuple[DeviceMemory, ...] = ()

    def __init__(self, capacity: int, launch_context: LaunchContext) -> None:
        device = launch_context.kernel.device
        rays = device.pinned((capacity, RAY_FLOATS), np.float32)
        hits = device.pinned((capacity, HIT_FLOATS), np.float32)
        super().__init__(rays, hits)
        self.stream = Stream(device)
        self._launch = Launch(launch_context.kernel, launch_context.scene, self._addresses(launch_context))
        self._launch.used = [rays, hits, *self._on_device]
        weakref.finalize(self, _keep_until_done, self.stream, self._launch).atexit = False

    def _addresses(self, _session: LaunchContext) -> tuple[int, int]:
        """Of rays and hits as the kernel sees them."""
        return self.rays.ctypes.data, self.hits.ctypes.data

    def start(self, count: int, query: Query) -> None:
        """Start to trace `rays[:count]`, count > 0."""
        self._launch.start(count, query, self.stream)
        self.stream.mark()

    def report(self) -> tuple[int, int, int]:
        """Of a launch that is done: start and end in nanoseconds, and how many rays were invalid."""
        return self._launch.report()


class CopiedBatch(PinnedBatch):
    """A batch that is copied to the device and back."""

    def _addresses(self, launch_context: LaunchContext) -> tuple[int, int]:
        device = launch_context.kernel.device
        rays, hits = DeviceMemory.zeros(device, self.rays.nbytes), DeviceMemory.zeros(device, self.hits.nbytes)
        self._on_device = (rays, hits)
        return rays.address, hits.address

    def start(self, count: int, query: Query) -> None:
        """Start to copy and trace `rays[:count]`, count > 0."""
        rays, hits = self._on_device
        try:
            self.stream.copy_up(rays.address, self.rays.ctypes.data, count * RAY.itemsize)
            self._launch.start(count, query, self.stream)
            self.stream.copy_down(self.hits.ctypes.data, hits.address, count * HIT.itemsize)
        finally:
            self.stream.mark()  # also of a copy whose launch is refused


class StreamedQueue(FlightQueue[PinnedBatch]):
    """Queue of a `GpuTracer`, for one thread. batch_type: how its batches reach the device."""

    def __init__(self, launch_context: LaunchContext, batch_type: type[PinnedBatch] = PinnedBatch) -> None:
        super().__init__(batch_type)
        self._session = launch_context
        self._device = launch_context.kernel.device
        self._silence = (
            f"kernel {launch_context.kernel.strategy.name!r} has not come back in {launch_context.timeout:g} s, so it may hang: "
            "end this process; or raise TRACECORE_GPU_TIMEOUT if the GPU is slow or shared"
        )

    def _make(self, capacity: int) -> PinnedBatch:
        self._session.check()
        with self._device.turns.vacant(), cuda_errors(f"cannot make a batch of {capacity} rays"):
            self._device.attach()
            return self._batch_type(capacity, self._session)

    def _start(self, batch: PinnedBatch, count: int, query: Query) -> None:
        self._session.check()
        try:
            with self._device.turns.vacant():
                self._device.ensure_attached()
                batch.start(count, query)
        except RuntimeError as error:
            raise DeviceError(f"cannot launch kernel {self._session.kernel.strategy.name!r}: {error}") from error

    def _land(self, batch: PinnedBatch) -> None:
        self._session.finish(batch.stream, self._silence)
        count, batch.in_flight = batch.in_flight, 0
        self._session.work_counters.add(count, batch.report())

    def _give_up(self, batch: PinnedBatch) -> None:
        if not self._session.failure:
            self.wait(batch)
