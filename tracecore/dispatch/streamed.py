"""Streamed dispatch: one launch per batch, each batch with pinned memory and a stream of its own."""

import threading
from dataclasses import dataclass

import numpy as np

from tracecore.cuda.device import (
    DeviceKernel,
    DeviceMemory,
    DeviceScene,
    Launch,
    Stream,
    attach_thread,
    cuda_errors,
    pinned,
)
from tracecore.dispatch.batch import Batch
from tracecore.dispatch.busy_time import BusyTime
from tracecore.dispatch.device_lock import vacant_device
from tracecore.dispatch.in_flight import FlightBatch, FlightQueue
from tracecore.dispatch.tracer import TracerStatistics
from tracecore.errors import DeviceError, KernelError
from tracecore.rays import HIT, HIT_FLOATS, RAY, RAY_FLOATS, Query


class Meter:
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
class Session:
    """What queues share. timeout: seconds to wait for a launch. is_lost: one has not come back."""

    kernel: DeviceKernel
    scene: DeviceScene
    meter: Meter
    timeout: float
    is_lost: bool = False


#: Batches whose launch never came back: the device may still write there, so that their memory must stay.
_abandoned: list[Batch] = []


class PinnedBatch(FlightBatch):
    """A batch whose rays the kernel reads, and whose hits it writes, straight in the host's memory."""

    def __init__(self, capacity: int, session: Session) -> None:
        super().__init__(pinned((capacity, RAY_FLOATS), np.float32), pinned((capacity, HIT_FLOATS), np.float32))
        self.stream = Stream()
        self._launch = Launch(session.kernel, session.scene, self._addresses())

    def _addresses(self) -> tuple[int, int]:
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

    def _addresses(self) -> tuple[int, int]:
        self._device_rays = DeviceMemory.zeros(self.rays.nbytes)
        self._device_hits = DeviceMemory.zeros(self.hits.nbytes)
        return self._device_rays.address, self._device_hits.address

    def start(self, count: int, query: Query) -> None:
        """Start to copy and trace `rays[:count]`, count > 0."""
        self.stream.copy_up(self._device_rays.address, self.rays.ctypes.data, count * RAY.itemsize)
        self._launch.start(count, query, self.stream)
        self.stream.copy_down(self.hits.ctypes.data, self._device_hits.address, count * HIT.itemsize)
        self.stream.mark()


class StreamedQueue(FlightQueue[PinnedBatch]):
    """Queue of a `GpuTracer`, for one thread. batch_type: how its batches reach the device."""

    def __init__(self, session: Session, batch_type: type[PinnedBatch] = PinnedBatch) -> None:
        super().__init__(batch_type)
        self._session = session
        self._thread = 0

    def _make(self, capacity: int) -> PinnedBatch:
        self._attach()
        with vacant_device(), cuda_errors(f"cannot make a batch of {capacity} rays"):
            return self._batch_type(capacity, self._session)

    def _start(self, batch: PinnedBatch, count: int, query: Query) -> None:
        self._attach()
        try:
            with vacant_device():
                batch.start(count, query)
        except RuntimeError as error:
            raise DeviceError(f"cannot launch kernel {self._session.kernel.strategy.name!r}: {error}") from error

    def _land(self, batch: PinnedBatch) -> None:
        session = self._session
        if session.is_lost or not batch.stream.wait(session.timeout):
            session.is_lost = True
            _abandoned.append(batch)
            raise KernelError(
                f"kernel {session.kernel.strategy.name!r} has not come back in {session.timeout:g} s, so it may hang: "
                "end this process; or raise TRACECORE_GPU_TIMEOUT if the GPU is slow or shared"
            )
        count, batch.in_flight = batch.in_flight, 0
        session.meter.add(count, batch.report())

    def _give_up(self, batch: PinnedBatch) -> None:
        if batch.in_flight and self._session.is_lost:
            _abandoned.append(batch)
        else:
            self.wait(batch)

    def _attach(self) -> None:
        """CUDA has to be told once by every thread."""
        thread = threading.get_ident()
        if thread != self._thread:
            attach_thread()
            self._thread = thread
