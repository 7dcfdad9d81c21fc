"""The command `tracecore bench shading` measures what it costs to shade a photon."""

from __future__ import annotations

import argparse

from renderer.bench import figure_keys
from renderer.commands.arguments import add_figures, add_scene, add_settings
from renderer.settings.picture import Settings

EXAMPLES = f"""\
Hits are traced once by the CPU. Then each thread shades eight batches of them again and again. One thread is timed by
its own clock (least of 40 rounds), several by that of the wall (median). The scene is shaded with plain surfaces under
one square light, and as it is.

examples:
  tracecore bench shading cornell
  tracecore bench shading kitchen.aff --threads 2

{figure_keys.explain(figure_keys.SHADING)}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    add_scene(parser)
    add_settings(parser, Settings, "threads", threads=1)
    add_figures(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measures, prints, and writes what is asked for."""
    from renderer.bench.figure_file import check_request, write_results
    from renderer.bench.shading_benchmark import nanoseconds_per_ray
    from renderer.scene.render_context import scene_seen
    from scenes.playing.plain import plain

    check_request(arguments)
    snapshot = scene_seen(arguments)
    rows = []
    for surfaces, shown in (("plain", plain(snapshot)), ("real", snapshot)):
        cost = nanoseconds_per_ray(shown, arguments.threads)
        print(
            f"{snapshot.name} {surfaces:<6}{cost:6.1f} ns per ray and core, {arguments.threads} at a time", flush=True
        )
        rows.append({"surfaces": surfaces, "threads": arguments.threads, "nanoseconds": cost})
    write_results(arguments, snapshot.name, len(snapshot.positions), {"rows": rows})
    return 0
