"""The tracer on an NVIDIA GPU: one kernel that stays answers batches, or launches do, each all that has been rung.

The first is resident dispatch, the second streamed dispatch. Whole arrays are launched in large pieces, or as they are
where they lie on the GPU.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from typing import Any

import numpy as np

from tracecore.analysis.steps import StepCounts
from tracecore.arrays import Array, lies_on_gpu
from tracecore.bvh.bottom_up import Leaves
from tracecore.bvh.refit import refit
from tracecore.bvh.tree import BinaryTree
from tracecore.cuda import device_ploc
from tracecore.cuda.device import (
    Mark,
    Stream,
    cuda_errors,
    find_device,
    gpu_unavailable_reason,
    keep_for_good,
    timeout_seconds,
)
from tracecore.cuda.device_kernel import DeviceKernel, DeviceScene, Launch
from tracecore.cuda.device_memory import DeviceMemory
from tracecore.cuda.device_ploc import DeviceTree
from tracecore.cuda.device_refit import DeviceRefit
from tracecore.cuda.nvrtc import CompiledKernel
from tracecore.cutouts import CutoutTables
from tracecore.dispatch.launch_queue import LaunchQueue
from tracecore.dispatch.port import PORT_BATCHES, PORT_COUNTERS, PORT_INVALID, PORT_RAYS, Counters
from tracecore.dispatch.queue import RayQueue
from tracecore.dispatch.resident import KernelHost, RingPort
from tracecore.dispatch.tracer import DEPTH, BvhStatistics, OpenTracer, TracerLimits, TracerStatistics
from tracecore.dispatch.whole_arrays import CopyRooms, LaunchContext, WorkCounters
from tracecore.errors import KernelError, TraceError, TriangleError
from tracecore.kernels.refit_records import PROGRAMS as REFIT_PROGRAMS
from tracecore.kernels.step_records import COUNTS, RAY_COUNTS
from tracecore.kernels.strategies import find_strategy
from tracecore.kernels.strategy import KernelStrategy
from tracecore.layout.packed_triangle import PACKED_TRIANGLE, unpacked_triangles
from tracecore.rays import BATCH_RAYS, HIT, HIT_FLOATS, RAY, RAY_FLOATS, Floats, Hits, Query, checked_rays
from tracecore.threads import Piece, in_pieces, usable_cores
from tracecore.triangles import LARGEST_COORDINATE, moved_triangles

__all__ = ["GpuTracer", "gpu_unavailable_reason"]

#: How batches reach the device; the default first.
DISPATCHES = ("resident", "streamed")

#: Batches in flight for each thread that runs a compiled loop: few stay in a core's cache, many outlast a launch.
IN_FLIGHT = {"resident": 4, "streamed": 16}

#: Slots of a ring that is made for a queue: so many, or twice the usual batches of a queue for each thread.
LEAST_SLOTS = 64

#: The GPU builds the tree of at least so many triangles itself, unless it is to trace more than so many rays for each:
#: the default tree takes 0.4 microseconds a triangle longer (16 cores), and a ray costs a tenth less in it
#: (docs/lab/bvh-on-the-gpu.md). It does so where so many bytes a triangle are free.
LEAST_TRIANGLES, MOST_RAYS, QUICK_BYTES = 50_000, 10_000, 500

#: Rays of one launch when a whole array is traced.
LAUNCH_RAYS = 1 << 21

#: Rays of whole arrays that are copied, traced and copied back together, while others are on their way.
PIECE_RAYS = 1 << 17

#: Launches and copies of which the fastest tells how fast it can be; bytes of a copy.
LIMIT_ROUNDS, LIMIT_BYTES = 5, 1 << 26


class GpuTracer(OpenTracer):
    """Traces on a GPU.

    The GPU becomes the current one of the thread that opens the tracer, and of those that trace with it.

    Waits are bounded (`TRACECORE_GPU_TIMEOUT`, seconds). Threads may share a tracer; a queue belongs to one.

    triangles: (t, 3, 3) float32, checked.
    kernel: a registered name, a strategy, or None for the default.
    threads: how many CPU threads a driver should feed it from.
    dispatch: what answers batches, "resident" for a kernel that stays, "streamed" for launches.
    tree: over the triangles, of this kernel; by default it is built.
    builder: how it is built, a name of `bvh.builders.BUILDERS`, None for the default. The GPU itself does it where the
    kernel's layout names it among `gpu_builders`.
    rays: about how many will be traced, None where nobody knows: for few it builds the tree itself by default.
    cutouts: of the triangles, None if all are solid.
    gpu: its index, None for the calling thread's current GPU.

    Raises `KernelError` where the kernel is unknown, does not compile or has too small a stack for the tree,
    `DeviceError` where there is no such GPU, it has no room for the triangles and their tree, or CUDA fails.
    """

    device = "gpu"

    def __init__(
        self,
        triangles: Floats,
        kernel: str | KernelStrategy | None = None,
        *,
        threads: int | None = None,
        dispatch: str = DISPATCHES[0],
        tree: BinaryTree | None = None,
        builder: str | None = None,
        rays: int | None = None,
        cutouts: CutoutTables | None = None,
        gpu: int | None = None,
    ) -> None:
        start = time.perf_counter()
        self.gpu = find_device(gpu)
        strategy = find_strategy(kernel)
        builder_there = builder or self._quick_builder(len(triangles), rays)
        self._tree: BinaryTree | DeviceTree | None = tree or self._built_there(strategy, triangles, builder_there)
        made: Mapping[str, DeviceMemory] = {}
        if isinstance(self._tree, DeviceTree):
            packed, made = strategy.with_cutouts(self._tree.packed, cutouts), self._tree.memory
        else:
            self._tree = self._tree or strategy.build(triangles, builder)
            packed = strategy.pack(self._tree, triangles, cutouts)
        stack_size, has_cutouts = strategy.stack_for(packed), cutouts is not None
        self.name = strategy.name
        self.threads = threads or usable_cores()
        self.bvh = BvhStatistics(
            nodes=packed.nodes,
            bytes=packed.bytes + sum(memory.size for memory in made.values()),
            sah_cost=self._tree.sah_cost,
            build_seconds=time.perf_counter() - start,
            tree_seconds=self._tree.seconds,
            is_cached=self._tree.is_cached,
            is_of_gpu=bool(made),
        )
        with self.vacant_gpu("cannot set up the GPU"):
            self.gpu.check_room(len(triangles), "triangles with their tree", packed.bytes)
            scene = DeviceScene(self.gpu, packed, strategy.layout.scene, made)
            self._load = partial(
                DeviceKernel, self.gpu, strategy=strategy, stack_size=stack_size, has_cutouts=has_cutouts
            )
            self._launched_kernel = self._load()
            self._work_counters = WorkCounters()
            context = LaunchContext(self._launched_kernel, scene, timeout_seconds())
            self._launch_context: LaunchContext | None = context
            self._rooms = CopyRooms(context, PIECE_RAYS)
            self._launch_queue = LaunchQueue(context, self._work_counters)
            ring_kernel, by_launches = self._load(resident=True), dispatch == "streamed"
            self._host = KernelHost(ring_kernel, scene, timeout_seconds(), by_launches=by_launches)
        self._triangle_count, self._has_moved = len(triangles), False
        self.dispatch = dispatch
        self.batches = IN_FLIGHT[dispatch]
        self._lock = threading.Lock()
        self._queues: list[RayQueue] = []
        self._port_counters: list[Counters] = []  # of all ports there have been

    def _quick_builder(self, triangles: int, rays: int | None) -> str | None:
        """Returns the builder that is tried where none was chosen, None for the default. rays: as of the tracer."""
        is_quick = rays is not None and triangles >= LEAST_TRIANGLES and rays <= MOST_RAYS * triangles
        if not is_quick:
            return None
        with self.vacant_gpu("cannot ask for room"):
            return "ploc" if self.gpu.driver.memory_left()[0] >= QUICK_BYTES * triangles else None

    def _built_there(self, strategy: KernelStrategy, triangles: Floats, builder: str | None) -> DeviceTree | None:
        """Returns the tree where the GPU builds it, None where the CPU has to."""
        if builder not in strategy.layout.gpu_builders:
            return None
        with self.vacant_gpu(f"cannot build a tree of {len(triangles)} triangles"):
            leaves = Leaves(strategy.max_leaf, strategy.triangle_block)
            return device_ploc.build(self.gpu, triangles, leaves, strategy.layout.name)

    @property
    def tree(self) -> BinaryTree | None:
        """What was packed, fetched from the GPU if that has built it and nobody has asked before, and refitted if the
        triangles have moved since; None if nobody had when the tracer was closed. Raises `DeviceError` where the GPU
        does not answer.
        """
        with self._lock:
            if isinstance(self._tree, DeviceTree):
                with self.vacant_gpu("cannot fetch the tree"):
                    self._tree = self._tree.fetched()
            if self._has_moved and self._launch_context is not None and self._tree is not None:
                with self.vacant_gpu("cannot fetch the triangles"):
                    there = self._launch_context.scene.memory("triangles").copied()
                self._tree, self._has_moved = refit(self._tree, unpacked_triangles(there.view(PACKED_TRIANGLE))), False
            return self._tree

    def update(self, triangles: Array) -> None:
        """As `Tracer.update` says; queues and ports stay open."""
        self.launch_context.check()
        checked = None if lies_on_gpu(triangles) else moved_triangles(triangles, self._triangle_count)
        with self.vacant_gpu("cannot move triangles"):
            if checked is None:
                there = self._triangles_there(triangles)
                address = int(there.data.ptr)
            else:
                there = DeviceMemory.holding(self.gpu, checked)
                address = there.address
            if self._triangle_count > 0:
                self._move(address, there)

    def _triangles_there(self, lent: Array) -> Any:
        """Returns CuPy's array of triangles on the device, once all that writes them is done."""
        try:
            there = self.gpu.driver.array_of(lent)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise TriangleError(f"triangles: {error}") from error
        expected = (self._triangle_count, 3, 3)
        if there.device.id != self.gpu.index:
            raise TriangleError(f"triangles lie on GPU {there.device.id}, and the tracer is on GPU {self.gpu.index}")
        if there.shape != expected or there.dtype != np.float32 or not there.flags.c_contiguous:
            got = f"{there.shape} {there.dtype}, strides {there.strides}"
            raise TriangleError(f"triangles on a GPU must be C-contiguous float32 of shape {expected}, got {got}")
        mark = Mark(self.gpu)
        mark.set(self.gpu.driver.current_stream())
        self.launch_context.finish(mark)
        return there

    def _move(self, address: int, used: Any) -> None:
        """Moves the triangles to where those at an address on the device are. used: what they are."""
        extent = self._refit.extent_of(address, used)
        if not extent <= LARGEST_COORDINATE:  # NaN is not
            raise TriangleError(f"a triangle has a corner that is not finite or beyond {LARGEST_COORDINATE:g}")
        self._refit.move()
        self.launch_context.scene.record["extent"] = extent
        self._has_moved = True

    @cached_property
    def _refit(self) -> DeviceRefit:
        strategy, scene = self.launch_context.kernel.strategy, self.launch_context.scene
        if strategy.layout.name not in REFIT_PROGRAMS:
            raise KernelError(f"a GPU does not move triangles for kernel {self.name!r}; open another tracer")
        memories = scene.memory("nodes"), scene.memory("triangles")
        return DeviceRefit(self.gpu, strategy.layout.name, memories, (self.bvh.nodes, self._triangle_count))

    @property
    def launch_context(self) -> LaunchContext:
        """What launches over whole arrays share. Raises `KernelError` where the tracer is closed."""
        if self._launch_context is None:
            raise KernelError(f"the tracer '{self.name}' is closed; open another one")
        return self._launch_context

    @property
    def compiled(self) -> CompiledKernel:
        """The kernel in use, with its resources."""
        return self._launched_kernel.compiled

    @contextmanager
    def vacant_gpu(self, failing: str) -> Iterator[None]:
        """No kernel stays on the GPU meanwhile, which is the calling thread's current one.

        failing: what it means that CUDA fails meanwhile, in words, for the `DeviceError`.
        """
        with self.gpu.device_lock.vacant(), cuda_errors(failing):
            self.gpu.attach()
            yield

    @contextmanager
    def sole_gpu(self, failing: str) -> Iterator[None]:
        """As `vacant_gpu`, and nothing else of this process runs there meanwhile, so that times count."""
        with self.gpu.device_lock.alone(), self.vacant_gpu(failing):
            yield

    def open_queue(self, depth: int = DEPTH, batch_rays: int = BATCH_RAYS) -> RayQueue:
        """Returns a queue for the calling thread, as `Tracer.open_queue` says.

        All queues and ports that are open at once use one ring, so that their batches are of one size. Raises
        `DeviceError` where a ring of another size is in use or memory runs out.
        """
        ring_slots = max(2 * DEPTH * self.threads, LEAST_SLOTS, depth)
        (port,) = self._open_ports(1, depth, batch_rays, ring_slots=ring_slots)
        queue = RayQueue(port, self.name)
        with self._lock:
            self._queues = [*(other for other in self._queues if other.is_open), queue]
        return queue

    def open_ports(self, threads: int, slots: int, slot_rays: int, log_rows: int = 0) -> list[RingPort]:
        """Returns ports for compiled loops, one for each of so many threads, as `Tracer.open_ports` says."""
        return self._open_ports(threads, slots, slot_rays, log_rows=log_rows)

    def _open_ports(self, threads: int, slots: int, slot_rays: int, **options: int) -> list[RingPort]:
        """Opens ports whose work is counted. options: as `KernelHost.open_ports` takes."""
        self.launch_context.check()
        ports = self._host.open_ports(threads, slots, slot_rays, **options)
        with self._lock:
            self._port_counters += [port.port.counters for port in ports]
        return ports

    def closest_hit(self, rays: Array) -> Hits:
        """(n, 8) float32 rays -> (n, 4) float32 hits, any n; the least `t`, and of equal ones the least `prim_id`.

        Of rays that lie on this GPU the hits do too, an array of CuPy's (`LaunchQueue.trace`).
        """
        return self._trace_all(rays, Query.CLOSEST)

    def any_hit(self, rays: Array) -> Hits:
        """(n, 8) float32 rays -> (n, 4) float32: t = u = v = 0 and `prim_id` 0 where something is hit, else a miss."""
        return self._trace_all(rays, Query.ANY)

    def _trace_all(self, given: Array, query: Query) -> Hits:
        self.launch_context.check()
        if lies_on_gpu(given):
            with self.vacant_gpu("cannot trace rays where they lie"):
                return self._launch_queue.trace(given, query)
        rays = checked_rays(given)
        hits = np.empty((len(rays), HIT_FLOATS), np.float32).view(Hits)
        if len(rays) == 0:
            return hits
        with self.gpu.device_lock.vacant():
            self._launch_all(rays, hits, query)
        return hits

    def _launch_all(self, rays: Floats, hits: Floats, query: Query) -> None:
        with cuda_errors("cannot use the GPU"):
            self.gpu.attach()

        def trace(piece: Piece) -> None:
            part = slice(*piece)
            self._work_counters.add(piece[1] - piece[0], self._rooms.trace(rays[part], hits[part], query))

        in_pieces(trace, len(rays), self._rooms.capacity)

    def limits(self, rays: Floats) -> TracerLimits:
        """How fast the kernel alone traces such rays, (n, 8) float32, and how fast the bus takes bytes to the device.

        The rays are repeated to fill the device, lie in its own memory, and are traced in one launch, timed by its
        clock. Nothing else of this process runs there meanwhile.
        """
        self.launch_context.check()
        rays = checked_rays(rays)
        with self.sole_gpu("cannot measure what limits the GPU"):
            return TracerLimits(kernel_rays_per_second=self._kernel_rate(rays), bus_bytes_per_second=self._bus_rate())

    def _kernel_rate(self, rays: Floats) -> float:
        if len(rays) == 0:
            return 0.0
        many = np.resize(rays, (LAUNCH_RAYS, RAY_FLOATS))  # whole copies one after the other
        return len(many) / min(self._launched(many, Query.CLOSEST, LIMIT_ROUNDS)[0])

    def timed_launches(self, rays: Floats, query: Query, rounds: int) -> tuple[list[float], Floats]:
        """Returns the seconds that each of so many rounds over all rays took, by the device's clock, and the hits of
        the last round, (n, 4) float32.

        A round is one launch, or as many as it takes where the rays are more than `KernelStrategy.most_rays`. Rays and
        hits lie in the device's memory, from where hits are copied when all rounds are done. Nothing else of this
        process runs there meanwhile.

        rays: (n, 8) float32, n > 0.
        """
        self.launch_context.check()
        rays = checked_rays(rays)
        with self.sole_gpu(f"cannot trace {len(rays)} rays"):
            seconds, hits = self._launched(rays, query, rounds)
            return seconds, hits.copied().view(np.float32).reshape(-1, HIT_FLOATS)

    def _launched(self, rays: Floats, query: Query, rounds: int) -> tuple[list[float], DeviceMemory]:
        """Returns the seconds of each round, and the device's memory with the hits of the last."""
        most = self.launch_context.kernel.strategy.most_rays
        on_device, hits = self._room_for(rays)
        parts = [
            (self._launch(on_device, hits, start), min(len(rays) - start, most)) for start in range(0, len(rays), most)
        ]
        stream = Stream(self.gpu)
        seconds = []
        for _ in range(rounds):
            reports = [self._report_of(launch, count, query, stream) for launch, count in parts]
            seconds.append(sum(end - start for start, end in reports) / 1e9)
        return seconds, hits

    def _room_for(self, rays: Floats) -> tuple[DeviceMemory, DeviceMemory]:
        """Returns rays on the device, and room for their hits: one that is never written is no hit and no miss."""
        return DeviceMemory.holding(self.gpu, rays), DeviceMemory.filled(self.gpu, len(rays) * HIT.itemsize, 0xFF)

    def _launch(self, rays: DeviceMemory, hits: DeviceMemory, first: int) -> Launch:
        """Returns a launch over rays on the device from the index `first` on."""
        launch = self.launch_at(rays.address + first * RAY.itemsize, hits.address + first * HIT.itemsize)
        launch.used = [rays, hits]
        return launch

    def launch_at(
        self, rays: int, hits: int, counters: DeviceMemory | None = None, device_count: int | None = None
    ) -> Launch:
        """Returns a launch over rays at an address on the device, (n, 8) float32, whose hits, (n, 4), go to another.

        counters: as `Launch` takes them.
        device_count: where another kernel writes how many rays there are, or None where whoever starts it knows.

        Whoever starts it keeps them, and keeps the device free of kernels that stay (`vacant_gpu`).
        """
        self.launch_context.check()
        kernel = self.launch_context.kernel if device_count is None else self._kernel_with_device_count
        launch = Launch(kernel, self.launch_context.scene, (rays, hits), counters=counters)
        if device_count is not None:
            launch.take_count_from(device_count)
        return launch

    @cached_property
    def _kernel_with_device_count(self) -> DeviceKernel:
        return self._load(strategy=self.launch_context.kernel.strategy.with_device_count)

    def _report_of(self, launch: Launch, count: int, query: Query, stream: Stream) -> tuple[int, int]:
        """Launches over so many rays. Returns start and end in nanoseconds."""
        launch.start(count, query, stream)
        self._pass(stream, launch)
        start, end, _ = launch.report()
        return start, end

    def count_steps(self, rays: Floats, query: Query = Query.CLOSEST) -> StepCounts:
        """Returns what the kernel does for rays, (n, 8) float32, n > 0, in launches of a build that counts."""
        self.launch_context.check()
        rays = checked_rays(rays)
        with self.vacant_gpu("cannot count steps"):
            kernel = self._load(counted=True)
            parts = (rays[start : start + LAUNCH_RAYS] for start in range(0, len(rays), LAUNCH_RAYS))
            return StepCounts.joined([self._counted(kernel, part, query) for part in parts])

    def _counted(self, kernel: DeviceKernel, rays: Floats, query: Query) -> StepCounts:
        """Returns the steps of one launch of a kernel that counts."""
        on_device, hits = self._room_for(rays)
        counts = DeviceMemory.zeros(self.gpu, COUNTS.itemsize + len(rays) * RAY_COUNTS.itemsize)
        launch = Launch(kernel, self.launch_context.scene, (on_device.address, hits.address), counts.address)
        launch.used = [on_device, hits, counts]
        self._report_of(launch, len(rays), query, Stream(self.gpu))
        return StepCounts.read(counts.copied())

    def _bus_rate(self) -> float:
        host, stream = self.gpu.pinned(LIMIT_BYTES, np.uint8), Stream(self.gpu)
        device = DeviceMemory.zeros(self.gpu, LIMIT_BYTES)
        seconds = []
        for _ in range(LIMIT_ROUNDS):
            start = time.perf_counter()
            stream.copy_up(device.address, host.ctypes.data, LIMIT_BYTES)
            self._pass(stream, host, device)
            seconds.append(time.perf_counter() - start)
        return LIMIT_BYTES / min(seconds)

    def _pass(self, stream: Stream, *used: Any) -> None:
        """Wait for all work in a stream. Raises `KernelError` where it does not end; then what it uses is kept."""
        stream.mark()
        try:
            self.launch_context.finish(
                stream, f"the GPU has not answered in {self.launch_context.timeout:g} s: end this process"
            )
        except KernelError:
            keep_for_good(stream, *used)
            raise

    def statistics(self) -> TracerStatistics:
        """Returns what has been done so far: launches over whole arrays that came back, and batches submitted.

        busy_seconds: union of the launches' times by the device's clock, each from its first block's start to its last
        block's end, and the time in which the kernel that serves the ring had a batch at hand.
        kernel_rays_per_second: all rays by that time, few at once and many alike.
        """
        with suppress(KernelError):  # whoever traces next is told
            self._launch_queue.settle()
        with self._lock:
            done = np.sum([np.zeros(PORT_COUNTERS, np.int64), *self._port_counters], axis=0)
        through_ports = (int(done[PORT_BATCHES]), int(done[PORT_RAYS]), int(done[PORT_INVALID]))
        return self._work_counters.statistics(self._host.busy_seconds, through_ports)

    def close(self) -> None:
        """Wait for what is in flight and give memory back. Statistics can still be read.

        Raises the first error of what does not end; its memory stays. Nothing happens where the tracer is closed.
        """
        context, self._launch_context = self._launch_context, None
        if context is None:
            return
        self._rooms.clear()
        self.__dict__.pop("_refit", None)  # its memory
        with self._lock:
            queues, self._queues = self._queues, []
            self._tree = None if isinstance(self._tree, DeviceTree) else self._tree
        _do_all([*(queue.close for queue in queues), self._host.close, self._launch_queue.close, context.close])


def _do_all(steps: list[Callable[[], None]]) -> None:
    """Takes all steps of a clean-up, also those after one that fails, and then raises the first `TraceError`."""
    errors = []
    for step in steps:
        try:
            step()
        except TraceError as error:
            errors.append(error)
    if errors:
        raise errors[0]
