"""Whole arrays of rays on a GPU: pieces that are copied up, traced by one launch each, and copied back."""

import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from tracecore.cuda.device import Mark, Stream, cuda_errors, keep_for_good
from tracecore.cuda.device_kernel import DeviceKernel, DeviceScene, Launch
from tracecore.cuda.device_memory import DeviceMemory
from tracecore.dispatch.busy_time import BusyTime
from tracecore.dispatch.tracer import TracerStatistics
from tracecore.errors import DeviceError, KernelError
from tracecore.rays import HIT, HIT_FLOATS, RAY, RAY_FLOATS, Floats, Query


class WorkCounters:
    """Counts what launches over whole arrays have done, from all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy = BusyTime()
        self._launches = self._rays = self._invalid = 0

    def add(self, rays: int, report: tuple[int, int, int]) -> None:
        """Count a launch that has come back.

        rays: how many it traced.
        report: its start and end in nanoseconds by the device's clock, and how many of its rays were invalid.
        """
        start, end, invalid = report
        self._busy.add(start, end)
        with self._lock:
            self._launches += 1
            self._rays += rays
            self._invalid += invalid

    def statistics(self, served_seconds: float, through_ports: tuple[int, int, int]) -> TracerStatistics:
        """Returns the totals; the kernel's rate is all rays by the time in which there was something to trace.

        served_seconds: such time of the kernel that serves the ring.
        through_ports: batches, rays and invalid rays that came by ports to the ring.
        """
        with self._lock:
            launched = (self._launches, self._rays, self._invalid)
        batches, rays, invalid = (here + there for here, there in zip(launched, through_ports, strict=True))
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
    """What all launches of a tracer over whole arrays share.

    timeout: seconds to wait for a launch.
    failure: why nothing can be launched any more, in words; empty as long as all goes well.
    """

    kernel: DeviceKernel
    scene: DeviceScene
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

    def finish(self, marked: Stream | Mark, silence: str = "") -> None:
        """Returns once all work before a mark, or a stream's mark, is done.

        silence: what it means that it never is, in words, where not what it means of the kernel.

        Raises `KernelError` where that is so or the device failed, and at once where that was so before.
        """
        self.check()
        if not self._asked(lambda: marked.wait(self.timeout)):
            self.failure = silence or (
                f"kernel {self.kernel.strategy.name!r} has not come back in {self.timeout:g} s, so it may hang: end "
                "this process; or raise TRACECORE_GPU_TIMEOUT if the GPU is slow or shared"
            )
            self.check()

    def is_done(self, mark: Mark) -> bool:
        """Returns whether all work before a mark is done. Raises `KernelError` where the device failed."""
        return self._asked(mark.has_passed)

    def _asked(self, question: Callable[[], bool]) -> bool:
        try:
            return question()
        except KernelError as error:
            self.failure = str(error)
            raise


class CopyRooms:
    """Room for pieces of whole arrays, kept from one call to the next: memory of the host that a device reaches takes
    longer to get than a piece takes on its way.

    context: what is launched.
    capacity: rays of a piece.
    """

    def __init__(self, context: LaunchContext, capacity: int) -> None:
        self._context, self.capacity = context, capacity
        self._free: list[CopiedRays] = []

    def trace(self, rays: Floats, hits: Floats, query: Query) -> tuple[int, int, int]:
        """Traces a piece in room that nobody uses, by any thread, as `CopiedRays.trace` does. Room is lost where that
        fails.
        """
        with cuda_errors("cannot use the GPU"):
            self._context.kernel.device.ensure_attached()
        try:
            room = self._free.pop()
        except IndexError:
            room = CopiedRays(self._context, self.capacity)
        report = room.trace(rays, hits, query)
        self._free.append(room)
        return report

    def clear(self) -> None:
        """Gives the room back."""
        self._free.clear()


class CopiedRays:
    """Room for the rays of one launch and their hits, on the host and on the device.

    The calling thread is attached to the kernel's device.

    context: what is launched.
    capacity: how many rays fit.

    Raises `DeviceError` where there is no room for so many.
    """

    def __init__(self, context: LaunchContext, capacity: int) -> None:
        device = context.kernel.device
        self._context = context
        with cuda_errors(f"cannot make room for {capacity} rays"):
            self._rays = device.pinned((capacity, RAY_FLOATS), np.float32)
            self._hits = device.pinned((capacity, HIT_FLOATS), np.float32)
            self._rays_there = DeviceMemory.zeros(device, self._rays.nbytes)
            self._hits_there = DeviceMemory.zeros(device, self._hits.nbytes)
            self._stream = Stream(device)
            addresses = self._rays_there.address, self._hits_there.address
            self._launch = Launch(context.kernel, context.scene, addresses)
        self._launch.used = [self._rays, self._hits, self._rays_there, self._hits_there]
        weakref.finalize(self, _keep_until_done, self._stream, self._launch).atexit = False

    def trace(self, rays: Floats, hits: Floats, query: Query) -> tuple[int, int, int]:
        """Trace some rays by one launch.

        rays: (n, 8) float32, n from 1 to the capacity.
        hits: (n, 4) float32, written.
        query: the closest hit, or any.

        Returns when the launch started and ended, in nanoseconds by the device's clock, and how many rays were invalid.
        Raises `DeviceError` where CUDA refuses, `KernelError` where the launch does not come back or reports a fault,
        `RayError` where the rays are more than a launch takes.
        """
        count = len(rays)
        self._rays[:count] = rays
        name = self._context.kernel.strategy.name
        try:
            self._start(count, query)
        except RuntimeError as error:
            raise DeviceError(f"cannot launch kernel {name!r}: {error}") from error
        self._context.finish(self._stream)
        hits[:] = self._hits[:count]
        return self._launch.report()

    def _start(self, count: int, query: Query) -> None:
        stream = self._stream
        try:
            stream.copy_up(self._rays_there.address, self._rays.ctypes.data, count * RAY.itemsize)
            self._launch.start(count, query, stream)
            stream.copy_down(self._hits.ctypes.data, self._hits_there.address, count * HIT.itemsize)
        finally:
            stream.mark()  # also of a copy whose launch is refused


def _keep_until_done(stream: Stream, launch: Launch) -> None:
    """Keeps for good what is dropped while it is being traced: the device may still write there."""
    with suppress(KernelError):
        if not stream.has_passed():
            keep_for_good(stream, launch)
