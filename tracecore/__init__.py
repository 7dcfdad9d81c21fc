"""Traces rays as a co-processor: triangles and rays go in, hits come out.

`open_tracer` gives a tracer for a device; `tracer` states what it does, `rays` what goes in and comes out.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple, cast, get_args

from tracecore.along_rays import AllHits, all_hits
from tracecore.arrays import Array
from tracecore.bvh.tree import BinaryTree
from tracecore.cutouts import Cutouts, CutoutTables, tables_of
from tracecore.dispatch.tracer import Tracer, TracerLimits, TracerStatistics
from tracecore.errors import DeviceError, KernelError, TriangleError
from tracecore.kernels.choice import AUTO
from tracecore.masked_tracer import MaskedTracer
from tracecore.on_demand import OnDemand
from tracecore.rays import BATCH_RAYS, HIT, MISS, RAY, Floats, Hits, Query, as_records, make_rays
from tracecore.triangles import checked_triangles, chosen_triangles

Device = Literal["auto", "cpu", "gpu", "emulator", "brute"]

__all__ = [
    "BATCH_RAYS",
    "HIT",
    "MISS",
    "RAY",
    "AllHits",
    "Cutouts",
    "Device",
    "Hits",
    "MaskedTracer",
    "Query",
    "Tracer",
    "TracerLimits",
    "TracerStatistics",
    "all_hits",
    "as_records",
    "device_and_index",
    "make_rays",
    "open_masked",
    "open_tracer",
]


#: Tracers that the CPU runs, by device.
_ON_CPU: OnDemand[Any] = OnDemand(
    {"cpu": "tracecore.tracers.cpu:CpuTracer", "brute": "tracecore.tracers.brute_force:BruteForceTracer"}
)


def __dir__() -> list[str]:
    """Returns the names that are offered, for completion in a shell."""
    return sorted(__all__)


def open_tracer(
    triangles: Array | None = None,
    *,
    vertices: Array | None = None,
    faces: Array | None = None,
    device: Device | str = "auto",
    kernel: str | None = None,
    threads: int | None = None,
    dispatch: str | None = None,
    tree: BinaryTree | None = None,
    builder: str | None = None,
    rays: int | None = None,
    cutouts: Cutouts | None = None,
    verify: float = 0.0,
) -> Tracer:
    """Opens a tracer of triangles on a device.

    triangles: (t, 3, 3), finite, world units; `prim_id` counts them. An array of another library is taken too, if it is
    in the machine's memory and has `__array__` or `__dlpack__`.
    vertices, faces: an indexed mesh in place of triangles: (v, 3) numbers, and (t, 3) integers, the vertices of each
    triangle from 0 on.
    device: cpu, gpu, emulator (the GPU's kernels run by the CPU, slow), brute (slower still: it defines what is right)
    or auto, which is the GPU if there is a usable one and else the CPU. gpu is the calling thread's current GPU, gpu:1
    the one of index 1; it becomes the thread's current one.
    kernel: the kernel's name; None and auto are the device's own choice, for rays of all kinds.
    threads: CPU threads that trace, or that a driver should feed a GPU from; by default all usable cores.
    dispatch: how batches reach a GPU, resident (default) or streamed.
    tree: a tree over these triangles, made by `bvh.refit` from the `tree` of a tracer of the same device and kernel; by
    default a new one is built.
    builder: how it is built, reinserted (what is traced costs least), binned (in a little less time) or ploc (by a GPU
    itself, in the least time); by default reinserted, but ploc where a GPU has so few rays to trace that it gains.
    rays: about how many will be traced, None where nobody knows.
    cutouts: where triangles are not there; by default all are solid.
    verify: share of the batches whose hits are compared with those of the CPU, which needs a tree of its own; a wrong
    one raises WrongHitError. A whole array counts as batches of `BATCH_RAYS`. On the CPU itself nothing is compared.
    Raises TriangleError, CutoutError, DeviceError and KernelError.
    """
    checked = checked_triangles(chosen_triangles(triangles, vertices, faces))
    if tree is not None and len(tree.order) != len(checked):
        raise TriangleError(f"a tree of {len(tree.order)} triangles is not for {len(checked)}")
    surfaces = _Surfaces(checked, tree, builder, tables_of(cutouts, len(checked)), rays)
    if threads is not None and threads < 1:
        raise DeviceError(f"threads must be at least 1, got {threads}")
    device, index = device_and_index(device)
    if device == "auto":
        from tracecore.tracers.gpu import gpu_unavailable_reason

        device = "gpu" if gpu_unavailable_reason() is None else "cpu"
    if device == "gpu":
        return _verified(_open_gpu(surfaces, index, kernel, threads, dispatch), surfaces, verify)
    if device == "emulator":
        from tracecore.emulator.tracer import EmulatedTracer

        emulated = EmulatedTracer(checked, kernel, threads=threads, **surfaces.tree_and_cutouts)
        return _verified(emulated, surfaces, verify)
    return _open_cpu(surfaces, device, kernel, threads)


def open_masked(triangles: Array, masks: Array, *, cutouts: Cutouts | None = None, **chosen: Any) -> MaskedTracer:
    """Opens a tracer of triangles that are there for some rays and not for others.

    triangles: (t, 3, 3), as `open_tracer` takes them.
    masks: (t,) integers of 32 bits; a ray meets a triangle where its own mask has a bit in common.
    cutouts: where triangles are not there; by default all are solid.
    chosen: as `open_tracer` takes them: device, kernel, threads, dispatch, builder, verify.
    Raises what `open_tracer` does.
    """
    checked, open_part = checked_triangles(triangles), cast("Callable[..., Tracer]", partial(open_tracer, **chosen))
    tables_of(cutouts, len(checked))  # which raises what is wrong with them
    open_part(checked[:0]).close()  # and this, what is wrong with the choice
    return MaskedTracer(open_part, checked, masks, cutouts)


def _verified(tracer: Tracer, surfaces: "_Surfaces", share: float) -> Tracer:
    """Returns the tracer, with a share of its batches compared with what the CPU hits."""
    if share <= 0.0:
        return tracer
    from tracecore.tracers.cpu import CpuTracer
    from tracecore.tracers.verified import Judge, VerifiedTracer

    judge = CpuTracer(surfaces.triangles, threads=tracer.threads, cutouts=surfaces.cutouts)
    return VerifiedTracer(tracer, Judge(judge, len(surfaces.triangles), share))


def device_and_index(text: str) -> tuple[Device, int | None]:
    """Returns the device that a text names, and the index of a GPU where it has one, as "gpu:1" has, else None.

    Raises `DeviceError` for other texts.
    """
    name, colon, number = text.partition(":")
    for device in get_args(Device):
        if name == device and not colon:
            return device, None
    if name == "gpu" and number.isascii() and number.isdecimal():
        return "gpu", int(number)
    raise DeviceError(f"unknown device '{text}'; there are {', '.join(get_args(Device))}, and gpu:0, gpu:1 and so on")


class _Surfaces(NamedTuple):
    """Holds what is to be traced, after it has been checked. All but the triangles is as the tracers take it."""

    triangles: Floats
    tree: BinaryTree | None
    builder: str | None
    cutouts: CutoutTables | None
    rays: int | None

    @property
    def tree_and_cutouts(self) -> dict[str, Any]:
        """Returns what tracers take as keywords."""
        return {"tree": self.tree, "builder": self.builder, "cutouts": self.cutouts}


def _open_gpu(
    surfaces: _Surfaces, index: int | None, kernel: str | None, threads: int | None, dispatch: str | None
) -> Tracer:
    from tracecore.tracers.gpu import DISPATCHES, GpuTracer, gpu_unavailable_reason

    if dispatch not in (None, *DISPATCHES):
        raise DeviceError(f"unknown dispatch '{dispatch}'; there are {', '.join(DISPATCHES)}")
    if reason := gpu_unavailable_reason() if index is None else gpu_unavailable_reason(index):
        raise DeviceError(f"{'no GPU can' if index is None else f'GPU {index} cannot'} be used: {reason}")
    chosen = dispatch or DISPATCHES[0]
    of_surfaces = {**surfaces.tree_and_cutouts, "rays": surfaces.rays}
    return GpuTracer(surfaces.triangles, kernel, threads=threads, dispatch=chosen, gpu=index, **of_surfaces)


def _open_cpu(surfaces: _Surfaces, device: Device, kernel: str | None, threads: int | None) -> Tracer:
    kind = _ON_CPU[device]
    if kernel not in (None, AUTO, kind.name):
        raise KernelError(f"unknown kernel '{kernel}' for device '{device}'; there is {kind.name}")
    own = surfaces.tree_and_cutouts if device == "cpu" else {"cutouts": surfaces.cutouts}
    return kind(surfaces.triangles, threads=threads, **own)
