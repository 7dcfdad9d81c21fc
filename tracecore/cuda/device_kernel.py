"""A kernel on a GPU: its scene in the device's memory, its machine code loaded there, and launches of it."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from tracecore.cuda.device import CudaDevice, LentStream, Stream
from tracecore.cuda.device_memory import DeviceMemory
from tracecore.errors import KernelError, RayError
from tracecore.kernels.launch_records import LAUNCH, LAUNCH_COUNTERS, REPORT, describe_faults
from tracecore.kernels.strategy import USUAL_STACK, KernelStrategy
from tracecore.layout.device_layout import PackedTree
from tracecore.rays import Query

#: Names of the entry points of streamed dispatch, by `Query`, and that of resident dispatch.
ENTRIES = ("closest_hit", "any_hit")
RESIDENT_ENTRIES = ("resident",)


class DeviceScene:
    """A packed scene on a device. `record` is the kernel's `struct Scene`.

    made: arrays that are there already, besides those of the packed scene.
    """

    def __init__(
        self,
        device: CudaDevice,
        packed: PackedTree,
        dtype: np.dtype[np.void],
        made: Mapping[str, DeviceMemory] | None = None,
    ) -> None:
        copied = DeviceMemory.holding_each(device, list(packed.arrays.values()))
        self._memory = {**(made or {}), **dict(zip(packed.arrays, copied, strict=True))}
        self.record = np.zeros(1, dtype)
        for name, memory in self._memory.items():
            self.record[name] = memory.address
        for name, value in packed.scalars.items():
            self.record[name] = value

    def memory(self, name: str) -> DeviceMemory:
        """Returns an array of the scene."""
        return self._memory[name]


class DeviceKernel:
    """A strategy compiled for a dispatch mode and a GPU, and loaded there.

    device: the GPU; the calling thread is attached to it. stack_size: entries of a ray's traversal stack. has_cutouts:
    for triangles that are not all solid. counted: adds up its steps.
    """

    def __init__(
        self,
        device: CudaDevice,
        strategy: KernelStrategy,
        stack_size: int = USUAL_STACK,
        *,
        resident: bool = False,
        has_cutouts: bool = False,
        counted: bool = False,
    ) -> None:
        self.device = device
        self.strategy = strategy
        self.compiled = device.driver.compile_kernel(
            strategy,
            device.architecture,
            stack_size,
            resident=resident,
            has_cutouts=has_cutouts,
            counted=counted,
        )
        module = device.module(self.compiled.cubin)
        entries = RESIDENT_ENTRIES if resident else ENTRIES
        self.entries = tuple(device.driver.load_function(module, entry) for entry in entries)

    @property
    def registers(self) -> tuple[int, ...]:
        """Registers per thread of each entry point, as the driver loaded them."""
        return self._attributes("NUM_REGS")

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block."""
        return max(self._attributes("SHARED_SIZE_BYTES"))

    def _attributes(self, name: str) -> tuple[int, ...]:
        self.device.ensure_attached()
        return tuple(self.device.driver.function_attribute(entry, name) for entry in self.entries)

    @functools.cached_property
    def resident_blocks(self) -> tuple[int, ...]:
        """Blocks that one multiprocessor runs at once, of each entry point."""
        self.device.ensure_attached()
        return tuple(self.device.driver.blocks_at_once(entry, self.strategy.block_size) for entry in self.entries)

    @property
    def occupancy(self) -> tuple[float, ...]:
        """Share of a multiprocessor's threads that its resident blocks fill, of each entry point."""
        share = self.strategy.block_size / self.device.attribute("MaxThreadsPerMultiProcessor")
        return tuple(blocks * share for blocks in self.resident_blocks)

    def start_resident(self, arguments: int, stream: Stream) -> None:
        """Start the kernel of resident dispatch on all of the device. arguments: address of its pointers."""
        blocks = self.resident_blocks[0] * self.device.multiprocessors
        self.device.driver.launch_kernel(
            self.entries[0], blocks, 1, 1, self.strategy.block_size, 1, 1, 0, stream.address, arguments, 0
        )

    def rays_at_once(self, query: Query) -> int:
        """That the device has room for."""
        blocks = self.resident_blocks[query] * self.device.multiprocessors
        return blocks * self.strategy.block_size // self.strategy.lanes_per_ray

    def blocks_for(self, rays: int, query: Query) -> int:
        """Blocks of a launch over so many rays."""
        blocks = self.strategy.blocks_for(rays)
        if not self.strategy.persistent:
            return blocks
        return min(blocks, self.resident_blocks[query] * self.device.multiprocessors)


def new_counters(device: CudaDevice) -> DeviceMemory:
    """Returns what the blocks of a launch count in, zeros. Raises `DeviceError` where the device does not answer."""
    return DeviceMemory.zeros(device, LAUNCH_COUNTERS.itemsize)


class Launch:
    """Launches a kernel over rays and hits at given addresses, one launch at a time.

    The calling thread is attached to the kernel's device. steps: address of what a kernel for counting adds to.
    counters: what blocks count in, `new_counters`, which launches of one stream may share; its own if None.
    used: what lies at the addresses, kept as long as the launch is.
    """

    def __init__(
        self,
        kernel: DeviceKernel,
        scene: DeviceScene,
        addresses: tuple[int, int],
        steps: int = 0,
        counters: DeviceMemory | None = None,
    ) -> None:
        self._launch_kernel = kernel.device.driver.launch_kernel
        self._kernel = kernel
        self._block = kernel.strategy.block_size
        self._most_rays = kernel.strategy.most_rays
        self._scene = scene
        self.used: list[Any] = []
        self._report = kernel.device.pinned(1, REPORT)
        self._report[0] = np.zeros((), REPORT)
        self._counters = counters or new_counters(kernel.device)
        self._arguments = np.zeros(1, LAUNCH)
        self._arguments[0] = (*addresses, self._report.ctypes.data, self._counters.address, 0, steps, 0)
        self._count = self._arguments["count"]
        self._pointers = np.array([scene.record.ctypes.data, self._arguments.ctypes.data], np.uint64)
        self._pointers_address = self._pointers.ctypes.data

    def aim(self, rays: int, hits: int) -> None:
        """Has launches to come, and none is under way, trace rays at an address, whose hits go to another."""
        self._arguments["rays"], self._arguments["hits"] = rays, hits

    def take_count_from(self, address: int) -> None:
        """Has launches to come of a kernel `with_device_count` trace so many rays as stand at an address of the device,
        int64, when they begin."""
        self._arguments["device_count"] = address

    def start(self, count: int, query: Query, stream: Stream | LentStream) -> None:
        """Trace the first `count` rays, count > 0, or as many of these as the device says.

        Raises `RayError` where they are more than one launch can take.
        """
        if count > self._most_rays:
            name = self._kernel.strategy.name
            raise RayError(f"a launch of kernel {name!r} takes at most {self._most_rays} rays, got {count}: cut them")
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
