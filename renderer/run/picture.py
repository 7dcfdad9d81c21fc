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
from typing import TYPE_CHECKING, Any

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
from renderer.run.making import Making
from renderer.run.missing_light import missing_light
from renderer.run.picture_files import files_of, statistics_path
from renderer.run.plan import Plan, white_of
from renderer.run.resuming import Resuming
from renderer.run.session import Saving, expose, render
from renderer.scene.first_hits import Floats, first_hits
from renderer.settings.picture import FIRST_HIT_LAYERS
from renderer.version import SOFTWARE, __version__
from scenes.written_file import target_of
from tracecore.dispatch.tracer import TracerLimits

if TYPE_CHECKING:
    from renderer.drivers.driver import Driver
    from renderer.run.statistics import Statistics
    from renderer.scene.render_context import RenderContext


log = logging.getLogger(__name__)


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
    context: RenderContext, plan: Plan, path: Path | None, *, keep_linear: bool = True, is_left: bool = False
) -> Made:
    """Makes a picture, and writes its files unless `path` is None.

    keep_linear: whether linear radiance is written beside a .png too.
    is_left: whether the files of a finished picture are left to the caller.

    Raises `CheckpointError` where it is to go on from a checkpoint and cannot.
    """
    start = time.perf_counter()
    settings, chosen = plan.driver_settings(context.snapshot), plan.settings
    resuming = Resuming(plan.checkpoint, quiet=chosen.quiet)
    with closing(Making(context, plan, settings, plan.choice_again)) as making, held_back():
        film = Film(*settings.film_size, LAYER_COLUMNS[settings.layers], chosen.clamp)
        resuming.take_up(making.driver, film)
        record = PictureRecord(making, start, resuming.spent)
        files = PictureFiles(path, record, resuming, keep_linear=keep_linear, is_left=is_left)
        limits, ends = plan.limits.after(resuming.spent.seconds), list[bool]()
        write_each(
            lambda: ends.append(render(making, film, limits, files, quiet=chosen.quiet)),
            partial(write_others, making, film),
        )
        made = None if files.picture is None else dataclasses.replace(files.picture, is_finished=ends[0])
        return Made(picture=made, finished=ends[0], trace_seconds=making.work.trace_seconds)


def write_others(making: Making, film: Film) -> None:
    """Writes what is to be kept of the making of a picture: photons and the timeline."""
    photons, timeline_path = making.plan.settings.save_photons, making.plan.settings.timeline
    writes: list[Callable[[], object]] = []
    if film.passes and photons is not None:
        writes.append(partial(save_photons, photons, making.driver))
    if timeline_path is not None:
        from renderer.run import timeline

        writes.append(lambda: timeline.write(timeline_path, making.logs()))
    write_each(*writes)


def picture_by_pass(context: RenderContext, plan: Plan) -> Iterator[Picture]:
    """Yields the picture after each pass, up to its limits; no file is written."""
    start = time.perf_counter()
    settings = plan.driver_settings(context.snapshot)
    with closing(Making(context, plan, settings, plan.choice_again)) as making:
        record = PictureRecord(making, start)
        film = Film(*settings.film_size, LAYER_COLUMNS[settings.layers], plan.settings.clamp)
        for is_last in expose(making, film, plan.limits):
            yield dataclasses.replace(record.picture(film), is_finished=is_last)


class PictureRecord:
    """Records how a picture is being made, from when its driver has been made.

    start: `time.perf_counter()` when rendering began.
    before: what passes have taken that it goes on from.
    """

    def __init__(self, making: Making, start: float, before: Spent = NOTHING_SPENT) -> None:
        self._making, self._start, self._before = making, start, before
        self._start_seconds = time.perf_counter() - start
        self.plan, self._snapshot = making.plan, making.containment.context.snapshot
        self._first_hits: dict[str, Floats] = {}
        if set(self.plan.layers) & set(FIRST_HIT_LAYERS):
            settings, at = making.driver.settings, making.at
            size = (settings.width, settings.height)
            self._first_hits = first_hits(at.snapshot, at.tracer, size, settings.crop)

    def picture(self, film: Film) -> Picture:
        """Returns the picture so far, which stays as it is when the film goes on."""
        mapping = self.mapping(film)
        return Picture(
            film=copy.copy(film),
            texts=self.texts(film.passes, mapping),
            figures=self.figures(film),
            mapping=mapping,
            layer_names=self.plan.layers,
            first_hits=self._first_hits,
            is_denoised=self.plan.settings.denoise,
            is_finished=False,
            window=self._window(),
            film_time=self.plan.film_time,
        )

    def _window(self) -> image_file.Window | None:
        settings = self._making.driver.settings
        return settings.crop and image_file.Window(*settings.crop[:2], settings.width, settings.height)

    def mapping(self, film: Film) -> ToneMapping:
        """Returns how the picture is shown, with the exposure that was asked for, or what suits it."""
        chosen = self.plan.settings
        curve, white = self.plan.curve, white_of(chosen)
        if chosen.exposure is None or chosen.exposure == "auto":
            linear = film.linear if white is None else adapted(film.linear.astype(np.float64), white)
            return dataclasses.replace(metered(linear, curve), white_point=white)
        return ToneMapping(exposure=chosen.exposure, curve=curve, white=self.plan.white, white_point=white)

    def texts(self, passes: int, mapping: ToneMapping) -> dict[str, str]:
        """Returns what is kept in the picture itself: all that decides its pixels, so that the file is the same
        whatever traced it. mapping: how it is shown.
        """
        settings: dict[str, Any] = dataclasses.asdict(self._making.driver.settings) | {
            "passes": passes,
            "exposure": mapping.exposure,
            "tone_map": mapping.curve,
            "time": self._snapshot.time,
        }
        if mapping.white != ToneMapping.white:
            settings |= {"white": mapping.white}
        if mapping.white_point is not None:
            settings |= {"white_point": mapping.white_point}
        camera = self._snapshot.camera
        if camera.aperture > 0.0:
            settings |= {"aperture": camera.aperture, "focus": camera.focus}
        motion = self.plan.motion
        if motion is not None:
            settings |= {"shutter": motion.shutter, "motion_samples": motion.samples}
        if self.plan.settings.denoise:
            settings |= {"denoise": True}
        if self.plan.settings.clamp is not None:
            settings |= {"clamp": self.plan.settings.clamp}
        left_out = ("threads", "batch_rays", "layers", "is_logged", *(["crop"] if settings["crop"] is None else []))
        for name in left_out:
            del settings[name]
        return {
            "Software": SOFTWARE,
            "scene": self._snapshot.name,
            "driver": self._making.driver.name,
            "settings": json.dumps(settings),
            "version": __version__,
        }

    def spent(self, film: Film) -> Spent:
        """Returns what all passes of a film have taken."""
        making, seconds = self._making, time.perf_counter() - self._start
        return self._before + Spent(seconds=seconds, film_seconds=film.seconds, work=making.work, traced=making.traced)

    def figures(self, film: Film) -> Statistics:
        """Returns the statistics so far, but for what `Picture.statistics` measures."""
        making, spent = self._making, self.spent(film)
        context, driver = making.containment.context, making.driver
        traced = spent.traced
        measured = statistics.MeasuredRun(
            work=spent.work,
            seconds=spent.seconds,
            rays=spent.work.rays.total,
            busy_seconds=traced.busy_seconds,
            limits=TracerLimits(kernel_rays_per_second=traced.kernel_rays_per_second, bus_bytes_per_second=None),
            passes=film.passes,
            darkness=missing_light(context, making.work, is_black=not film.linear.any()),
            samples=film.counts,
            start_seconds=self._start_seconds,
            film_seconds=spent.film_seconds,
        )
        figures = statistics.collect(context, driver.name, driver.settings, measured)
        return figures | {
            "coprocessor.batches": traced.batches,
            "coprocessor.verified_batches": traced.verified_batches,
            "coprocessor.faults": making.containment.faults,
            "asked": self.plan.asked,
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
        preview = self.record.plan.settings.preview or 0.0
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
        if not self.record.plan.settings.quiet:
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


def save_photons(path: Path, driver: Driver) -> None:
    """Keeps a driver's photons in a file."""
    with temporary_beside(path) as temporary:
        driver.save_photons(temporary)
