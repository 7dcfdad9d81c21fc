"""The command `tracecore bench builders` compares builders of binary trees."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from renderer.bench import figure_keys
from renderer.commands.arguments import add_scene, add_settings
from renderer.settings.measurement import Measurement

SUMMARY = "builders of trees: their seconds, and the quality of what they build"

EXAMPLES = f"""\
Each round has every builder build the tree of the scene on one core: 'exact' tries every border of two triangles,
'binned' tries some, 'fast' fewer, 'ploc' joins neighbours from the triangles up, and 'reinserted', which renders use,
moves subtrees of the binned tree to where they cost least. Quality is the cost of the exact tree over that of the tree.
'tracecore reproduce gunther-2007' sets the published figures beside them.

examples:
  tracecore bench builders kitchen.aff
  tracecore bench builders museum:250k --frame 60 --repeat 3

{figure_keys.explain(figure_keys.BUILDERS)}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that the command takes."""
    parser.epilog = EXAMPLES
    add_scene(parser)
    add_settings(parser, Measurement, "repeat", "json", repeat=9)


def run(arguments: argparse.Namespace) -> int:
    """Measures, prints the table, and writes what is asked for."""
    from renderer.bench.builder_benchmark import built_trees, quality, table
    from renderer.bench.figure_file import check_request, circumstances_of, write_figures
    from renderer.scene.render_context import scene_seen

    check_request(arguments)
    snapshot = scene_seen(arguments)
    trees = built_trees(snapshot.positions, arguments.repeat)
    print(f"{snapshot.name}, {len(snapshot.positions)} triangles\n{table(trees)}")
    about = circumstances_of(arguments.command_line, snapshot.name, len(snapshot.positions))
    rows = [asdict(tree) | {"quality": quality(trees, tree.builder)} for tree in trees]
    write_figures(arguments.json, about, {"rows": rows})
    return 0
