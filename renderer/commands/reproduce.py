"""The command `tracecore reproduce` makes tables of the literature on a scene at hand."""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from renderer.bench import figure_keys
from renderer.bench.literature import PAPERS, Paper
from renderer.commands.arguments import (
    add_rays,
    add_replacing,
    add_scene,
    add_setting,
    add_settings,
    add_views,
    check_views,
)
from renderer.errors import UsageError
from renderer.settings.measurement import Measurement
from renderer.settings.picture import Settings
from renderer.settings.setting import Setting, settings_of
from scenes.keys.values import Whole

if TYPE_CHECKING:
    from renderer.bench.files import Run
    from tracecore import Device

#: Photons to store on a GPU, as Barczak did, and where the same kernels are emulated: more than any pilot stores.
GPU_PHOTONS, EMULATED_PHOTONS = 10_000_000, 20_000

KEYS = figure_keys.explain(figure_keys.REPRODUCE)

EXAMPLES = f"""\
The tables are of kernels of a GPU: --device auto and gpu take one, emulator runs them, slowly, on the CPU, whose own
kernel (--device cpu) is none of the papers'.

examples:
  tracecore reproduce aila-laine-2009 sibenik.obj --views 5 --markdown output/aila-laine.md
  tracecore reproduce lier-2018 kitchen.aff --views all,5
  tracecore reproduce barczak-2016 kitchen.aff
  tracecore reproduce gunther-2007 kitchen --json output/gunther.json
  tracecore reproduce aila-laine-2009 cornell --device emulator --size 16x12 --ao-rays 4

{KEYS}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    tables = parser.add_subparsers(dest="table", metavar="TABLE", required=True)
    for paper in PAPERS.values():
        about = f"{paper.citation}; {paper.what}"
        _add_table(tables.add_parser(paper.name, help=about, description=about), paper)


def _add_table(parser: argparse.ArgumentParser, paper: Paper) -> None:
    parser.epilog = KEYS
    add_scene(parser)
    add_settings(parser, Settings, "device", "threads")
    if paper.has_photon_run:
        add_setting(parser, _photons_to_store())
    defaults = {"bound_rays": paper.bound_rays, "repeat": paper.repeats}
    add_settings(parser, Measurement, *defaults, "json", **defaults)
    add_replacing(parser)
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables to FILE")
    add_views(add_rays(parser, pixels=paper.size, samples=1, order="morton"))


def _photons_to_store() -> Setting:
    """Return the setting of how long a photon run is, whose default is that of the device."""
    fallback = f"{GPU_PHOTONS}; emulated {EMULATED_PHOTONS}"
    store = settings_of(Measurement)["store"]
    return replace(store, default=None, kind=Whole(EMULATED_PHOTONS, 2 * 10**9), fallback=fallback)


def run(arguments: argparse.Namespace) -> int:
    """Measures, prints, and writes what is asked for."""
    from renderer.atomic_file import write_each, write_whole
    from renderer.bench.comparison import Effort
    from renderer.bench.figure_file import check_request, write_figures
    from renderer.bench.reproduction import reproduce

    paper = PAPERS[arguments.table]
    check_views(arguments)
    device = _device(arguments.device)
    check_request(arguments)
    job = _job(arguments, paper, device)
    default_photons = GPU_PHOTONS if device == "gpu" else EMULATED_PHOTONS
    effort = Effort(
        repeats=arguments.repeat,
        bound_rays=arguments.bound_rays,
        photons=getattr(arguments, "store", None) or default_photons,
    )
    made = reproduce(paper, job, effort)
    print(made.text())
    writes = [partial(write_figures, arguments.json, job.circumstances, made.as_dict())]
    if arguments.markdown:
        writes.append(partial(write_whole, arguments.markdown, made.markdown().encode()))
    write_each(*writes)
    return 0


def _device(choice: str) -> Device:
    """Returns the device that is meant. Raises `UsageError` where it does not have the kernels of the papers."""
    from renderer.bench.kernel_benchmark import device_of

    device = device_of(choice)
    if device == "cpu":
        raise UsageError(
            "the CPU does not have the kernels of the papers; use --device gpu where there is one, or --device emulator"
        )
    return device


def _job(arguments: argparse.Namespace, paper: Paper, device: Device) -> Run:
    """Returns what is measured."""
    from renderer.bench.files import Run
    from renderer.scene.render_context import scene_seen
    from scenes.playing.plain import plain, point_lit

    snapshot = scene_seen(arguments)
    if paper.has_photon_run:
        snapshot = plain(snapshot)
    if paper.has_construction:
        snapshot = point_lit(snapshot)
    return Run.chosen(arguments, snapshot, device, next(iter(paper.rows.values())))
