"""This module knows what the files of a picture say of it: how it is shown, what decided it, and what it took."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

from renderer.run import statistics
from renderer.run.picture.missing_light import missing_light
from renderer.run.picture.picture_facts import PictureFacts
from renderer.run.resuming.checkpoint_file import NOTHING_SPENT, Spent
from renderer.run.resuming.frame_key import frame_key
from renderer.scene.first_hits import Floats, first_hits
from renderer.settings.picture import FIRST_HIT_LAYERS
from tracecore.dispatch.tracer import TracerLimits

if TYPE_CHECKING:
    from renderer.film.film import Film
    from renderer.film.picture import Picture
    from renderer.run.picture.pass_source import PassSource
    from renderer.run.statistics import Statistics


class PictureRecord:
    """Records how a picture is being made, from when its driver has been made.

    start: `time.perf_counter()` when rendering began.
    before: what passes have taken that it goes on from.
    first_hits: layers of the middles of pixels, by name, as far as they were asked for.
    """

    def __init__(self, source: PassSource, start: float, before: Spent = NOTHING_SPENT) -> None:
        self.source, self._start, self._before = source, start, before
        self._start_seconds = time.perf_counter() - start
        self.plan, self._snapshot = source.plan, source.containment.context.snapshot
        self.first_hits: dict[str, Floats] = {}
        if set(self.plan.layers) & set(FIRST_HIT_LAYERS):
            settings, at = source.driver.settings, source.at
            size = (settings.width, settings.height)
            self.first_hits = first_hits(at.snapshot, at.tracer, size, settings.crop)

    def key_of_whole(self) -> str:
        """Returns the key of the whole picture, of which parts may be made elsewhere."""
        passes = self.plan.settings.passes
        assert passes is not None
        return frame_key(dataclasses.replace(self.plan, part=None), self._snapshot, passes)

    @property
    def facts(self) -> PictureFacts:
        """Returns what is known of the picture whatever passes it has."""
        driver = self.source.driver
        return PictureFacts.of(self.plan, self._snapshot, driver.name, driver.settings)

    def picture(self, film: Film) -> Picture:
        """Returns the picture so far, which stays as it is when the film goes on."""
        return self.facts.picture(film, self.figures(film), self.first_hits)

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
            shading="gpu" if driver.why_on_cpu is None else "cpu",
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
