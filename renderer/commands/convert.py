"""The command `tracecore convert` writes a scene to files of another format, as `tracecore scene export` does."""

from __future__ import annotations

import argparse
from pathlib import Path

from renderer.commands.arguments import add_replacing, add_scene
from renderer.commands.scene import FORMATS, write_files

EXAMPLES = f"""\
{FORMATS}
examples:
  tracecore convert kitchen.aff kitchen.glb --frame 400
  tracecore convert museum.toml exchange/museum.xml
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that the command takes: a scene at a moment, and a file."""
    parser.epilog = EXAMPLES
    add_scene(parser)
    add_replacing(parser)
    parser.add_argument("to", type=Path, metavar="OUT", help="file to write; the end of its name says the format")


def run(arguments: argparse.Namespace) -> int:
    """Writes the files; returns the exit status."""
    write_files(arguments)
    return 0
