"""Resident dispatch on an NVIDIA GPU: a kernel that stays and serves the ring (`ring.py`)."""

import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from tracecore.errors import DeviceError, KernelError
from tracecore.gpu_device import DeviceKernel, DeviceMemory, DeviceScene, Stream, attach_thread, cuda_errors, pinned
from tracecore.ring import DESK, ORDER, ORDERS, RING, RingMemory, RingQueue
from tracecore.streamed import Meter

#: Slots of a tracer's ring: 96 MB of pinned memory.
SLOTS = 512


class Service:
    """A kernel that starts with the first order and stays until it is stopped.

    kernel: compiled for resident dispatch. timeout: seconds that it may take to stop. Threads may share it. It ends
    with the interpreter at the latest; a process that dies takes its kernel along.
    """

    def __init__(self, kernel: DeviceKernel, scene: DeviceScene, timeout: float) -> None:
        self.memory = RingMemory(SLOTS, pinned)
        self._kernel = kernel
        self._scene = scene
        self._timeout = timeout
        self._stream = Stream()
        self._lock = threading.RLock()
        self._runs = False
        self._earlier_busy = 0.0
        self._device = {
            "desk": DeviceMemory.zeros(DESK.itemsize),
            "orders": DeviceMemory.zeros(ORDERS * ORDER.itemsize),
            "heard": DeviceMemory.zeros(SLOTS * 4),
        }
        self._ring = self._record()
        self._pointers = np.array([scene.record.ctypes.data, self._ring.ctypes.data], np.uint64)
        self._at_exit = weakref.finalize(self, _tell_to_stop, self.memory.stop)

    def _record(self) -> npt.NDArray[np.void]:
        record = np.zeros(1, RING)
        for name in ("rays", "hits", "bells", "flags", "stop", "busy"):
            record[name] = getattr(self.memory, name).ctypes.data
        for name, memory in self._device.items():
            record[name] = memory.address
        record["slots"] = SLOTS
        return record

    @property
    def busy_seconds(self) -> float:
        """Wall time, by the device's clock, with an order at hand."""
        return self._earlier_busy + int(self.memory.busy[0]) * 1e-9

    def open_queue(self, meter: Meter) -> RingQueue:
        """A queue for the calling thread. meter: counts its batches."""
        return RingQueue(self.memory, self._kernel.strategy.name, self._timeout, self.serve, meter.count)

    def serve(self) -> None:
        """See to it that the kernel runs. Raises `KernelError` where it has died."""
        if self._runs and not self._stream.has_passed():
            return
        with self._lock:
            if not self._runs:
                self._start()
            elif self._stream.has_passed():
                raise KernelError(f"kernel {self._kernel.strategy.name!r} has ended by itself: start the process anew")

    def _start(self) -> None:
        attach_thread()
        self.memory.stop[0] = 0
        self._earlier_busy = self.busy_seconds
        self.memory.busy[0] = 0
        with cuda_errors("cannot start the resident kernel"):
            self._stream.clear(self._device["desk"].address, DESK.itemsize)
            self._kernel.start_resident(self._pointers.ctypes.data, self._stream)
            self._stream.mark()
        self._runs = True

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing of it runs on the device meanwhile; orders wait."""
        with self._lock:
            self.stop()
            yield

    def stop(self) -> None:
        """End the kernel when its orders are done. Raises `DeviceError` where it does not end."""
        with self._lock:
            if not self._runs:
                return
            attach_thread()
            _tell_to_stop(self.memory.stop)
            if not self._stream.wait(self._timeout):
                raise DeviceError(f"the resident kernel has not ended in {self._timeout:g} s: end this process")
            self._runs = False


def _tell_to_stop(stop: npt.NDArray[np.uint32]) -> None:
    stop[0] = 1
    time.sleep(0)
