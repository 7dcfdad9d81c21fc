"""This module knows what the files of a picture say of it: how it is shown, what decided it, and what it took."""

from __future__ import annotations

import copy
import dataclasses
import json
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from renderer.film.exposure import metered
from renderer.film.image_file import Window
from renderer.film.picture import Picture
from renderer.film.tone_mapping import ToneMapping, adapted
from renderer.run import statistics
from renderer.run.picture.missing_light import missing_light
from renderer.run.resuming.checkpoint_file import NOTHING_SPENT, Spent
from renderer.scene.first_hits import Floats, first_hits
from renderer.settings.picture import FIRST_HIT_LAYERS
from renderer.version import SOFTWARE, __version__
from tracecore.dispatch.tracer import TracerLimits

if TYPE_CHECKING:
    from renderer.film.film import Film
    from renderer.run.picture.pass_source import PassSource
    from renderer.run.statistics import Statistics


class PictureRecord:
    """Records how a picture is being made, from when its driver has been made.

    start: `time.perf_counter()` when rendering began.
    before: what passes have taken that it goes on from.
    """

    def __init__(self, source: PassSource, start: float, before: Spent = NOTHING_SPENT) -> None:
        self.source, self._start, self._before = source, start, before
        self._start_seconds = time.perf_counter() - start
        self.plan, self._snapshot = source.plan, source.containment.context.snapshot
        self._first_hits: dict[str, Floats] = {}
        if set(self.plan.layers) & set(FIRST_HIT_LAYERS):
            settings, at = source.driver.settings, source.at
            size = (settings.width, settings.height)
            self._first_hits = first_hits(at.snapshot, at.tracer, size, settings.crop)

    def picture(self, film: Film) -> Picture:
        """Returns the picture so far, which stays as it is when the film goes on."""
        mapping, driver_settings = self.mapping(film), self.source.driver.settings
        crop = driver_settings.crop
        return Picture(
            film=copy.copy(film),
            texts=self.texts(film.passes, mapping),
            figures=self.figures(film),
            mapping=mapping,
            layer_names=self.plan.layers,
            first_hits=self._first_hits,
            is_denoised=self.plan.settings.denoise,
            is_finished=False,
            window=crop and Window(*crop[:2], driver_settings.width, driver_settings.height),
            film_time=self.plan.film_time,
        )

    def mapping(self, film: Film) -> ToneMapping:
        """Returns how the picture is shown, with the exposure that was asked for, or what suits it."""
        plan, exposure, white = self.plan, self.plan.settings.exposure, self.plan.white_point
        if exposure is None or exposure == "auto":
            linear = film.linear if white is None else adapted(film.linear.astype(np.float64), white)
            return dataclasses.replace(metered(linear, plan.curve), white_point=white)
        return ToneMapping(exposure=exposure, curve=plan.curve, white=plan.white, white_point=white)

    def texts(self, passes: int, mapping: ToneMapping) -> dict[str, str]:
        """Returns what is kept in the picture itself: all that decides its pixels, so that the file is the same
        whatever traced it. mapping: how it is shown.
        """
        settings: dict[str, Any] = dataclasses.asdict(self.source.driver.settings) | {
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
        left_out = (
            "threads",
            "batch_rays",
            "shading",
            "layers",
            "is_logged",
            *(["crop"] if settings["crop"] is None else []),
        )
        for name in left_out:
            del settings[name]
        return {
            "Software": SOFTWARE,
            "scene": self._snapshot.name,
            "driver": self.source.driver.name,
            "settings": json.dumps(settings),
            "version": __version__,
        }

    def spent(self, film: Film) -> Spent:
        """Returns what all passes of a film have taken."""
        source, seconds = self.source, time.perf_counter() - self._start
        return self._before + Spent(seconds=seconds, film_seconds=film.seconds, work=source.work, traced=source.traced)

    def figures(self, film: Film) -> Statistics:
        """Returns the statistics so far, but for what `Picture.statistics` measures."""
        source, spent = self.source, self.spent(film)
        context, driver = source.containment.context, source.driver
        traced = spent.traced
        measured = statistics.MeasuredRun(
            work=spent.work,
            seconds=spent.seconds,
            rays=spent.work.rays.total,
            busy_seconds=traced.busy_seconds,
            limits=TracerLimits(kernel_rays_per_second=traced.kernel_rays_per_second, bus_bytes_per_second=None),
            passes=film.passes,
            darkness=missing_light(context, source.work, is_black=not film.linear.any()),
            samples=film.counts,
            start_seconds=self._start_seconds,
            film_seconds=spent.film_seconds,
        )
        figures = statistics.collect(context, driver.name, driver.settings, measured)
        return figures | {
            "coprocessor.batches": traced.batches,
            "coprocessor.verified_batches": traced.verified_batches,
            "coprocessor.faults": source.containment.faults,
            "asked": self.plan.asked,
            **driver.members,
        }
