"""The statistics of a run: a flat JSON object whose keys and units `FIELDS` documents."""

from __future__ import annotations

import json
import math
import numbers
from typing import TYPE_CHECKING, Any

from renderer import __version__
from renderer.atomic_file import atomic_file

if TYPE_CHECKING:  # the command line shows `FIELDS` in its help, which must not wait for compilers
    from pathlib import Path

    from renderer.driver import RenderSettings, Work
    from renderer.stage import Stage
    from tracecore.tracer import TracerStatistics

    Statistics = dict[str, Any]  # of str, int and float

#: Every key, in the order of the file. A number that is not defined is null.
FIELDS = {
    "scene": "name of the scene",
    "triangles": "triangles traced",
    "driver": "name of the driver",
    "kernel": "name of the traversal kernel",
    "device": "what traced: cpu or gpu",
    "dispatch": "how batches reach it: direct (cpu), emulated, streamed or resident",
    "batch_rays": "rays in a batch",
    "threads": "CPU threads that shade",
    "seed": "seed of all random numbers",
    "seconds.load": "wall time to read the scene and place it at its frame",
    "seconds.build": "wall time to open the tracer: tree, layout, transfer to the device",
    "seconds.trace": "wall time in which the CPU threads traced or waited for hits, mean over the threads",
    "seconds.shade": "all other wall time of the driver: shading, photon maps, threads without work",
    "seconds.total": "wall time of all: load, build and render, on a first run compilation too",
    "rays.camera": "rays from the eye",
    "rays.shadow": "rays to a light",
    "rays.bounce": "rays after an interaction of an eye path",
    "rays.photon": "rays of photon paths",
    "rays.total": "all rays",
    "rays_per_second": "rays.total by the wall time of rendering: seconds.total without load and build",
    "coprocessor.busy_fraction": "share of the wall time of rendering in which the device traced",
    "coprocessor.kernel_rays_per_second": "rays by the seconds that tracing alone took on all of the device",
    "coprocessor.batches": "batches traced",
    "limited_by": "what to make faster first: kernel, shading, transfer or queue",
    "photons.emitted": "photon paths begun = absorbed + escaped + terminated",
    "photons.stored": "photons kept in maps, any number for a path",
    "photons.absorbed": "photon paths ended by Russian roulette on a surface",
    "photons.escaped": "photon paths that left the scene",
    "photons.terminated": "photon paths cut at the longest path",
    "bvh.nodes": "nodes of the tree, as traversed",
    "bvh.bytes": "bytes of the tree and its triangles, as traversed",
    "bvh.sah_cost": "expected cost of a ray by the surface area heuristic",
    "bvh.build_seconds": "wall time to build the tree; at first in a process, to load the compiled builder too",
    "version": "version of the program",
}

#: A device that traces for this share of the time is the limit itself.
BUSY = 0.8


def collect(stage: Stage, driver: str, settings: RenderSettings, work: Work, render_seconds: float) -> Statistics:
    """The statistics of a run, with the keys of `FIELDS`. render_seconds: wall time since the stage was open."""
    traced = stage.tracer.statistics()
    bvh = stage.tracer.bvh
    rays, photons = work.rays, work.photons
    return {
        "scene": stage.snapshot.name,
        "triangles": len(stage.snapshot.positions),
        "driver": driver,
        "kernel": stage.tracer.name,
        "device": stage.tracer.device,
        "dispatch": stage.tracer.dispatch,
        "batch_rays": settings.batch_rays,
        "threads": settings.threads or stage.tracer.threads,
        "seed": settings.seed,
        "seconds.load": stage.load_seconds,
        "seconds.build": stage.build_seconds,
        "seconds.trace": work.trace_seconds,
        "seconds.shade": work.shade_seconds,
        "seconds.total": stage.load_seconds + stage.build_seconds + render_seconds,
        "rays.camera": rays.camera,
        "rays.shadow": rays.shadow,
        "rays.bounce": rays.bounce,
        "rays.photon": rays.photon,
        "rays.total": rays.total,
        "rays_per_second": ratio(rays.total, render_seconds),
        "coprocessor.busy_fraction": ratio(traced.busy_seconds, render_seconds),
        "coprocessor.kernel_rays_per_second": traced.kernel_rays_per_second,
        "coprocessor.batches": traced.batches,
        "limited_by": limited_by(stage.tracer.device, work, traced, render_seconds),
        "photons.emitted": photons.emitted,
        "photons.stored": photons.stored,
        "photons.absorbed": photons.absorbed,
        "photons.escaped": photons.escaped,
        "photons.terminated": photons.terminated,
        "bvh.nodes": bvh.nodes,
        "bvh.bytes": bvh.bytes,
        "bvh.sah_cost": bvh.sah_cost,
        "bvh.build_seconds": bvh.build_seconds,
        "version": __version__,
    }


def limited_by(device: str, work: Work, traced: TracerStatistics, render_seconds: float) -> str:
    """What to make faster first.

    A GPU that is busy for `BUSY` of the time is the limit: by its `kernel`, or by `transfer` where more than half of
    its busy time is not the kernel's. Else it is `shading` if the CPU threads shade for longer than they trace or wait
    for hits. What is left is a CPU that traces, the `kernel`, or a GPU that idles while threads wait, the `queue`.
    """
    on_cpu = device != "gpu"
    if not on_cpu and ratio(traced.busy_seconds, render_seconds) >= BUSY:
        kernel_seconds = ratio(traced.rays, traced.kernel_rays_per_second)
        return "kernel" if kernel_seconds >= 0.5 * traced.busy_seconds else "transfer"
    if work.shade_seconds > work.trace_seconds:
        return "shading"
    return "kernel" if on_cpu else "queue"


def ratio(part: float, whole: float) -> float:
    """part / whole, and 0 where there is no whole."""
    return part / whole if whole > 0.0 else 0.0


def write(path: Path, statistics: Statistics) -> None:
    """Write the JSON file, readable and in the order of `FIELDS`; a number that is not finite becomes null."""
    with atomic_file(path) as file:
        file.write((json.dumps({key: _plain(value) for key, value in statistics.items()}, indent=2) + "\n").encode())


def _plain(value: Any) -> Any:
    if not isinstance(value, numbers.Real):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if math.isfinite(value) else None


def explain() -> str:
    """The keys and their meaning, one a line, for the help of the command line."""
    return "\n".join(f"  {key:<35} {meaning}" for key, meaning in FIELDS.items())
