"""This module measures pictures of one scene after the other: by drivers on devices, then by peers. It tells how
long they take, what took the time, and how their error falls with it.

A picture is rendered as `tracecore render` does it, with several passes under way at once; reading and packing the
scene, building the tree and compiling come before and do not count. Its error is that of
`renderer.bench.error_benchmark`; pictures of 1, 2, 4 ... passes are rendered by themselves, so that nobody looks at a
pass while others are under way.

A peer is a module with `render(way, order)` and a row in `PEERS`. One that fails is left out; a line on stderr says so.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from statistics import median
from typing import Any

from renderer.bench.error_benchmark import Picture, error_of, reference_picture
from renderer.bench.peer_process import PeerOrder, in_process
from renderer.bench.table import aligned
from renderer.drivers import DRIVERS
from renderer.drivers.driver import RenderSettings
from renderer.errors import UsageError
from renderer.film.film import Film
from renderer.run import statistics
from renderer.run.picture.make_picture import expose
from renderer.run.plan import PassLimits
from renderer.scene.packed_scene import PackedScene, leave_packed, pack_scene
from renderer.scene.render_context import RenderContext, SceneView, TracerChoice, context_of, load_for
from scenes.document import Scene
from scenes.errors import SceneError
from scenes.export import export
from scenes.export.text import words
from scenes.files.written_file import WriteError
from scenes.model import Snapshot
from tracecore.cuda.device import gpu_unavailable_reason
from tracecore.dispatch.tracer import TracerLimits

#: What a scene's file ends in that peers read themselves.
PEER_SUFFIX = ".xml"

#: So many passes are rendered beforehand, which compiles everything: a driver may learn from its first one.
WARM_UP_PASSES = 2

#: Figures of a row, by the keys of the statistics that they are.
FIGURES = {
    "scene": "scene",
    "driver": "driver",
    "device": "device",
    "kernel": "kernel",
    "shading": "shading",
    "threads": "threads",
    "passes": "passes",
    "rays": "rays.total",
    "rays_per_second": "rays_per_second",
    "busy": "coprocessor.busy_fraction",
    "limited_by": "limited_by",
    "trace": "seconds.trace",
    "wait": "seconds.wait",
    "shade": "seconds.shade",
    "lookup": "seconds.lookup",
    "map": "seconds.map",
    "idle": "seconds.idle",
    "python": "seconds.python",
    "start": "seconds.start",
    "film": "seconds.film",
    "noise": "noise",
}

#: Columns of the table that are seconds of the threads.
THREAD_SECONDS = ("trace", "wait", "shade", "lookup", "map", "idle", "python")

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class MeasuredScene:
    """Holds the rows of a scene: those of drivers and those of peers, with its name."""

    name: str
    triangles: int
    pictures: list[Row]
    peers: list[Row]


def devices_here() -> list[str]:
    """Returns the devices that pictures are compared on: those that there are, the fastest first."""
    return ["cpu"] if gpu_unavailable_reason() else ["gpu", "cpu"]


def measured_scenes(arguments: argparse.Namespace) -> Iterator[MeasuredScene]:
    """Yields scene after scene as soon as it is measured, and prints what was found.

    arguments: those of `renderer.commands.bench_pictures`, checked.
    """
    for name in arguments.scenes:
        scene = load_for(arguments, name)
        snapshot = SceneView.chosen(arguments).of(scene)
        pictures, reference = driver_rows(arguments, snapshot)
        peers: list[Row] = []
        if arguments.peers:
            peers = [{"scene": snapshot.name} | row for row in rows_of_peers(arguments, scene, snapshot, reference)]
            print(peer_table(peers), flush=True)
        yield MeasuredScene(name=snapshot.name, triangles=len(snapshot.positions), pictures=pictures, peers=peers)


def driver_rows(arguments: argparse.Namespace, snapshot: Snapshot) -> tuple[list[Row], Picture]:
    """Returns the rows of all drivers on all devices, and the reference, which the first device makes if it must."""
    width, height = arguments.size
    settings = RenderSettings(
        width=width,
        height=height,
        photons=arguments.photons,
        sampler=arguments.sampler,
        shading=arguments.shading or "auto",
        threads=arguments.threads,
        adds_up=True,
    )
    plan = PicturePlan(settings=settings, passes=arguments.passes, repeats=arguments.repeat)
    path = arguments.references and arguments.references / f"{words([snapshot.name])[0]}.npy"
    made_by = (arguments.reference_driver, arguments.reference_seconds)
    found: list[Row] = []
    reference: Picture | None = None
    for device in arguments.devices:
        choice = TracerChoice(device=device, threads=arguments.threads)
        with context_of(snapshot, choice, load_seconds=0.0) as context:
            if reference is None:
                reference = reference_picture(context, settings, path, *made_by)
            rows = [picture_row(context, driver, plan, reference) for driver in arguments.drivers]
        print(table(rows), flush=True)
        found += rows
    assert reference is not None
    return found, reference


def rows_of_peers(arguments: argparse.Namespace, scene: Scene, snapshot: Snapshot, reference: Picture) -> list[Row]:
    """Returns the rows of all peers on all devices. What an export for them loses is printed; where there can be none
    they are all left out."""
    with tempfile.TemporaryDirectory(prefix="tracecore-") as folder:
        path = Path(scene.source)
        if path.suffix.lower() != PEER_SUFFIX:
            try:
                exported = export(scene, Path(folder) / f"scene{PEER_SUFFIX}", snapshot.time)
            except (SceneError, WriteError) as error:
                print(f"tracecore: all peers are left out: {error}", file=sys.stderr, flush=True)
                return []
            path = exported.files[0]
            print("\n".join(f"lost       {loss}" for loss in exported.losses), flush=True)
        order = PeerOrder(
            path=path.resolve(),
            camera=snapshot.camera,
            size=arguments.size,
            samples=arguments.samples,
            max_bounces=RenderSettings(width=1, height=1).max_bounces,
            repeats=arguments.repeat,
            threads=arguments.threads,
        )
        return list(peer_rows(arguments.peers, arguments.devices, order, reference))


@dataclass(frozen=True, kw_only=True)
class PicturePeerModule:
    """Says where a peer is found.

    module: the module that has `render(way, order)`, which returns pictures in the order of `samples`.
    package: what it needs, by the name that pip knows.
    ways: the device that each of its ways runs on, by name.
    """

    module: str
    package: str
    ways: dict[str, str]


PEERS = {
    "mitsuba": PicturePeerModule(
        module="renderer.bench.mitsuba_pictures",
        package="mitsuba",
        ways={"scalar_rgb": "cpu", "llvm_ad_rgb": "cpu", "cuda_ad_rgb": "gpu"},
    ),
    "luxcore": PicturePeerModule(
        module="renderer.bench.luxcore_pictures", package="pyluxcore", ways={"PATHCPU": "cpu"}
    ),
}


def peer_rows(names: Sequence[str], devices: Sequence[str], order: PeerOrder, reference: Picture) -> Iterator[Row]:
    """Yields a row for each way of each peer that runs on one of the devices, with the error of its pictures."""
    for name in names:
        for way, device in PEERS[name].ways.items():
            if device not in devices:
                continue
            try:
                made = in_process(PEERS[name].module, way, order)
            except Exception as error:  # whatever a peer raises, or that it has crashed
                reason = " ".join(str(error).split()) or type(error).__name__
                if isinstance(error, ImportError):
                    reason += f"; install it with: pip install {PEERS[name].package}"
                print(f"tracecore: peer '{name}' ({way}) is left out: {reason[:300]}", file=sys.stderr, flush=True)
                continue
            errors = [
                {"passes": one.samples, "seconds": median(one.seconds), "error": error_of(one.linear, reference)}
                for one in made
            ]
            yield {"peer": f"{name} {way}", "device": device, "errors": errors}


@dataclass(frozen=True, kw_only=True)
class PicturePlan:
    """Says what is measured of a driver.

    settings: of its pictures.
    passes: of a picture.
    repeats: pictures that are timed; the median counts.
    """

    settings: RenderSettings
    passes: int
    repeats: int


@dataclass(frozen=True, kw_only=True)
class TimedPicture:
    """Holds one picture that was timed.

    seconds: wall time of rendering, with making the driver.
    figures: its statistics.
    film: what came out.
    """

    seconds: float
    figures: dict[str, Any]
    film: Film


def picture_row(context: RenderContext, name: str, plan: PicturePlan, reference: Picture) -> Row:
    """Returns the row of a driver: figures of the median picture, and errors of those with fewer passes and of it."""
    render = partial(render_timed, context, name, plan.settings, pack_scene(context.snapshot))
    render(min(plan.passes, WARM_UP_PASSES))
    made = [render(plan.passes) for _ in range(plan.repeats)]
    seconds = [one.seconds for one in made]
    middle = sorted(made, key=lambda one: one.seconds)[(len(made) - 1) // 2]
    figures: Row = {key: middle.figures[of] for key, of in FIGURES.items()}
    size = {"width": plan.settings.width, "height": plan.settings.height, "photons": plan.settings.photons}
    times = {"seconds": median(seconds), "least": min(seconds), "most": max(seconds)}
    shorter = map(render, powers_of_two(plan.passes))
    errors = [
        {"passes": one.film.passes, "seconds": one.seconds, "error": error_of(one.film.linear, reference)}
        for one in (*shorter, middle)
    ]
    return figures | size | times | {"errors": errors}


def powers_of_two(end: int) -> Iterator[int]:
    """Yields 1, 2, 4 ... below an end."""
    return takewhile(lambda power: power < end, (1 << k for k in count()))


def render_timed(
    context: RenderContext, name: str, settings: RenderSettings, packed: PackedScene, passes: int
) -> TimedPicture:
    """Renders a picture by a driver of its own and times it. packed: the scene."""
    leave_packed(context.snapshot, packed)
    before, start = context.tracer.statistics(), time.perf_counter()
    with closing(DRIVERS[name](context.snapshot, context.tracer, settings)) as driver:
        if settings.shading == "gpu" and (reason := driver.why_on_cpu) is not None:
            raise UsageError(f"--shading gpu: {reason}")
        start_seconds = time.perf_counter() - start
        film = Film(settings.width, settings.height)
        for _ in expose(driver, film, PassLimits(passes=passes)):
            pass
        seconds, after = time.perf_counter() - start, context.tracer.statistics()
    measured = statistics.MeasuredRun(
        work=driver.work,
        seconds=seconds,
        rays=driver.work.rays.total,
        busy_seconds=after.busy_seconds - before.busy_seconds,
        limits=TracerLimits(kernel_rays_per_second=after.kernel_rays_per_second, bus_bytes_per_second=None),
        passes=film.passes,
        start_seconds=start_seconds,
        film_seconds=film.seconds,
        shading="gpu" if driver.why_on_cpu is None else "cpu",
    )
    figures = statistics.collect(context, driver.name, driver.settings, measured) | {"noise": film.relative_noise}
    return TimedPicture(seconds=seconds, figures=figures, film=film)


def table(found: Iterable[Row]) -> str:
    """Returns pictures as text, a line for each."""
    head = ["scene", "driver", "device", "seconds", "passes", "Mrays", "Mrays/s", "busy", *THREAD_SECONDS]
    rows = [[*head, "limited by", "noise", "error"]]
    for row in found:
        cells = [row["scene"], row["driver"], row["device"]]
        cells += [f"{row['seconds']:.3f} ({row['least']:.3f}-{row['most']:.3f})", str(row["passes"])]
        cells += [f"{row['rays'] / 1e6:.1f}", f"{row['rays_per_second'] / 1e6:.1f}", f"{row['busy']:.0%}"]
        cells += [f"{row[name]:.3f}" for name in THREAD_SECONDS]
        rows.append([*cells, row["limited_by"], f"{row['noise']:.4f}", f"{row['errors'][-1]['error']:.4f}"])
    return aligned(rows)


def peer_table(found: Iterable[Row]) -> str:
    """Returns pictures of peers as text: a line for each, a column for each number of samples."""
    lines = []
    for row in found:
        cells = "  ".join(f"{one['seconds']:.3f} s: {one['error']:.4f} ({one['passes']})" for one in row["errors"])
        lines.append(f"{row['scene']}, {row['peer']} on the {row['device']}: {cells}")
    return "\n".join(lines)
