"""`tracecore bench`: kernels side by side on the same rays of a scene."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from renderer.arguments import add_scene, size, whole
from renderer.errors import UsageError

if TYPE_CHECKING:
    from renderer.bench_files import Run
    from renderer.kernel_benchmark import Comparison
    from renderer.ray_kinds import RayPlan
    from renderer.view_points import ViewPoint
    from scenes.model import Snapshot
    from tracecore.rays import Floats

SUMMARY = "compare traversal kernels: all of them on the same rays of a scene"

EXAMPLES = """\
kinds of rays:
  primary          some for each pixel
  ao               ambient occlusion: short rays from what a pixel shows
  shadow           from there to the lights
  bounce1..bounce8 diffuse reflections, one after another
  photon           those of the photon driver, in its order; photon-shuffled: in none

ao and shadow rays ask whether anything is hit, all others what is hit first. A rate is the median of all rounds, in
millions of rays per second; in brackets its range. On a GPU the kernel alone is timed, by the device's clock. Of
several view points the table shows all rays by all their time, which is the harmonic mean of the rates.

examples:
  tracecore bench cornell
  tracecore bench kitchen.aff --rays primary,ao,bounce1,photon --baseline while-while --json output/bench.json
  tracecore bench kitchen --views all,5 --html output/kitchen.html --heatmap output/heat.png
  tracecore bench cornell --device emulator --kernels while-while,bvh4 --size 16x12
"""


def positive(text: str) -> float:
    """Type of a length."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a positive number, got '{text}'")
    return value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EXAMPLES
    add_scene(parser)
    parser.add_argument(
        "--device",
        choices=("auto", "gpu", "cpu", "emulator"),
        default="auto",
        help="what traces; emulator runs the GPU's kernels on the CPU, slowly (default: a GPU if there is one)",
    )
    parser.add_argument("--kernels", metavar="NAMES", help="separated by commas (default: all of the device)")
    parser.add_argument(
        "--rays",
        metavar="KINDS",
        default="primary,ao,shadow,bounce1,bounce4,photon",
        help="separated by commas (default: %(default)s)",
    )
    parser.add_argument("--baseline", metavar="NAME", help="kernel to compare with (default: the first)")
    parser.add_argument("--repeat", type=whole(1, 1000), default=5, metavar="N", help="rounds (default: %(default)s)")
    parser.add_argument("--threads", type=whole(1, 1024), metavar="N", help="CPU threads (default: all cores)")
    _add_files(parser.add_argument_group("files"))
    rays = parser.add_argument_group("rays")
    rays.add_argument(
        "--views",
        type=views,
        metavar="LIST",
        help="view points: names of the scene's cameras, 'all' for all of them, and a number of places inside the "
        "scene to be found by code; separated by commas, such as all,5 (default: the camera)",
    )
    rays.add_argument("--size", type=size, default=(512, 384), metavar="WxH", help="pixels (default: 512x384)")
    rays.add_argument(
        "--samples", type=whole(1, 1024), default=8, metavar="N", help="camera rays of a pixel (default: %(default)s)"
    )
    rays.add_argument("--order", choices=("rows", "morton"), default="rows", help="of pixels (default: %(default)s)")
    rays.add_argument("--ao-rays", type=whole(1, 1024), default=32, metavar="N", help="of a pixel (default: 32)")
    rays.add_argument(
        "--ao-radius", type=positive, metavar="R", help="how far they go (default: a fifth of the scene's diagonal)"
    )
    rays.add_argument(
        "--photon-rays",
        type=whole(1, 1 << 26),
        default=1 << 20,
        metavar="N",
        help="of the photons' stream (default: %(default)s)",
    )
    rays.add_argument("--seed", type=whole(0, 2**64 - 1), default=0, metavar="N", help="of all random numbers")


def _add_files(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--json", type=Path, metavar="FILE", help="write all figures to FILE")
    group.add_argument("--plot", type=Path, metavar="FILE", help="draw them, .png or .svg (extra plot)")
    group.add_argument(
        "--html", type=Path, metavar="FILE", help="write a page with all of it and the machine (extra plot)"
    )
    group.add_argument(
        "--heatmap",
        type=Path,
        metavar="FILE",
        help="draw, pixel by pixel, steps of the camera rays, and inactive lanes on a GPU, .png: a file for each view "
        "point, kernel and quantity, which are put into its name",
    )
    group.add_argument("--heatmap-kernels", metavar="NAMES", help="of these (default: the baseline)")


def views(text: str) -> tuple[tuple[str, ...], int]:
    """Type of view points: names of cameras, and how many more."""
    parts = [part.strip() for part in text.split(",")]
    numbers = [part for part in parts if part.isdecimal()]
    if not all(parts) or len(numbers) > 1:
        raise argparse.ArgumentTypeError(f"expected names of cameras and at most one number, got '{text}'")
    names = tuple(part for part in parts if part not in numbers)
    return names, whole(1, 1000)(numbers[0]) if numbers else 0


def run(arguments: argparse.Namespace) -> int:
    """Measure, print, and write what is asked for."""
    from renderer.bench_files import BenchFiles, Run
    from renderer.bench_table import table
    from renderer.kernel_benchmark import device_of, kernel_names
    from renderer.ray_kinds import KINDS
    from renderer.stage import check_scene

    device = device_of(arguments.device)
    kernels = _names(arguments.kernels, kernel_names(device), f"kernel for device '{device}'")
    kinds = _names(arguments.rays, list(KINDS), "kind of rays")
    baseline = arguments.baseline or kernels[0]
    if baseline not in kernels:
        raise UsageError(f"--baseline {baseline} is not among the kernels compared: {', '.join(kernels)}")
    if arguments.views and arguments.camera:
        raise UsageError("--camera and --views cannot both be given; name the camera among the views")
    if arguments.heatmap_kernels and not arguments.heatmap:
        raise UsageError("--heatmap-kernels does nothing without --heatmap")
    heat_kernels = _names(arguments.heatmap_kernels or baseline, kernel_names(device), "kernel of --heatmap-kernels")
    files = BenchFiles.chosen(arguments, heat_kernels)
    files.check(device)
    check_scene(arguments.scene)
    snapshot = _snapshot(arguments)
    job = Run(
        words=tuple(arguments.words),
        snapshot=snapshot,
        views=_views(arguments, snapshot),
        plan=_plan(arguments, snapshot.positions),
        device=device,
        baseline=baseline,
        threads=arguments.threads,
    )
    found = _compared(job, kernels, kinds, arguments.repeat)
    print(table(found))
    files.write(found, job)
    return 0


def _snapshot(arguments: argparse.Namespace) -> Snapshot:
    import scenes
    from renderer.stage import Moment

    return Moment.chosen(arguments).of(scenes.load(arguments.scene))


def _compared(job: Run, kernels: list[str], kinds: list[str], repeats: int) -> Comparison:
    """All kernels, one after the other."""
    from renderer.kernel_benchmark import Comparison, compare, over_baseline

    facts, measurements = [], []
    for of_kernel, measured in compare(
        job.snapshot, job.device, kernels, kinds, job.plan, views=job.views, repeats=repeats, threads=job.threads
    ):
        facts.append(of_kernel)
        measurements += measured
        print(f"{of_kernel.kernel} done", file=sys.stderr, flush=True)
    return Comparison(
        device=job.device,
        baseline=job.baseline,
        kernels=tuple(facts),
        measurements=tuple(over_baseline(measurements, job.baseline)),
    )


def _views(arguments: argparse.Namespace, snapshot: Snapshot) -> list[ViewPoint]:
    """The camera alone, if nothing else is asked for."""
    from renderer.view_points import ViewPoint, Views, view_points

    if arguments.views is None:
        return [ViewPoint(name=arguments.camera or next(iter(snapshot.cameras), "camera"), camera=snapshot.camera)]
    names, drawn = arguments.views
    return view_points(snapshot, Views(cameras=names, drawn=drawn), seed=arguments.seed, threads=arguments.threads)


def _names(given: str | None, known: list[str], what: str) -> list[str]:
    """Names with commas between them, each only once; all that there are if none is given."""
    if given is None:
        return known
    names = list(dict.fromkeys(given.split(",")))
    for name in names:
        if name not in known:
            raise UsageError(f"unknown {what} '{name}'; there are {', '.join(known)}")
    return names


def _plan(arguments: argparse.Namespace, positions: Floats) -> RayPlan:
    import numpy as np

    from renderer.ray_kinds import RayPlan

    diagonal = float(np.linalg.norm(np.ptp(positions.reshape(-1, 3), axis=0)))
    return RayPlan(
        size=arguments.size,
        samples=arguments.samples,
        in_morton_order=arguments.order == "morton",
        occlusion_rays=arguments.ao_rays,
        radius=arguments.ao_radius or 0.2 * diagonal,
        photon_rays=arguments.photon_rays,
        seed=arguments.seed,
    )
