"""The GPU as this package uses it: is there one, memory on both sides, a kernel loaded, a launch. All of CuPy is here.

Addresses are plain integers. The host's pinned memory has the same address on the device (unified addressing).
"""

import functools
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tracecore.cuda.gpus import Gpu
from tracecore.cuda.nvrtc import REMEDY, compile_strategy, supported_architectures
from tracecore.errors import DeviceError, KernelError
from tracecore.kernels.launch_records import LAUNCH, REPORT, TALLY, describe_faults
from tracecore.kernels.strategy import USUAL_STACK, KernelStrategy
from tracecore.layout.device_layout import PackedScene
from tracecore.rays import Query

#: Seconds after which a launch that has not come back is an error: `TRACECORE_GPU_TIMEOUT` or this.
DEFAULT_TIMEOUT = 60.0

#: Names of the entry points of streamed dispatch, by `Query`, and that of resident dispatch.
ENTRIES = ("closest_hit", "any_hit")
RESIDENT_ENTRIES = ("resident",)

#: CUDA's status of an event that has not happened yet.
_NOT_READY = 600


@functools.cache
def gpu_unavailable_reason() -> str | None:
    """None where a GPU can be used, else one line: why not, and the remedy. Never raises."""
    try:
        import cupy
    except Exception as error:  # a broken installation fails in ways of its own
        return f"CuPy cannot be imported ({_one_line(error)}); {REMEDY}"
    try:
        if cupy.cuda.runtime.getDeviceCount() == 0:
            return "no NVIDIA GPU is visible; check nvidia-smi and CUDA_VISIBLE_DEVICES"
        return _unsupported(device_architecture())
    except DeviceError as error:
        return str(error)
    except Exception as error:
        return f"CUDA does not start ({_one_line(error)}); install or update the NVIDIA driver, see nvidia-smi"


def _unsupported(arch: str) -> str | None:
    if arch in supported_architectures():
        return None
    return f"the CUDA compiler does not know this GPU ({arch}); pip install --upgrade cupy-cuda13x nvidia-cuda-nvrtc"


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


@contextmanager
def cuda_errors(doing: str) -> Iterator[None]:
    """CuPy's errors as `DeviceError`, with what was being done."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        raise DeviceError(
            f"{doing}: {_one_line(error)}; is the GPU's memory full, or another process at fault?"
        ) from error


def device_architecture() -> str:
    """Of the current GPU, such as "sm_90"."""
    import cupy

    return f"sm_{cupy.cuda.Device().compute_capability}"


def gpu_name() -> str:
    """As the driver calls the current GPU."""
    import cupy

    return str(cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode())


def cuda_versions() -> tuple[str, str]:
    """The newest CUDA that the driver knows, and the CUDA runtime in use, such as "13.0"."""
    import cupy

    found = cupy.cuda.runtime.driverGetVersion(), cupy.cuda.runtime.runtimeGetVersion()
    driver, runtime = (f"{version // 1000}.{version % 1000 // 10}" for version in found)
    return driver, runtime


def gpu_at_hand() -> Gpu:
    """The current GPU, whose multiprocessors begin four instructions a clock as all have since 2014."""
    return Gpu(
        name=gpu_name(),
        multiprocessors=_device_attribute("MultiProcessorCount"),
        clock=_device_attribute("ClockRate") / 1e6,
        issue=4.0,
        arch=device_architecture(),
    )


def timeout_seconds() -> float:
    """From `TRACECORE_GPU_TIMEOUT`, else the default. Raises `DeviceError` where it is not a positive number."""
    text = os.environ.get("TRACECORE_GPU_TIMEOUT", "")
    try:
        seconds = float(text) if text else DEFAULT_TIMEOUT
    except ValueError:
        seconds = 0.0
    if not seconds > 0.0:
        raise DeviceError(f"TRACECORE_GPU_TIMEOUT must be a number of seconds above 0, got {text!r}")
    return seconds


def attach_thread() -> None:
    """Let the calling thread use the GPU."""
    import cupy

    cupy.cuda.Device(0).use()
    cupy.cuda.runtime.free(0)  # makes the context, if this is the first call of all


def pinned(shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Zeros in memory of the host that the device can reach."""
    import cupy

    count = int(np.prod(shape))
    memory = cupy.cuda.alloc_pinned_memory(count * np.dtype(dtype).itemsize)
    array = np.frombuffer(memory, dtype, count).reshape(shape)
    array[...] = np.zeros((), dtype)
    return array


class DeviceMemory:
    """Bytes on the device."""

    def __init__(self, array: Any) -> None:
        self._array = array
        self.address = int(array.data.ptr)

    @classmethod
    def holding(cls, content: npt.NDArray[Any]) -> Self:
        """A copy of an array's bytes."""
        import cupy

        return cls._ready(cupy.asarray(content.reshape(-1).view(np.uint8)))

    def copied(self) -> npt.NDArray[np.uint8]:
        """The bytes, on the host, once all work so far is done."""
        import cupy

        return cupy.asnumpy(self._array)

    @classmethod
    def zeros(cls, size: int) -> Self:
        """So many bytes, all zero."""
        import cupy

        return cls._ready(cupy.zeros(size, np.uint8))

    @classmethod
    def _ready(cls, array: Any) -> Self:
        import cupy

        cupy.cuda.get_current_stream().synchronize()  # other streams do not wait for this one
        return cls(array)


class DeviceScene:
    """A packed scene on the device. `record` is the kernel's `struct Scene`."""

    def __init__(self, packed: PackedScene, dtype: np.dtype[np.void]) -> None:
        self._memory = {name: DeviceMemory.holding(array) for name, array in packed.arrays.items()}
        self.record = np.zeros(1, dtype)
        for name, memory in self._memory.items():
            self.record[name] = memory.address
        for name, value in packed.scalars.items():
            self.record[name] = value


@functools.cache
def _device_attribute(name: str) -> int:
    import cupy

    return int(cupy.cuda.Device().attributes[name])


@functools.cache
def _load(cubin: bytes) -> Any:
    """A module, never unloaded: that waits for all that runs on the device, and a kernel that stays does not end."""
    from cupy.cuda.function import Module

    module = Module()
    module.load(cubin)
    return module


class DeviceKernel:
    """A strategy compiled for a dispatch mode and the current GPU, and loaded.

    stack_size: entries of a ray's traversal stack. has_cutouts: for triangles that are not all solid. counted: adds up
    its steps.
    """

    def __init__(
        self,
        strategy: KernelStrategy,
        stack_size: int = USUAL_STACK,
        *,
        resident: bool = False,
        has_cutouts: bool = False,
        counted: bool = False,
    ) -> None:
        self.strategy = strategy
        self.compiled = compile_strategy(
            strategy,
            device_architecture(),
            stack_size,
            resident=resident,
            has_cutouts=has_cutouts,
            counted=counted,
        )
        module = _load(self.compiled.cubin)
        self._functions = [module.get_function(entry) for entry in (RESIDENT_ENTRIES if resident else ENTRIES)]
        self.entries = tuple(int(function.ptr) for function in self._functions)

    @property
    def registers(self) -> tuple[int, ...]:
        """Registers per thread of each entry point, as the driver loaded them."""
        from cupy_backends.cuda.api import driver

        return self._attributes(driver.CU_FUNC_ATTRIBUTE_NUM_REGS)

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block."""
        from cupy_backends.cuda.api import driver

        return max(self._attributes(driver.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES))

    def _attributes(self, attribute: int) -> tuple[int, ...]:
        from cupy_backends.cuda.api import driver

        return tuple(int(driver.funcGetAttribute(attribute, entry)) for entry in self.entries)

    @functools.cached_property
    def resident_blocks(self) -> tuple[int, ...]:
        """Blocks that one multiprocessor runs at once, of each entry point."""
        from cupy_backends.cuda.api.driver import occupancyMaxActiveBlocksPerMultiprocessor

        dynamic_shared_bytes = 0
        return tuple(
            int(occupancyMaxActiveBlocksPerMultiprocessor(entry, self.strategy.block_size, dynamic_shared_bytes))
            for entry in self.entries
        )

    @property
    def occupancy(self) -> tuple[float, ...]:
        """Share of a multiprocessor's threads that its resident blocks fill, of each entry point."""
        share = self.strategy.block_size / _device_attribute("MaxThreadsPerMultiProcessor")
        return tuple(blocks * share for blocks in self.resident_blocks)

    def start_resident(self, arguments: int, stream: "Stream") -> None:
        """Start the kernel of resident dispatch on all of the device. arguments: address of its pointers."""
        from cupy_backends.cuda.api import driver

        blocks = self.resident_blocks[0] * _device_attribute("MultiProcessorCount")
        driver.launchKernel(
            self.entries[0], blocks, 1, 1, self.strategy.block_size, 1, 1, 0, stream.address, arguments, 0
        )

    def rays_at_once(self, query: Query) -> int:
        """That the device has room for."""
        blocks = self.resident_blocks[query] * _device_attribute("MultiProcessorCount")
        return blocks * self.strategy.block_size // self.strategy.lanes_per_ray

    def blocks_for(self, rays: int, query: Query) -> int:
        """Blocks of a launch over so many rays."""
        blocks = self.strategy.blocks_for(rays)
        if not self.strategy.persistent:
            return blocks
        return min(blocks, self.resident_blocks[query] * _device_attribute("MultiProcessorCount"))


class Mark:
    """A place in a stream's work to wait for."""

    def __init__(self) -> None:
        import cupy

        self._event = cupy.cuda.Event(disable_timing=True)
        self._runtime = cupy.cuda.runtime
        self._address = int(self._event.ptr)

    def set(self, stream: int) -> None:
        """After all work so far of the stream at this address."""
        self._runtime.eventRecord(self._address, stream)

    def has_passed(self) -> bool:
        """Whether all work before the mark is done. Raises `KernelError` where the device failed."""
        status = int(self._runtime.eventQuery(self._address))
        if status not in (0, _NOT_READY):
            raise KernelError(f"CUDA error {status} while tracing; the GPU is lost to this process: start it anew")
        return status == 0


class Stream:
    """Work that the device does in order, independent of other streams, and a mark in it to wait for."""

    def __init__(self) -> None:
        import cupy

        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._mark = Mark()
        self._runtime = cupy.cuda.runtime
        self.address = int(self._stream.ptr)

    def copy_up(self, to: int, source: int, size: int) -> None:
        """Start a copy from pinned memory to the device."""
        self._runtime.memcpyAsync(to, source, size, self._runtime.memcpyHostToDevice, self.address)

    def copy_down(self, to: int, source: int, size: int) -> None:
        """Start a copy from the device to pinned memory."""
        self._runtime.memcpyAsync(to, source, size, self._runtime.memcpyDeviceToHost, self.address)

    def clear(self, address: int, size: int) -> None:
        """Set bytes of the device to zero."""
        self._runtime.memsetAsync(address, 0, size, self.address)

    def mark(self) -> None:
        """Set the mark after all work so far."""
        self._mark.set(self.address)

    def has_passed(self) -> bool:
        """Whether all work before the mark is done. Raises `KernelError` where the device failed."""
        return self._mark.has_passed()

    def wait(self, timeout: float) -> bool:
        """Return True once all work before the mark is done, or False after `timeout` seconds."""
        deadline = time.perf_counter() + timeout
        pause = 0.0  # at first only lets other threads run
        while not self.has_passed():
            if time.perf_counter() > deadline:
                return False
            time.sleep(pause)
            pause = min(pause + 2e-6, 1e-3)
        return True


class Launch:
    """Launches a kernel over rays and hits at given addresses, one launch at a time. steps: address of what a kernel
    for counting adds to."""

    def __init__(self, kernel: DeviceKernel, scene: DeviceScene, addresses: tuple[int, int], steps: int = 0) -> None:
        from cupy_backends.cuda.api import driver

        self._launch_kernel = driver.launchKernel
        self._kernel = kernel
        self._block = kernel.strategy.block_size
        self._scene = scene
        self._report = pinned(1, REPORT)
        self._tally = DeviceMemory.zeros(TALLY.itemsize)
        self._arguments = np.zeros(1, LAUNCH)
        self._arguments[0] = (*addresses, self._report.ctypes.data, self._tally.address, 0, steps)
        self._count = self._arguments["count"]
        self._pointers = np.array([scene.record.ctypes.data, self._arguments.ctypes.data], np.uint64)
        self._pointers_address = self._pointers.ctypes.data

    def start(self, count: int, query: Query, stream: Stream) -> None:
        """Trace the first `count` rays, count > 0."""
        self._count[0] = count
        grid_and_block = (self._kernel.blocks_for(count, query), 1, 1, self._block, 1, 1)
        shared_bytes = 0
        self._launch_kernel(
            self._kernel.entries[query], *grid_and_block, shared_bytes, stream.address, self._pointers_address, 0
        )

    def report(self) -> tuple[int, int, int]:
        """Of a launch that is done: start and end in nanoseconds, and how many rays were invalid.

        Raises `KernelError` where the kernel complains.
        """
        start, end, invalid, faults = self._report[0].item()
        if faults:
            raise KernelError(f"kernel {self._kernel.strategy.name!r} failed: {describe_faults(faults)}")
        return start, end, invalid
