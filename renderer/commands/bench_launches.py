"""The command `tracecore bench launches` measures launches and dispatch on a GPU, with nothing done with the hits."""

from __future__ import annotations

import argparse

from renderer.bench import figure_keys
from renderer.commands.arguments import add_replacing, add_settings
from renderer.settings.measurement import Measurement

EXAMPLES = f"""\
Rates are of rays from six lamps in a room full of spheres: launches over ever more rays, queues of Python threads, and
ports of compiled threads that ring again as soon as they are answered. Each is the median of five.

examples:
  tracecore bench launches
  tracecore bench launches --json output/launches.json

{figure_keys.explain(figure_keys.LAUNCHES)}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that the command takes."""
    parser.epilog = EXAMPLES
    add_settings(parser, Measurement, "json")
    add_replacing(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measures, prints line by line, and writes what is asked for."""
    from renderer.bench.figure_file import check_request, circumstances_of, write_figures
    from tracecore.benchmarks.compare_embree import room_of_spheres
    from tracecore.benchmarks.gpu_benchmark import tables

    check_request(arguments)
    triangles = room_of_spheres()
    found = tables(triangles)
    write_figures(arguments.json, circumstances_of(arguments.command_line, "room of spheres", len(triangles)), found)
    return 0
