"""The ring (`ring.py`) on an NVIDIA GPU: a kernel that stays answers what is rung, or launches of that kernel do.

Resident dispatch is the first, streamed dispatch the second: each launch answers all that has been rung, and ends.
"""

import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import numpy as np

from tracecore.cuda.device import CudaDevice, Mark, Stream, cuda_errors
from tracecore.cuda.device_kernel import DeviceKernel, DeviceScene
from tracecore.cuda.device_memory import DeviceMemory
from tracecore.dispatch.port import (
    LATE,
    LISTENING,
    POLLED,
    PORT_BATCHES,
    are_ready,
    await_answer,
    new_port,
    no_tree,
    raise_status,
    receive,
)
from tracecore.dispatch.ring import RingMemory, say
from tracecore.errors import DeviceError, KernelError, TraceError
from tracecore.kernels.ring_records import END, GO_ON, ONCE, RING_STATE


class ServedRing:
    """A ring and the kernel that serves it: all that the device uses while the kernel runs.

    The calling thread is attached to the kernel's device.

    kernel: compiled for resident dispatch.
    scene: what it traces.
    timeout: seconds that the kernel may take to end.
    memory: the ring.
    """

    def __init__(self, kernel: DeviceKernel, scene: DeviceScene, timeout: float, memory: RingMemory) -> None:
        self.memory = memory
        self.runs = self._hangs = False
        self.timeout = timeout
        self._kernel = kernel
        self._scene = scene
        self.gpu = gpu = kernel.device
        self._device = {name: DeviceMemory.zeros(gpu, size) for name, size in memory.device_bytes.items()}
        patience = 4 * timeout  # threads that wait for a batch give up first
        self._ring = memory.record({name: own.address for name, own in self._device.items()}, patience)
        self._pointers = np.array([scene.record.ctypes.data, self._ring.ctypes.data], np.uint64)
        self._stream = Stream(gpu)
        self._launches = [Mark(gpu), Mark(gpu)]  # of the last but one, and of the last

    def start(self) -> None:
        """Start the kernel, which stays, once nobody else is on the device. Another one that stays there ends first."""
        with self.gpu.device_lock.alone(), self.gpu.device_lock.vacant():
            say(self.memory.stop, GO_ON)
            self._start()
            self._stream.mark()
            self.runs = True
            self.gpu.device_lock.add_persistent(self)

    def launch(self) -> None:
        """Start a launch that answers what has been rung, unless one waits behind another already."""
        earlier, last = self._launches
        if not earlier.has_passed():
            return
        with self.gpu.device_lock.vacant():
            say(self.memory.stop, ONCE)
            self._start()
            earlier.set(self._stream.address)
            self._launches = [last, earlier]

    def _start(self) -> None:
        with cuda_errors("cannot start the kernel that serves the ring"):
            self.gpu.attach()
            self._stream.clear(self._device["state"].address, RING_STATE.itemsize)
            self._kernel.start_resident(self._pointers.ctypes.data, self._stream)

    def has_ended(self) -> bool:
        """Returns whether the kernel that was started is there no more."""
        return self._stream.has_passed()

    def end(self) -> None:
        """End the kernel, and launches, when what has been rung is answered; a device that failed has ended them.

        Raises `DeviceError` where one does not end, `KernelError` where it turns out that the device failed.
        """
        with self.gpu.device_lock.lock:
            self.gpu.device_lock.add_persistent(
                self
            )  # for good where it does not end: launches too keep their memory then
            try:
                self._wait_for_end()
            except KernelError:
                self._leave_device()
                raise
            self._leave_device()

    def _leave_device(self) -> None:
        self.runs = False
        self.gpu.device_lock.remove_persistent(self)

    def _wait_for_end(self) -> None:
        if self.gpu.is_lost:
            return
        try:
            self.gpu.attach()
        except RuntimeError as error:
            raise self.gpu.lost(f"the GPU cannot be used any more ({error})") from error
        if self.runs:
            say(self.memory.stop, END)
        self._stream.mark()
        self._hangs = not self._stream.wait(0.0 if self._hangs else self.timeout)  # it is waited for once
        if self._hangs:
            self.gpu.has_hung = True
            name = self._kernel.strategy.name
            raise DeviceError(f"kernel {name!r} has not ended in {self.timeout:g} s: end this process")


def _leave(served: ServedRing) -> None:
    """End the kernel of a host that nobody uses any more.

    This may be called amid anything that a thread does, also while it has another device to itself. So it does not wait
    for the device's lock as long as another thread likes: whoever needs the device next ends the kernel then.
    """
    lock = served.gpu.device_lock.lock
    if lock.acquire(timeout=served.timeout):
        with suppress(TraceError):
            served.end()
        lock.release()
    else:
        served.gpu.device_lock.add_persistent(served)


class KernelHost:
    """A kernel that starts with the first batch and stays until it is stopped, and the one ring that it serves.

    Threads may share it. It ends with the interpreter at the latest; a process that dies takes its kernel along.

    kernel: compiled for resident dispatch.
    scene: what it traces.
    timeout: seconds that it, or a batch, may take.
    by_launches: the kernel does not stay, but is launched when a port asks.
    """

    def __init__(self, kernel: DeviceKernel, scene: DeviceScene, timeout: float, *, by_launches: bool = False) -> None:
        self.name = kernel.strategy.name
        self.timeout = timeout
        self.by_launches = by_launches
        self._gpu: CudaDevice = kernel.device
        self._make_served: Callable[[RingMemory], ServedRing] | None = partial(ServedRing, kernel, scene, timeout)
        self._served: ServedRing | None = None
        self._at_exit: weakref.finalize[..., KernelHost] | None = None
        self._earlier_busy = 0.0

    @property
    def busy_seconds(self) -> float:
        """Wall time, by the device's clock, in which there was a batch to trace."""
        served = self._served
        return self._earlier_busy + (int(served.memory.busy[0]) * 1e-9 if served else 0.0)

    def ring(self, slots: int, slot_rays: int) -> RingMemory:
        """Returns the ring, made anew unless it has at least so many slots, of so many rays each.

        slots: how many slots are needed.
        slot_rays: how many rays a slot holds, a power of two.

        Raises `DeviceError` where another ring is in use or memory runs out, `KernelError` where the host is closed.
        """
        with self._gpu.device_lock.lock:
            memory = self._served.memory if self._served else None
            if memory is None or memory.slot_rays != slot_rays or memory.slots < slots:
                memory = self._new_ring(slots, slot_rays)
            return memory

    def _new_ring(self, slots: int, slot_rays: int) -> RingMemory:
        if self._make_served is None:
            raise KernelError(f"kernel {self.name!r} serves no ring any more: its tracer is closed")
        self._leave_ring(f"{slots} slots of {slot_rays} rays")
        with self._gpu.device_lock.vacant(), cuda_errors(f"cannot make a ring of {slots} slots of {slot_rays} rays"):
            self._gpu.attach()
            memory = RingMemory(slots, slot_rays, self._gpu.pinned)
            self._gpu.check_room(slots, f"slots of {slot_rays} rays", sum(memory.device_bytes.values()))
            served = self._make_served(memory)
        self._at_exit = weakref.finalize(self, _leave, served)
        self._served = served
        return memory

    def _leave_ring(self, wanted: str) -> None:
        """Stop, and forget the ring, which nobody may use. wanted: what is to be made instead, in words."""
        if self._served is None:
            return
        memory = self._served.memory
        if not memory.take_all():
            raise DeviceError(
                f"the ring has {memory.slots} slots of {memory.slot_rays} rays, and some are in use, so that there "
                f"cannot be {wanted}: first close the queues or ports that have them"
            )
        self.stop()
        self._forget_ring()

    def _forget_ring(self) -> None:
        """Give the ring's memory back. Its kernel has ended."""
        if self._at_exit is not None:
            self._at_exit.detach()
        self._served = self._at_exit = None

    def serve(self) -> None:
        """See to it that the kernel runs. Raises `KernelError` where it has died or there is no ring."""
        served = self._served
        if self.by_launches or (served and served.runs and not served.has_ended()):
            return
        with self._gpu.device_lock.alone():
            served = self._served
            if served is None:
                raise KernelError("there is no ring to serve: ask for one first")
            if not served.runs:
                served.start()
            elif served.has_ended():
                raise KernelError(f"kernel {self.name!r} has ended by itself: start the process anew")

    def launch(self) -> None:
        """Have all that has been rung so far answered, now or when the launches under way are done."""
        with self._gpu.device_lock.lock:
            if self._served:
                self._served.launch()

    def open_ports(
        self, threads: int, slots: int, slot_rays: int, log_rows: int = 0, ring_slots: int = 0
    ) -> "list[RingPort]":
        """Opens ports to the ring.

        threads: how many ports.
        slots: how many slots each of them has.
        slot_rays: how many rays a slot holds, a power of two.
        log_rows: how many rows each port's log has.
        ring_slots: how many slots the ring has at least, so that later ports find some.

        Returns the ports. Raises `DeviceError` where another ring is in use or memory runs out.
        """
        memory = self.ring(max(threads * slots, ring_slots), slot_rays)
        return [RingPort(self, memory, slots, log_rows) for _ in range(threads)]

    def stop(self) -> None:
        """End the kernel when what has been rung is answered. Raises what `ServedRing.end` raises."""
        with self._gpu.device_lock.lock:
            served = self._served
            if served is None:
                return
            served.end()
            self._earlier_busy = self.busy_seconds
            served.memory.busy[0] = 0

    def close(self) -> None:
        """Stop for good, and give the memory of the ring and of the scene back.

        Raises what `ServedRing.end` raises; then the memory stays.
        """
        with self._gpu.device_lock.lock:
            self.stop()
            self._forget_ring()
            self._make_served = None


#: How long a port that is served by launches looks at its flags before it asks for the next launch, in nanoseconds.
LAUNCH_PATIENCE = 50_000

#: The same between two looks at whether a kernel that stays is still there.
DRAIN_PATIENCE = 50_000_000

#: Seconds that a thread which is to end waits for what is on its way.
DRAIN_SECONDS = 1.0


class RingPort:
    """A thread's slots of the ring, which compiled loops and queues use by `port`.

    host: of the kernel that answers.
    memory: the ring.
    slots: how many slots the port takes, side by side.
    log_rows: how many rows the port's log has.
    """

    def __init__(self, host: KernelHost, memory: RingMemory, slots: int, log_rows: int) -> None:
        self._host = host
        self._memory = memory
        self._first = memory.take(slots)
        self._slots = slots
        kind = POLLED if host.by_launches else LISTENING
        indices = slice(self._first, self._first + slots)
        self.port = new_port(memory, indices, kind, no_tree(), host.timeout, log_rows)
        self._silent_since = 0.0
        self._seen = (0, 0)
        self._is_lost = False

    def poll(self) -> None:
        """Have what has been rung launched, and look for an answer for a while.

        Raises `KernelError` where poll after poll nothing is answered, and nothing new is asked, for the timeout.
        """
        self._host.launch()
        if await_answer(self.port, LAUNCH_PATIENCE):
            self._seen = (0, 0)
            return
        seen, now = (int(self.port.counters[PORT_BATCHES]), self._waiting()), time.perf_counter()
        if seen != self._seen:
            self._seen, self._silent_since = seen, now
        elif now - self._silent_since > self._host.timeout:
            raise_status(LATE, self.port, self._host.name)

    def _waiting(self) -> int:
        """Returns how many slots wait for an answer."""
        port = self.port
        return int(np.count_nonzero(port.doorbells >> np.uint64(32) != port.flags >> np.uint64(32)))

    def check(self) -> None:
        """See to it that the kernel runs. Raises `KernelError` where it has failed."""
        self._host.serve()

    def drain(self) -> None:
        """Let all slots be answered. Raises `KernelError` where they are not soon; then they are never given back."""
        deadline = time.perf_counter() + min(DRAIN_SECONDS, self._host.timeout)
        self._is_lost = True
        while not are_ready(self.port, 0 if self._host.by_launches else DRAIN_PATIENCE):
            if time.perf_counter() > deadline:
                raise_status(LATE, self.port, self._host.name)
            self.check()
            if self._host.by_launches:
                self.poll()
        for slot in range(self._slots):
            receive(self.port, slot)  # so that whoever has the slot next is not told of these rays
        self._is_lost = False

    def close(self) -> None:
        """Give the slots back, unless the device may still write there."""
        if not self._is_lost:
            self._memory.give_back(self._first, self._slots)
