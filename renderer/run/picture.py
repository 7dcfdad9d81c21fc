"""This module makes one picture: a driver runs to its limits, and files are written of it."""

from __future__ import annotations

import copy
import dataclasses
import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from renderer.atomic_file import temporary_beside, write_each
from renderer.film import image_file
from renderer.film.exposure import metered
from renderer.film.film import Film
from renderer.film.layers import LAYER_COLUMNS
from renderer.film.picture import Picture
from renderer.film.tone_mapping import ToneMapping, adapted
from renderer.film.white_point import Chromaticity
from renderer.interrupts import held_back
from renderer.run import statistics, timeline
from renderer.run.checkpoint import NOTHING_SPENT, CheckpointOrder, Spent
from renderer.run.darkness import darkness
from renderer.run.earlier_picture import files_of
from renderer.run.resuming import Resuming
from renderer.run.session import Limits, Saving, expose, render
from renderer.scene.first_hits import Floats, first_hits
from renderer.settings.picture import DEFAULT_PREVIEW, FIRST_HIT_LAYERS
from renderer.version import __version__
from scenes.written_file import target_of
from tracecore.dispatch.tracer import Limits as TracerLimits

if TYPE_CHECKING:
    from renderer.drivers.driver import Driver, RenderSettings
    from renderer.drivers.eye import EyeDriver
    from renderer.run.motion import Motion, MotionDriver
    from renderer.run.statistics import Statistics
    from renderer.scene.render_context import RenderContext
    from scenes.model import Snapshot
    from tracecore.dispatch.tracer import Tracer


log = logging.getLogger(__name__)


class PhotonKeeper(Protocol):
    """This is a driver whose photon map can be kept."""

    def save_photons(self, path: Path) -> None:
        """Writes the photons, as `renderer.photons.photon_map.save_photons` does."""


@dataclass(frozen=True, kw_only=True)
class PictureOrder:
    """Says how a picture is made, whatever the scene.

    kind: makes the driver.
    settings: returns the driver's settings for a snapshot.
    limits: when to stop.
    exposure: in stops, or None for what suits the picture, see `renderer.film.exposure`.
    curve: the tone curve, which compresses bright light.
    white_point: x and y of what is shown white, or None for the white of sRGB.
    layers: names of what is kept beside the picture.
    photon_path: where the photon map is kept, of a driver that has one.
    timeline_path: where it is written what each thread did when, of a driver that knows.
    preview: at least so many seconds between two unfinished pictures.
    checkpoint: of what can be resumed, or None where none is kept.
    denoise: whether a .png is shown without noise, and a layer of it is kept.
    motion: of the scene while the shutter is open, or None for a moment of it.
    quiet: whether no progress is shown.
    asked: what a command asks for, see `renderer.run.earlier_picture`.
    """

    kind: Callable[[Snapshot, Tracer, RenderSettings], Driver]
    settings: Callable[[Snapshot], RenderSettings]
    limits: Limits
    exposure: float | None = 0.0
    curve: str = "reinhard"
    white_point: Chromaticity | None = None
    layers: tuple[str, ...] = ()
    photon_path: Path | None = None
    timeline_path: Path | None = None
    preview: float = DEFAULT_PREVIEW
    checkpoint: CheckpointOrder | None = None
    denoise: bool = False
    motion: Motion | None = None
    quiet: bool = False
    asked: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Made:
    """This is a picture that has been made.

    picture: None where no pass was finished.
    finished: whether it was rendered to its limits.
    trace_seconds: wall time in which the CPU threads traced or waited for hits.
    """

    picture: Picture | None
    finished: bool
    trace_seconds: float


def make_picture(context: RenderContext, order: PictureOrder, path: Path | None, *, keep_linear: bool = True) -> Made:
    """Makes a picture, and writes its files unless `path` is None.

    keep_linear: whether linear radiance is written beside a .png too.

    Raises `CheckpointError` where it is to go on from a checkpoint and cannot.
    """
    start = time.perf_counter()
    settings = order.settings(context.snapshot)
    resuming = Resuming(order.checkpoint, quiet=order.quiet)
    with closing(driver_of(context, order, settings)) as driver, held_back():
        film = Film(*settings.film_size, LAYER_COLUMNS[settings.layers])
        resuming.take_up(driver, film)
        record = PictureRecord(context, driver, order, start, resuming.spent)
        files = PictureFiles(path, record, resuming, keep_linear=keep_linear)
        limits, ends = order.limits.after(resuming.spent.seconds), list[bool]()
        write_each(
            lambda: ends.append(render(driver, film, limits, files, quiet=order.quiet)),
            partial(write_others, order, driver, film),
        )
        made = None if files.picture is None else dataclasses.replace(files.picture, is_finished=ends[0])
        return Made(picture=made, finished=ends[0], trace_seconds=driver.work.trace_seconds)


def write_others(order: PictureOrder, driver: Driver, film: Film) -> None:
    """Writes what is to be kept of the making of a picture: photons and the timeline."""
    writes: list[Callable[[], object]] = []
    if film.passes and order.photon_path is not None:
        writes.append(partial(save_photons, order.photon_path, cast("PhotonKeeper", driver)))
    if order.timeline_path is not None:
        writes.append(lambda: timeline.write(cast("Path", order.timeline_path), cast("EyeDriver", driver).logs()))
    write_each(*writes)


def picture_by_pass(context: RenderContext, order: PictureOrder) -> Iterator[Picture]:
    """Yields the picture after each pass, up to its limits; no file is written."""
    start = time.perf_counter()
    settings = order.settings(context.snapshot)
    with closing(driver_of(context, order, settings)) as driver:
        record = PictureRecord(context, driver, order, start)
        film = Film(*settings.film_size, LAYER_COLUMNS[settings.layers])
        for is_last in expose(driver, film, order.limits):
            yield dataclasses.replace(record.picture(film), is_finished=is_last)


def driver_of(context: RenderContext, order: PictureOrder, settings: RenderSettings) -> Driver:
    """Returns the driver that makes the picture."""
    if order.motion is None:
        return order.kind(context.snapshot, context.tracer, settings)
    from renderer.run.motion import MotionDriver

    return MotionDriver(order.kind, context, settings, order.motion)


class PictureRecord:
    """Records how a picture is being made, from when its driver has been made.

    start: `time.perf_counter()` when rendering began.
    before: what passes have taken that it goes on from.
    """

    def __init__(
        self, context: RenderContext, driver: Driver, order: PictureOrder, start: float, before: Spent = NOTHING_SPENT
    ) -> None:
        self._context, self._driver, self._start, self._before = context, driver, start, before
        self._start_seconds = time.perf_counter() - start
        self.order = order
        self._first_hits: dict[str, Floats] = {}
        if set(order.layers) & set(FIRST_HIT_LAYERS):
            settings = driver.settings
            size = (settings.width, settings.height)
            self._first_hits = first_hits(context.snapshot, context.tracer, size, settings.crop)

    def picture(self, film: Film) -> Picture:
        """Returns the picture so far, which stays as it is when the film goes on."""
        mapping = self.mapping(film)
        return Picture(
            film=copy.copy(film),
            texts=self.texts(film.passes, mapping),
            statistics=self.statistics(film),
            mapping=mapping,
            layer_names=self.order.layers,
            first_hits=self._first_hits,
            is_denoised=self.order.denoise,
            is_finished=False,
            window=self._window(),
        )

    def _window(self) -> image_file.Window | None:
        settings = self._driver.settings
        return settings.crop and image_file.Window(*settings.crop[:2], settings.width, settings.height)

    def mapping(self, film: Film) -> ToneMapping:
        """Returns how the picture is shown, with the exposure that was asked for, or what suits it."""
        curve, white = self.order.curve, self.order.white_point
        if self.order.exposure is None:
            linear = film.linear if white is None else adapted(film.linear.astype(np.float64), white)
            return dataclasses.replace(metered(linear, curve), white_point=white)
        return ToneMapping(exposure=self.order.exposure, curve=curve, white_point=white)

    def texts(self, passes: int, mapping: ToneMapping) -> dict[str, str]:
        """Returns what is kept in the picture itself: all that decides its pixels, so that the file is the same
        whatever traced it. mapping: how it is shown.
        """
        settings: dict[str, Any] = dataclasses.asdict(self._driver.settings) | {
            "passes": passes,
            "exposure": mapping.exposure,
            "tone_map": mapping.curve,
            "time": self._context.snapshot.time,
        }
        if mapping.white != ToneMapping.white:
            settings |= {"white": mapping.white}
        if mapping.white_point is not None:
            settings |= {"white_point": mapping.white_point}
        camera = self._context.snapshot.camera
        if camera.aperture > 0.0:
            settings |= {"aperture": camera.aperture, "focus": camera.focus}
        if self.order.motion is not None:
            settings |= {"shutter": self.order.motion.shutter, "motion_samples": self.order.motion.samples}
        if self.order.denoise:
            settings |= {"denoise": True}
        left_out = ("threads", "batch_rays", "layers", "is_logged", *(["crop"] if settings["crop"] is None else []))
        for name in left_out:
            del settings[name]
        return {
            "Software": f"tracecore {__version__}",
            "scene": self._context.snapshot.name,
            "driver": self._driver.name,
            "settings": json.dumps(settings),
            "version": __version__,
        }

    def spent(self, film: Film) -> Spent:
        """Returns what all passes of a film have taken."""
        driver = self._driver
        traced = self._context.tracer.statistics() if self.order.motion is None else cast("MotionDriver", driver).traced
        seconds = time.perf_counter() - self._start
        return self._before + Spent(seconds=seconds, film_seconds=film.seconds, work=driver.work, traced=traced)

    def statistics(self, film: Film) -> Statistics:
        """Returns the statistics so far."""
        driver, spent = self._driver, self.spent(film)
        traced = spent.traced
        measured = statistics.Measured(
            work=spent.work,
            seconds=spent.seconds,
            rays=spent.work.rays.total,
            busy_seconds=traced.busy_seconds,
            limits=TracerLimits(kernel_rays_per_second=traced.kernel_rays_per_second, bus_bytes_per_second=None),
            passes=film.passes,
            noise=film.relative_noise,
            bias=film.relative_bias,
            darkness=darkness(self._context, driver.work, is_black=not film.linear.any()),
            start_seconds=self._start_seconds,
            film_seconds=spent.film_seconds,
        )
        figures = statistics.collect(self._context, driver.name, driver.settings, measured)
        return figures | {"coprocessor.batches": traced.batches, "asked": self.order.asked}


class PictureFiles:
    """Writes the files of a picture: `path`, beside it .json, and for a .png also .npy if linear radiance is kept.

    Without a path no file is written. picture: as it was in the end, None before.
    """

    def __init__(
        self, path: Path | None, record: PictureRecord, resuming: Resuming, *, keep_linear: bool = True
    ) -> None:
        self.path, self.record, self.resuming, self.keep_linear = path, record, resuming, keep_linear
        self.picture: Picture | None = None

    def savings(self) -> list[Saving]:
        """Returns when the unfinished picture is written, and when the checkpoint."""
        preview = self.record.order.preview
        shown = [Saving(what="the unfinished picture", save=self.save_picture, interval=preview, first=preview)]
        is_shown = self.path is not None and target_of(self.path) is not None  # a pipe is written to once
        return [*(shown if is_shown else []), *self.resuming.savings(self.record.spent)]

    def save_picture(self, film: Film) -> None:
        """Writes the unfinished picture and its statistics."""
        if self.path is not None:
            picture = self.record.picture(film)
            picture.write(self.path)
            statistics.write(self.path.with_suffix(".json"), picture.statistics)

    def save_all(self, film: Film, *, is_finished: bool) -> None:
        """Writes the picture, the linear data and the statistics, and lastly removes the checkpoint; of what is not
        finished the checkpoint comes first.
        """
        if not is_finished:
            self.resuming.save_last(film, self.record.spent(film))
        self._save_picture_and_data(film)
        if is_finished:
            self.resuming.remove()

    def _save_picture_and_data(self, film: Film) -> None:
        """Writes the picture, the linear data and the statistics, each also where another cannot be written."""
        self.picture = self.record.picture(film)
        if self.picture.statistics["darkness"] and not self.record.order.quiet:
            log.warning("note: %s", self.picture.statistics["darkness"])
        if self.path is None:
            return
        path, *linear, figures = files_of(self.path, keep_linear=self.keep_linear)
        write_each(
            partial(self.picture.write, path),
            *(partial(image_file.write_array, one, self.picture.image) for one in linear),
            partial(statistics.write, figures, self.picture.statistics),
        )


def save_photons(path: Path, driver: PhotonKeeper) -> None:
    """Keeps a driver's photons in a file."""
    with temporary_beside(path) as temporary:
        driver.save_photons(temporary)
