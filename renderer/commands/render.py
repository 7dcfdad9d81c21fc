"""`tracecore render`: a picture of a scene, and its statistics."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from renderer import __version__
from renderer.arguments import MAX_PIXELS, add_max_bounces, add_scene, add_tracing, real, size, whole
from renderer.commands import first_run

if TYPE_CHECKING:
    from renderer.driver import Driver, RenderSettings
    from renderer.film import Film
    from renderer.stage import Stage
    from renderer.statistics import Statistics
    from scenes.model import Snapshot

D = TypeVar("D")

SUMMARY = "make a picture of a scene, and its statistics"
DEFAULT_PASSES = 64

#: Options that a driver has no use for; of any other driver all are taken.
NOT_FOR = {"path": ("photons", "radius"), "ao": ("photons", "radius", "max_bounces")}

#: Drivers whose pictures hold shares rather than light: shown as they are.
SHOWN_LINEAR = ("ao",)

EXAMPLES = f"""\
drivers:
  photon        progressive photon mapping: all light, caustics too
  path          path tracing: slow, and right; the judge of the others
  ao            ambient occlusion, to look at shapes
  photons-only  one photon map, shown as it is

what is written:
  FILE.png   the picture, tone mapped: radiance times 2^exposure, then luminance L becomes L (1 + L/16) / (1 + L)
             (Reinhard et al. 2002; --tone-map linear leaves it), then sRGB. Its text has the scene and all settings.
  FILE.npy   linear radiance, (height, width, 3) float32; -o FILE.exr writes that alone, as OpenEXR
  FILE.json  statistics; 'tracecore photons --help' explains every key

A picture is the mean of passes, each with one sample per pixel: more passes, less noise. Without --passes there are
{DEFAULT_PASSES}, or with --time-limit as many as fit. Ctrl-C ends early and saves the passes that are finished.

examples:
  tracecore render cornell
  tracecore render cornell --driver path --passes 64 -o output/judge.png
  tracecore render kitchen.aff --size 400x300 --photons 300000 --time-limit 120 --exposure 0.5
  tracecore render cornell --driver photons-only --photons 1000000 --save-photons output/photons.npz
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.epilog = EXAMPLES
    add_scene(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="picture to write, .png, .exr or .npy (default: output/SCENE-DRIVER.png)",
    )
    parser.add_argument(
        "--driver",
        default="photon",
        metavar="NAME",
        help="how to make it, see below (default: %(default)s)",
    )
    _add_picture(parser.add_argument_group("picture"))
    _add_light(parser.add_argument_group("light transport"))
    add_tracing(parser)
    parser.add_argument("--quiet", action="store_true", help="print errors alone")


def _add_picture(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--size", type=size, metavar="WxH", help="pixels, such as 400x300 (default: what the scene says)"
    )
    group.add_argument(
        "--passes",
        "--spp",
        type=whole(1, 10**6),
        metavar="N",
        help=f"passes, samples per pixel (default: {DEFAULT_PASSES})",
    )
    group.add_argument("--time-limit", type=real(1e-3, 1e9), metavar="S", help="begin no pass after so many seconds")
    group.add_argument("--exposure", type=real(-64, 64), metavar="EV", help="stops, +1 is twice as bright (default: 0)")
    group.add_argument(
        "--tone-map",
        choices=("reinhard", "linear"),
        help="curve for the brights (default: reinhard; linear for the driver ao)",
    )


def _add_light(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--photons",
        type=whole(1, 2 * 10**9),
        metavar="N",
        help="photons sent out in each pass (default: 200000)",
    )
    group.add_argument(
        "--radius",
        type=real(1e-12, 1e12),
        metavar="R",
        help="first radius of the photon search, world units (default: two pixels)",
    )
    add_max_bounces(group)
    group.add_argument("--save-photons", type=Path, metavar="FILE", help="keep the photon map (driver photons-only)")


class PhotonKeeper(Protocol):
    """A driver whose photon map can be kept."""

    def save_photons(self, path: Path) -> None:
        """Write the photons, as `renderer.photon_map.save_photons` does."""


def run(arguments: argparse.Namespace) -> int:
    """Render; returns the exit status."""
    from renderer.drivers import DRIVERS
    from renderer.film import Film
    from renderer.image_file import make_default_folder
    from renderer.interrupts import held_back
    from renderer.session import Limits, render
    from renderer.stage import Moment, TracerChoice, check_scene, open_stage

    kind = choose_driver(arguments.driver, DRIVERS)
    path = choose_output(arguments)
    check_options(arguments, path)
    check_photon_file(arguments, kind)
    check_scene(arguments.scene)
    make_default_folder((path, arguments.save_photons))
    limits = Limits(passes=choose_passes(arguments), seconds=arguments.time_limit)
    work = f"render-{arguments.driver}"
    first_run.announce(work, quiet=arguments.quiet)
    with open_stage(arguments.scene, Moment.chosen(arguments), TracerChoice.chosen(arguments)) as stage:
        settings = choose_settings(arguments, stage.snapshot)
        start = time.perf_counter()
        with closing(kind(stage.snapshot, stage.tracer, settings)) as driver, held_back():
            files = PictureFiles(path, PictureRecord(stage, driver, settings, arguments, start))
            film = Film(settings.width, settings.height)
            finished = render(driver, film, limits, files, quiet=arguments.quiet)
            if film.passes:
                first_run.note(work)
            if film.passes and arguments.save_photons is not None:
                save_photons(arguments.save_photons, cast("PhotonKeeper", driver))
    _report(files, film, finished=finished, quiet=arguments.quiet)
    return 0 if finished else 130


class PictureRecord:
    """What is known of how a picture is being made. start: `time.perf_counter()` when rendering began."""

    def __init__(
        self, stage: Stage, driver: Driver, settings: RenderSettings, arguments: argparse.Namespace, start: float
    ) -> None:
        self._stage, self._driver, self._settings, self._start = stage, driver, settings, start
        self.exposure: float = arguments.exposure or 0.0
        self.curve: str = arguments.tone_map or ("linear" if arguments.driver in SHOWN_LINEAR else "reinhard")

    def texts(self, passes: int) -> dict[str, str]:
        """What is kept in the picture itself: all that decides its pixels, so that the file is the same whatever
        traced it."""
        settings = dataclasses.asdict(self._driver.settings) | {
            "passes": passes,
            "exposure": self.exposure,
            "tone_map": self.curve,
            "time": self._stage.snapshot.time,
        }
        for name in ("threads", "batch_rays"):
            del settings[name]
        return {
            "Software": f"tracecore {__version__}",
            "scene": self._stage.snapshot.name,
            "driver": self._driver.name,
            "settings": json.dumps(settings),
            "version": __version__,
        }

    def statistics(self) -> Statistics:
        """The statistics so far."""
        from renderer import statistics
        from tracecore.tracer import Limits

        work, traced = self._driver.work, self._stage.tracer.statistics()
        measured = statistics.Measured(
            work=work,
            seconds=time.perf_counter() - self._start,
            rays=work.rays.total,
            busy_seconds=traced.busy_seconds,
            limits=Limits(kernel_rays_per_second=traced.kernel_rays_per_second, bus_bytes_per_second=None),
        )
        return statistics.collect(self._stage, self._driver.name, self._settings, measured)


class PictureFiles:
    """The files of a picture: `path`, beside it .npy for a .png, and .json."""

    def __init__(self, path: Path, record: PictureRecord) -> None:
        self.path, self.record = path, record
        self.statistics: Statistics = {}

    def save_picture(self, film: Film) -> None:
        """Write the picture alone."""
        from renderer import image_file
        from renderer.tone_mapping import ToneMapping

        texts = self.record.texts(film.passes)
        match self.path.suffix.lower():
            case ".exr":
                image_file.write_exr(self.path, film.linear, texts)
            case ".npy":
                image_file.write_array(self.path, film.linear)
            case _:
                mapping = ToneMapping(exposure=self.record.exposure, curve=self.record.curve)
                image_file.write_png(self.path, mapping(film.linear), texts)

    def save_all(self, film: Film) -> None:
        """Write the picture, the linear data and the statistics."""
        from renderer import image_file, statistics

        self.statistics = self.record.statistics()
        self.save_picture(film)
        if self.path.suffix.lower() == ".png":
            image_file.write_array(self.path.with_suffix(".npy"), film.linear)
        statistics.write(self.path.with_suffix(".json"), self.statistics)


def choose_driver(name: str, drivers: Mapping[str, type[D]]) -> type[D]:
    """The driver of that name."""
    from renderer.errors import UsageError

    if name not in drivers:
        raise UsageError(f"unknown driver '{name}'; registered: {', '.join(drivers)}")
    return drivers[name]


def choose_output(arguments: argparse.Namespace) -> Path:
    """Where the picture goes, checked."""
    from renderer.image_file import DEFAULT_FOLDER, check_writable

    path: Path | None = arguments.output
    if path is None:
        path = DEFAULT_FOLDER / f"{Path(arguments.scene).stem}-{arguments.driver}.png"
    check_writable(path)
    return path


def check_options(arguments: argparse.Namespace, path: Path) -> None:
    """Raise `UsageError` for an option that would do nothing: to this driver, or to a file of this kind."""
    from renderer.errors import UsageError

    for name in NOT_FOR.get(arguments.driver, ()):
        if getattr(arguments, name) is not None:
            raise UsageError(f"--{name.replace('_', '-')} does nothing for the driver {arguments.driver}; leave it out")
    for name in ("exposure", "tone_map"):
        if getattr(arguments, name) is not None and path.suffix.lower() != ".png":
            raise UsageError(
                f"--{name.replace('_', '-')} is for .png alone; '{path}' holds linear radiance; leave it out"
            )


def check_photon_file(arguments: argparse.Namespace, kind: type[object]) -> None:
    """Raise `UsageError` if --save-photons cannot be followed."""
    from renderer.errors import UsageError
    from renderer.image_file import check_photon_path

    if arguments.save_photons is None:
        return
    if not hasattr(kind, "save_photons"):
        raise UsageError(f"driver {arguments.driver} keeps no photons; use --driver photons-only with --save-photons")
    check_photon_path(arguments.save_photons)


def choose_passes(arguments: argparse.Namespace) -> int | None:
    """As many as asked for; without a word and without a time limit the default."""
    passes: int | None = arguments.passes
    return DEFAULT_PASSES if passes is None and arguments.time_limit is None else passes


def choose_settings(arguments: argparse.Namespace, snapshot: Snapshot) -> RenderSettings:
    """The settings of the drivers; the scene proposes the size."""
    from renderer.driver import RenderSettings
    from renderer.errors import UsageError

    width, height = arguments.size or snapshot.camera.resolution
    if not (width >= 1 and height >= 1 and width * height <= MAX_PIXELS):
        raise UsageError(f"the scene proposes {width}x{height} pixels, which is out of bounds; choose with --size")
    names = ("seed", "photons", "radius", "max_bounces", "threads", "batch_rays")
    chosen = {name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None}
    return RenderSettings(width=width, height=height, **chosen)


def save_photons(path: Path, driver: PhotonKeeper) -> None:
    """Keep a driver's photons in a file."""
    from renderer.atomic_file import temporary_beside

    with temporary_beside(path) as temporary:
        driver.save_photons(temporary)


def _report(files: PictureFiles, film: Film, *, finished: bool, quiet: bool) -> None:
    if not finished:
        saved = f"{_passes(film)} saved in {files.path}" if film.passes else "before the first pass was finished"
        print(f"tracecore: interrupted: {saved}", file=sys.stderr)
    elif not quiet:
        told = files.statistics
        print(
            f"{files.path}: {film.width}x{film.height}, {_passes(film)}, {told['seconds.total']:.1f} s, "
            f"{told['rays_per_second'] / 1e6:.2f} Mrays/s, limited by {told['limited_by']}"
        )


def _passes(film: Film) -> str:
    return f"{film.passes} pass" if film.passes == 1 else f"{film.passes} passes"
