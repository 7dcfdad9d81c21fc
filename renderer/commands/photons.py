"""`tracecore photons`: the headline workload, tracing until so many photons are stored."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from renderer import statistics
from renderer.arguments import add_max_bounces, add_scene, add_tracing, whole
from renderer.commands import first_run

if TYPE_CHECKING:
    from tqdm import tqdm

    from renderer.driver import RenderSettings
    from renderer.headline import PhotonRun
    from renderer.stage import Stage
    from renderer.statistics import Statistics

SUMMARY = "trace photons until N are stored, and tell how fast that went and why not faster"

EXAMPLES = f"""\
examples:
  tracecore photons cornell
  tracecore photons kitchen.aff --plain --photons 10000000
  tracecore photons kitchen.aff --photons 10000000 --json output/photons.json

Ctrl-C ends early; what is stored by then is reported and saved.

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
    parser.add_argument(
        "--plain",
        action="store_true",
        help="take all surfaces for diffuse and light them by one square below the ceiling, as benchmarks do",
    )
    add_max_bounces(parser)
    parser.add_argument("--save-photons", type=Path, metavar="FILE", help="keep the photons in FILE.npz")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the statistics to FILE")
    add_tracing(parser)
    parser.add_argument("--quiet", action="store_true", help="print errors alone")


def run(arguments: argparse.Namespace) -> int:
    """Trace and report; returns the exit status."""
    from renderer.driver import RenderSettings
    from renderer.interrupts import held_back, interrupted, let_through
    from renderer.stage import Moment, TracerChoice, open_stage

    _check_files(arguments)
    first_run.announce("photons", quiet=arguments.quiet)
    with open_stage(arguments.scene, Moment.chosen(arguments), TracerChoice.chosen(arguments)) as stage, held_back():
        width, height = stage.snapshot.camera.resolution
        settings = RenderSettings(
            width=width,
            height=height,
            seed=arguments.seed,
            max_bounces=arguments.max_bounces or RenderSettings.max_bounces,
            threads=arguments.threads,
            batch_rays=arguments.batch_rays,
        )
        with let_through():
            photon_run = _trace(stage, settings, arguments)
        told = statistics.collect(stage, "photons", settings, photon_run.work, photon_run.seconds)
        _write(arguments, photon_run, told)
        finished = photon_run.finished and not interrupted()
    _report(arguments, told, finished=finished)
    return 0 if finished else 130


def _trace(stage: Stage, settings: RenderSettings, arguments: argparse.Namespace) -> PhotonRun:
    """Trace, with a bar on stderr if that is a terminal."""
    from tqdm import tqdm

    from renderer.headline import trace_until_stored

    wanted: int = arguments.photons
    silent = arguments.quiet or not sys.stderr.isatty()
    options: dict[str, Any] = {"unit": "photon", "unit_scale": True, "file": sys.stderr, "leave": False}
    with tqdm(total=wanted, desc="tracing", disable=silent, **options) as bar:
        return trace_until_stored(
            stage.snapshot,
            stage.tracer,
            settings,
            wanted,
            on_progress=lambda stored: _move(bar, min(stored, wanted)),
        )


def _move(bar: tqdm[None], stored: int) -> None:
    bar.update(stored - bar.n)


def _check_files(arguments: argparse.Namespace) -> None:
    from renderer.image_file import check_folder, check_photon_path, make_default_folder
    from renderer.stage import check_scene

    if arguments.save_photons is not None:
        check_photon_path(arguments.save_photons)
    if arguments.json is not None:
        check_folder(arguments.json)
    check_scene(arguments.scene)
    make_default_folder((arguments.save_photons, arguments.json))


def _write(arguments: argparse.Namespace, photon_run: PhotonRun, told: Statistics) -> None:
    first_run.note("photons")
    if arguments.save_photons is not None:
        _save(arguments.save_photons, photon_run)
    if arguments.json is not None:
        statistics.write(arguments.json, told)


def _report(arguments: argparse.Namespace, told: Statistics, *, finished: bool) -> None:
    if not arguments.quiet:
        print(report(told))
    if not finished:
        files = [str(path) for path in (arguments.save_photons, arguments.json) if path is not None]
        saved = f"; saved in {' and '.join(files)}" if files else ""
        print(f"tracecore: interrupted: {told['photons.stored']} photons are stored{saved}", file=sys.stderr)


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
