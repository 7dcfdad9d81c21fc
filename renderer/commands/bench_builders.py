"""The command `tracecore bench builders` compares builders of binary trees."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from renderer.bench import figure_keys
from renderer.commands.arguments import add_figures, add_rays, add_scenes, add_settings, add_views, check_views, names
from renderer.settings.picture import Settings

if TYPE_CHECKING:
    from scenes.model import Snapshot
    from tracecore import Device

#: A row of a file of figures, by the keys of `figure_keys.BUILDERS`.
Row = dict[str, Any]

EXAMPLES = f"""\
Each round has every builder build the tree of a scene by one thread, whose processor time counts, and then by all,
where wall time does: 'exact' tries every border of two triangles, 'binned' tries some, 'fast' fewer, 'ploc' joins
neighbours from the triangles up, 'lbvh' goes by the bits of a curve, and 'reinserted', which renders use, moves
subtrees of the binned tree to where they cost least. Quality is the cost of the exact tree over that of the tree. Bytes
are the most that arrays take while a tree is built, by Python's tracemalloc, the tree included and its triangles not.
Where there is a GPU, wall times follow of 'lbvh' built and packed there, step by step, and by the CPU for it; the bits
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
    rows: list[Row] = []
    times: list[Row] = []
    rates: list[Row] = []
    seen: list[Snapshot] = []
    for name in arguments.scenes:
        snapshot = SceneView.chosen(arguments).of(load_for(arguments, name))
        seen.append(snapshot)
        rows += tree_rows(arguments, snapshot)
        times += time_rows(arguments, snapshot) if device == "gpu" else []
        rates += rates_of(arguments, snapshot, device, kernels) if kernels else []
        triangles = sum(len(one.positions) for one in seen)
        scenes = ", ".join(one.name for one in seen)
        figures = {"rows": rows, "times": times, "rates": rates}
        write_results(arguments, scenes, triangles, figures, partial(plot_builders, rows))
    return 1 if any(row["wrong"] for row in rates) else 0


def tree_rows(arguments: argparse.Namespace, snapshot: Snapshot) -> list[Row]:
    """Measures the builders on a scene, prints their table, and returns a row for each."""
    from renderer.bench.builder_benchmark import built_trees, left_out, quality, table

    trees = built_trees(snapshot.positions, arguments.repeat, arguments.threads)
    print(f"{heading(snapshot)}\n{table(trees)}", flush=True)
    print("".join(f"{line}\n" for line in left_out(len(snapshot.positions))), end="", flush=True)
    return [about_scene(snapshot) | asdict(tree) | {"quality": quality(trees, tree.builder)} for tree in trees]


def time_rows(arguments: argparse.Namespace, snapshot: Snapshot) -> list[Row]:
    """Measures the builder that the GPU has of its own on a scene, prints its table, and returns its row."""
    from renderer.bench.builder_benchmark import time_row, time_table
    from tracecore.benchmarks.tree_time import tree_time

    found = tree_time(snapshot.positions, arguments.repeat)
    print(f"{heading(snapshot)}\n{time_table(found)}", flush=True)
    return [about_scene(snapshot) | time_row(found)]


def rates_of(arguments: argparse.Namespace, snapshot: Snapshot, device: Device, kernels: Sequence[str]) -> list[Row]:
    """Measures kernels on the trees of a scene, prints their table, and returns a row for each rate."""
    from renderer.bench.builder_benchmark import KINDS, rate_rows, rate_table, tree_rates
    from renderer.bench.kernel_benchmark import compare
    from renderer.bench.ray_sources import PlannedRays
    from renderer.bench.workload import Workload

    workload = Workload(PlannedRays.chosen(arguments, snapshot, KINDS).sets)
    rounds = {"repeats": arguments.repeat, "threads": arguments.threads}
    rates = tree_rates(device, lambda name: compare(snapshot, device, kernels, workload, builder=name, **rounds))
    print(f"{heading(snapshot)}, on the {device}\n{rate_table(rates)}", flush=True)
    return [about_scene(snapshot) | row for row in rate_rows(rates)]


def heading(snapshot: Snapshot) -> str:
    """Returns the line above a table: the name of a scene, and how many triangles it has."""
    return f"{snapshot.name}, {len(snapshot.positions)} triangles"


def about_scene(snapshot: Snapshot) -> Row:
    """Returns what every row has of its scene."""
    return {"scene": snapshot.name, "triangles": len(snapshot.positions)}
