"""CUDA without a GPU: `tracecore.cuda.driver.CudaDriver` over the emulator, so that the GPU's own host code runs.

Memory of a device is memory of the host, a module is the emulator's library of the same `.cu` file, and each stream is
a thread that works off what it is given. One kernel runs on a device at a time: whatever is launched behind a kernel
that stays waits for it. As with CUDA, what is made belongs to the calling thread's current device, a launch wants a
thread, a stream and a function of the same device, and a device that has failed answers every call with its status.
"""

import ctypes
import itertools
import json
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from typing import Any

import numpy as np
import pytest

from tracecore.cuda import device as gpu_device
from tracecore.cuda.device_kernel import ENTRIES
from tracecore.cuda.device_program import DeviceProgram
from tracecore.cuda.driver import DEVICE_TO_HOST, HOST_TO_DEVICE, NOT_READY, SUCCESS
from tracecore.cuda.nvrtc import CompiledKernel
from tracecore.emulator.library import (
    LibraryPool,
    Request,
    compile_library,
    compile_program,
    emulator_unavailable_reason,
)
from tracecore.kernels.launch_records import LAUNCH, REPORT
from tracecore.kernels.program import Program
from tracecore.kernels.ring_records import END, RING
from tracecore.kernels.strategy import KernelStrategy

#: CUDA's status of a device on which a kernel has touched memory that is not its own.
ILLEGAL_ADDRESS = 700

#: Seconds after which the emulator gives a launch up.
TIME_LIMIT = 180

#: Bytes that addresses of memory are multiples of.
ALIGNMENT = 256

Work = Callable[[], None]


class FakeCudaError(RuntimeError):
    """What a call of CUDA answers that fails."""


class FakeMemory:
    """Bytes of a device, or of the host where device is None; they begin at `ptr`."""

    def __init__(self, size: int, device: "FakeDevice | None") -> None:
        raw = np.full(size + ALIGNMENT, 0xAA, np.uint8)
        start = -raw.ctypes.data % ALIGNMENT
        self.bytes = raw[start : start + size]
        self.ptr = self.bytes.ctypes.data
        self.device = device

    def has(self, address: int, size: int) -> bool:
        return self.ptr <= address and address + size <= self.ptr + len(self.bytes)


class FakeStream:
    """A thread, from the first work on. What it is given is done even if the stream is dropped."""

    def __init__(self, ptr: int, device: "FakeDevice") -> None:
        self.ptr = ptr
        self.device = device
        self._queue: Queue[Work | None] = Queue()
        self._runs = False
        weakref.finalize(self, self._queue.put, None).atexit = False

    def add(self, work: Work) -> None:
        if not self._runs:
            self._runs = True
            self.device.lines.append(self._queue)
            threading.Thread(target=_work_off, args=(self._queue,), daemon=True).start()
        self._queue.put(work)


def _work_off(queue: "Queue[Work | None]") -> None:
    while (work := queue.get()) is not None:
        work()
        queue.task_done()
    queue.task_done()


class FakeEvent:
    """passed: grows by one with each recording whose work is done; recorded: with each recording."""

    def __init__(self, ptr: int, device: "FakeDevice") -> None:
        self.ptr = ptr
        self.device = device
        self.recorded = 0
        self.passed = [0]


class FakeFunction:
    """An entry point of a module on a device."""

    def __init__(self, ptr: int, device: "FakeDevice", module: dict[str, Any], entry: str) -> None:
        self.ptr = ptr
        self.device = device
        self.entry = entry
        self.pool = LibraryPool.of(Path(module["path"]))
        self.index, self.parameter_bytes = module["entries"][entry]


class FakeDevice:
    """status: SUCCESS, or what every call answers once the device has failed."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.status = SUCCESS
        self.modules: list[bytes] = []
        self.launches = 0
        self.runs = threading.Lock()  # held by the kernel that runs
        self.copies = threading.Lock()  # held by the copy that goes on
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.stop_words: list[int] = []  # addresses, of resident kernels that run
        self.lines: list[Queue[Work | None]] = []  # of streams that have had work

    def fail(self, status: int) -> None:
        """Fail for good: kernels have ended, so that their memory may be given back; each call answers the status."""
        stays = bool(self.stop_words)  # launches end by themselves, before the memory that they use is given back
        self.end_kernels(status)
        if stays:
            with self.runs:
                pass

    def end_kernels(self, status: int) -> None:
        """Tell kernels to end, and have each call answer the status."""
        self.status = status
        for address in list(self.stop_words):
            ctypes.c_uint32.from_address(address).value = END
        self.goes_on.set()

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Kernels that are launched meanwhile do not begin before the end of it."""
        self.goes_on.clear()
        try:
            yield
        finally:
            self.goes_on.set()


class FakeCuda:
    """`CudaDriver` of some devices.

    errors: what the emulator found wrong with kernels. intervals: start and end in nanoseconds that the next
    launches shall report as theirs. refused: names of calls that fail from now on. free_bytes: of each
    device. calls: how often hot calls came. copied: bytes by the direction of a copy. options: of the emulator's
    launches, such as `is_weak`. stream: CuPy's current one of all threads, by default one of each device.
    """

    def __init__(self, devices: int = 2) -> None:
        self.devices = [FakeDevice(index) for index in range(devices)]
        self.complaints: list[str] = []
        self.intervals: list[tuple[int, int]] = []
        self.refused: set[str] = set()
        self.free_bytes = 250_000_000
        self.calls: list[str] = []
        self.copied = {HOST_TO_DEVICE: 0, DEVICE_TO_HOST: 0}
        self.options: dict[str, int] = {}
        self.stream: FakeStream | None = None
        self._default_streams: dict[int, FakeStream] = {}
        self.memory: weakref.WeakSet[FakeMemory] = weakref.WeakSet()
        self.streams: weakref.WeakSet[FakeStream] = weakref.WeakSet()
        self.events: weakref.WeakSet[FakeEvent] = weakref.WeakSet()
        self._handles: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._functions: list[FakeFunction] = []
        self._numbers = itertools.count(1)
        self._thread = threading.local()

    def live(self) -> dict[str, int]:
        """How many pieces of memory, streams and events there are."""
        return {"memory": len(self.memory), "streams": len(self.streams), "events": len(self.events)}

    def memory_on(self, index: int) -> int:
        """How many pieces of a device's memory there are."""
        return sum(memory.device is self.devices[index] for memory in set(self.memory))

    def rest(self) -> None:
        for device in self.devices:
            device.goes_on.set()

    # ----------------------------------------------------------------------------------------------------- devices

    def device_count(self) -> int:
        return len(self.devices)

    def current_device(self) -> int:
        return getattr(self._thread, "index", 0)

    def use_device(self, index: int) -> None:
        self.calls.append("use_device")
        self._answer("use_device", self.devices[index])
        self._thread.index = index

    def device_name(self, index: int) -> str:
        return f"Fake {'AB'[index]}"

    def architecture(self, index: int) -> str:
        return "sm_90"

    def device_attribute(self, index: int, name: str) -> int:
        clock = 1_000_000 * (index + 1)
        return {"MultiProcessorCount": 1, "ClockRate": clock, "MaxThreadsPerMultiProcessor": 2048}[name]

    def versions(self) -> tuple[int, int]:
        return 13010, 13000

    def memory_left(self) -> tuple[int, int]:
        self._answer("memory_left", self._here())
        return self.free_bytes, 80_000_000_000

    def supported_architectures(self) -> tuple[str, ...]:
        return ("sm_90",)

    def _here(self) -> FakeDevice:
        return self.devices[self.current_device()]

    def _answer(self, call: str, device: FakeDevice) -> None:
        """Fail as asked for, or as a device does that has failed."""
        if call in self.refused:
            raise FakeCudaError(f"{call} is refused")
        if device.status != SUCCESS:
            raise FakeCudaError(f"cudaError {device.status}")

    # ----------------------------------------------------------------------------------------------------- kernels

    def compile_kernel(self, strategy: KernelStrategy, arch: str, stack_size: int, **options: bool) -> CompiledKernel:
        path = compile_library(strategy, stack_size, **options)
        scene = strategy.layout.scene.itemsize
        streamed = {"closest_hit": (0, [scene, LAUNCH.itemsize]), "any_hit": (1, [scene, LAUNCH.itemsize])}
        resident = {"resident": (0, [scene, RING.itemsize])}
        return self._compiled(arch, path, resident if options["resident"] else streamed)

    def compile_program(self, program: Program, arch: str) -> CompiledKernel:
        entries = {name: (i, [dtype.itemsize]) for i, (name, dtype) in enumerate(program.entries.items())}
        return self._compiled(arch, compile_program(program), entries)

    def _compiled(self, arch: str, path: Path, entries: dict[str, tuple[int, list[int]]]) -> CompiledKernel:
        """entries: by name the index of each, and the sizes of its parameters."""
        module = {"path": str(path), "entries": entries}
        return CompiledKernel(arch=arch, cubin=json.dumps(module).encode(), resources={})

    def load_module(self, cubin: bytes) -> Any:
        self._answer("load_module", self._here())
        self._here().modules.append(cubin)
        return json.loads(cubin) | {"device": self._here()}

    def load_function(self, module: Any, entry: str) -> int:
        function = self._registered(FakeFunction, module["device"], module, entry)
        self._functions.append(function)  # for good, as a loaded module is
        return int(function.ptr)

    def function_attribute(self, function: int, name: str) -> int:
        return {"NUM_REGS": 32, "SHARED_SIZE_BYTES": 0}[name]

    def blocks_at_once(self, function: int, threads: int) -> int:
        return 1

    # ------------------------------------------------------------------------------------------------------ memory

    def allocate(self, size: int) -> FakeMemory:
        self._answer("allocate", self._here())
        memory = FakeMemory(max(size, 1), self._here())
        self.memory.add(memory)
        return memory

    def allocate_pinned(self, size: int) -> Any:
        self._answer("allocate_pinned", self._here())
        memory = FakeMemory(size, None)
        self.memory.add(memory)
        buffer = (ctypes.c_char * size).from_address(memory.ptr)
        buffer.memory = memory  # type: ignore[attr-defined]  # lives as long as the buffer does
        return buffer

    def _registered(self, kind: type[Any], *arguments: Any) -> Any:
        made = kind(next(self._numbers), *arguments)
        self._handles[made.ptr] = made
        return made

    def create_stream(self) -> FakeStream:
        self._answer("create_stream", self._here())
        stream: FakeStream = self._registered(FakeStream, self._here())
        self.streams.add(stream)
        return stream

    def create_event(self) -> FakeEvent:
        self._answer("create_event", self._here())
        event: FakeEvent = self._registered(FakeEvent, self._here())
        self.events.add(event)
        return event

    # ------------------------------------------------------------------------------------------------ CuPy's arrays

    def array_of(self, lent: Any) -> Any:
        """A real array of CuPy's over memory of a device, of what has `__cuda_array_interface__`."""
        if isinstance(lent, cupy_array()):
            return lent
        given = lent.__cuda_array_interface__
        memory = next(one for one in set(self.memory) if one.device and one.has(given["data"][0], 0))
        return _array(memory, given)

    def empty(self, shape: tuple[int, ...]) -> Any:
        memory = self.allocate(int(np.prod(shape)) * 4)
        return _array(memory, {"data": (memory.ptr, False), "shape": shape, "typestr": "<f4"})

    def fetched(self, lent: Any) -> Any:
        done = threading.Event()
        self._handles[self.current_stream()].add(done.set)
        assert done.wait(60.0)
        return on_host(self.array_of(lent))

    def current_stream(self) -> int:
        here = self.current_device()
        if self.stream is None and here not in self._default_streams:
            self._default_streams[here] = self.create_stream()
        return (self.stream or self._default_streams[here]).ptr

    # -------------------------------------------------------------------------------------------------------- work

    def add_work(self, stream: int, work: Work) -> None:
        """Has a stream do what stands for a kernel of another kind."""
        self._handles[stream].add(work)

    def record_event(self, event: int, stream: int) -> None:
        marked, line = self._handles[event], self._handles[stream]
        self.calls.append("record_event")
        self._answer("record_event", line.device)
        assert marked.device is line.device, "an event and a stream of different devices"
        marked.recorded += 1
        passed = marked.passed  # the event itself may be dropped meanwhile

        def pass_by() -> None:
            passed[0] += 1

        line.add(pass_by)

    def query_event(self, event: int) -> int:
        marked = self._handles[event]
        if marked.device.status != SUCCESS:
            return int(marked.device.status)
        return SUCCESS if marked.passed[0] == marked.recorded else NOT_READY

    def await_event(self, event: int, seconds: float) -> int:
        deadline, pause = time.perf_counter() + seconds, 1e-5
        while (status := self.query_event(event)) == NOT_READY and time.perf_counter() <= deadline:
            time.sleep(pause)
            pause = min(2.0 * pause, 1e-3)  # looks take the time of what is awaited
        return status

    def copy(self, to: int, source: int, size: int, direction: int, stream: int) -> None:
        line = self._handles[stream]
        self._answer("copy", line.device)
        self.copied[direction] += size
        on_device, pinned = {HOST_TO_DEVICE: (to, source), DEVICE_TO_HOST: (source, to)}[direction]
        assert self._reached(on_device, size, line.device), "a copy from or to memory that is not the device's"
        assert self._reached(pinned, size, None), "a copy from or to memory of the host that is not pinned"
        device = line.device

        def move() -> None:
            with device.copies, self._touched(device, (on_device, size, device), (pinned, size, None)) as is_there:
                if is_there:
                    ctypes.memmove(to, source, size)

        line.add(move)

    def fill(self, address: int, value: int, size: int, stream: int) -> None:
        line = self._handles[stream]
        self._answer("fill", line.device)
        assert self._reached(address, size, line.device), "memory is set that is not the device's"
        device = line.device

        def set_bytes() -> None:
            with device.runs, self._touched(device, (address, size, device)) as is_there:  # like a kernel
                if is_there:
                    ctypes.memset(address, value, size)

        line.add(set_bytes)

    @contextmanager
    def _touched(self, device: FakeDevice, *places: tuple[int, int, FakeDevice | None]) -> Iterator[bool]:
        """Whether work of a device may touch memory at these places, which stays meanwhile.

        It is a error if the memory was given back before, unless the device has failed and does nothing any more.
        """
        memory = [self._reached(*place) for place in places]
        is_there = all(memory)
        if not is_there and device.status == SUCCESS:
            self.complaints.append(f"memory was given back before work on it was done: {places}")
        yield is_there and device.status == SUCCESS
        del memory

    def _reached(self, address: int, size: int, device: FakeDevice | None) -> FakeMemory | None:
        """The memory of a device, or of the host where device is None, that has so many bytes at an address."""
        for memory in set(self.memory):
            if memory.device is device and memory.has(address, size):
                return memory
        return None

    def launch_kernel(
        self,
        function: int,
        grid_x: int,
        grid_y: int,
        grid_z: int,
        block_x: int,
        block_y: int,
        block_z: int,
        shared_bytes: int,
        stream: int,
        parameters: int,
        extra: int,
    ) -> None:
        kernel, line = self._handles[function], self._handles[stream]
        self.calls.append("launch_kernel")
        self._answer("launch_kernel", line.device)
        if not (kernel.device is line.device and getattr(self._thread, "index", None) == line.device.index):
            raise FakeCudaError("invalid handle: function, stream and thread are not of one device")
        assert (grid_y, grid_z, block_y, block_z, shared_bytes, extra) == (1, 1, 1, 1, 0, 0)
        line.device.launches += 1
        sizes = kernel.parameter_bytes
        addresses = np.ctypeslib.as_array((ctypes.c_uint64 * len(sizes)).from_address(parameters)).tolist()
        copied = [ctypes.string_at(address, size) for address, size in zip(addresses, sizes, strict=True)]
        line.add(lambda: self._run(kernel, line.device, (grid_x, block_x), copied))

    def _run(self, kernel: FakeFunction, device: FakeDevice, shape: tuple[int, int], copied: list[bytes]) -> None:
        with device.runs:
            device.goes_on.wait()
            if device.status != SUCCESS:
                return
            records: list[Any] = [np.frombuffer(part, np.uint8).copy() for part in copied]
            arguments = records[-1]
            stop_words = [int(arguments.view(RING)["stop"][0])] if kernel.entry == "resident" else []
            device.stop_words += stop_words
            error = self._emulate(kernel, device, shape, records)
            for address in stop_words:
                device.stop_words.remove(address)
            if error:
                self.complaints.append(error)
                device.end_kernels(ILLEGAL_ADDRESS)
            elif kernel.entry in ENTRIES and self.intervals:
                report = (ctypes.c_uint8 * REPORT.itemsize).from_address(int(arguments.view(LAUNCH)["report"][0]))
                np.frombuffer(report, REPORT)[["start", "end"]] = self.intervals.pop(0)  # type: ignore[call-overload]

    def _ranges(self, device: FakeDevice) -> list[tuple[int, int]]:
        """Where the memory begins and ends that a device reaches."""
        reached = [memory for memory in set(self.memory) if memory.device in (device, None)]
        return [(memory.ptr, memory.ptr + len(memory.bytes)) for memory in reached]

    def _emulate(
        self, kernel: FakeFunction, device: FakeDevice, shape: tuple[int, int], records: list[Any]
    ) -> str | None:
        ranges = np.array(self._ranges(device), np.uint64)
        request = Request(
            scene=records[0].ctypes.data,
            arguments=records[-1].ctypes.data,
            entry=kernel.index,
            blocks=shape[0],
            threads=shape[1],
            time_limit=TIME_LIMIT * 10**9,
            memories=ranges.ctypes.data,
            memories_count=len(ranges),
            **self.options,
        )
        with kernel.pool.borrow() as library:
            return library.emulate(request)


def cupy_array() -> Any:
    return pytest.importorskip("cupy", reason="CuPy is not installed; the extra `gpu` brings it").ndarray


def _array(memory: FakeMemory, given: dict[str, Any]) -> Any:
    """CuPy's array of memory of a device. given: as `__cuda_array_interface__` has it."""
    make = cupy_array()
    from cupy.cuda import MemoryPointer, UnownedMemory

    assert memory.device is not None
    owned = UnownedMemory(memory.ptr, len(memory.bytes), memory, memory.device.index)
    where = MemoryPointer(owned, given["data"][0] - memory.ptr)
    return make(given["shape"], np.dtype(given["typestr"]), where, given.get("strides"))


def on_host(array: Any) -> Any:
    """A copy of one of CuPy's arrays, which lies in memory of the host here."""
    count = int(np.prod(array.shape))
    assert array.flags.c_contiguous
    content = (ctypes.c_char * max(count * array.itemsize, 1)).from_address(array.data.ptr)
    return np.frombuffer(content, array.dtype, count).reshape(array.shape).copy()


def installed(monkeypatch: pytest.MonkeyPatch, devices: int = 2) -> Iterator[FakeCuda]:
    """Yields CUDA with some devices in place of the real one, and sees to it that no kernel broke its rules.

    Where the emulator cannot run kernels, the test is skipped.
    """
    if reason := emulator_unavailable_reason():
        pytest.skip(reason)
    cuda = FakeCuda(devices)
    monkeypatch.setattr(gpu_device, "installed_driver", lambda: cuda)
    gpu_device.gpu_unavailable_reason.cache_clear()
    yield cuda
    cuda.rest()
    gpu_device.gpu_unavailable_reason.cache_clear()
    assert cuda.complaints == []


def hang_at(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    """Has the first GPU hang from when a kernel of a `DeviceProgram` is launched, and nobody wait for it long."""
    launch = DeviceProgram.launch

    def hang(program: DeviceProgram, launched: str, *arguments: Any) -> None:
        if launched == entry:
            cuda.devices[0].goes_on.clear()
            monkeypatch.setenv("TRACECORE_GPU_TIMEOUT", "0.3")
        launch(program, launched, *arguments)

    monkeypatch.setattr(DeviceProgram, "launch", hang)


def rested(cuda: FakeCuda) -> None:
    """Let what hung run to its end, which finds its memory in place."""
    deadline = time.perf_counter() + 60.0
    while any(line.unfinished_tasks for device in cuda.devices for line in device.lines):
        assert time.perf_counter() < deadline, "a kernel has not ended in 60 s"
        time.sleep(1e-3)
    assert cuda.complaints == []
