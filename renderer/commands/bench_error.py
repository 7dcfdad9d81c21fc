"""The command `tracecore bench error` measures the error of drivers at equal time, or estimates of noise."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from renderer.bench import figure_keys
from renderer.commands.arguments import (
    add_figures,
    add_reference_maker,
    add_scene,
    add_settings,
    argument_type,
    names,
    whole,
)
from renderer.errors import UsageError
from renderer.settings.picture import Settings
from renderer.settings.setting import FRAME_KINDS
from scenes.keys.values import Number

if TYPE_CHECKING:
    from renderer.bench.error_benchmark import Row
    from renderer.drivers.driver import RenderSettings
    from renderer.scene.render_context import RenderContext

EXAMPLES = f"""\
Each driver makes the same picture for the same time; what it has after 1, 2, 4 ... seconds is compared with a
reference, which has other random numbers. The error is relative: of a pixel the root of the mean square over the
channels, over its brightness in the reference (plus a hundredth of the mean brightness, for dark pixels); of a picture
the root of the mean square over the pixels, of which the worst hundredth is left out. A reference is noisy too: it
should run ten times as long as what is compared with it.

With --estimates it is measured instead how honest the noise is that pictures estimate of themselves after so many
passes: over --seeds pictures, their estimate over their error against the mean of all the others.

With --to-noise E it is measured, by --seeds pictures, how long they take with --adaptive until no part of them is
noisier than E, and how long whole passes take until they are as quiet in the noisiest tile but for a hundredth.

examples:
  tracecore bench error cornell --drivers path,photon,sppm --seconds 16 --reference output/reference.npy
  tracecore bench error cornell --estimates 8,16,64 --size 32x24 --device cpu
  tracecore bench error kitchen --to-noise 0.05 --drivers path --size 400x300 --seeds 4 --shading auto

{figure_keys.explain(figure_keys.ERROR)}
"""

_seconds = argument_type(Number(1e-3, 1e9))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    add_scene(parser)
    parser.add_argument(
        "--drivers", default="path,photon", metavar="NAMES", help="separated by commas (default: %(default)s)"
    )
    own = "size photons sampler device shading threads"
    add_settings(parser, Settings, *own.split(), size=(128, 128), sampler="sobol")
    parser.add_argument(
        "--seconds", type=_seconds, default=30.0, metavar="S", help="of each driver (default: %(default)s)"
    )
    parser.add_argument("--estimates", type=_passes, metavar="N,N", help="compare noise after so many passes")
    parser.add_argument("--to-noise", type=_noises, metavar="E,E", help="compare the time to so much noise everywhere")
    parser.add_argument(
        "--seeds",
        type=whole(2, 10**6),
        default=10,
        metavar="N",
        help="pictures for --estimates and --to-noise (default: %(default)s)",
    )
    add_figures(parser, is_drawn=True)
    group = parser.add_argument_group("reference")
    group.add_argument("--reference", type=Path, metavar="FILE", help=".npy or .exr; a .npy is made if it is not there")
    add_reference_maker(group, driver="path", seconds=300.0)


def _passes(text: str) -> list[int]:
    """Reads numbers of passes from the command line."""
    return [whole(1, 10**6)(part) for part in text.split(",")]


def _noises(text: str) -> list[float]:
    """Reads noises from the command line."""
    return [argument_type(FRAME_KINDS["film_noise"])(part) for part in text.split(",")]


def run(arguments: argparse.Namespace) -> int:
    """Measures, prints the table, and writes what is asked for."""
    from renderer.bench.figure_file import check_request, write_results
    from renderer.bench.plot import plot_errors
    from renderer.drivers import DRIVERS
    from renderer.drivers.driver import RenderSettings
    from renderer.scene.render_context import SceneView, TracerChoice, load_for, open_context

    drivers = names(arguments.drivers, list(DRIVERS), "driver")
    names(arguments.reference_driver, list(DRIVERS), "driver")
    _check_options(arguments)
    check_request(arguments)
    width, height = arguments.size
    own = {name: getattr(arguments, name) for name in ("photons", "sampler", "threads")}
    settings = RenderSettings(width=width, height=height, shading=arguments.shading or "auto", **own)
    choice = TracerChoice(device=arguments.device, threads=arguments.threads)
    with open_context(arguments.scene, SceneView.chosen(arguments), choice, partial(load_for, arguments)) as context:
        scene, tracer = context.snapshot, context.tracer
        title = f"{scene.name}, {width} x {height}, {tracer.name}, {tracer.threads} threads"
        heading, text, found = _measured(arguments, context, drivers, settings)
    print(f"{title}: {heading}\n{text}")
    write_results(arguments, scene.name, len(scene.positions), {"rows": found}, partial(plot_errors, found, title))
    return 0


def _measured(
    arguments: argparse.Namespace, context: RenderContext, drivers: list[str], settings: RenderSettings
) -> tuple[str, str, list[Row]]:
    """Returns what the table shows, the table and its rows."""
    from renderer.bench.error_benchmark import noise_rows, noise_table, reference_picture, rows, table

    if arguments.estimates:
        found = noise_rows(context, drivers, settings, arguments.estimates, arguments.seeds)
        return "passes: relative error, estimated over true (range)", noise_table(found), found
    if arguments.to_noise:
        from renderer.bench import noise_benchmark

        found = noise_benchmark.rows(context, drivers, settings, arguments.to_noise, arguments.seeds)
        return "to so much noise everywhere", noise_benchmark.table(found), found
    path, made_by = arguments.reference, (arguments.reference_driver, arguments.reference_seconds)
    reference = reference_picture(context, settings, path, *made_by)
    found = rows(context, drivers, settings, arguments.seconds, reference)
    return "relative error (passes)", table(found), found


def _check_options(arguments: argparse.Namespace) -> None:
    """Raises `UsageError` for options that contradict each other, and for a reference that cannot be kept."""
    from renderer.bench.figure_file import check_suffix
    from renderer.film.image_file import check_folder

    if arguments.estimates and arguments.to_noise:
        raise UsageError("--estimates and --to-noise are measurements of their own; leave one of them out")
    for option, is_given in (("--estimates", arguments.estimates), ("--to-noise", arguments.to_noise)):
        if is_given and arguments.plot:
            raise UsageError(f"--plot draws errors over time, which {option} does not measure; leave one of them out")
        if is_given and arguments.reference:
            raise UsageError(f"--reference does nothing with {option}; leave it out")
    if arguments.reference and not arguments.reference.is_file():
        check_suffix(arguments.reference, (".npy",))
        check_folder(arguments.reference)
