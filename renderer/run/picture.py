"""This module makes one picture: a driver runs to its limits, and files are written of it."""

from __future__ import annotations

import copy
import dataclasses
import json
import logging
import time
from collections.abc import Callable, Iterator
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
from renderer.interrupts import held_back
from renderer.run import statistics
from renderer.run.checkpoint import NOTHING_SPENT, Spent
from renderer.run.containment import ContainedDriver
from renderer.run.darkness import darkness
from renderer.run.picture_files import files_of, statistics_path
from renderer.run.resuming import Resuming
from renderer.run.session import Saving, expose, render
from renderer.scene.first_hits import Floats, first_hits
from renderer.settings.picture import FIRST_HIT_LAYERS
from renderer.version import SOFTWARE, __version__
from scenes.written_file import target_of
from tracecore.dispatch.tracer import TracerLimits

if TYPE_CHECKING:
    from renderer.drivers.driver import Driver
    from renderer.drivers.eye import EyeDriver
    from renderer.run.picture_order import PictureOrder
    from renderer.run.statistics import Statistics
    from renderer.scene.render_context import RenderContext


log = logging.getLogger(__name__)


class PhotonKeeper(Protocol):
    """This is a driver whose photon map can be kept."""

    def save_photons(self, path: Path) -> None:
        """Writes the photons, as `renderer.photons.photon_file.save_photons` does."""


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


def make_picture(
    context: RenderContext, order: PictureOrder, path: Path | None, *, keep_linear: bool = True, is_left: bool = False
) -> Made:
    """Makes a picture, and writes its files unless `path` is None.

    keep_linear: whether linear radiance is written beside a .png too.
    is_left: whether the files of a finished picture are left to the caller.

    Raises `CheckpointError` where it is to go on from a checkpoint and cannot.
    """
    start = time.perf_counter()
    settings = order.settings(context.snapshot)
    resuming = Resuming(order.checkpoint, quiet=order.quiet)
    with closing(ContainedDriver(context, order, settings)) as driver, held_back():
        film = Film(*settings.film_size, LAYER_COLUMNS[settings.layers], order.clamp)
        resuming.take_up(driver, film)
        record = PictureRecord(driver, order, start, resuming.spent)
        files = PictureFiles(path, record, resuming, keep_linear=keep_linear, is_left=is_left)
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
        from renderer.run import timeline

        writes.append(lambda: timeline.write(cast("Path", order.timeline_path), cast("EyeDriver", driver).logs()))
    write_each(*writes)


def picture_by_pass(context: RenderContext, order: PictureOrder) -> Iterator[Picture]:
    """Yields the picture after each pass, up to its limits; no file is written."""
    start = time.perf_counter()
    settings = order.settings(context.snapshot)
    with closing(ContainedDriver(context, order, settings)) as driver:
        record = PictureRecord(driver, order, start)
        film = Film(*settings.film_size, LAYER_COLUMNS[settings.layers], order.clamp)
        for is_last in expose(driver, film, order.limits):
            yield dataclasses.replace(record.picture(film), is_finished=is_last)


class PictureRecord:
    """Records how a picture is being made, from when its driver has been made.

    start: `time.perf_counter()` when rendering began.
    before: what passes have taken that it goes on from.
    """

    def __init__(
        self, driver: ContainedDriver, order: PictureOrder, start: float, before: Spent = NOTHING_SPENT
    ) -> None:
        self._driver, self._start, self._before = driver, start, before
        self._start_seconds = time.perf_counter() - start
        self.order = order
        self._first_hits: dict[str, Floats] = {}
        if set(order.layers) & set(FIRST_HIT_LAYERS):
            settings = driver.settings
            size = (settings.width, settings.height)
            self._first_hits = first_hits(driver.context.snapshot, driver.context.tracer, size, settings.crop)

    def picture(self, film: Film) -> Picture:
        """Returns the picture so far, which stays as it is when the film goes on."""
        mapping = self.mapping(film)
        return Picture(
            film=copy.copy(film),
            texts=self.texts(film.passes, mapping),
            figures=self.figures(film),
            mapping=mapping,
            layer_names=self.order.layers,
            first_hits=self._first_hits,
            is_denoised=self.order.denoise,
            is_finished=False,
            window=self._window(),
            film_time=self.order.film_time,
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
        return ToneMapping(exposure=self.order.exposure, curve=curve, white=self.order.white, white_point=white)

    def texts(self, passes: int, mapping: ToneMapping) -> dict[str, str]:
        """Returns what is kept in the picture itself: all that decides its pixels, so that the file is the same
        whatever traced it. mapping: how it is shown.
        """
        settings: dict[str, Any] = dataclasses.asdict(self._driver.settings) | {
            "passes": passes,
            "exposure": mapping.exposure,
            "tone_map": mapping.curve,
            "time": self._driver.context.snapshot.time,
        }
        if mapping.white != ToneMapping.white:
            settings |= {"white": mapping.white}
        if mapping.white_point is not None:
            settings |= {"white_point": mapping.white_point}
        camera = self._driver.context.snapshot.camera
        if camera.aperture > 0.0:
            settings |= {"aperture": camera.aperture, "focus": camera.focus}
        if self.order.motion is not None:
            settings |= {"shutter": self.order.motion.shutter, "motion_samples": self.order.motion.samples}
        if self.order.denoise:
            settings |= {"denoise": True}
        if self.order.clamp is not None:
            settings |= {"clamp": self.order.clamp}
        left_out = ("threads", "batch_rays", "layers", "is_logged", *(["crop"] if settings["crop"] is None else []))
        for name in left_out:
            del settings[name]
        return {
            "Software": SOFTWARE,
            "scene": self._driver.context.snapshot.name,
            "driver": self._driver.name,
            "settings": json.dumps(settings),
            "version": __version__,
        }

    def spent(self, film: Film) -> Spent:
        """Returns what all passes of a film have taken."""
        driver, seconds = self._driver, time.perf_counter() - self._start
        return self._before + Spent(seconds=seconds, film_seconds=film.seconds, work=driver.work, traced=driver.traced)

    def figures(self, film: Film) -> Statistics:
        """Returns the statistics so far, but for what `Picture.statistics` measures."""
        driver, spent = self._driver, self.spent(film)
        traced = spent.traced
        measured = statistics.Measured(
            work=spent.work,
            seconds=spent.seconds,
            rays=spent.work.rays.total,
            busy_seconds=traced.busy_seconds,
            limits=TracerLimits(kernel_rays_per_second=traced.kernel_rays_per_second, bus_bytes_per_second=None),
            passes=film.passes,
            darkness=darkness(driver.context, driver.work, is_black=not film.linear.any()),
            samples=film.counts,
            start_seconds=self._start_seconds,
            film_seconds=spent.film_seconds,
        )
        figures = statistics.collect(driver.context, driver.name, driver.settings, measured)
        return figures | {
            "coprocessor.batches": traced.batches,
            "coprocessor.verified_batches": traced.verified_batches,
            "coprocessor.faults": driver.faults,
            "asked": self.order.asked,
            **driver.members,
        }


class PictureFiles:
    """Writes the files of a picture: `path`, its statistics, and for a .png also an .npy if linear radiance is kept.

    Without a path no file is written. picture: as it was in the end, None before. is_left: see `make_picture`.
    """

    def __init__(
        self,
        path: Path | None,
        record: PictureRecord,
        resuming: Resuming,
        *,
        keep_linear: bool = True,
        is_left: bool = False,
    ) -> None:
        self.path, self.record, self.resuming, self.keep_linear = path, record, resuming, keep_linear
        self.is_left = is_left
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
            statistics.write(statistics_path(self.path), picture.statistics)

    def save_all(self, film: Film, *, is_finished: bool) -> None:
        """Writes the picture, the linear data and the statistics, and lastly removes the checkpoint; of what is not
        finished the checkpoint comes first.
        """
        if not is_finished:
            self.resuming.save_last(film, self.record.spent(film))
        self._save_picture_and_data(film, is_left=is_finished and self.is_left)
        if is_finished:
            self.resuming.remove()

    def _save_picture_and_data(self, film: Film, *, is_left: bool) -> None:
        """Writes the picture, the linear data and the statistics, each also where another cannot be written; nothing of
        a picture that is left to the caller.
        """
        self.picture = self.record.picture(film)
        if not self.record.order.quiet:
            for note in filter(None, (self.picture.figures["darkness"], loss_note(self.picture.figures))):
                log.warning("note: %s", note)
        if self.path is None or is_left:
            return
        path, *linear, figures = files_of(self.path, keep_linear=self.keep_linear)
        write_each(
            partial(self.picture.write, path),
            *(partial(image_file.write_array, one, self.picture.image) for one in linear),
            partial(statistics.write, figures, self.picture.statistics),
        )


def loss_note(figures: Statistics) -> str:
    """Returns, as text, how many samples of a picture were left out and how to look at the first; empty if none was."""
    count, first = figures["samples.left_out"], figures["samples.first_left_out"]
    if count == 0:
        return ""
    samples = "1 sample was left out, whose" if count == 1 else f"{count} samples were left out, whose"
    return f"{samples} radiance is not finite and >= 0; --debug-path {first} shows how the first came about"


def save_photons(path: Path, driver: PhotonKeeper) -> None:
    """Keeps a driver's photons in a file."""
    with temporary_beside(path) as temporary:
        driver.save_photons(temporary)
