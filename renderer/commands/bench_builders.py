"""The command `tracecore bench builders` compares builders of binary trees."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from renderer.bench import figure_keys
from renderer.commands.arguments import add_figures, add_rays, add_scenes, add_settings, add_views, check_views, names
from renderer.settings.picture import Settings

EXAMPLES = f"""\
Each round has every builder build the tree of a scene by one thread, whose processor time counts, and then by all,
where wall time does: 'exact' tries every border of two triangles, 'binned' tries some, 'fast' fewer, 'ploc' joins
neighbours from the triangles up, and 'reinserted', which renders use, moves subtrees of the binned tree to where they
cost least. Quality is the cost of the exact tree over that of the tree. Bytes are the most that arrays take while a
tree is built, by Python's tracemalloc, the tree included and its triangles not.
Where there is a GPU, wall times follow of 'ploc' built and packed there, step by step, and by the CPU for it; the bits
are compared. With --kernels these trace rays through the trees of all builders that --builder of a render takes; hits
other than the CPU's strike a rate out, and the exit status is 1.
'tracecore reproduce gunther-2007' sets the published figures beside them.

examples:
  tracecore bench builders kitchen.aff
  tracecore bench builders museum:250k --frame 60 --repeat 3
  tracecore bench builders stress:10k stress:100k stress:1M stress:4M --repeat 3 --plot output/builders.png
  tracecore bench builders kitchen cornell --kernels while-while,replacing-compressed-bvh8 --size 1024x1024 --samples 2

{figure_keys.explain(figure_keys.BUILDERS)}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    add_scenes(parser)
    add_settings(parser, Settings, "define", "device", "threads")
    add_figures(parser, repeat=9, is_drawn=True)
    parser.add_argument("--kernels", metavar="NAMES", help="separated by commas (default: none)")
    add_views(add_rays(parser))


def run(arguments: argparse.Namespace) -> int:
    """Measures scene after scene, prints its tables, and writes what is asked for after each; returns 1 where the hits
    of a kernel are wrong.
    """
    from renderer.bench.builder_benchmark import scene_figures
    from renderer.bench.figure_file import check_request, write_results
    from renderer.bench.kernel_benchmark import device_of, kernel_names
    from renderer.bench.plot import plot_builders
    from renderer.scene.render_context import SceneView, load_for

    device = device_of(arguments.device)
    kernels = (
        names(arguments.kernels, kernel_names(device), f"kernel for device '{device}'") if arguments.kernels else []
    )
    check_views(arguments)
    check_request(arguments)
    figures: dict[str, list[dict[str, Any]]] = {"rows": [], "times": [], "rates": []}
    seen, triangles = [], 0
    for name in arguments.scenes:
        snapshot = SceneView.chosen(arguments).of(load_for(arguments, name))
        for key, rows in scene_figures(arguments, snapshot, device, kernels).items():
            figures[key] += rows
        seen.append(snapshot.name)
        triangles += len(snapshot.positions)
        write_results(arguments, ", ".join(seen), triangles, figures, partial(plot_builders, figures["rows"]))
    return 1 if any(row["wrong"] for row in figures["rates"]) else 0
