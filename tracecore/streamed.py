"""Streamed dispatch: one launch per batch, each batch with pinned memory and a stream of its own."""

import threading
from dataclasses import dataclass

import numpy as np

from tracecore.busy_time import BusyTime
from tracecore.errors import DeviceError, KernelError, RayError
from tracecore.gpu_device import (
    DeviceKernel,
    DeviceMemory,
    DeviceScene,
    Launch,
    Stream,
    attach_thread,
    cuda_errors,
    pinned,
)
from tracecore.rays import BATCH_RAYS, HIT, HIT_FLOATS, RAY, RAY_FLOATS
from tracecore.tracer import Batch, Query, TracerStatistics

#: Batches in flight for each thread that shades (NOTES.md): more of them only make the rays wait for their turn.
DEPTH = 4


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

    def statistics(self, served_seconds: float = 0.0) -> TracerStatistics:
        """Totals. The kernel's rate is rays by the time in which there was something to trace.

        served_seconds: such time of a resident kernel.
        """
        with self._lock:
            batches, rays, invalid = self._batches, self._rays, self._invalid
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


class PinnedBatch(Batch):
    """A batch whose rays the kernel reads, and whose hits it writes, straight in the host's memory."""

    def __init__(self, capacity: int, session: Session) -> None:
        super().__init__(pinned((capacity, RAY_FLOATS), np.float32), pinned((capacity, HIT_FLOATS), np.float32))
        self.in_flight = 0
        self.stream = Stream()
        self._launch = Launch(session.kernel, session.scene, self._addresses())

    def _addresses(self) -> tuple[int, int]:
        """Of rays and hits as the kernel sees them."""
        return self.rays.ctypes.data, self.hits.ctypes.data

    def start(self, count: int, query: Query) -> None:
        """Start to trace `rays[:count]`, count > 0."""
        self._launch.start(count, query, self.stream)
        self.stream.mark()
        self.in_flight = count

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
        self.in_flight = count


class StreamedQueue:
    """Queue of a `GpuTracer`, for one thread."""

    depth = DEPTH

    def __init__(self, session: Session, batch_type: type[PinnedBatch] = PinnedBatch) -> None:
        self._session = session
        self._batch_type = batch_type
        self._thread = 0
        self._batches: list[PinnedBatch] = []
        self._is_open = True

    def batch(self, capacity: int = BATCH_RAYS) -> Batch:
        """A new batch in pinned memory. Raises `RayError` where capacity is below 1, `DeviceError` out of memory."""
        if capacity < 1:
            raise RayError(f"a batch needs a capacity of at least 1 ray, got {capacity}")
        self._attach()
        with cuda_errors(f"cannot make a batch of {capacity} rays"):
            batch = self._batch_type(capacity, self._session)
        self._batches.append(batch)
        return batch

    def submit(self, batch: Batch, count: int, query: Query) -> None:
        """Start to trace `rays[:count]`.

        Raises `RayError` for a count that does not fit and for a batch in flight, `DeviceError` where CUDA refuses.
        """
        own = _own(batch)
        if not 0 <= count <= own.capacity:
            raise RayError(f"a batch of capacity {own.capacity} cannot hold {count} rays")
        if own.in_flight:
            raise RayError("this batch is being traced; wait for it before submitting it again")
        self._attach()
        if count > 0:
            try:
                own.start(count, query)
            except RuntimeError as error:
                raise DeviceError(f"cannot launch kernel {self._session.kernel.strategy.name!r}: {error}") from error

    def wait(self, batch: Batch) -> None:
        """Return once the hits are there; at once for a batch that is not in flight.

        Raises `KernelError` where the kernel complains or does not come back.
        """
        own = _own(batch)
        if count := own.in_flight:
            self._come_back(own)
            own.in_flight = 0
            self._session.meter.add(count, own.report())

    def _come_back(self, batch: PinnedBatch) -> None:
        session = self._session
        if session.is_lost or not batch.stream.wait(session.timeout):
            session.is_lost = True
            _abandoned.append(batch)
            raise KernelError(
                f"kernel {session.kernel.strategy.name!r} has not come back in {session.timeout:g} s, so it may hang: "
                "end this process; or raise TRACECORE_GPU_TIMEOUT if the GPU is slow or shared"
            )

    def close(self) -> None:
        """Wait for what is in flight and give the memory back; of a GPU that is lost, the memory stays."""
        self._is_open = False
        batches, self._batches = self._batches, []
        for batch in batches:
            if batch.in_flight and self._session.is_lost:
                _abandoned.append(batch)
            else:
                self.wait(batch)

    def _attach(self) -> None:
        """CUDA has to be told once by every thread."""
        if not self._is_open:
            raise KernelError("the queue is closed; open another one")
        thread = threading.get_ident()
        if thread != self._thread:
            attach_thread()
            self._thread = thread


def _own(batch: Batch) -> PinnedBatch:
    if not isinstance(batch, PinnedBatch):
        raise RayError("this batch was not made by a GPU's queue; get one from queue.batch()")
    return batch
