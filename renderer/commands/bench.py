"""The command `tracecore bench` measures kernels side by side on the same rays of a scene."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from renderer.bench import figure_keys
from renderer.commands import COMMANDS
from renderer.commands.arguments import (
    add_count,
    add_figures,
    add_page,
    add_rays,
    add_scene,
    add_setting,
    add_settings,
    add_views,
    check_views,
    names,
)
from renderer.commands.parser import in_two_levels
from renderer.errors import UsageError
from renderer.settings.measurement import Measurement
from renderer.settings.picture import Settings
from renderer.settings.setting import settings_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from renderer.bench.files import Run
    from renderer.bench.kernel_benchmark import Comparison
    from renderer.bench.ray_file import RayFile
    from renderer.bench.ray_sources import RaySource
    from renderer.bench.workload import RaySet, Workload
    from scenes.model import Snapshot
    from tracecore.dispatch.tracer import Tracer

#: Kinds of rays, where neither a driver nor a file brings them.
DEFAULT_RAYS = "primary,ao,shadow,bounce1,bounce4,photon"

#: The scene, where none is named.
DEFAULT_SCENE = "cornell"

#: What else is measured, a line for each.
_OTHER_LINES = "\n".join(
    f"  tracecore {name:<15} {summary}" for name, summary in COMMANDS.items() if name.startswith("bench ")
)

#: Options that most people use.
USUAL = "device kernels rays baseline driver views peers repeat size plot html heatmap json help"

OTHERS = f"""\
other benchmarks, each with a --help of its own; a file of such a name is meant by ./NAME:
{_OTHER_LINES}
"""

NOTES = """\
kinds of rays:
  primary          some for each pixel
  ao               ambient occlusion: short rays from what a pixel shows
  shadow           from there to the lights
  bounce1..bounce8 diffuse reflections, one after another
  diffuse          as bounce1, but as many for each pixel as ao rays
  photon           those of the photon driver, in its order; photon-shuffled: in none

ao and shadow rays ask whether anything is hit, all others what is hit first. A rate is the median of all rounds, in
millions of rays per second; in brackets its range. A lead is clearly faster, or barely, below 1.05 times, where the
intervals of the medians part, and else the same. On a GPU the kernel alone is timed, by the device's clock. Of
several view points the table shows all rays by all their time, which is the harmonic mean of the rates.

All hits are compared with the CPU's, bit for bit, of sets of more than 4194304 rays those of every third, fifth and so
on, so that there are no more. A kernel that has others is struck out, with its first wrong ray: its rate is in no ratio
and no plot, and the exit status is 1.

rays of a driver (--driver), of its first pass, which one CPU thread feeds:
  camera           those from the eye
  bounce1..bounce3, bounce4+
                   after one hit of an eye path, two, three; after more
  shadow1..shadow4+
                   from those hits to the lights
  photon           photons
Of each kind at most --record-rays are kept: every so many-th batch of all the pass.

peers (--peers), on the same rays and triangles; below the table is how they are timed, and the share of rays for which
they answer as our kernels do: hit or miss, and the distance to 1e-4 of it. One that answers more than a thousandth of
the rays otherwise, and more than four, is struck out too; the exit status stays. One that cannot run here is left out.
  warp             NVIDIA Warp's mesh queries, by each of three builders of trees, on a GPU
  optix            NVIDIA OptiX through Mitsuba 3, on a GPU
  embree           Intel Embree through embreex, on the CPU
"""

EXAMPLES = """\
examples:
  tracecore bench
  tracecore bench kitchen.aff --rays primary,ao,bounce1,photon --baseline while-while --json output/bench.json
  tracecore bench kitchen --views all,5 --html output/kitchen.html --heatmap output/heat.png
  tracecore bench kitchen --peers warp,optix,embree
  tracecore bench kitchen --driver path --record output/paths.npz
  tracecore bench kitchen --replay output/paths.npz --rays bounce1,bounce4+
  tracecore bench cornell --device emulator --kernels while-while,bvh4 --size 16x12
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = f"{OTHERS}\n{NOTES}\n{EXAMPLES}\n{figure_keys.explain(figure_keys.BENCH)}\n"
    in_two_levels(parser, USUAL, f"{EXAMPLES}\n{OTHERS}")
    add_scene(parser, default=DEFAULT_SCENE)
    add_settings(parser, Settings, "device", "gpus", "threads")
    parser.add_argument("--kernels", metavar="NAMES", help="separated by commas (default: all of the device)")
    parser.add_argument(
        "--rays",
        metavar="KINDS",
        help=f"kinds of rays, separated by commas (default: {DEFAULT_RAYS}; of a driver or a file all)",
    )
    parser.add_argument("--baseline", metavar="NAME", help="kernel to compare with (default: the first)")
    parser.add_argument(
        "--peers", metavar="NAMES", help="other tracers on the same rays: warp, optix, embree, separated by commas"
    )
    parser.add_argument(
        "--end-to-end",
        action="store_true",
        help="also photon runs (--store) with each kernel in each way of dispatch, as by 'tracecore photons'",
    )
    add_settings(parser, Measurement, "store", "bound_rays", "repeat", repeat=5)
    _add_files(parser.add_argument_group("files"))
    _add_sources(add_rays(parser))


def _add_sources(rays: argparse._ActionsContainer) -> None:
    made = rays.add_mutually_exclusive_group()
    none = "no driver's rays are compared on, but those of --rays"
    add_setting(made, replace(settings_of(Settings)["driver"], fallback=none))
    made.add_argument("--replay", type=Path, metavar="FILE", help="rays of a file that --record wrote, and no others")
    rays.add_argument("--record", type=Path, metavar="FILE", help="keep all rays that are traced in FILE.npz")
    add_count(rays, "--record-rays", 1 << 26, 1 << 20, "of a driver's rays, at most so many of each kind")
    add_views(rays)


def _add_files(group: argparse._ArgumentGroup) -> None:
    add_figures(group, is_drawn=True)
    add_page(group)
    group.add_argument(
        "--heatmap",
        type=Path,
        metavar="FILE",
        help="draw, pixel by pixel, steps of the camera rays, and inactive lanes on a GPU, .png: a file for each view "
        "point, kernel and quantity, which are put into its name",
    )
    group.add_argument("--heatmap-kernels", metavar="NAMES", help="of these (default: the baseline)")


def run(arguments: argparse.Namespace) -> int:
    """Measures, prints, and writes what is asked for; returns 1 where the hits of a kernel are wrong."""
    from renderer.bench.comparison import Effort, measured
    from renderer.bench.files import Run, check_bench_files, write_bench_files
    from renderer.bench.kernel_benchmark import device_of, kernel_names
    from renderer.bench.ray_file import check_ray_path, read_rays
    from renderer.bench.table import table
    from renderer.film.image_file import make_default_folder
    from renderer.run.members.open_fleet import PHOTONS, open_fleet
    from renderer.scene.render_context import check_scene, scene_seen
    from tracecore.peers import PEERS

    device = device_of(arguments.device)
    kernels = names(arguments.kernels, kernel_names(device), f"kernel for device '{device}'")
    peers = names(arguments.peers, list(PEERS), "peer") if arguments.peers else []
    replayed = read_rays(arguments.replay) if arguments.replay else None
    kinds = _kinds(arguments, replayed)
    baseline = arguments.baseline or kernels[0]
    _check_options(arguments, baseline, kernels)
    heat_kernels = names(arguments.heatmap_kernels or baseline, kernel_names(device), "kernel of --heatmap-kernels")
    check_bench_files(arguments, device, heat_kernels)
    if arguments.record:
        check_ray_path(arguments.record, arguments.replace)
        make_default_folder([arguments.record])
    check_scene(arguments.scene)
    snapshot = scene_seen(arguments)
    if replayed:
        _check_triangles(arguments.replay, replayed, snapshot)
    job = Run.chosen(arguments, snapshot, device, baseline)
    workload = _workload(arguments, job, _source(arguments, job, kinds, replayed))
    photons = arguments.store if arguments.end_to_end else 0
    members = Settings(device=arguments.device, gpus=arguments.gpus, threads=arguments.threads)
    with open_fleet(members, PHOTONS) as fleet:
        effort = Effort(repeats=arguments.repeat, bound_rays=arguments.bound_rays, photons=photons, fleet=fleet)
        found = measured(job, kernels, workload, effort, peers)
    print(table(found))
    _conclude(found, arguments)
    write_bench_files(arguments, heat_kernels, found, job)
    if not found.finished:
        print("tracecore: interrupted: what was measured by then is printed and written", file=sys.stderr)
        return 130
    return 1 if found.has_wrong_kernels else 0


def _conclude(found: Comparison, arguments: argparse.Namespace) -> None:
    """Prints the answer, a paragraph for each kind of rays, and what to try next."""
    from renderer.bench.answer import answer, what_next

    for text in answer(found):
        print(f"\n{text}")
    print("\nwhat to try next:")
    for line in what_next(found, arguments.scene, arguments.command_line):
        print(f"  {line}")


def _check_options(arguments: argparse.Namespace, baseline: str, kernels: Sequence[str]) -> None:
    """Raises `UsageError` for options that do nothing beside the others, or that contradict them."""
    if baseline not in kernels:
        raise UsageError(f"--baseline {baseline} is not among the kernels compared: {', '.join(kernels)}")
    check_views(arguments)
    if arguments.views and (arguments.driver or arguments.replay):
        raise UsageError("--views does nothing with --driver and --replay; leave it out")
    if arguments.heatmap_kernels and not arguments.heatmap:
        raise UsageError("--heatmap-kernels does nothing without --heatmap")


def _check_triangles(path: Path, file: RayFile, snapshot: Snapshot) -> None:
    """Raises `UsageError` if rays were recorded in another scene."""
    from renderer.bench.ray_file import digest

    if file.triangles != digest(snapshot.positions):
        raise UsageError(
            f"{path} was recorded with other triangles, of '{file.scene}'; give the scene and the frame that it is of"
        )


def _kinds(arguments: argparse.Namespace, replayed: RayFile | None) -> list[str]:
    """Returns the kinds of rays asked for. Raises `UsageError` for one that the plan, the driver or the file does not
    have.
    """
    from renderer.bench import ray_generators, ray_recorder
    from renderer.drivers import DRIVERS

    if replayed:
        known = list(dict.fromkeys(one.kind for one in replayed.sets))
        return names(arguments.rays, known, f"kind of rays of {arguments.replay}")
    if arguments.driver:
        names(arguments.driver, list(DRIVERS), "driver")
        return names(arguments.rays, list(ray_recorder.DRIVER_KINDS), "kind of a driver's rays")
    return names(arguments.rays or DEFAULT_RAYS, list(ray_generators.KINDS), "kind of rays")


def _source(arguments: argparse.Namespace, job: Run, kinds: list[str], replayed: RayFile | None) -> RaySource:
    from renderer.bench.ray_sources import DriverRays, FileRays, PlannedRays
    from renderer.drivers.driver import RenderSettings

    if replayed:
        return FileRays(file=replayed, kinds=kinds)
    if arguments.driver is None:
        return PlannedRays(snapshot=job.snapshot, views=job.views, plan=job.plan, kinds=kinds)
    width, height = arguments.size
    return DriverRays(
        snapshot=job.snapshot,
        view=job.views[0],
        driver=arguments.driver,
        settings=RenderSettings(width=width, height=height, seed=arguments.seed, threads=1),
        most=arguments.record_rays,
        kinds=kinds,
    )


def _workload(arguments: argparse.Namespace, job: Run, source: RaySource) -> Workload:
    """Returns the rays, which are written, as soon as they are there, to what --record names."""
    from renderer.bench.ray_file import RayFile, digest, write_rays
    from renderer.bench.workload import Workload

    def make(tracer: Tracer) -> Sequence[RaySet]:
        sets = source.sets(tracer)
        if arguments.record and sets:
            triangles = digest(job.snapshot.positions)
            write_rays(
                arguments.record, RayFile(scene=job.snapshot.name, triangles=triangles, origin=source.origin, sets=sets)
            )
        return sets

    return Workload(make)
