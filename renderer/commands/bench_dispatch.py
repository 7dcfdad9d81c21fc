"""The command `tracecore bench dispatch` measures photons by ways of dispatch, sizes of batches and how many there are
in flight.
"""

from __future__ import annotations

import argparse
from functools import partial

from renderer.bench import figure_keys
from renderer.commands.arguments import add_figures, add_plain, add_scene, add_settings
from renderer.settings.picture import Settings

EXAMPLES = f"""\
The real work, which is tracing, shading and storing, is done for batches of several sizes, and several of them in
flight per thread. Rates are of wall time. A device other than a GPU has one way of dispatch. A run is one pass, and one
more that is not counted comes first. Before each, the hits of up to 32768 photons are compared with the CPU's: a kernel
that has others ends the command with an error, exit status 1.

examples:
  tracecore bench dispatch kitchen.aff --plain
  tracecore bench dispatch cornell --device cpu --photons 10000

{figure_keys.explain(figure_keys.DISPATCH)}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    add_scene(parser)
    add_plain(parser)
    add_settings(parser, Settings, "photons", "device", "kernel", "threads", photons=6_000_000)
    add_figures(parser, repeat=3, is_drawn=True)


def run(arguments: argparse.Namespace) -> int:
    """Measures, prints the table, and writes what is asked for."""
    from renderer.bench.dispatch_benchmark import rows_of_ways, table
    from renderer.bench.figure_file import check_request, write_results
    from renderer.bench.kernel_benchmark import device_of
    from renderer.bench.plot import plot_dispatch
    from renderer.run.photon_run.trace_until_stored import RAY_CLASS
    from renderer.scene.render_context import TracerChoice, scene_seen

    device = device_of(arguments.device)
    check_request(arguments)
    snapshot = scene_seen(arguments)
    choice = TracerChoice(device=device, kernel=arguments.kernel, ray_class=RAY_CLASS, threads=arguments.threads)
    found, tracer = rows_of_ways(snapshot, choice, arguments.photons, arguments.repeat)
    title = f"{snapshot.name}{', plain' if arguments.plain else ''}: {tracer}"
    print(f"{title}, Mrays/s end to end\n{table(found)}")
    draw = partial(plot_dispatch, found, title)
    write_results(arguments, snapshot.name, len(snapshot.positions), {"rows": found}, draw)
    return 0
