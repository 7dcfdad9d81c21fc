"""The GPU as this package uses it: whether there is one, its streams, and memory on both sides.

Addresses are plain integers. The host's pinned memory has the same address on all devices (unified addressing). All
calls of CUDA go through `cuda_driver`.
"""

import functools
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tracecore.cuda.device_lock import DeviceLock
from tracecore.cuda.driver import (
    DEVICE_TO_HOST,
    HOST_TO_DEVICE,
    NOT_READY,
    SUCCESS,
    CudaDriver,
    installed_driver,
)
from tracecore.cuda.gpus import Gpu
from tracecore.cuda.nvrtc import REMEDY
from tracecore.environment import number
from tracecore.errors import DeviceError, KernelError

#: Seconds after which a launch that has not come back is an error: `TRACECORE_GPU_TIMEOUT` or this.
DEFAULT_TIMEOUT = 60.0

#: Words in the errors of CUDA and CuPy by which they say that there is no memory.
OUT_OF_MEMORY = ("cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY", "out of memory", "Out of memory")

#: What a device that did not answer may still read and write; it is never given back.
_kept_for_good: list[Any] = []

#: All that there are.
_devices: "weakref.WeakSet[CudaDevice]" = weakref.WeakSet()

#: Processes that share each GPU, with this one.
_sharers = {"processes": 1}


@functools.cache
def gpu_unavailable_reason(index: int | None = None) -> str | None:
    """Returns None where a GPU can be used, else one line: why not, and the remedy. Never raises.

    index: of the GPU, None for the calling thread's current one.
    """
    try:
        driver = installed_driver()
    except DeviceError as error:
        return str(error)
    except Exception as error:  # a broken installation fails in ways of its own
        return f"CuPy cannot be imported ({_one_line(error)}); {REMEDY}"
    try:
        if driver.device_count() == 0:
            return "no NVIDIA GPU is visible; check nvidia-smi and CUDA_VISIBLE_DEVICES"
        return _unsupported(find_device(index))
    except DeviceError as error:
        return str(error)
    except Exception as error:
        if is_out_of_memory(error):
            return f"CUDA does not start ({_one_line(error)}); {memory_words(driver)}"
        return f"CUDA does not start ({_one_line(error)}); install or update the NVIDIA driver, see nvidia-smi"


def _unsupported(device: "CudaDevice") -> str | None:
    arch = device.architecture
    if arch in device.driver.supported_architectures():
        return None
    return f"the CUDA compiler does not know this GPU ({arch}); pip install --upgrade cupy-cuda13x nvidia-cuda-nvrtc"


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


@contextmanager
def cuda_errors(doing: str) -> Iterator[None]:
    """CuPy's errors as `DeviceError`, with what was being done, and how much memory is free where it was not enough."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        why = "is the GPU's memory full, or another process at fault?"
        if is_out_of_memory(error):
            why = memory_words(installed_driver())
        raise DeviceError(f"{doing}: {_one_line(error)}; {why}") from error


def is_out_of_memory(error: BaseException) -> bool:
    """Returns whether an error of CUDA says that a device has no memory left."""
    return isinstance(error, MemoryError) or any(word in str(error) for word in OUT_OF_MEMORY)


def memory_words(driver: CudaDriver) -> str:
    """Returns, as text, how much memory of the current device is free, who may hold the rest, and what to do."""
    try:
        free, total = driver.memory_left()
        amount = f"{free / 1e9:.2f} of {total / 1e9:.2f} GB of the GPU's memory are free"
    except Exception:  # without memory there may be no context that could tell
        amount = "the GPU's memory is full"
    return (
        f"{amount}; this process and others, which nvidia-smi lists, hold the rest: end what is not needed, choose "
        "another GPU by --device gpu:N, or take --device cpu"
    )


class CudaDevice:
    """A GPU of this process: `find_device` gives the one object that there is of each.

    What is made, loaded and launched for it needs it to be the calling thread's current device: `attach` first. Kernels
    that are loaded, and whose turn it is to run, are kept for each device apart.

    driver: CUDA's calls. index: of the GPU, from 0.
    """

    def __init__(self, driver: CudaDriver, index: int) -> None:
        self.driver = driver
        self.index = index
        self.device_lock = DeviceLock()
        self.is_lost = False
        self.has_hung = False
        _devices.add(self)
        self._lock = threading.Lock()
        self._attributes: dict[str, int] = {}
        self._modules: dict[bytes, Any] = {}
        #: Of arrays that are on the device for all who want them, by their `id` (`tracecore.cuda.device_arrays`).
        self.shared_memory: dict[int, Any] = {}
        self.sharing = threading.Lock()

    @functools.cached_property
    def name(self) -> str:
        """The GPU's name, as the driver calls it."""
        return self.driver.device_name(self.index)

    @functools.cached_property
    def architecture(self) -> str:
        """What to compile for, such as "sm_90"."""
        return self.driver.architecture(self.index)

    def attribute(self, name: str) -> int:
        """Returns an attribute of CUDA's by its name, such as "MultiProcessorCount"."""
        if name not in self._attributes:
            self._attributes[name] = self.driver.device_attribute(self.index, name)
        return self._attributes[name]

    @property
    def multiprocessors(self) -> int:
        """How many multiprocessors the GPU has."""
        return self.attribute("MultiProcessorCount")

    def attach(self) -> None:
        """Makes this GPU the calling thread's current one, as CuPy's `Device.use` does. It stays so."""
        self.driver.use_device(self.index)
        _attached.device = self

    def ensure_attached(self) -> None:
        """Does what `attach` does, without any call of the driver where this thread attached to this GPU last."""
        if getattr(_attached, "device", None) is not self:
            self.attach()

    def module(self, cubin: bytes) -> Any:
        """Returns the module of machine code, loaded once on this GPU and for good."""
        with self._lock:
            if cubin not in self._modules:
                self._modules[cubin] = self.driver.load_module(cubin)
            return self._modules[cubin]

    def own_room(self) -> int:
        """Returns how many bytes of its free memory this process may take, a part of it where `share_gpus` says so; the
        calling thread is attached.
        """
        return self.driver.memory_left()[0] // _sharers["processes"]

    def check_room(self, count: int, things: str, size: int) -> None:
        """Raises `DeviceError` where so many bytes are not free, before any are taken; the calling thread is attached.

        count, things: what takes them, such as 1000 and "triangles"; the error says how many of them would fit.
        """
        free = self.driver.memory_left()[0]
        if size > free:
            fits = rounded_down(count * free // size)
            taken = f"{count:,} {things} take {size / 1e9:.2f} GB, and about {fits:,} would fit"
            raise DeviceError(f"{taken}: {memory_words(self.driver)}")

    def pinned(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Returns an array in memory of the host that the device can reach, with anything in it."""
        count = int(np.prod(shape))
        memory = self.driver.allocate_pinned(count * np.dtype(dtype).itemsize)
        return np.frombuffer(memory, dtype, count).reshape(shape)

    def lost(self, what: str) -> KernelError:
        """Returns the error of a device that failed, and keeps in mind that it did. what: happened."""
        self.is_lost = True
        return KernelError(f"{what}; GPU {self.index} is lost to this process: start it anew")


def rounded_down(count: int) -> int:
    """Returns a number of which the first two digits are kept."""
    unit: int = 10 ** max(len(str(count)) - 2, 0)
    return count // unit * unit


def has_anything_hung() -> bool:
    """Returns whether a device has not ended what it was waited for: the interpreter would wait for it in its end."""
    return bool(_kept_for_good) or any(device.has_hung for device in _devices)


class _Attached(threading.local):
    """The device that a thread attached to last."""

    device: CudaDevice | None = None


_attached = _Attached()

#: The one object of each driver's each device.
_device = functools.cache(CudaDevice)


def find_device(index: int | None = None) -> CudaDevice:
    """Returns a GPU of this process.

    index: from 0, None for the calling thread's current GPU. Raises `DeviceError` where there is no such GPU, and what
    `installed_driver` raises.
    """
    driver = installed_driver()
    if index is None:
        return _device(driver, driver.current_device())
    count = driver.device_count()
    if not 0 <= index < count:
        there = ", ".join(f"{i} ({driver.device_name(i)})" for i in range(count)) or "none"
        raise DeviceError(f"there is no GPU {index}; there are: {there}; see nvidia-smi and CUDA_VISIBLE_DEVICES")
    return _device(driver, index)


def choose_gpu(index: int) -> None:
    """Makes a GPU the calling thread's current one. Raises `DeviceError` where it cannot be used."""
    if reason := gpu_unavailable_reason(index):
        raise DeviceError(f"GPU {index} cannot be used: {reason}")
    find_device(index).attach()


def gpu_count() -> int:
    """Returns how many GPUs this process sees."""
    return installed_driver().device_count()


def device_architecture(index: int | None = None) -> str:
    """Returns what to compile for, such as "sm_90". index: of the GPU, None for the current one."""
    return find_device(index).architecture


def share_gpus(processes: int) -> None:
    """Leaves room on each GPU for other processes that begin with this one. processes: of each GPU, with this one."""
    _sharers["processes"] = processes


def gpu_name(index: int | None = None) -> str:
    """Returns a GPU's name, as the driver calls it. index: of the GPU, None for the current one."""
    return find_device(index).name


def gpu_memory(index: int | None = None) -> tuple[int, int]:
    """Returns how many bytes of a GPU's memory are free, and how many it has. It becomes the thread's current GPU.

    index: of the GPU, None for the current one.
    """
    device = find_device(index)
    device.attach()
    return device.driver.memory_left()


def cuda_versions() -> tuple[str, str]:
    """The newest CUDA that the driver knows, and the CUDA runtime in use, such as "13.0"."""
    found = installed_driver().versions()
    driver, runtime = (f"{version // 1000}.{version % 1000 // 10}" for version in found)
    return driver, runtime


def gpu_at_hand() -> Gpu:
    """The current GPU, whose multiprocessors begin four instructions a clock as all have since 2014.

    Their ALU pipes take two of them up to sm_90; of later ones no limit is known.
    """
    device = find_device()
    is_half_rate = int("".join(filter(str.isdigit, device.architecture))) < 100
    return Gpu(
        name=device.name,
        multiprocessors=device.multiprocessors,
        clock=device.attribute("ClockRate") / 1e6,
        issue=4.0,
        alu=2.0 if is_half_rate else 4.0,
        arch=device.architecture,
    )


def timeout_seconds() -> float:
    """From `TRACECORE_GPU_TIMEOUT`, else the default. Raises `VariableError` where it is not a positive number."""
    return number("TRACECORE_GPU_TIMEOUT", DEFAULT_TIMEOUT)


class Mark:
    """A place in a stream's work to wait for. device: of the stream; the calling thread is attached to it."""

    def __init__(self, device: CudaDevice) -> None:
        self._device = device
        self._event = device.driver.create_event()
        self._record, self._query = device.driver.record_event, device.driver.query_event
        self._address = int(self._event.ptr)

    def set(self, stream: int) -> None:
        """After all work so far of the stream at this address. Raises `KernelError` where the device failed."""
        try:
            self._record(self._address, stream)
        except RuntimeError as error:
            raise self._device.lost(f"no event can be set ({_one_line(error)})") from error

    def has_passed(self) -> bool:
        """Whether all work before the mark is done. Raises `KernelError` where the device failed."""
        return self._is_success(self._query(self._address))

    def wait(self, seconds: float) -> bool:
        """Returns whether all work before the mark is done, once it is or after so long. Raises as `has_passed`."""
        return self.has_passed() or self._is_success(self._device.driver.await_event(self._address, seconds))

    def _is_success(self, status: int) -> bool:
        if status not in (SUCCESS, NOT_READY):
            raise self._device.lost(f"CUDA error {int(status)} while tracing")
        return bool(status == SUCCESS)


class Stream:
    """Work that the device does in order, independent of other streams, and a mark in it to wait for.

    device: whose stream it is; the calling thread is attached to it.
    """

    def __init__(self, device: CudaDevice) -> None:
        self._stream = device.driver.create_stream()
        self._mark = Mark(device)
        self._driver = device.driver
        self.address = int(self._stream.ptr)

    def __cuda_stream__(self) -> tuple[int, int]:
        """Returns the version of this protocol, which CuPy asks for, and the stream's address."""
        return 0, self.address

    def copy_up(self, to: int, source: int, size: int) -> None:
        """Start a copy from pinned memory to the device."""
        self._driver.copy(to, source, size, HOST_TO_DEVICE, self.address)

    def copy_down(self, to: int, source: int, size: int) -> None:
        """Start a copy from the device to pinned memory."""
        self._driver.copy(to, source, size, DEVICE_TO_HOST, self.address)

    def clear(self, address: int, size: int, value: int = 0) -> None:
        """Set bytes of the device to zero, or to another value."""
        self._driver.fill(address, value, size, self.address)

    def mark(self) -> None:
        """Set the mark after all work so far."""
        self._mark.set(self.address)

    def has_passed(self) -> bool:
        """Whether all work before the mark is done. Raises `KernelError` where the device failed."""
        return self._mark.has_passed()

    def wait(self, timeout: float) -> bool:
        """Return True once all work before the mark is done, or False after `timeout` seconds."""
        return self._mark.wait(timeout)

    def finish(self, *used: Any) -> None:
        """Returns once all work so far is done. Takes and raises what `await_mark` does."""
        self.mark()
        self.await_mark(*used)

    def await_mark(self, *used: Any) -> None:
        """Returns once all work before the mark is done.

        used: what the work reads and writes, kept for good where it does not end. Raises `DeviceError` after
        `timeout_seconds`, `KernelError` where the device failed.
        """
        timeout = timeout_seconds()
        if not self.wait(timeout):
            keep_for_good(self, *used)
            raise DeviceError(f"the GPU has not answered in {timeout:g} s: end this process")


def keep_for_good(*used: Any) -> None:
    """Keeps what a device that did not answer may still read and write."""
    _kept_for_good.append(used)


class LentStream(NamedTuple):
    """Is a stream that belongs to somebody else. address: as of a `Stream`."""

    address: int
