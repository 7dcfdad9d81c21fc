"""The command `tracecore bench film` measures how long films take, and what took the time."""

from __future__ import annotations

import argparse
from functools import partial

from renderer.bench import figure_keys
from renderer.commands.arguments import add_figures, add_frames, add_scene, add_settings, names
from renderer.settings.picture import Settings

EXAMPLES = f"""\
The film is made as 'tracecore render SCENE --frames A:B -o FILM.gif' makes it, by a process of its own, into a folder
that is removed: --repeat times, after two frames that do not count and compile everything. The median film is told.

Its main thread does one thing after another, and that adds up to the wall time; 'outside' is what the process takes to
begin and to end. Other threads play and pack the next frame meanwhile, and write the files of the one before. 'rays' is
the time in which the main thread waits for the threads that trace and shade.

examples:
  tracecore bench film robots --frames 0:39 --size 400x300 --passes 8
  tracecore bench film museum --frames 0:96:4 --driver path --devices cpu --json output/film.json

{figure_keys.explain(figure_keys.FILM)}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that the command takes: some of those of a render, and its own."""
    parser.epilog = EXAMPLES
    add_scene(parser)
    taken = ("driver", "size", "passes", "photons", "sampler", "shading", "threads", "exposure", "update")
    add_settings(parser, Settings, *taken)
    _add_own(parser)


def _add_own(parser: argparse.ArgumentParser) -> None:
    """Adds what is not handed on to the render as it is."""
    add_frames(parser, is_required=True)
    parser.add_argument(
        "--devices", metavar="NAMES", help="gpu, cpu, separated by commas (default: those that there are)"
    )
    add_figures(parser, repeat=3)


def words_of_render(command_line: list[str]) -> list[str]:
    """Returns the words of a command line, behind the command, that are those of the render."""
    own = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    _add_own(own)
    return own.parse_known_args(command_line)[1]


def run(arguments: argparse.Namespace) -> int:
    """Measures device after device, prints what was found, and writes what is asked for after each."""
    from renderer.bench.figure_file import check_request, write_results
    from renderer.bench.film_benchmark import film_row, table
    from renderer.bench.picture_scenes import devices_here

    devices = names(arguments.devices, devices_here(), "device here")
    check_request(arguments)
    words = words_of_render(arguments.command_line[2:])
    found = []
    for row in map(partial(film_row, words, arguments.frames, arguments.repeat), devices):
        print(table([row]), flush=True)
        found.append(row)
        write_results(arguments, row["scene"], row["triangles"], {"films": found})
    return 0
