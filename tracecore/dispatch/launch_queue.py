"""Rays that lie on a GPU already: launches in a stream of the caller's, for which the host does not wait."""

import threading
import weakref
from collections import deque
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from tracecore.arrays import Array
from tracecore.cuda.device import LentStream, Mark, keep_for_good
from tracecore.cuda.device_kernel import Launch
from tracecore.cuda.device_memory import DeviceMemory
from tracecore.dispatch.whole_arrays import LaunchContext, WorkCounters
from tracecore.errors import KernelError, RayError
from tracecore.kernels.launch_records import LAUNCH_COUNTERS
from tracecore.rays import HIT, HIT_FLOATS, RAY, RAY_FLOATS, Query

#: Launches that are under way at most, as rays and hits of each are kept: the host waits for the first of more.
AHEAD = 16

#: Kernels read and write so many bytes at once.
WORD_BYTES = 16


class UnderWay(NamedTuple):
    """Is a launch that may not be done yet.

    used: rays and hits, kept until then.
    traced: how many.
    mark: is behind it in its stream.
    """

    launch: Launch
    used: Any
    traced: int
    mark: Mark


class LaunchQueue:
    """Traces rays where they lie, by launches that nobody waits for. What a kernel complains of is told to whoever
    traces next, or closes.

    context: what is launched.
    counters: count what is done.
    """

    def __init__(self, context: LaunchContext, counters: WorkCounters) -> None:
        self._context, self._counters, self._device = context, counters, context.kernel.device
        self._lock = threading.RLock()
        self._under_way: deque[UnderWay] = deque()
        self._idle: list[Launch] = []
        self._complaint: KernelError | None = None
        self._device.device_lock.add_queue(self)
        weakref.finalize(self, _end, context, self._under_way).atexit = False

    def trace(self, lent: Array, query: Query) -> Any:
        """Returns the hits of rays on the device, `DeviceHits`, which are there when CuPy's current stream has come so
        far.

        lent: the rays, (n, 8) float32, of any library. They and the hits are kept until a later call finds them traced.

        The calling thread is attached to the device, where no kernel stays meanwhile. Raises `RayError` for rays that
        lie elsewhere or otherwise, `KernelError` for what an earlier launch complains of.
        """
        from tracecore.cuda.device_hits import DeviceHits

        rays = self._checked(lent)
        with self._lock:
            self.settle()
            self._complain()
            hits = self._device.driver.empty((len(rays), HIT_FLOATS)).view(type=DeviceHits)
            stream = LentStream(self._device.driver.current_stream())
            most = self._context.kernel.strategy.most_rays
            for first in range(0, len(rays), most):
                launch = self._next_launch(stream)
                launch.aim(rays.data.ptr + first * RAY.itemsize, hits.data.ptr + first * HIT.itemsize)
                count, mark = min(len(rays) - first, most), Mark(self._device)
                launch.start(count, query, stream)
                mark.set(stream.address)
                self._under_way.append(UnderWay(launch, (rays, hits), count, mark))
        return hits

    def _checked(self, lent: Array) -> Any:
        """Returns rays as CuPy's array of the same memory."""
        try:
            rays = self._device.driver.array_of(lent)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise RayError(f"rays: {error}") from error
        there, here = rays.device.id, self._device.index
        if there != here:
            raise RayError(f"rays lie on GPU {there}, and the tracer is on GPU {here}; copy them there first")
        is_shaped = rays.ndim == 2 and rays.shape[1] == RAY_FLOATS and rays.dtype == np.float32
        if not is_shaped or not rays.flags.c_contiguous or rays.data.ptr % WORD_BYTES != 0:
            got = f"{rays.shape} {rays.dtype}, strides {rays.strides}, at {rays.data.ptr:#x}"
            raise RayError(
                f"rays on a GPU must be an array of shape (n, {RAY_FLOATS}) and type float32, C-contiguous, at a "
                f"multiple of {WORD_BYTES} bytes, got {got}"
            )
        return rays

    def _next_launch(self, stream: LentStream) -> Launch:
        """Returns a launch that is not under way. The counters of a new one are set to zero by the stream: to wait for
        that could be to wait for all that runs on the device."""
        if len(self._under_way) >= AHEAD:
            self._context.finish(self._under_way[0].mark)
            self.settle()
        if self._idle:
            return self._idle.pop()
        counters = DeviceMemory(self._device, LAUNCH_COUNTERS.itemsize)
        self._device.driver.fill(counters.address, 0, counters.size, stream.address)
        return Launch(self._context.kernel, self._context.scene, (0, 0), counters=counters)

    def settle(self) -> None:
        """Counts the launches that are done. Raises `KernelError` where the device failed."""
        with self._lock:
            while self._under_way and self._context.is_done(self._under_way[0].mark):
                launch, _, traced, _ = self._under_way.popleft()
                self._idle.append(launch)
                try:
                    self._counters.add(traced, launch.report())
                except KernelError as error:
                    self._complaint = self._complaint or error

    def _complain(self) -> None:
        complaint, self._complaint = self._complaint, None
        if complaint is not None:
            raise complaint

    def finish(self) -> None:
        """Returns once all launches are done. Raises as `_await`."""
        with self._lock:
            _await(self._context, self._under_way)
            self.settle()

    def close(self) -> None:
        """Gives memory back when all launches are done. Raises what `finish` does, and what a kernel complains of."""
        with self._lock:
            self.finish()
            self._idle.clear()
            self._complain()


def _await(context: LaunchContext, under_way: deque[UnderWay]) -> None:
    """Returns once all launches are done. Raises `KernelError` where one does not come back or the device fails, unless
    that is known already; then what they use is kept for good.
    """
    is_known = bool(context.failure)
    try:
        for launched in under_way:
            context.finish(launched.mark)
    except KernelError:
        keep_for_good(*under_way)
        under_way.clear()
        if not is_known:
            raise


def _end(context: LaunchContext, under_way: deque[UnderWay]) -> None:
    """Waits for the launches of a queue that nobody has any more: the device still reads and writes their memory."""
    with suppress(KernelError):
        _await(context, under_way)
