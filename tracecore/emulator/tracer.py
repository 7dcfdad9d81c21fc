"""Runs CUDA kernels on the CPU, thread by thread: this tracer proves their hits where there is no GPU."""

import time
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from tracecore.analysis.simulator import check_loop
from tracecore.analysis.steps import StepSequences
from tracecore.bvh.refit import refit
from tracecore.bvh.tree import BinaryTree
from tracecore.cutouts import CutoutTables
from tracecore.dispatch.direct import DirectTracer
from tracecore.dispatch.tracer import BvhStatistics
from tracecore.emulator.library import LibraryPool, Request, compile_library, forbid
from tracecore.errors import KernelError
from tracecore.kernels.launch_records import LAUNCH, LAUNCH_COUNTERS, REPORT, describe_faults
from tracecore.kernels.strategies import find_strategy
from tracecore.kernels.strategy import KernelStrategy
from tracecore.layout.device_layout import PackedTree
from tracecore.rays import BATCH_RAYS, HIT_FLOATS, Floats, Query, checked_rays

#: In which order lanes run between two collectives, and warps between two barriers; and how blocks follow each other.
Order = Literal["ascending", "descending", "shuffled"]

#: Seconds after which a launch is given up.
TIMEOUT = 120.0

#: Blocks of a persistent kernel, which run one after another: the second one finds nothing left to do.
PERSISTENT_BLOCKS = 2

#: Steps of a ray, of all its lanes, that a log has room for at first.
STEPS_OF_RAY = 256

#: Bytes: addresses in device memory are multiples of it.
ALIGNMENT = 256

#: Bytes of memory at least: less NumPy would keep and use again, with what is forbidden of it.
LEAST_BYTES = 1 << 10

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]


class EmulatedTracer(DirectTracer):
    """Traces with a kernel of the GPU, on the CPU.

    Each warp's 32 lanes run by turns in one CPU thread, and the blocks of a launch run one after another.

    triangles: (t, 3, 3) float32, checked.
    kernel: a registered name, a strategy, or None for the default.
    threads: launches at a time.
    order: the order of lanes, and of blocks; hits that depend on it show a missing `__syncwarp`.
    seed: of the shuffled order and of weak memory, not negative.
    is_weak: whether lanes and blocks see late what is not handed over to them (`memory.hpp`).
    tree: over the triangles, of this kernel; by default it is built.
    builder: how it is built, a name of `bvh.builders.BUILDERS`, None for the default.
    cutouts: of the triangles, None if all are solid.
    timeout: seconds after which a launch is given up.
    Raises `KernelError` where the kernel is unknown or does not compile, and from a launch that breaks CUDA's rules;
    `DeviceError` where there is no g++.
    """

    device = "emulator"
    dispatch = "emulated"

    def __init__(
        self,
        triangles: Floats,
        kernel: str | KernelStrategy | None = None,
        *,
        threads: int | None = None,
        order: Order = "ascending",
        seed: int = 0,
        is_weak: bool = False,
        tree: BinaryTree | None = None,
        builder: str | None = None,
        cutouts: CutoutTables | None = None,
        timeout: float | None = None,
    ) -> None:
        start = time.perf_counter()
        self._order = _index(order)
        self._seed = seed
        self._is_weak = is_weak
        self._timeout = timeout or TIMEOUT
        self._strategy = find_strategy(kernel)
        self.name = self._strategy.name
        super().__init__(threads, len(triangles))
        self._cutouts = cutouts
        tree = tree or self._strategy.build(triangles, builder)
        packed = self._take(tree, triangles)
        self.bvh = BvhStatistics(
            nodes=packed.nodes,
            bytes=packed.bytes,
            sah_cost=tree.sah_cost,
            build_seconds=time.perf_counter() - start,
            tree_seconds=tree.seconds,
            is_cached=tree.is_cached,
        )

    def _take(self, tree: BinaryTree, triangles: Floats) -> PackedTree:
        """Traces a tree of triangles from now on. Returns it as the kernel reads it."""
        self.tree: BinaryTree = tree
        packed = self._strategy.pack(tree, triangles, self._cutouts)
        stack_size = self._strategy.stack_for(packed)
        self._compile = partial(compile_library, self._strategy, stack_size, has_cutouts=self._cutouts is not None)
        self._library = LibraryPool.of(self._compile())
        self._scene = EmulatedScene(packed, self._strategy.layout.scene)
        return packed

    def _move(self, triangles: Floats) -> None:
        self._take(refit(self.tree, triangles), triangles)

    def record_steps(self, rays: Floats, query: Query = Query.CLOSEST, hits: Floats | None = None) -> StepSequences:
        """Returns the steps that the kernel does for rays. Raises `KernelError` as tracing does, and where the kernel
        does not have the loop that its strategy says.

        rays: (n, 8) float32, n > 0.
        query: what is asked of them.
        hits: (n, 4) float32, which is given what the kernel hits meanwhile.
        """
        self.check_open()
        rays = checked_rays(rays)
        library = LibraryPool.of(self._compile(counted=True))
        hits = np.empty((len(rays), HIT_FLOATS), np.float32) if hits is None else hits
        parts = [slice(start, start + BATCH_RAYS) for start in range(0, len(rays), BATCH_RAYS)]

        def recorded(part: slice) -> StepSequences:
            return self._recorded(library, query, rays[part], hits[part])

        sequences = StepSequences.joined(list(self._pool.map(recorded, parts)))
        check_loop(sequences, self._strategy)
        return sequences

    def _recorded(self, library: LibraryPool, query: Query, rays: Floats, hits: Floats) -> StepSequences:
        capacity = STEPS_OF_RAY * len(rays)
        while True:
            log, launch = np.empty(capacity, np.uint64), _Launch(rays)
            length = self._run(launch, query, library, log)
            if length <= capacity:
                hits[:] = launch.hits.view(np.float32).reshape(-1, HIT_FLOATS)
                return StepSequences.decoded(log[:length], len(rays), self._strategy)
            capacity = length

    def _trace(self, rays: Floats, hits: Floats, query: Query) -> int:
        launch = _Launch(rays)
        self._run(launch, query, self._library)
        hits[:] = launch.hits.view(np.float32).reshape(-1, HIT_FLOATS)
        return int(launch.report["invalid_rays"][0])

    def _run(self, launch: "_Launch", query: Query, pool: LibraryPool, log: Words | None = None) -> int:
        """Runs a launch. Returns how many steps there were, of which the log has as many as it has room for."""
        blocks = self._strategy.blocks_for(launch.count)
        memories = np.concatenate([self._scene.memories, launch.memories])
        request = Request(
            scene=self._scene.record.ctypes.data,
            arguments=launch.record.ctypes.data,
            entry=query,
            blocks=min(blocks, PERSISTENT_BLOCKS) if self._strategy.persistent else blocks,
            threads=self._strategy.block_size,
            order=self._order,
            seed=self._seed,
            is_weak=self._is_weak,
            time_limit=int(self._timeout * 1e9),
            memories=memories.ctypes.data,
            memories_count=len(memories),
            log=0 if log is None else log.ctypes.data,
            log_capacity=0 if log is None else len(log),
        )
        with pool.borrow() as library:
            error = library.emulate(request)
        if error is not None:
            raise KernelError(f"kernel {self.name!r} is wrong: {error}")
        faults = int(launch.report["faults"][0])
        if faults:
            raise KernelError(f"kernel {self.name!r} failed: {describe_faults(faults)}")
        return int(request.log_length)


def _index(order: str) -> int:
    orders = get_args(Order)
    if order not in orders:
        raise KernelError(f"unknown order of lanes {order!r}; there are {', '.join(orders)}")
    return orders.index(order)


class EmulatedScene:
    """Holds a packed scene. `record` is the kernel's `struct Scene`."""

    def __init__(self, packed: PackedTree, dtype: np.dtype[np.void]) -> None:
        self._memory = {name: _copied(array) for name, array in packed.arrays.items()}
        self.record = np.zeros(1, dtype)
        for name, memory in self._memory.items():
            self.record[name] = memory.ctypes.data
        for name, value in packed.scalars.items():
            self.record[name] = value
        self.memories = memory_ranges(list(self._memory.values()))


class _Launch:
    """Holds what one launch reads and writes. `record` is the kernel's `struct Launch`."""

    def __init__(self, rays: Floats) -> None:
        self.count = len(rays)
        self.rays = _copied(rays)
        self.hits = _aligned(self.count * HIT_FLOATS * 4)
        self.hits[:] = 0xFF  # a hit that is not written is no hit and no miss
        self.report = np.zeros(1, REPORT)
        self.counters = np.zeros(1, LAUNCH_COUNTERS)
        self.record = np.zeros(1, LAUNCH)
        self.record["count"] = self.count
        for name in ("rays", "hits", "report", "counters"):
            self.record[name] = getattr(self, name).ctypes.data
        self.memories = memory_ranges([self.rays, self.hits, self.report, self.counters])


def memory_ranges(memory: list[npt.NDArray[Any]]) -> npt.NDArray[np.uint64]:
    """Returns (n, 2) addresses: where each array begins and ends."""
    return np.array([(array.ctypes.data, array.ctypes.data + array.nbytes) for array in memory], np.uint64)


def _aligned(size: int) -> Bytes:
    """Returns so many bytes, aligned like a device's memory, with nothing around them that a kernel may look at."""
    raw = np.zeros(max(size + ALIGNMENT, LEAST_BYTES), np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    forbid(raw[:start])
    forbid(raw[start + size :])
    return raw[start : start + size]


def _copied(content: npt.NDArray[Any]) -> Bytes:
    memory = _aligned(content.nbytes)
    memory[:] = content.reshape(-1).view(np.uint8)
    return memory
