"""CUDA, by the few calls that this package makes of it: the one seam between the GPU's host code and the driver.

`CupyDriver` makes the calls through CuPy, which is imported only when it is asked for. Any object with the methods of
`CudaDriver` may stand in its place.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Protocol

from tracecore.errors import DeviceError

if TYPE_CHECKING:
    import numpy.typing as npt

    from tracecore.cuda.nvrtc import CompiledKernel
    from tracecore.kernels.program import Program
    from tracecore.kernels.strategy import KernelStrategy

#: Directions of a copy, as in CUDA's `cudaMemcpyKind`.
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2

#: An address, or what names a stream, an event or a kernel.
HANDLE = ctypes.c_void_p

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

    def load_module(self, code: bytes) -> Any:
        """Loads machine code, or PTX that ends with a zero, of which it makes machine code and keeps it on disk. It
        stays for as long as the process lives: to unload it waits for all that runs on the device, and on one that has
        failed is an error of its own.
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

    def array_of(self, lent: Any) -> Any:
        """Returns CuPy's array of the memory of one that lies on a device, of any library. What CuPy's current stream
        does from now on comes after what the library does to it, as far as it says that (DLPack). Raises `BufferError`,
        `RuntimeError`, `TypeError` or `ValueError` where there can be none.
        """

    def empty(self, shape: tuple[int, ...]) -> Any:
        """Returns a new array of CuPy's, float32, with anything in it."""

    def fetched(self, lent: Any) -> npt.NDArray[Any]:
        """Returns a copy, in the machine's memory, of an array that lies on a device, once CuPy's current stream is
        done."""

    def current_stream(self) -> int:
        """Returns CuPy's current stream of the calling thread, which whoever calls this package has chosen."""

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

    def await_event(self, event: int, seconds: float) -> int:
        """Returns what `query_event` does, once that is not `NOT_READY` or after so long."""

    def copy(self, to: int, source: int, size: int, direction: int, stream: int, /) -> None:
        """Starts a copy of so many bytes between the device and pinned memory."""

    def fill(self, address: int, value: int, size: int, stream: int, /) -> None:
        """Starts to set so many bytes of the device to a value."""


def load_driver_library() -> ctypes.PyDLL:
    """Returns NVIDIA's driver. Raises `DeviceError` where there is none: that is known sooner than CuPy is imported."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        return ctypes.PyDLL(name)
    except OSError as error:
        raise DeviceError(f"no NVIDIA driver is installed ({error}); install one, see nvidia-smi") from error


class Kept:
    """Is a stream or an event, which the next one who wants one gets when it is dropped: a `Handle`.

    ptr: its handle. spare: where it waits then.
    """

    def __init__(self, ptr: int, spare: list[int]) -> None:
        self.ptr = ptr
        self._spare = spare

    def __del__(self) -> None:
        self._spare.append(self.ptr)


class CupyDriver:
    """`CudaDriver` through CuPy. Raises `DeviceError` without NVIDIA's driver, and `ImportError`, or what a broken
    installation raises, without CuPy.

    What begins work on a device is CUDA's own function, called with the interpreter's lock held: it takes microseconds,
    and beside threads that are at work the lock comes back after a few hundred of them. Memory comes from CuPy's pools
    and goes back to them: CUDA's own calls to free it wait for all that runs on the device.
    """

    def __init__(self) -> None:
        self._library = load_driver_library()
        import cupy
        from cupy_backends.cuda.api import driver

        self._cupy = cupy
        self._cuda = cupy.cuda
        self._runtime = cupy.cuda.runtime
        self._pool = cupy.get_default_memory_pool()
        self._driver = driver
        #: Streams and events that nobody uses, of each device.
        self._spare: defaultdict[tuple[str, int], list[int]] = defaultdict(list)

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

    def load_module(self, code: bytes) -> Any:
        """As `CudaDriver` says."""
        self._runtime.free(0)  # which makes the device's context, if there is none
        return self._driver.moduleLoadData(code)

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

    def array_of(self, lent: Any) -> Any:
        """As `CudaDriver` says."""
        if isinstance(lent, self._cupy.ndarray):
            return lent
        if hasattr(lent, "__dlpack__"):
            return self._cupy.from_dlpack(lent)
        address = lent.__cuda_array_interface__["data"][0]
        place = self._cupy.cuda.runtime.pointerGetAttributes(address).device  # below 0 where there is no memory at all
        with self._cupy.cuda.Device(max(0, place)):  # CuPy would copy it to the current one
            return self._cupy.asarray(lent)

    def empty(self, shape: tuple[int, ...]) -> Any:
        """As `CudaDriver` says."""
        return self._cupy.empty(shape, self._cupy.float32)

    def fetched(self, lent: Any) -> npt.NDArray[Any]:
        """As `CudaDriver` says."""
        return self._cupy.asnumpy(self.array_of(lent))

    def current_stream(self) -> int:
        """As `CudaDriver` says."""
        return int(self._cuda.get_current_stream().ptr)

    @functools.cached_property
    def launch_kernel(self) -> Any:
        """As `CudaDriver` says."""
        return self._call("cuLaunchKernel", HANDLE, *7 * (ctypes.c_uint,), HANDLE, HANDLE, HANDLE)

    @functools.cached_property
    def record_event(self) -> Any:
        """As `CudaDriver` says."""
        return self._call("cuEventRecord", HANDLE, HANDLE)

    @functools.cached_property
    def fill(self) -> Any:
        """As `CudaDriver` says."""
        return self._call("cuMemsetD8Async", HANDLE, ctypes.c_ubyte, ctypes.c_size_t, HANDLE)

    @functools.cached_property
    def _copy(self) -> Any:
        return self._call("cuMemcpyAsync", HANDLE, HANDLE, ctypes.c_size_t, HANDLE)

    def copy(self, to: int, source: int, size: int, direction: int, stream: int, /) -> None:
        """As `CudaDriver` says; CUDA sees by the addresses which way it goes."""
        self._copy(to, source, size, stream)

    @functools.cached_property
    def query_event(self) -> Any:
        """As `CudaDriver` says."""
        self._library.cuEventQuery.argtypes = (HANDLE,)
        return self._library.cuEventQuery

    def _call(self, name: str, *kinds: Any) -> Any:
        """Returns a function of CUDA's by its name, which raises CuPy's error where it fails. kinds: of arguments."""

        def checked(status: int) -> None:
            if status != SUCCESS:
                raise self._driver.CUDADriverError(status)

        function = getattr(self._library, name)
        function.argtypes, function.restype = kinds, checked
        return function

    def await_event(self, event: int, seconds: float) -> int:
        """As `CudaDriver` says."""
        from tracecore.cuda.waiting import await_answer_but

        return int(await_answer_but(self._event_query, event, NOT_READY, int(seconds * 1e9)))

    @functools.cached_property
    def _event_query(self) -> int:
        """Returns the address of CUDA's function that says of an event what `query_event` does."""
        return ctypes.cast(self._library.cuEventQuery, ctypes.c_void_p).value or 0

    def create_stream(self) -> Handle:
        """As `CudaDriver` says."""
        runtime = self._runtime
        return self._kept("stream", lambda: runtime.streamCreateWithFlags(runtime.streamNonBlocking))

    def create_event(self) -> Handle:
        """As `CudaDriver` says."""
        runtime = self._runtime
        return self._kept("event", lambda: runtime.eventCreateWithFlags(runtime.eventDisableTiming))

    def _kept(self, kind: str, create: Callable[[], int]) -> Handle:
        """Returns one that was dropped, as many are for a copy alone, or a new one."""
        spare = self._spare[kind, self._runtime.getDevice()]
        try:
            return Kept(spare.pop(), spare)
        except IndexError:
            return Kept(create(), spare)


@functools.cache
def installed_driver() -> CudaDriver:
    """Returns the driver of this process. Raises as `CupyDriver`."""
    return CupyDriver()
