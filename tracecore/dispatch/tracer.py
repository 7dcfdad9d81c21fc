"""The contract of a tracer: rays in, hits out, as whole arrays, or in batches through a queue or a port.

A driver cannot tell implementations apart: all return the same hits, bit for bit. There are four: `brute_force`
(defines what is right, slow), `cpu`, `emulator.tracer` (kernels of the GPU, run by the CPU) and `gpu`, by a kernel that
stays or by launches. A queue is for Python, a port for compiled loops (`port`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

from tracecore.dispatch.closing import Closing
from tracecore.rays import BATCH_RAYS, Floats, Hits

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from tracecore.arrays import Array
    from tracecore.bvh.tree import BinaryTree
    from tracecore.dispatch.port import OpenPort
    from tracecore.dispatch.queue import RayQueue

#: Batches that a queue has in flight at most, unless its owner asks for more.
DEPTH = 4


@dataclass(frozen=True, kw_only=True)
class BvhStatistics:
    """A tracer's tree: nodes and bytes as traversed, expected cost of a ray in node visits, seconds to build it all.

    tree_seconds: of these, what it took until the binary tree was there: built, refitted, or read where it was kept.
    is_cached: whether that was kept.
    is_of_gpu: whether the GPU that traces has built and packed it itself.
    """

    nodes: int
    bytes: int
    sah_cost: float
    build_seconds: float
    tree_seconds: float = 0.0
    is_cached: bool = False
    is_of_gpu: bool = False


@dataclass(frozen=True, kw_only=True)
class TracerStatistics:
    """Work done since the tracer was opened.

    busy_seconds: wall time in which the device traced; on a CPU the mean over threads. kernel_rays_per_second: rays by
    the seconds that tracing alone took on all of the device. invalid_rays: rays with NaN, infinite or zero parts,
    missed at entry. verified_batches: batches whose hits were compared with those of another tracer.
    """

    batches: int
    rays: int
    busy_seconds: float
    kernel_rays_per_second: float
    invalid_rays: int
    verified_batches: int = 0


@dataclass(frozen=True, kw_only=True)
class TracerLimits:
    """How fast parts of a tracer are alone. kernel_rays_per_second: tracing without anything around it.
    bus_bytes_per_second: from the host to the device, the way that rays take; None where there is no bus."""

    kernel_rays_per_second: float
    bus_bytes_per_second: float | None


class Tracer(Protocol):
    """Triangles that can be asked for hits. `name` is the kernel's, `device` cpu, gpu or brute, `dispatch` direct,
    emulated, streamed or resident, `threads` how many CPU threads a driver should feed it from, `batches` how many
    batches in flight for each of them keep it busy."""

    name: str
    device: str
    dispatch: str
    threads: int
    batches: int
    bvh: BvhStatistics

    @property
    def tree(self) -> BinaryTree | None:
        """What was packed; None where the tracer needs none. It may be on a device, from where asking fetches it."""

    def open_queue(self, depth: int = DEPTH, batch_rays: int = BATCH_RAYS) -> RayQueue:
        """Returns a queue for the calling thread.

        depth: how many batches can be in flight.
        batch_rays: how many rays a batch holds at most, a power of two from 256 to 65536.
        Raises `DeviceError` for other numbers, and where there is no memory for so many.
        """

    def open_ports(self, threads: int, slots: int, slot_rays: int, log_rows: int = 0) -> Sequence[OpenPort]:
        """Returns ports for compiled loops, see `port`.

        threads: how many ports, one for each thread.
        slots: how many slots a port has.
        slot_rays: how many rays a slot holds, a power of two from 256 to 65536.
        log_rows: how many rows the log of a port has.
        """

    def closest_hit(self, rays: Array) -> Hits:
        """(n, 8) float32 rays -> (n, 4) float32 hits, any n; the least `t`, and of equal ones the least `prim_id`.

        Rays are an array of NumPy or of a library that lends its memory (`rays.checked_rays`). Where they lie on the
        tracer's GPU, so do the hits, an array of CuPy's. The hits' columns have names; `rays.as_records(hits, HIT)` are
        the same as records. A ray with NaN or infinite parts or without a direction misses and is counted in
        `statistics().invalid_rays`.
        """

    def any_hit(self, rays: Array) -> Hits:
        """(n, 8) float32 rays -> (n, 4) float32: t = u = v = 0 and `prim_id` 0 where something is hit, else a miss."""

    def update(self, triangles: Array) -> None:
        """Moves the triangles: rays hit these from now on. The tree keeps its nodes and gets new boxes, so that tracing
        becomes slower where what was side by side has moved apart.

        triangles: (t, 3, 3), as many as the tracer has, finite, world units. Where they lie on the tracer's GPU,
        float32 and C-contiguous, they are read there.

        Nothing is under way meanwhile, and on a CPU queues and ports are closed. Raises `TriangleError` for other
        triangles, after which the tracer is as before; `KernelError` where something is open that should be closed, or
        where the GPU does not move triangles for this kernel.
        """

    def statistics(self) -> TracerStatistics:
        """Returns what has been done so far."""

    def limits(self, rays: Floats) -> TracerLimits:
        """Returns how fast the kernel alone traces such rays, (n, 8) float32, and how fast the bus is.

        On a device it measures, so nothing should be in flight; on a CPU it gives what was measured all along.
        """

    def close(self) -> None:
        """Gives the device's resources back. Queues and ports should be closed before."""

    def __enter__(self) -> Self:
        """Returns the tracer itself."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the tracer."""


class OpenTracer(Closing):
    """Gives a tracer its `with` block, and shows it by what it is."""

    name: str
    device: str
    dispatch: str
    threads: int
    bvh: BvhStatistics

    def __repr__(self) -> str:
        """Returns a line about it."""
        return (
            f"<{type(self).__name__} on {self.device}: kernel {self.name!r}, dispatch {self.dispatch!r}, "
            f"threads {self.threads}, nodes {self.bvh.nodes:,}, bytes {self.bvh.bytes:,}>"
        )
