"""The command `tracecore photons` does the photon run: it traces until so many photons are stored or sent out."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from renderer.commands.arguments import (
    add_part,
    add_plain,
    add_replacing,
    add_scene,
    add_setting,
    add_settings,
    add_tracing,
)
from renderer.commands.parser import in_two_levels
from renderer.commands.wrong_rays import wrong_ray_kept
from renderer.plain_text import as_it_is
from renderer.run import statistics
from renderer.settings.measurement import Measurement
from renderer.settings.picture import UNSHARED, Settings, resolved
from renderer.settings.setting import settings_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from renderer.drivers.driver import RenderSettings
    from renderer.photons.batch import PhotonTask
    from renderer.run.containment import Containment
    from renderer.run.members.photon_member import PhotonsOrder
    from renderer.run.photon_run.local_tracing import Tracing
    from renderer.run.photon_run.trace_until_stored import PhotonRun
    from renderer.run.statistics import Statistics
    from renderer.scene.render_context import RenderContext, TracerChoice
    from scenes.model import Snapshot

#: Settings of a picture that say how fine round shapes are cut, or what surfaces are.
LOOKING = ("size", "eye", "look_at", "up", "fov", "up_axis", "mirrors", "ambient")

#: Options that most people use.
USUAL = "store emit repeat plain device shading threads kernel seed json save_photons timeline quiet help"

EXAMPLES = """\
examples:
  tracecore photons cornell
  tracecore photons kitchen.aff --plain --store 10000000 --repeat 9
  tracecore photons kitchen.aff --store 10000000 --json output/photons.json
  tracecore photons cornell --timeline output/timeline.json
  tracecore photons cornell --emit 10000000 --part 3/8 -o part-3.photons
"""

NOTES = f"""\
A pilot of up to 65536 photons comes first. They count, but are not timed: of a run that stores enough by then, no rate
is told.
Ctrl-C, SIGTERM and SIGHUP (a closed terminal) end early: photons of the rounds that are finished are reported, and kept
with --save-photons. A hard kill keeps nothing of a run; files that are there stay whole. A run has no checkpoint: the
same command traces the same photons again.

keys of the statistics:
{statistics.explain(statistics.OF_PICTURES)}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = f"{EXAMPLES}\n{NOTES}"
    in_two_levels(parser, USUAL, EXAMPLES)
    add_scene(parser)
    add_settings(parser.add_mutually_exclusive_group(), Measurement, "store", "emit")
    add_settings(parser, Measurement, "repeat", "json")
    add_part(parser)
    add_setting(parser, replace(settings_of(Settings)["save_photons"], aliases=("-o",)))
    add_replacing(parser)
    add_plain(parser)
    add_settings(parser, Settings, "shading", "max_bounces", "timeline", "quiet", "memory")
    add_settings(parser, Settings, *LOOKING)
    add_tracing(parser, is_shared=True)


def run(arguments: argparse.Namespace) -> int:
    """Traces and reports; returns the exit status."""
    from renderer.run.members.open_fleet import PHOTONS, members_ahead

    members = _begin(arguments)
    with members_ahead(members, PHOTONS):
        return _traced(arguments, members)


def _traced(arguments: argparse.Namespace, members: Settings) -> int:
    """Traces and reports; returns the exit status. members: settings that say who traces."""
    from renderer.errors import FleetError
    from renderer.interrupts import held_back, interrupted, let_through
    from renderer.run.containment import Containment
    from renderer.run.members.open_fleet import PHOTONS, open_fleet
    from renderer.run.members.photon_member import SharedTracing
    from renderer.run.photon_run.trace_until_stored import RAY_CLASS
    from renderer.scene.render_context import TracerChoice, context_of, scene_seen

    start = time.perf_counter()
    snapshot = scene_seen(arguments)
    _check_memory(arguments, snapshot)
    chosen, load_seconds = TracerChoice.chosen(arguments, RAY_CLASS), time.perf_counter() - start
    with (
        open_fleet(members, PHOTONS) as fleet,
        wrong_ray_kept(arguments, arguments.json or arguments.save_photons or Path("photons")),
        context_of(snapshot, choice := chosen.on_cpu if fleet else chosen, load_seconds=load_seconds) as context,
        held_back(),
        ExitStack() as stack,
    ):
        width, height = context.snapshot.camera.resolution
        settings = resolved(arguments, width=width, height=height)
        containment = stack.enter_context(closing(Containment(context, choice)))
        tracing = None
        if fleet is not None:
            tracing = partial(SharedTracing, fleet, _photons_order(context, settings, chosen, arguments))
        with let_through():
            photon_run = _trace(containment, settings, arguments, tracing)
        context = containment.context
        figures = statistics.collect(context, "photons", settings, _measured(context, photon_run))
        figures["coprocessor.faults"] = containment.faults
        figures |= photon_run.members
        if not photon_run.rays:
            figures |= dict.fromkeys(statistics.OF_TIMED_RAYS)
        _write(arguments, context.snapshot, photon_run, figures)
        finished = photon_run.finished and not interrupted()
    if photon_run.error is not None:
        raise FleetError(f"{photon_run.error}; {_kept(arguments, figures)}") from photon_run.error
    _report(arguments, figures, finished=finished)
    return 0 if finished else 130


def _begin(arguments: argparse.Namespace) -> Settings:
    """Checks what is asked for, as far as it needs no scene, and begins to load machine code. Returns the settings that
    say who traces.
    """
    from renderer.errors import UsageError
    from renderer.photons.tracing import PHOTON_CODE
    from scenes.files.memory import limit_memory
    from tracecore.compilation.cached import begin_to_load

    limit_memory(arguments.memory)
    names = ("device", *UNSHARED, "threads", "fallback", "timeline")
    members = Settings(**{name: getattr(arguments, name) for name in names})
    _check_files(arguments)
    if arguments.shading not in (None, "cpu") and (arguments.gpus is not None or arguments.cluster is not None):
        raise UsageError(f"--shading {arguments.shading}: other processes shade on their CPUs; leave it out")
    begin_to_load(PHOTON_CODE)
    return members


def _check_memory(arguments: argparse.Namespace, snapshot: Snapshot) -> None:
    """Raises `UsageError` where a run takes more memory than there is."""
    from renderer.fleet.seats import members_here
    from renderer.run.memory import STORED_BY_RUN, check_fits
    from renderer.run.photon_run.rounds import photon_run_bytes

    wanted = _wanted(arguments)
    if isinstance(wanted, range):
        stored, less = int(STORED_BY_RUN * len(wanted)), "use a smaller --emit, or more parts"
    else:
        stored, less = wanted, "use a smaller --store"
    is_kept = arguments.save_photons is not None
    members = members_here(arguments.gpus, arguments.cluster)
    check_fits(photon_run_bytes(snapshot, stored, is_kept=is_kept, members=members), less)


def _wanted(arguments: argparse.Namespace) -> int | range:
    """Returns how many photons are to be stored, or the indices of those that are sent out.

    Raises `UsageError` where a part has none of them.
    """
    from renderer.errors import UsageError

    part, emitted = arguments.part, arguments.emit
    if part is None:
        return arguments.store if emitted is None else range(emitted)
    if emitted is None:
        raise UsageError("--part is of the photons that are sent out; say by --emit how many the whole run has")
    if arguments.save_photons is None:
        raise UsageError("--part makes a file; name it, -o FILE.photons")
    photons: range = part.range_of(emitted)
    if not photons:
        raise UsageError(f"--part {part} has none of {emitted} photons; make fewer parts")
    return photons


def _photons_order(
    context: RenderContext, settings: RenderSettings, choice: TracerChoice, arguments: argparse.Namespace
) -> PhotonsOrder:
    """Returns what the members of a fleet need to trace."""
    from renderer.run.members.photon_member import PhotonsOrder
    from renderer.run.members.sent_tree import SentTree

    return PhotonsOrder(
        snapshot=context.snapshot,
        settings=settings,
        choice=choice,
        tree=SentTree.of(context.tracer, arguments.cluster),
        is_kept=arguments.save_photons is not None,
    )


def _trace(
    containment: Containment,
    settings: RenderSettings,
    arguments: argparse.Namespace,
    shared: Callable[[PhotonTask], Tracing] | None,
) -> PhotonRun:
    """Traces, with a bar on stderr if that is a terminal."""
    from tqdm import tqdm

    from renderer.run.photon_run.trace_until_stored import trace_until_stored

    wanted = _wanted(arguments)
    count = len(wanted) if isinstance(wanted, range) else wanted
    silent = arguments.quiet or not sys.stderr.isatty()
    options: dict[str, Any] = {"unit": "photon", "unit_scale": True, "file": as_it_is(sys.stderr), "leave": False}
    with tqdm(total=count, desc="tracing", disable=silent, **options) as bar:
        return trace_until_stored(
            containment,
            settings,
            wanted,
            repeat=arguments.repeat,
            is_kept=arguments.save_photons is not None,
            on_progress=lambda reached: bar.update(min(reached, count) - bar.n),
            shared=shared,
        )


def _measured(context: RenderContext, photon_run: PhotonRun) -> statistics.MeasuredRun:
    return statistics.MeasuredRun(
        work=photon_run.work,
        seconds=photon_run.seconds,
        rays=photon_run.rays,
        busy_seconds=photon_run.busy_seconds,
        limits=context.tracer.limits(photon_run.sample),
        rates=photon_run.rates,
        shading=photon_run.shading,
    )


def _check_files(arguments: argparse.Namespace) -> None:
    from renderer.film.image_file import check_folder, check_photon_path, make_default_folder
    from renderer.run.photon_run.photon_parts import SUFFIX
    from renderer.scene.render_context import check_scene

    _wanted(arguments)
    if arguments.save_photons is not None:
        check_photon_path(arguments.save_photons, arguments.replace, ".npz" if arguments.part is None else SUFFIX)
    for path in (arguments.json, arguments.timeline):
        if path is not None:
            check_folder(path, arguments.replace)
    check_scene(arguments.scene)
    make_default_folder(_files(arguments))


def _files(arguments: argparse.Namespace) -> list[Path]:
    paths = (arguments.save_photons, arguments.json, arguments.timeline)
    return [path for path in paths if path is not None]


def _write(arguments: argparse.Namespace, snapshot: Snapshot, photon_run: PhotonRun, figures: Statistics) -> None:
    from renderer.atomic_file import write_each
    from renderer.run import timeline

    writes: list[Callable[[], object]] = []
    if arguments.save_photons is not None:
        save = _save if arguments.part is None else _save_part
        writes.append(partial(save, arguments, snapshot, photon_run))
    if arguments.json is not None:
        writes.append(partial(statistics.write, arguments.json, figures))
    if arguments.timeline is not None:
        writes.append(partial(timeline.write, arguments.timeline, photon_run.logs))
    write_each(*writes)


def _report(arguments: argparse.Namespace, figures: Statistics, *, finished: bool) -> None:
    if not arguments.quiet:
        print(report(figures))
    if not finished:
        print(f"tracecore: interrupted: {_kept(arguments, figures)}", file=sys.stderr)


def _kept(arguments: argparse.Namespace, figures: Statistics) -> str:
    """Returns, in words, what there is of a run that was not finished."""
    files = " and ".join(str(path) for path in _files(arguments))
    return f"{figures['photons.stored']} photons are stored{f'; saved in {files}' if files else ''}"


def _save(arguments: argparse.Namespace, _: Snapshot, photon_run: PhotonRun) -> None:
    from renderer.atomic_file import temporary_beside
    from renderer.photons.photon_file import save_photons

    with temporary_beside(arguments.save_photons) as temporary:
        save_photons(temporary, photon_run.photons, photon_run.scale)


def _save_part(arguments: argparse.Namespace, snapshot: Snapshot, photon_run: PhotonRun) -> None:
    from renderer.run.photon_run.photon_parts import StoredRange, part_of_run

    first, counts = arguments.part.range_of(arguments.emit).start, photon_run.work.photons
    ranges = (StoredRange(first, first + counts.emitted, counts.stored),)
    part = part_of_run(arguments.save_photons, snapshot, photon_run.task, arguments.emit)
    replace(part, ranges=ranges).write(photon_run.photons)


def report(figures: Statistics) -> str:
    """Returns the statistics of a photon run as text, to be read by people."""
    untimed = {"rays": f"{figures['rays.photon']}, all of the pilot, which is not timed; a larger --store is measured"}
    rows = {
        "scene": f"{figures['scene']}, {figures['triangles']} triangles, tree of {figures['bvh.nodes']} nodes "
        f"{'read' if figures['bvh.update'] == 'cached' else 'built'} in {figures['bvh.build_seconds']:.2f} s",
        "tracer": f"{figures['kernel']} ({figures['kernel_choice']}) on the {figures['device']}, "
        f"{figures['dispatch']}, {figures['threads']} threads, batches of {figures['batch_rays']} rays",
        "photons": f"{figures['photons.stored']} stored, {figures['photons.emitted']} emitted: "
        f"{figures['photons.absorbed']} absorbed, {figures['photons.escaped']} escaped, "
        f"{figures['photons.terminated']} terminated",
        **(_timed_rows(figures) if figures["rays.timed"] else untimed),
    }
    return "\n".join(f"{name:<13} {text}" for name, text in rows.items())


def _timed_rows(figures: Statistics) -> dict[str, str]:
    """Returns rows on how fast what came after the pilot was traced, and why not faster."""
    return {
        "rays": f"{figures['rays.timed']} in {_timed_seconds(figures):.3f} s: "
        f"{_mega(figures['rays_per_second'])} Mrays/s" + _spread(figures),
        "co-processor": f"busy {figures['coprocessor.busy_fraction']:.0%} of the time; the kernel alone traces "
        f"{_mega(figures['coprocessor.kernel_rays_per_second'])} Mrays/s",
        **_thread_rows(figures),
        "transfer": _transfer(figures),
        "order": f"{figures['seconds.map']:.3f} s to put photons in order",
        "limited by": figures["limited_by"],
    }


def _thread_rows(figures: Statistics) -> dict[str, str]:
    """Returns rows on what the CPU's threads do. Nanoseconds are of one core for one ray."""
    if figures["shading"] == "gpu":
        seconds = figures["seconds.shade"]
        return {"shading": f"the GPU alone shades {_mega(statistics.ratio(figures['rays.timed'], seconds))} Mrays/s"}
    rate, seconds = figures["shading.rays_per_second"], _timed_seconds(figures)
    shading, waiting = _nanoseconds(figures, "seconds.shade"), statistics.ratio(figures["seconds.wait"], seconds)
    rows = {
        "shading": f"{figures['threads']} threads could shade {_mega(rate)} Mrays/s: {shading:.1f} ns a ray and core"
    }
    if figures["dispatch"] == "direct":
        rows["tracing"] = f"{_nanoseconds(figures, 'seconds.trace'):.1f} ns a ray and core"
    return rows | {"waiting": f"{waiting:.0%} of the threads' time"}


def _transfer(figures: Statistics) -> str:
    if figures["device"] != "gpu":
        return "none, there is no bus"
    limit = figures["transfer.limit_bytes_per_second"]
    bus = "" if limit is None else f"; the bus takes {limit / 1e9:.2f} GB/s up"
    return f"{figures['transfer.bytes_per_second'] / 1e9:.2f} GB/s both ways{bus}"


def _spread(figures: Statistics) -> str:
    """Returns, as text, how much runs differ."""
    rates = figures["rays_per_second_of_runs"]
    return f", the median of {len(rates)} from {_mega(min(rates))} to {_mega(max(rates))}" if len(rates) > 1 else ""


def _timed_seconds(figures: Statistics) -> float:
    return float(figures["seconds.total"] - figures["seconds.load"] - figures["seconds.build"])


def _nanoseconds(figures: Statistics, key: str) -> float:
    """Returns the nanoseconds that one core took for one ray.

    key: of the seconds, in which the threads worked side by side.
    """
    return 1e9 * figures["threads"] * statistics.ratio(figures[key], figures["rays.timed"])


def _mega(rate: float) -> str:
    return f"{rate / 1e6:.2f}"
