"""The statistics of a run are a flat JSON object whose keys and units `FIELDS` documents."""

from __future__ import annotations

import json
import math
import numbers
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from renderer.version import SOFTWARE

if TYPE_CHECKING:  # the command line shows `FIELDS` in its help, which must not wait for compilers
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from renderer.drivers.driver import RenderSettings, Work
    from renderer.film.film import SampleCounts
    from renderer.scene.render_context import RenderContext
    from tracecore.dispatch.tracer import TracerLimits

    Statistics = dict[str, Any]  # of str, int, float and lists of float

#: Every key, in the order of the file. A number that is not defined is null.
FIELDS = {
    "software": "what wrote the file: the program and its version",
    "scene": "name of the scene",
    "triangles": "triangles traced",
    "driver": "name of the driver",
    "kernel": "name of the traversal kernel",
    "kernel_choice": "why it is this one: named, the only one of the device, or auto: rays, and what was measured",
    "device": "what traced: cpu or gpu",
    "dispatch": "how batches reach it: direct (cpu), emulated, streamed or resident",
    "shading": "what shaded: cpu, or gpu, where waves of photons or eye paths stay there",
    "batch_rays": "rays in a batch",
    "threads": "CPU threads that shade",
    "seed": "seed of all random numbers",
    "passes": "passes of the picture; 0 without one",
    "noise": "of the picture, relative: standard error of its pixels over their brightness, by how much two halves of "
    "the passes differ",
    "bias": "of the photon search, relative as noise is, reckoned as at edges; null where nobody asked for it",
    "darkness": "why the picture is black or hardly a photon arrives, in words; empty where neither is so",
    "samples.mean": "samples of a pixel, mean over the picture: its passes, unless they leave pixels out",
    "samples.left_out": "samples, one of a pixel and pass each, whose radiance was no number, infinite, negative or "
    "beyond 2^48; they count as black",
    "samples.left_out_by_pass": "the first passes that had such samples, each with how many: [pass, samples]",
    "samples.first_left_out": "the first of them, as 'tracecore render --debug-path' takes it; empty without any",
    "samples.clamped": "samples brighter than --clamp, which were scaled down to it",
    "seconds.load": "wall time to read the scene and place it at its frame",
    "seconds.build": "wall time to open the tracer: tree, layout, transfer to the device",
    "seconds.start": "wall time to make the driver: its tables, its threads, and to load its compiled code",
    "seconds.trace": "wall time in which the CPU threads traced or waited for hits, mean over the threads",
    "seconds.wait": "of these they waited; 0 on a CPU that traces in place",
    "seconds.shade": "wall time in which the CPU threads shaded, mean over the threads",
    "seconds.lookup": "of it they looked up photons for eye paths",
    "seconds.map": "wall time to put photons in order and into maps, mean over the threads",
    "seconds.idle": "wall time in which threads had nothing to do, mean over the threads",
    "seconds.python": "wall time of the threads that is nothing of the above, mean over the threads",
    "seconds.film": "wall time to add passes to the picture, while threads may be at work",
    "seconds.total": "wall time of load, build and render; of a photon run: load, build, tracing after the pilot",
    "rays.camera": "rays from the eye",
    "rays.shadow": "rays to a light",
    "rays.bounce": "rays after an interaction of an eye path",
    "rays.photon": "rays of photon paths",
    "rays.total": "all rays",
    "rays.timed": "rays traced while rendering was timed: all, but in a photon run those of its pilot",
    "rays_per_second": "rays.timed by the wall time of rendering: seconds.total without load and build",
    "rays_per_second_of_runs": "the same of each run, where the same rays were traced more than once",
    "coprocessor.busy_fraction": "share of the wall time of rendering in which the device traced",
    "coprocessor.kernel_rays_per_second": "rays by the seconds that tracing alone takes on all of the device",
    "coprocessor.batches": "batches traced",
    "coprocessor.verified_batches": "batches whose hits were compared with the CPU's, for --verify",
    "coprocessor.faults": "times that the device failed, after which what was under way was traced again",
    "shading.rays_per_second": "rays that all CPU threads together could shade: rays.timed by seconds.shade",
    "transfer.bytes_per_second": "rays and hits, both ways, by the wall time of rendering; 0 without a bus",
    "transfer.limit_bytes_per_second": "what the bus takes to the device, if measured; null without a bus",
    "limited_by": "what to make faster first: kernel, transfer, shading, lookup, map, python or queue; null, as rates "
    "are, where nothing was timed",
    "photons.emitted": "photon paths begun = absorbed + escaped + terminated",
    "photons.aimed": "of these sent to what there is to light, to mirrors or to glass, and nowhere else",
    "photons.stored": "photons kept in maps, any number for a path",
    "photons.absorbed": "photon paths ended by Russian roulette on a surface",
    "photons.escaped": "photon paths that left the scene",
    "photons.terminated": "photon paths cut at the longest path",
    "photons.wanting": "pixels around which a pass found fewer photons than it needs, so that it looked for them one "
    "diffuse reflection farther; over all passes",
    "bvh.nodes": "nodes of the tree, as traversed",
    "bvh.bytes": "bytes of the tree and its triangles, as traversed",
    "bvh.sah_cost": "expected cost of a ray by the surface area heuristic",
    "bvh.build_seconds": "wall time to build or read the tree and to pack it; at first in a process, to load compiled "
    "code too",
    "bvh.update": "where the binary tree comes from: built, built by the gpu, cached (read, as it was built before) or "
    "refitted from that of the frame before",
    "bvh.update_seconds": "wall time to build, read or refit the binary tree alone",
    "members": "of several processes that shared the work out, for --gpus and --cluster: name, items made, rays, share "
    "of all rays, and why one was left out; null where there was one process",
    "asked": "what the command asked for: the scene, as seen from this folder, and what decides the picture; null "
    "without a command",
}

#: Keys of a film's own statistics beside its columns: what its main thread did from the start of the command on, which
#: adds up to the wall time, and what other threads did meanwhile, which is no part of it.
OF_FILMS = {
    "seconds.wall": "wall time from the start of the command until the film is written: the sum of seconds.main",
    "seconds.main.start": "of it to start: load the program, read the scene, check, and with --gpus begin processes",
    "seconds.main.pilot": "to meter the exposure of all frames on a few small ones",
    "seconds.main.wait_opener": "to wait for the opener, until passes of the next frame may begin",
    "seconds.main.rays": "to wait for the threads that trace and shade passes",
    "seconds.main.film": "to add passes to pictures, while threads may be at work",
    "seconds.main.finish": "to finish pictures: their statistics and noise, and to close drivers",
    "seconds.main.wait_writer": "to wait for the writer, until the files of a frame are written",
    "seconds.main.wait_members": "to wait for frames of other processes, for --gpus and --cluster",
    "seconds.main.animation": "to write the one file of all frames",
    "seconds.main.rest": "for all else, such as telling of frames",
    "seconds.player.playing": "meanwhile in the player: to place frames at their times, and look at those to be kept",
    "seconds.player.packing": "meanwhile in the player: to pack frames for shading",
    "seconds.player.tree": "meanwhile in the player: to refit trees and to pack them for tracing",
    "seconds.opener.tracer": "meanwhile in the opener: to build or read trees, and to open tracers with them",
    "seconds.opener.driver": "meanwhile in the opener: to make drivers, which look about, and to load their code",
    "seconds.writer.writing": "meanwhile in the writer: to map tones of frames, unless members did, and write files",
}

#: Keys that say something of pictures alone, and of photon runs alone; the others have them too, as 0, null or the
#: same as another key.
OF_PICTURES = (
    *("passes", "noise", "bias", "darkness", "rays.camera", "rays.shadow", "rays.bounce", "asked"),
    *("photons.aimed", "photons.wanting"),
    *("samples.mean", "samples.left_out", "samples.left_out_by_pass", "samples.first_left_out", "samples.clamped"),
)
OF_PHOTON_RUNS = ("rays.timed", "rays_per_second_of_runs", "transfer.limit_bytes_per_second")

#: Keys that nobody knows of a photon run of which nothing was timed.
OF_TIMED_RAYS = (
    *("rays_per_second", "rays_per_second_of_runs", "coprocessor.busy_fraction", "shading.rays_per_second"),
    *("transfer.bytes_per_second", "limited_by"),
)

#: So many passes with samples that were left out are told one by one.
MOST_PASSES_TOLD = 100

#: What is needed for this share of the time, when it works at its full speed, is the limit.
BUSY = 0.6


@dataclass(frozen=True, kw_only=True)
class MeasuredRun:
    """Holds what was measured of a run while it was timed.

    work: its counts may be of more than what was timed.
    seconds: wall time.
    rays: traced meanwhile.
    busy_seconds: in which the device traced.
    limits: of the tracer.
    rates: rays per second of all runs, of which this is the median; none if there was one.
    passes, darkness: of a picture.
    samples: of a picture, those that it does not hold as they were made.
    shading: what shaded, "cpu" or "gpu".
    start_seconds: of these it took to make the driver.
    film_seconds: in which passes were added to the picture.
    """

    work: Work
    seconds: float
    rays: int
    busy_seconds: float
    limits: TracerLimits
    rates: Sequence[float] = ()
    passes: int = 0
    darkness: str = ""
    shading: str = "cpu"
    samples: SampleCounts | None = None
    start_seconds: float = 0.0
    film_seconds: float = 0.0


def collect(context: RenderContext, driver: str, settings: RenderSettings, measured: MeasuredRun) -> Statistics:
    """Returns the statistics of a run, with the keys of `FIELDS` in their order."""
    work, tracer, bvh = measured.work, context.tracer, context.tracer.bvh
    rate = ratio(measured.rays, measured.seconds)
    return {
        "software": SOFTWARE,
        "scene": context.snapshot.name,
        "triangles": len(context.snapshot.positions),
        "driver": driver,
        "kernel": tracer.name,
        "kernel_choice": context.kernel_choice,
        "device": tracer.device,
        "dispatch": tracer.dispatch,
        "shading": measured.shading,
        "batch_rays": settings.batch_rays,
        "threads": settings.threads or tracer.threads,
        "seed": settings.seed,
        "passes": measured.passes,
        "noise": math.nan,
        "bias": math.nan,
        "darkness": measured.darkness,
        **sample_figures(settings.seed, (settings.crop or (0, 0))[:2], measured.samples),
        **_time_figures(context, measured),
        **{f"rays.{purpose}": count for purpose, count in asdict(work.rays).items()},
        "rays.total": work.rays.total,
        "rays.timed": measured.rays,
        "rays_per_second": rate,
        "rays_per_second_of_runs": list(measured.rates) or [rate],
        **_device_figures(context, measured),
        **{f"photons.{fate}": count for fate, count in asdict(work.photons).items()},
        "bvh.nodes": bvh.nodes,
        "bvh.bytes": bvh.bytes,
        "bvh.sah_cost": bvh.sah_cost,
        "bvh.build_seconds": bvh.build_seconds,
        "bvh.update": _tree_source(context),
        "bvh.update_seconds": bvh.tree_seconds,
        "members": None,
        "asked": None,
    }


def sample_figures(seed: int, corner: tuple[int, ...] | None, counts: SampleCounts | None) -> Statistics:
    """Returns what the statistics say of samples that a film does not hold as they were made.

    seed: of the picture.
    corner: left column and upper row of the part of the picture that the film has; None for all of it.
    """
    rows = [] if counts is None else counts.impossible.astype(int).tolist()
    left, upper = corner or (0, 0)
    return {
        "samples.mean": math.nan,
        "samples.left_out": sum(samples for _, samples, _, _ in rows),
        "samples.left_out_by_pass": [[index, samples] for index, samples, _, _ in rows[:MOST_PASSES_TOLD]],
        "samples.first_left_out": "".join(f"{seed},{index},{left + x}:{upper + y}" for index, _, x, y in rows[:1]),
        "samples.clamped": 0 if counts is None else counts.clamped,
    }


def _time_figures(context: RenderContext, measured: MeasuredRun) -> Statistics:
    work = measured.work
    return {
        "seconds.load": context.load_seconds,
        "seconds.build": context.build_seconds,
        "seconds.start": measured.start_seconds,
        "seconds.trace": work.trace_seconds,
        "seconds.wait": work.wait_seconds,
        "seconds.shade": work.shade_seconds,
        "seconds.lookup": work.lookup_seconds,
        "seconds.map": work.map_seconds,
        "seconds.idle": work.idle_seconds,
        "seconds.python": work.python_seconds,
        "seconds.film": measured.film_seconds,
        "seconds.total": context.load_seconds + context.build_seconds + measured.seconds,
    }


def _tree_source(context: RenderContext) -> str:
    bvh = context.tracer.bvh
    if context.is_refitted:
        return "refitted"
    return "cached" if bvh.is_cached else "built by the gpu" if bvh.is_of_gpu else "built"


def _device_figures(context: RenderContext, measured: MeasuredRun) -> Statistics:
    work, limits, seconds = measured.work, measured.limits, measured.seconds
    has_bus = context.tracer.device == "gpu"
    return {
        "coprocessor.busy_fraction": ratio(measured.busy_seconds, seconds),
        "coprocessor.kernel_rays_per_second": limits.kernel_rays_per_second,
        "coprocessor.batches": context.tracer.statistics().batches,
        "coprocessor.verified_batches": context.tracer.statistics().verified_batches,
        "coprocessor.faults": 0,
        "shading.rays_per_second": ratio(measured.rays, work.shade_seconds),
        "transfer.bytes_per_second": ratio(work.bytes_up + work.bytes_down, seconds) if has_bus else 0.0,
        "transfer.limit_bytes_per_second": limits.bus_bytes_per_second,
        "limited_by": limited_by(measured, has_bus=has_bus),
    }


def limited_by(measured: MeasuredRun, *, has_bus: bool) -> str:
    """Returns the name of what to make faster first.

    The kernel, the bus and the threads are each needed for some of the time, at the full speed of each. The one that is
    needed longest is the limit, if that is `BUSY` of the time. Else nothing is: a device and threads that wait for one
    another, the `queue`. Of the threads it is what they do longest: `shading`, `lookup`, `map` or `python`. Without a
    bus the threads trace themselves, and tracing is one of the things that they do.
    """
    work, limits = measured.work, measured.limits
    done = {"shading": work.shade_seconds - work.lookup_seconds, "lookup": work.lookup_seconds}
    if measured.passes:  # a photon run is not timed while it puts photons in order
        done |= {"map": work.map_seconds, "python": work.python_seconds}
    if not has_bus:
        done["kernel"] = work.trace_seconds
        return max(done, key=done.__getitem__)
    needed = {
        "kernel": ratio(measured.rays, limits.kernel_rays_per_second),
        "transfer": ratio(work.bytes_up, limits.bus_bytes_per_second or 0.0),
        max(done, key=done.__getitem__): sum(done.values()),
    }
    limit = max(needed, key=needed.__getitem__)
    return limit if needed[limit] >= BUSY * measured.seconds > 0.0 else "queue"


def ratio(part: float, whole: float) -> float:
    """Returns part / whole, and 0 where there is no whole."""
    return part / whole if whole > 0.0 else 0.0


def write(path: Path, statistics: Statistics) -> None:
    """Writes the JSON file, readable and in the order of `FIELDS`; a number that is not finite becomes null."""
    from renderer.atomic_file import write_whole

    write_whole(path, (json.dumps(plain(statistics), indent=2) + "\n").encode())


def plain(statistics: Statistics) -> Statistics:
    """Returns statistics as they are read from their file again."""
    found = dict(statistics)
    for key, value in statistics.items():
        if isinstance(value, numbers.Integral):
            found[key] = int(value)
        elif isinstance(value, numbers.Real):
            found[key] = float(value) if math.isfinite(value) else None
    return found


def explain(others: Sequence[str] = ()) -> str:
    """Returns the keys and their meaning, one a line, for the help of the command line.

    others: keys that are in the file and mean nothing there; the last line names them.
    """
    lines = key_lines({key: meaning for key, meaning in FIELDS.items() if key not in others})
    return "\n".join([*lines, *([f"  (not of use here: {', '.join(others)})"] if others else [])])


def key_lines(keys: Mapping[str, str]) -> list[str]:
    """Returns a line of help for each key and its meaning, the meanings below one another."""
    width = max(map(len, keys))
    return [f"  {key:<{width}}  {meaning}" for key, meaning in keys.items()]
