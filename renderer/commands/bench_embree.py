"""The command `tracecore bench embree` has the CPU tracer race against Embree on one core."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from renderer.bench import figure_keys
from renderer.commands.arguments import add_figures, add_scene, argument_type
from scenes.keys.values import Whole

EXAMPLES = f"""\
Embree is asked one ray at a time, in its robust mode (extra peers). The rays are camera rays in tiles of 8x8 pixels of
a square picture, as a pinhole sees it, and one diffuse bounce off what they hit. Rates are of the thread's own CPU
time, in rounds that alternate. 'tracecore bench SCENE --peers embree' has all cores trace, by the clock of the wall.

examples:
  tracecore bench embree kitchen.aff
  tracecore bench embree cornell --side 128 --repeat 3

{figure_keys.explain(figure_keys.EMBREE)}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    add_scene(parser)
    parser.add_argument(
        "--side",
        type=argument_type(Whole(8, 4096, is_power_of_two=True)),
        default=512,
        metavar="N",
        help="pixels of the square picture, a power of two (default: %(default)s)",
    )
    add_figures(parser, repeat=7)


def run(arguments: argparse.Namespace) -> int:
    """Measures, prints line by line, and writes what is asked for."""
    from renderer.bench.figure_file import check_request, write_results
    from renderer.scene.render_context import scene_seen
    from tracecore.benchmarks.compare_embree import Race, SquareView, races

    check_request(arguments)
    snapshot = scene_seen(arguments)
    camera = snapshot.camera
    view = SquareView(eye=camera.eye, forward=camera.forward, up=camera.up, angle=camera.vertical_fov)
    print(f"{snapshot.name}, {len(snapshot.positions)} triangles: ours, Embree")
    found = []
    for one in races(snapshot.positions, view, arguments.side, arguments.repeat):
        print(one.text(), flush=True)
        found.append(one)
    figures = {
        "rows": [asdict(one) for one in found if isinstance(one, Race)],
        "disagreements": [asdict(one) for one in found if not isinstance(one, Race)],
    }
    write_results(arguments, snapshot.name, len(snapshot.positions), figures)
    return 0
