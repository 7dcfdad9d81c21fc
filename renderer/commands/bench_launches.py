"""The command `tracecore bench launches` measures launches and dispatch on a GPU, with nothing done with the hits."""

from __future__ import annotations

import argparse

from renderer.bench import figure_keys
from renderer.commands.arguments import add_figures

EXAMPLES = f"""\
Rates are of rays from six lamps in a room full of spheres: launches over ever more rays, queues of Python threads, and
ports of compiled threads that ring again as soon as they are answered; then how long it takes to move the triangles.
Each is the median of five.

examples:
  tracecore bench launches
  tracecore bench launches --json output/launches.json

{figure_keys.explain(figure_keys.LAUNCHES)}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    add_figures(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measures, prints line by line, and writes what is asked for."""
    from renderer.bench.figure_file import check_request, write_results
    from tracecore.benchmarks.compare_embree import room_of_spheres
    from tracecore.benchmarks.gpu_benchmark import tables

    check_request(arguments)
    triangles = room_of_spheres()
    write_results(arguments, "room of spheres", len(triangles), tables(triangles))
    return 0
