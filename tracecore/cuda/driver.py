"""CUDA, by the few calls that this package makes of it: the one seam between the GPU's host code and the driver.

`CupyDriver` makes the calls through CuPy, which is imported here and nowhere else, and only when it is asked for. Any
object with the methods of `CudaDriver` may stand in its place.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from tracecore.errors import DeviceError

if TYPE_CHECKING:
    from tracecore.cuda.nvrtc import CompiledKernel
    from tracecore.kernels.program import Program
    from tracecore.kernels.strategy import KernelStrategy

#: Directions of a copy, as in CUDA's `cudaMemcpyKind`.
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2

#: CUDA's status of an event whose work is done, and of one whose work is not done yet.
SUCCESS, NOT_READY = 0, 600


class Handle(Protocol):
    """A resource of CUDA, which is given back when the object is dropped. ptr: its address or handle."""

    ptr: int


class CudaDriver(Hashable, Protocol):
    """The calls of CUDA that this package makes.

    Addresses, handles of streams and events, and functions are integers. What is allocated, created, loaded or launched
    belongs to the calling thread's current device, see `use_device`. A call that fails raises `RuntimeError`, one that
    finds no memory `MemoryError` or `RuntimeError`.
    """

    def device_count(self) -> int:
        """Returns how many devices this process sees; their indices begin at 0."""

    def current_device(self) -> int:
        """Returns the index of the calling thread's current device."""

    def use_device(self, index: int) -> None:
        """Makes a device the calling thread's current one and sees to it that it has a context."""

    def device_name(self, index: int) -> str:
        """Returns a device's name as the vendor gives it."""

    def bus_address(self, index: int) -> str:
        """Returns the address of a device on the host's bus, such as "0000:17:00.0"."""

    def architecture(self, index: int) -> str:
        """Returns what to compile for, such as "sm_90"."""

    def device_attribute(self, index: int, name: str) -> int:
        """Returns an attribute by its name without `cudaDevAttr`, such as "MultiProcessorCount"."""

    def versions(self) -> tuple[int, int]:
        """Returns the newest CUDA that the driver knows, and the CUDA runtime in use, such as 13000 for 13.0."""

    def memory_left(self) -> tuple[int, int]:
        """Returns how many bytes of the calling thread's current device are free, and how many it has.

        What this process has given back, and the driver keeps for its next use, is free.
        """

    def supported_architectures(self) -> tuple[str, ...]:
        """Returns what `compile_kernel` can compile for. Raises `DeviceError` where there is no compiler."""

    def compile_kernel(
        self,
        strategy: KernelStrategy,
        arch: str,
        stack_size: int,
        *,
        resident: bool,
        has_cutouts: bool,
        counted: bool,
    ) -> CompiledKernel:
        """Compiles a strategy, see `nvrtc.compile_strategy`."""

    def compile_program(self, program: Program, arch: str) -> CompiledKernel:
        """Compiles a program, see `nvrtc.compile_program`."""

    def assemble(self, ptx: str) -> bytes:
        """Machine code of PTX, for the calling thread's current device."""

    def load_module(self, cubin: bytes) -> Any:
        """Loads machine code for as long as the process lives: to unload it waits for all that runs on the device, and
        on one that has failed is an error of its own.
        """

    def load_function(self, module: Any, entry: str) -> int:
        """Returns the handle of an entry point of a module."""

    def function_attribute(self, function: int, name: str) -> int:
        """Returns an attribute by its name without `CU_FUNC_ATTRIBUTE_`, such as "NUM_REGS"."""

    def allow_shared(self, function: int, shared: int) -> None:
        """Lets launches of a function ask for so many bytes of shared memory a block."""

    def blocks_at_once(self, function: int, threads: int) -> int:
        """Returns how many blocks of so many threads a multiprocessor runs at once."""

    def allocate(self, size: int) -> Handle:
        """Returns so many bytes of the device's memory, with anything in them."""

    def allocate_pinned(self, size: int) -> Any:
        """Returns a buffer of so many bytes in memory of the host that all devices reach at the same address."""

    def create_stream(self) -> Handle:
        """Returns a stream that waits for no other."""

    def create_event(self) -> Handle:
        """Returns an event without a time."""

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
        /,
    ) -> None:
        """Starts a kernel. parameters: address of pointers to its parameters, which are copied."""

    def record_event(self, event: int, stream: int, /) -> None:
        """Sets an event after all work so far of a stream of the same device."""

    def query_event(self, event: int, /) -> int:
        """Returns `SUCCESS`, `NOT_READY`, or the status of a device that failed."""

    def copy(self, to: int, source: int, size: int, direction: int, stream: int, /) -> None:
        """Starts a copy of so many bytes between the device and pinned memory."""

    def fill(self, address: int, value: int, size: int, stream: int, /) -> None:
        """Starts to set so many bytes of the device to a value."""


def load_driver_library() -> None:
    """Raises `DeviceError` where NVIDIA's driver is not installed, which is known sooner than CuPy is imported."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        ctypes.CDLL(name)
    except OSError as error:
        raise DeviceError(f"no NVIDIA driver is installed ({error}); install one, see nvidia-smi") from error


class Created:
    """Is a stream or an event, destroyed when it is dropped: a `Handle`. A device that has failed answers with that
    failure again; it has been told by then, so that nobody hears of it here.

    ptr: its handle. destroy: what destroys it, by its handle.
    """

    def __init__(self, ptr: int, destroy: Callable[[int], object]) -> None:
        self.ptr = ptr
        self._destroy = destroy

    def __del__(self) -> None:
        with suppress(RuntimeError):
            self._destroy(self.ptr)


class CupyDriver:
    """`CudaDriver` through CuPy. Raises `DeviceError` without NVIDIA's driver, and `ImportError`, or what a broken
    installation raises, without CuPy.

    What each batch calls is CUDA's own function, without a frame of Python around it. Memory comes from CuPy's pools
    and goes back to them: CUDA's own calls to free it wait for all that runs on the device.
    """

    launch_kernel: Any
    record_event: Any
    query_event: Any
    copy: Any
    fill: Any

    def __init__(self) -> None:
        load_driver_library()
        import cupy
        from cupy_backends.cuda.api import driver

        self._cuda = cupy.cuda
        self._runtime = runtime = cupy.cuda.runtime
        self._pool = cupy.get_default_memory_pool()
        self._driver = driver
        self.launch_kernel = driver.launchKernel
        self.record_event = runtime.eventRecord
        self.query_event = runtime.eventQuery
        self.copy = runtime.memcpyAsync
        self.fill = runtime.memsetAsync

    def device_count(self) -> int:
        """As `CudaDriver` says."""
        return int(self._runtime.getDeviceCount())

    def current_device(self) -> int:
        """As `CudaDriver` says."""
        return int(self._runtime.getDevice())

    def use_device(self, index: int) -> None:
        """As `CudaDriver` says."""
        self._runtime.setDevice(index)
        self._runtime.free(0)  # makes the context, if this is the first call of all

    def device_name(self, index: int) -> str:
        """As `CudaDriver` says."""
        return str(self._runtime.getDeviceProperties(index)["name"].decode())

    def bus_address(self, index: int) -> str:
        """As `CudaDriver` says."""
        return str(self._runtime.deviceGetPCIBusId(index))

    def architecture(self, index: int) -> str:
        """As `CudaDriver` says."""
        return f"sm_{self._cuda.Device(index).compute_capability}"

    def device_attribute(self, index: int, name: str) -> int:
        """As `CudaDriver` says."""
        return int(self._runtime.deviceGetAttribute(getattr(self._runtime, f"cudaDevAttr{name}"), index))

    def versions(self) -> tuple[int, int]:
        """As `CudaDriver` says."""
        return int(self._runtime.driverGetVersion()), int(self._runtime.runtimeGetVersion())

    def memory_left(self) -> tuple[int, int]:
        """As `CudaDriver` says."""
        free, total = self._runtime.memGetInfo()
        return int(free) + int(self._pool.free_bytes()), int(total)

    def supported_architectures(self) -> tuple[str, ...]:
        """As `CudaDriver` says."""
        from tracecore.cuda.nvrtc import supported_architectures

        return supported_architectures()

    def compile_kernel(
        self,
        strategy: KernelStrategy,
        arch: str,
        stack_size: int,
        *,
        resident: bool,
        has_cutouts: bool,
        counted: bool,
    ) -> CompiledKernel:
        """As `CudaDriver` says."""
        from tracecore.cuda.nvrtc import compile_strategy

        return compile_strategy(strategy, arch, stack_size, resident=resident, has_cutouts=has_cutouts, counted=counted)

    def compile_program(self, program: Program, arch: str) -> CompiledKernel:
        """As `CudaDriver` says."""
        from tracecore.cuda.nvrtc import compile_program

        return compile_program(program, arch)

    def assemble(self, ptx: str) -> bytes:
        """As `CudaDriver` says."""
        from cupy.cuda.function import LinkState

        self._runtime.free(0)  # which makes the device's context, if there is none
        link = LinkState()
        link.add_ptr_data(ptx.encode() + b"\0", "warp.ptx")
        return bytes(link.complete())

    def load_module(self, cubin: bytes) -> Any:
        """As `CudaDriver` says."""
        return self._driver.moduleLoadData(cubin)

    def load_function(self, module: Any, entry: str) -> int:
        """As `CudaDriver` says."""
        return int(self._driver.moduleGetFunction(module, entry))

    def function_attribute(self, function: int, name: str) -> int:
        """As `CudaDriver` says."""
        return int(self._driver.funcGetAttribute(getattr(self._driver, f"CU_FUNC_ATTRIBUTE_{name}"), function))

    def blocks_at_once(self, function: int, threads: int) -> int:
        """As `CudaDriver` says."""
        dynamic_shared_bytes = 0
        return int(self._driver.occupancyMaxActiveBlocksPerMultiprocessor(function, threads, dynamic_shared_bytes))

    def allow_shared(self, function: int, shared: int) -> None:
        """As `CudaDriver` says."""
        name = self._driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self._driver.funcSetAttribute(function, name, shared)

    def allocate(self, size: int) -> Handle:
        """As `CudaDriver` says."""
        return self._cuda.alloc(max(size, 1))

    def allocate_pinned(self, size: int) -> Any:
        """As `CudaDriver` says. CuPy asks for memory that all devices reach."""
        return self._cuda.alloc_pinned_memory(size)

    def create_stream(self) -> Handle:
        """As `CudaDriver` says."""
        runtime = self._runtime
        return Created(runtime.streamCreateWithFlags(runtime.streamNonBlocking), runtime.streamDestroy)

    def create_event(self) -> Handle:
        """As `CudaDriver` says."""
        runtime = self._runtime
        return Created(runtime.eventCreateWithFlags(runtime.eventDisableTiming), runtime.eventDestroy)


@functools.cache
def installed_driver() -> CudaDriver:
    """Returns the driver of this process. Raises as `CupyDriver`."""
    return CupyDriver()
