"""The command `tracecore bench gather` measures what it costs to look for photons."""

from __future__ import annotations

import argparse
from functools import partial

from renderer.bench import figure_keys
from renderer.commands.arguments import add_count, add_figures, add_scene, add_settings, number
from renderer.settings.picture import Settings

EXAMPLES = f"""\
One ray for each pixel of a square picture looks at a map of photons, and then at none; the difference is the gather.
The least processor time of three rounds counts, over all threads. Rays are traced by the CPU.

examples:
  tracecore bench gather cornell
  tracecore bench gather kitchen.aff --photons 1000000 --points 250000 --found 20 --threads 1

{figure_keys.explain(figure_keys.GATHER)}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    add_scene(parser)
    add_settings(parser, Settings, "photons", "threads", photons=10_000_000)
    add_count(parser, "--points", 1 << 26, 1_000_000, "looked at")
    parser.add_argument(
        "--found",
        type=number(0.01, 1e6),
        default=50.0,
        metavar="K",
        help="photons within the radius, about, where they lie evenly (default: %(default)s)",
    )
    add_figures(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measures, prints, and writes what is asked for."""
    from renderer.bench.figure_file import check_request, write_results
    from renderer.bench.gather_benchmark import cost_in_words, gather_settings, measure
    from renderer.scene.render_context import SceneView, TracerChoice, load_for, open_context

    check_request(arguments)
    choice = TracerChoice(device="cpu", threads=arguments.threads)
    with open_context(arguments.scene, SceneView.chosen(arguments), choice, partial(load_for, arguments)) as context:
        snapshot = context.snapshot
        settings = gather_settings(
            snapshot,
            photons=arguments.photons,
            points=arguments.points,
            found=arguments.found,
            threads=arguments.threads,
        )
        cost = measure(snapshot, context.tracer, settings)
    print(f"{snapshot.name}: {cost_in_words(cost)}")
    write_results(arguments, snapshot.name, len(snapshot.positions), cost)
    return 0
