"""This command compares photons by resident and by streamed dispatch: `python -m renderer.bench.dispatch_benchmark
SCENE [--plain]`.

It runs the real workload (tracing, shading and storing) for batches of several sizes and several of them in flight per
thread. It prints a table of millions of rays per second of wall time; `--json` keeps it, `--plot` draws it (needs
matplotlib).
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import scenes
import tracecore
from renderer.drivers import photon_task
from renderer.drivers.driver import RenderSettings
from renderer.photons.batch import PhotonTask
from renderer.photons.tracing import trace_photons
from renderer.scene.packed_scene import PackedScene, pack_scene
from scenes.plain import plain
from tracecore.dispatch.tracer import Tracer
from tracecore.tracers.gpu import DISPATCHES
from tracecore.workers.pool import WorkerPool

BATCHES = (256, 1024, 4096, 16384, 65536)
IN_FLIGHT = (1, 2, 4, 8, 16, 32, 64)

#: Most rays in slots: 800 MB of pinned memory.
MOST_RAYS = 1 << 24

REPETITIONS = 3

Row = dict[str, Any]


def rate(scene: PackedScene, task: PhotonTask, pool: WorkerPool, photons: int) -> float:
    """Returns the rays per second of the median run, by the clock of the photon run, which starts no threads and puts
    no photons in order.
    """
    rates = []
    for _ in range(REPETITIONS + 1):
        before = pool.seconds
        traced = trace_photons(scene, task, pool, range(photons))
        rates.append(traced.rays / (pool.seconds - before))
    return median(rates[1:])


def rows(tracer: Tracer, scene: PackedScene, photons: int) -> Iterator[Row]:
    """Yields a row for each size of batch and number of batches in flight."""
    task = photon_task(scene, RenderSettings(width=1, height=1), 0, min_bounces=0)
    for batch_rays in BATCHES:
        for batches in IN_FLIGHT:
            if tracer.threads * batches * batch_rays > MOST_RAYS:
                continue
            pool = WorkerPool(tracer, batch_rays=batch_rays, batches=batches)
            found = rate(scene, task, pool, photons)
            pool.close()
            yield {
                "dispatch": tracer.dispatch,
                "batch_rays": batch_rays,
                "in_flight": batches,
                "rays_per_second": found,
            }


def table(found: list[Row]) -> str:
    """Returns millions of rays per second as text: a line for each dispatch and size of batch, a column for each number
    in flight.
    """
    lines = [f"{'in flight per thread':>24}" + "".join(f"{batches:>8}" for batches in IN_FLIGHT)]
    for dispatch in DISPATCHES:
        for batch_rays in BATCHES:
            rates = {
                row["in_flight"]: row["rays_per_second"]
                for row in found
                if (row["dispatch"], row["batch_rays"]) == (dispatch, batch_rays)
            }
            cells = (f"{rates[batches] / 1e6:8.0f}" if batches in rates else f"{'-':>8}" for batches in IN_FLIGHT)
            lines.append(f"{dispatch:>14} {batch_rays:>9}" + "".join(cells))
    return "\n".join(lines)


def plot(found: list[Row], title: str, path: Path) -> None:
    """Draws a panel for each dispatch, with a line for each size of batch."""
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(DISPATCHES), sharey=True, figsize=(9, 4), layout="constrained")
    for panel, dispatch in zip(panels, DISPATCHES, strict=True):
        for batch_rays in BATCHES:
            line = [row for row in found if (row["dispatch"], row["batch_rays"]) == (dispatch, batch_rays)]
            rates = [row["rays_per_second"] / 1e6 for row in line]
            panel.plot([row["in_flight"] for row in line], rates, marker="o", label=f"{batch_rays} rays")
        panel.set(title=dispatch, xlabel="batches in flight per thread", xscale="log")
        panel.set_xticks(IN_FLIGHT, map(str, IN_FLIGHT))
        panel.grid(alpha=0.3)
    panels[0].set(ylabel="Mrays/s, end to end", ylim=(0, None))
    panels[0].legend()
    figure.suptitle(title)
    figure.savefig(path)


def main() -> None:
    """Measures, prints the table, and writes the files that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m renderer.bench.dispatch_benchmark", description=__doc__)
    parser.add_argument("scene", nargs="?", default="cornell", metavar="SCENE")
    parser.add_argument("--plain", action="store_true", help="diffuse surfaces and one square light")
    parser.add_argument("--kernel", help="traversal kernel (default: the tracer's)")
    parser.add_argument("--photons", type=int, default=6_000_000, help="emitted in a run (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--plot", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    snapshot = scenes.load(arguments.scene).at_frame(0)
    shown = plain(snapshot) if arguments.plain else snapshot
    scene = pack_scene(shown)
    found: list[Row] = []
    for dispatch in DISPATCHES:
        with tracecore.open_tracer(shown.positions, device="gpu", kernel=arguments.kernel, dispatch=dispatch) as tracer:
            found += rows(tracer, scene, arguments.photons)
            title = f"{snapshot.name}{', plain' if arguments.plain else ''}: {tracer.name}, {tracer.threads} threads"
    print(f"{title}, Mrays/s end to end\n{table(found)}")
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    if arguments.plot:
        plot(found, title, arguments.plot)


if __name__ == "__main__":
    main()
