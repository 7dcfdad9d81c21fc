"""The command `tracecore bench pictures` measures how long pictures take, and how their error falls with it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from renderer.bench import figure_keys
from renderer.commands.arguments import (
    add_figures,
    add_page,
    add_reference_maker,
    add_scenes,
    add_settings,
    argument_type,
    names,
)
from renderer.errors import UsageError
from renderer.settings.picture import Settings
from scenes.keys.values import Whole

if TYPE_CHECKING:
    from renderer.bench.page import Circumstances
    from renderer.bench.picture_scenes import MeasuredScene

DRIVERS = "photon,sppm,path,path+caustics"

EXAMPLES = f"""\
Of each scene, driver and device a picture of --passes is rendered --repeat times, after one of two passes that does not
count; reading and packing the scene, its tree and compiling do not count either. The median is told, and what took its
time: seconds of the threads, their mean. Errors are those of 'tracecore bench error', of pictures of 1, 2, 4 ... passes
that are rendered by themselves, and of the median one, against a reference that is the same for all devices and has
other random numbers.

peers (--renderers), on the same scene: one that is a file of Mitsuba (.xml) they read themselves, any other is exported
to one ('tracecore scene export'), and what that loses is said. They render by path tracing; one that fails is left out.
  mitsuba          Mitsuba 3 on the CPU (scalar_rgb, llvm_ad_rgb) and on a GPU (cuda_ad_rgb)
  luxcore          LuxCore on the CPU, to which the triangles of that file are handed: diffuse surfaces, mirrors and
                   clear glass, lit by surfaces, points, distant lights and an even sky, and no others

examples:
  tracecore bench pictures cornell --size 512x512 --passes 64 --repeat 5
  tracecore bench pictures kitchen.aff --size 800x600 --photons 1000000 --passes 16 --json output/kitchen.json
  tracecore bench pictures cornell caustic kitchen vases outdoor --size 256x256 --plot output/pictures.png \\
      --references output/references --renderers mitsuba,luxcore
  tracecore bench pictures cornell kitchen --html output/pictures.html
  tracecore bench pictures cornell --drivers path --devices cpu --passes 4 --reference-seconds 5

{figure_keys.explain(figure_keys.PICTURES)}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    add_scenes(parser)
    parser.add_argument(
        "--drivers", default=DRIVERS, metavar="NAMES", help="separated by commas (default: %(default)s)"
    )
    parser.add_argument(
        "--devices", metavar="NAMES", help="gpu, cpu, separated by commas (default: those that there are)"
    )
    taken = ("size", "passes", "photons", "sampler", "shading", "threads")
    add_settings(parser, Settings, *taken, size=(256, 256), passes=64, sampler="sobol")
    add_figures(parser, repeat=5, is_drawn=True)
    add_page(parser)
    peers = parser.add_argument_group("peers")
    peers.add_argument(
        "--renderers", dest="peers", metavar="NAMES", help="other renderers: mitsuba, luxcore, separated by commas"
    )
    peers.add_argument(
        "--renderer-samples",
        dest="samples",
        type=sample_counts,
        default=(4, 16, 64, 256),
        metavar="N,N",
        help="of each pixel of their pictures (default: 4,16,64,256)",
    )
    group = parser.add_argument_group("reference")
    group.add_argument(
        "--references", type=Path, metavar="FOLDER", help="with SCENE.npy of each scene, made where it is not there"
    )
    add_reference_maker(group, driver="path+caustics", seconds=60.0)


def sample_counts(text: str) -> tuple[int, ...]:
    """Reads numbers of samples from the command line, least first."""
    one: Callable[[str], int] = argument_type(Whole(1, 10**6))
    return tuple(sorted({one(part) for part in text.split(",")}))


def run(arguments: argparse.Namespace) -> int:
    """Measures scene after scene, prints what was found, and writes what is asked for after each scene."""
    from renderer.atomic_file import write_each
    from renderer.bench.figure_file import check_request, circumstances_of, write_figures
    from renderer.bench.picture_scenes import measured_scenes

    check_options(arguments)
    check_request(arguments)
    found: list[MeasuredScene] = []
    for one in measured_scenes(arguments):
        found.append(one)
        triangles = sum(scene.triangles for scene in found)
        about = circumstances_of(arguments.command_line, ", ".join(scene.name for scene in found), triangles)
        pictures = [row for scene in found for row in scene.pictures]
        peers = [row for scene in found for row in scene.peers]
        writes = [partial(write_figures, arguments.json, about, {"pictures": pictures, "peers": peers})]
        write_each(*writes, *drawings(arguments, [*pictures, *peers], about))
    return 0


def drawings(
    arguments: argparse.Namespace, found: list[dict[str, Any]], about: Circumstances
) -> Iterator[Callable[[], object]]:
    """Yields what writes the plot and the page, as far as they are asked for. found: rows of drivers and of peers."""
    from renderer.atomic_file import write_whole
    from renderer.bench.page import Figure
    from renderer.bench.picture_report import page
    from renderer.bench.plot import plot_pictures

    width, height = arguments.size
    title = f"{width} x {height} pixels"
    if arguments.plot:
        yield partial(write_whole, arguments.plot, plot_pictures(found, title, arguments.plot.suffix.lower()))
    if arguments.html:
        content = plot_pictures(found, title, ".svg")
        drawing = Figure(caption=title, content=content, media_type="image/svg+xml")
        yield partial(write_whole, arguments.html, page(found, about, drawing).encode())


def check_options(arguments: argparse.Namespace) -> None:
    """Checks the names that are given, and puts lists of them into the arguments. Raises `UsageError`."""
    from renderer.bench.picture_scenes import PEERS, devices_here
    from renderer.drivers import DRIVERS as KNOWN

    arguments.drivers = names(arguments.drivers, list(KNOWN), "driver")
    names(arguments.reference_driver, list(KNOWN), "driver")
    arguments.devices = names(arguments.devices, devices_here(), "device here")
    arguments.peers = names(arguments.peers, list(PEERS), "peer") if arguments.peers else []
    if arguments.references is not None and not arguments.references.is_dir():
        raise UsageError(f"--references: there is no folder '{arguments.references}'; make it first")
