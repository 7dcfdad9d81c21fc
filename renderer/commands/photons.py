"""`tracecore photons`: the headline workload, tracing until so many photons are stored."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from renderer import statistics
from renderer.arguments import add_max_bounces, add_scene, add_tracing, whole
from renderer.commands import first_run

if TYPE_CHECKING:
    from renderer.headline import PhotonRun
    from renderer.statistics import Statistics

SUMMARY = "trace photons until N are stored, and tell how fast that went and why not faster"

EXAMPLES = f"""\
examples:
  tracecore photons cornell
  tracecore photons kitchen.aff --photons 10000000 --json output/photons.json

keys of the statistics:
{statistics.explain()}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.epilog = EXAMPLES
    add_scene(parser)
    parser.add_argument(
        "--photons",
        type=whole(1, 2 * 10**9),
        default=1_000_000,
        metavar="N",
        help="photons to store (default: %(default)s)",
    )
    add_max_bounces(parser)
    parser.add_argument("--save-photons", type=Path, metavar="FILE", help="keep the photons in FILE.npz")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the statistics to FILE")
    add_tracing(parser)
    parser.add_argument("--quiet", action="store_true", help="print errors alone")


def run(arguments: argparse.Namespace) -> int:
    """Trace and report; returns the exit status."""
    from renderer.driver import RenderSettings
    from renderer.headline import trace_until_stored
    from renderer.stage import Moment, TracerChoice, open_stage

    _check_files(arguments)
    first_run.announce(quiet=arguments.quiet)
    with open_stage(arguments.scene, Moment.chosen(arguments), TracerChoice.chosen(arguments)) as stage:
        width, height = stage.snapshot.camera.resolution
        settings = RenderSettings(
            width=width,
            height=height,
            seed=arguments.seed,
            max_bounces=arguments.max_bounces,
            threads=arguments.threads,
            batch_rays=arguments.batch_rays,
        )
        photon_run = trace_until_stored(stage.snapshot, stage.tracer, settings, arguments.photons)
        told = statistics.collect(stage, "photons", settings, photon_run.work, photon_run.seconds)
    if arguments.save_photons is not None:
        _save(arguments.save_photons, photon_run)
    if arguments.json is not None:
        statistics.write(arguments.json, told)
    if not arguments.quiet:
        print(report(told))
    return 0


def _check_files(arguments: argparse.Namespace) -> None:
    from renderer.image_file import check_folder, check_photon_path

    if arguments.save_photons is not None:
        check_photon_path(arguments.save_photons)
    if arguments.json is not None:
        check_folder(arguments.json)


def _save(path: Path, photon_run: PhotonRun) -> None:
    from renderer.atomic_file import temporary_beside
    from renderer.photon_map import save_photons

    with temporary_beside(path) as temporary:
        save_photons(temporary, photon_run.photons, photon_run.scale)


def report(told: Statistics) -> str:
    """Statistics of a photon run, to be read by people."""
    rendering = told["seconds.total"] - told["seconds.load"] - told["seconds.build"]
    rows = {
        "scene": f"{told['scene']}, {told['triangles']} triangles, tree of {told['bvh.nodes']} nodes "
        f"built in {told['bvh.build_seconds']:.2f} s",
        "tracer": f"{told['kernel']} on the {told['device']}, {told['dispatch']}, {told['threads']} threads, "
        f"batches of {told['batch_rays']} rays",
        "photons": f"{told['photons.stored']} stored, {told['photons.emitted']} emitted: "
        f"{told['photons.absorbed']} absorbed, {told['photons.escaped']} escaped, "
        f"{told['photons.terminated']} terminated",
        "rays": f"{told['rays.total']} in {rendering:.2f} s: {told['rays_per_second'] / 1e6:.2f} Mrays/s",
        "co-processor": f"busy {told['coprocessor.busy_fraction']:.0%} of the time; the kernel alone traces "
        f"{(told['coprocessor.kernel_rays_per_second'] or 0) / 1e6:.2f} Mrays/s",
        "limited by": told["limited_by"],
    }
    return "\n".join(f"{name:<13} {text}" for name, text in rows.items())
