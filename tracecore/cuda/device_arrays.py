"""Named tuples of arrays in a GPU's memory, where compiled functions find them as on the host."""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

import ctypes
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from numba import types

from tracecore.compilation.borrowing import uncounted
from tracecore.compilation.cached import compiled
from tracecore.compilation.vector import emitting
from tracecore.cuda.device import CudaDevice, Stream
from tracecore.cuda.device_memory import DeviceMemory

T = TypeVar("T")

#: As many bytes as a kernel takes, which no tuple exceeds; and what the places of arrays are multiples of.
MOST_BYTES, ALIGNMENT = 32_764, 256

#: Arrays of fewer bytes are copied for everybody anew, all of them at once.
SHARED_BYTES = 1 << 16


class DeviceArrays:
    """Keeps copies of arrays on a device, as long as it lives.

    device: the GPU; the calling thread is attached to it.
    """

    def __init__(self, device: CudaDevice) -> None:
        self._device, self._stream = device, Stream(device)
        self._memory: list[DeviceMemory] = []
        self._copies: dict[int, tuple[Any, Any]] = {}
        #: Whether all zeros so far are known to be there.
        self._are_there = True

    def copied(self, value: Any) -> Any:
        """Returns a value whose arrays, at any depth, are on the device, each of them once. Nobody reads them on the
        host."""
        given = [array for key, array in arrays_in(value).items() if key not in self._copies]
        places = np.cumsum([0, *(-(-array.nbytes // ALIGNMENT) * ALIGNMENT for array in given)]).tolist()
        content = np.empty(places[-1], np.uint8)
        for place, array in zip(places, given, strict=False):
            content[place : place + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        memory = DeviceMemory.holding(self._device, content)
        for place, array in zip(places, given, strict=False):
            self._copies[id(array)] = array, array_on_device(memory.address + place, array.shape, array.dtype)
        self._memory.append(memory)
        return with_arrays(value, lambda array: self._copies[id(array)][1])

    def share(self, value: Any) -> None:
        """Has the large arrays of a value, of which nobody writes any, here or there, be on the device: once for all
        who want them, and as long as they are on the host, as are the textures of a film."""
        large = [
            array for key, array in arrays_in(value).items() if key not in self._copies and array.nbytes >= SHARED_BYTES
        ]
        known: dict[int, DeviceMemory] = self._device.shared_memory
        with self._device.sharing:
            new = [array for array in large if id(array) not in known]
            there = DeviceMemory.holding_each(self._device, [np.ascontiguousarray(array) for array in new])
            for array, memory in zip(new, there, strict=True):
                known[id(array)] = memory
                weakref.finalize(array, known.pop, id(array), None).atexit = False
            for array in large:
                memory = known[id(array)]
                self._copies[id(array)] = array, array_on_device(memory.address, array.shape, array.dtype)
                self._memory.append(memory)

    def zeroed(self, made: Callable[[Any], T]) -> T:
        """Returns a value whose new arrays are zeros on the device, which are there before a `structure` is.

        made: makes it by the `zeros` of what it is given, as if of NumPy. It is called twice, as the first values say
            how much memory all of them take.
        """
        made(places := Places(ALIGNMENT))
        memory = DeviceMemory(self._device, places.next - ALIGNMENT)
        self._stream.clear(memory.address, memory.size)
        self._are_there = False
        self._memory.append(memory)
        return made(Places(memory.address))

    def structure(self, value: Any) -> npt.NDArray[np.uint8]:
        """Returns the bytes of a named tuple whose arrays are on the device already, as a kernel takes them."""
        if not self._are_there:
            self._stream.finish(self)
            self._are_there = True
        return laid_out(value)


class Places:
    """Makes arrays that lie one after the other at an address of a device. next: of the next one."""

    def __init__(self, address: int) -> None:
        self.next = address

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Returns an array, which nobody reads on the host."""
        array = array_on_device(self.next, shape, dtype)
        self.next += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        return array


def arrays_in(value: Any) -> dict[int, npt.NDArray[Any]]:
    """Returns the arrays in a value, at any depth, by their `id`."""
    if isinstance(value, np.ndarray):
        return {id(value): value}
    parts = map(arrays_in, value if isinstance(value, tuple) else ())
    return {key: array for part in parts for key, array in part.items()}


def with_arrays(value: Any, made: Callable[[Any], Any]) -> Any:
    """Returns a value with others in place of its arrays, at any depth. made: returns what stands for an array."""
    if isinstance(value, np.ndarray):
        return made(value)
    if isinstance(value, tuple):
        parts = [with_arrays(part, made) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def array_on_device(address: int, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Any:
    """Returns an array at an address of a device, which nobody reads on the host."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    memory: Any = (ctypes.c_char * max(count * dtype.itemsize, 1)).from_address(address)
    return np.frombuffer(memory, dtype, count).reshape(shape) if count else np.empty(shape, dtype)


def as_on_device(value: Any) -> Any:
    """Returns a value with arrays of the types that copies on a device have, and without memory: nobody reads them."""
    return with_arrays(value, lambda array: array_on_device(ALIGNMENT, array.shape, array.dtype))


def _on_device(array: Any) -> Any:
    """Returns CuPy's array of what an array on the device holds."""
    import cupy

    memory = cupy.cuda.UnownedMemory(array.ctypes.data, array.nbytes, array)
    return cupy.ndarray(array.shape, array.dtype, cupy.cuda.MemoryPointer(memory, 0))


def rows_of(rows: Any) -> Any:
    """Returns what an array on the device holds: all work that writes it is done."""
    return np.asarray(_on_device(rows).get())


def columns_of(columns: Any, count: int) -> npt.NDArray[np.uint32]:
    """Returns the first elements of columns on the device, (rows, n) uint32: all work that writes them is done."""
    return np.asarray(_on_device(columns)[:, :count].get())


def ordered_rows(columns: Any, count: int, key: int, words: int) -> npt.NDArray[np.uint32]:
    """Returns the first words of each element of columns on the device, (count, words) uint32, in the order of one of
    the columns; elements that are alike there keep theirs. All work that writes them is done.

    columns: (rows, n) uint32.
    count: of elements.
    key: which column orders them.
    """
    import cupy

    given = _on_device(columns)[:, :count]
    order = cupy.argsort(given[key])  # by a sort that is stable
    rows = cupy.empty((count, words), np.uint32)
    for word in range(words):
        rows[:, word] = given[word][order]
    return np.asarray(rows.get())


def put_order(keys: int, count: int, order: int, stream: Stream) -> None:
    """Has a stream write the places of keys in their order; keys that are alike keep theirs.

    keys, order: addresses on the device, (count,) int64.
    """
    import cupy

    with cupy.cuda.Stream.from_external(stream):
        given, target = (_on_device(array_on_device(where, (count,), np.int64)) for where in (keys, order))
        target[...] = cupy.argsort(given)  # by a sort that is stable


@emitting
def _store(typing: Any, value: Any, where: Any) -> Any:
    """Writes a value to an address. Its arrays have no owner there."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lent = uncounted(context, builder, value, arguments[0])
        builder.store(lent, builder.inttoptr(arguments[1], lent.type.as_pointer()))
        return context.get_dummy_value()

    return types.void(value, types.int64), emit


@compiled
def lay_out(value: Any, where: int) -> None:
    """Writes a named tuple to an address, as compiled functions borrow it."""
    _store(value, where)


def laid_out(value: Any) -> npt.NDArray[np.uint8]:
    """Returns the bytes of a named tuple, as compiled functions borrow it, and others behind them."""
    content = np.empty(MOST_BYTES, np.uint8)
    lay_out(value, content.ctypes.data)
    return content
