"""This module knows what the files of a picture say of it: how it is shown, what decided it, and what it took.

What is the same for all passes of a picture are plain values, which parts of a picture carry along.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from renderer.film.image_file import FilmTime, Window
from renderer.film.picture import Picture
from renderer.film.tone_mapping import ToneMapping, adapted, metered
from renderer.run import statistics
from renderer.run.resuming.checkpoints import NOTHING_SPENT, Spent
from renderer.scene.light_groups import group_names
from renderer.settings.picture import COVERAGE_LAYER, FIRST_HIT_LAYERS, GROUPS_LAYER
from renderer.version import SOFTWARE, __version__
from tracecore.dispatch.tracer import TracerLimits

if TYPE_CHECKING:
    from renderer.drivers.driver import Work
    from renderer.film.film import Film
    from renderer.film.tone_mapping import Chromaticity
    from renderer.run.picture.pass_source import PassSource
    from renderer.run.statistics import Statistics
    from renderer.scene.first_hits import Floats
    from renderer.scene.render_context import RenderContext
    from scenes.model import Snapshot

#: Resolved settings that no pixel of the picture depends on, or that are told otherwise.
NOT_TOLD = ("threads", "batch_rays", "shading", "layers", "light_groups", "is_logged", "adds_up")

#: Hardly a photon arrives where those that lights send out meet fewer surfaces than this share of their number.
FEW = 0.01


@dataclass(frozen=True, kw_only=True)
class PictureFacts:
    """Holds what is known of a picture whatever passes it has, in plain values.

    scene, driver: their names.
    settings: of the driver, as they are told.
    time: at which the scene is seen.
    more: what is told behind the way in which the picture is shown.
    exposure: that was asked for, stops, or "auto".
    curve, white, white_point: as `ToneMapping` has them.
    layer_names: of what was asked for beside the picture.
    is_denoised: whether it is shown without noise.
    window: which part of a picture it is, or None for all of it.
    film_time: which frame of a film it is, where its file is to say so.
    material_names, group_names, is_multi_part: as of `Picture`.
    """

    scene: str
    driver: str
    settings: dict[str, Any]
    time: float
    more: dict[str, Any]
    exposure: float | str | None
    curve: str
    white: float
    white_point: Chromaticity | None
    layer_names: tuple[str, ...]
    is_denoised: bool
    window: Window | None
    film_time: FilmTime | None = field(default=None)
    material_names: tuple[str, ...] = ()
    group_names: tuple[str, ...] = ()
    is_multi_part: bool = False

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> PictureFacts:
        """Returns what `plain` was made of, as JSON gives it back."""
        window, white = values["window"], values["white_point"]
        return cls(
            **{
                **values,
                "layer_names": tuple(values["layer_names"]),
                "material_names": tuple(values["material_names"]),
                "group_names": tuple(values["group_names"]),
                "window": None if window is None else Window(*window),
                "white_point": None if white is None else tuple(white),
            }
        )

    @property
    def plain(self) -> dict[str, Any]:
        """Returns the facts of a picture that is no frame of a film, for a file of JSON."""
        return asdict(replace(self, film_time=None))

    def picture(self, film: Film, figures: Statistics, first_hits: Mapping[str, Floats]) -> Picture:
        """Returns the picture so far, which stays as it is when the film goes on. It is shown with the exposure that
        was asked for, or with what suits it.

        figures: its statistics, as `Picture` has them.
        first_hits: layers of the middles of pixels, by name.
        """
        exposure, white = self.exposure, self.white_point
        if exposure is None or isinstance(exposure, str):
            linear = film.linear if white is None else adapted(film.linear.astype(np.float64), white)
            mapping = replace(metered(linear, self.curve), white_point=white)
        else:
            mapping = ToneMapping(exposure=exposure, curve=self.curve, white=self.white, white_point=white)
        return Picture(
            film=copy.copy(film),
            texts=self.texts(film.passes, mapping),
            figures=figures,
            mapping=mapping,
            layer_names=self.layer_names,
            first_hits=first_hits,
            material_names=self.material_names,
            group_names=self.group_names,
            is_denoised=self.is_denoised,
            is_finished=False,
            window=self.window,
            film_time=self.film_time,
            is_multi_part=self.is_multi_part,
        )

    def texts(self, passes: int, mapping: ToneMapping) -> dict[str, str]:
        """Returns what is kept in the picture itself: all that decides its pixels, so that the file is the same
        whatever traced it. mapping: how it is shown.
        """
        shown: dict[str, Any] = {
            "passes": passes,
            "exposure": mapping.exposure,
            "tone_map": mapping.curve,
            "time": self.time,
        }
        if mapping.white != ToneMapping.white:
            shown |= {"white": mapping.white}
        if mapping.white_point is not None:
            shown |= {"white_point": mapping.white_point}
        return {
            "Software": SOFTWARE,
            "scene": self.scene,
            "driver": self.driver,
            "settings": json.dumps(self.settings | shown | self.more),
            "version": __version__,
        }


def material_names(snapshot: Snapshot) -> tuple[str, ...]:
    """Returns the names of all materials of a scene, empty for those that have none."""
    return tuple(material.name for material in snapshot.materials)


class PictureRecord:
    """Records how a picture is being made, from when its driver has been made.

    start: `time.perf_counter()` when rendering began.
    before: what passes have taken that it goes on from.
    first_hits: layers of the middles of pixels, and what covers these, by name, as far as they were asked for.
    """

    def __init__(self, source: PassSource, start: float, before: Spent = NOTHING_SPENT) -> None:
        self.source, self._start, self._before = source, start, before
        self._start_seconds = time.perf_counter() - start
        self.plan, self._snapshot = source.plan, source.containment.context.snapshot
        self.first_hits: dict[str, Floats] = {}
        if set(self.plan.layers) & set(FIRST_HIT_LAYERS):
            from renderer.scene.first_hits import first_hits

            settings, at = source.driver.settings, source.at
            size = (settings.width, settings.height)
            self.first_hits = first_hits(at.snapshot, at.tracer, size, settings.crop)
        if COVERAGE_LAYER in self.plan.layers:
            self.first_hits[COVERAGE_LAYER] = self._coverage()

    def _coverage(self) -> Floats:
        """Returns what covers the pixels; materials of one name are one."""
        from renderer.camera_paths.coverage import PixelRays, coverage
        from renderer.camera_paths.task import SAMPLERS
        from renderer.scene.packed_scene import pack_camera

        settings, at = self.source.driver.settings, self.source.at
        size = (settings.width, settings.height)
        camera = pack_camera(at.snapshot.camera, *size, settings.pixel_filter)
        rays = PixelRays(camera, size, settings.crop or (0, 0, *size), settings.seed, SAMPLERS[settings.sampler])
        firsts: dict[str | int, int] = {}
        names = enumerate(material_names(at.snapshot))
        first = np.array([firsts.setdefault(name or number, number) for number, name in names], np.int32)
        return coverage(dataclasses.replace(at.snapshot, material_ids=first[at.snapshot.material_ids]), at.tracer, rays)

    def key_of_whole(self) -> str:
        """Returns the key of the whole picture, of which parts may be made elsewhere."""
        from renderer.run.resuming.frame_key import frame_key

        passes = self.plan.settings.passes
        assert passes is not None
        return frame_key(dataclasses.replace(self.plan, part=None), self._snapshot, passes)

    @property
    def facts(self) -> PictureFacts:
        """Returns what is known of the picture whatever passes it has."""
        plan, driver = self.plan, self.source.driver
        settings, crop = driver.settings, driver.settings.crop
        left_out = (*NOT_TOLD, *(["crop"] if crop is None else []))
        camera, motion, chosen = self._snapshot.camera, plan.motion, plan.settings
        more: dict[str, Any] = {}  # that is not as usual
        if camera.aperture > 0.0:
            more |= {"aperture": camera.aperture, "focus": camera.focus}
        if motion is not None:
            more |= {"shutter": motion.shutter, "motion_samples": motion.samples}
        if chosen.denoise:
            more |= {"denoise": True}
        if chosen.clamp is not None:
            more |= {"clamp": chosen.clamp}
        return PictureFacts(
            scene=self._snapshot.name,
            driver=driver.name,
            settings={name: value for name, value in asdict(settings).items() if name not in left_out},
            time=self._snapshot.time,
            more=more,
            exposure=chosen.exposure,
            curve=plan.curve,
            white=plan.white,
            white_point=plan.white_point,
            layer_names=plan.layers,
            is_denoised=chosen.denoise,
            window=crop and Window(*crop[:2], settings.width, settings.height),
            film_time=plan.film_time,
            material_names=material_names(self._snapshot) if COVERAGE_LAYER in plan.layers else (),
            group_names=group_names(self._snapshot) if GROUPS_LAYER in plan.layers else (),
            is_multi_part=chosen.exr == "multi",
        )

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
            darkness=missing_light(context, source.work, is_black=film.is_black),
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


def missing_light(context: RenderContext, work: Work, *, is_black: bool) -> str:
    """Returns one line on what is wrong with the light of a picture, or nothing.

    context: the scene, and an open tracer of it.
    work: rays and photons that the picture took.
    is_black: whether the whole picture is black.
    """
    met = work.rays.photon - work.photons.escaped  # a ray meets a surface, or leaves
    is_few = met < FEW * work.photons.emitted
    if not is_black and not is_few:
        return ""
    from renderer.run.picture.missing_light import reason

    found = ["the picture is black"] if is_black else []
    if is_few:
        found += [f"hardly a photon arrives ({work.photons.emitted} were sent out, and met {met} surfaces)"]
    return f"{' and '.join(found)}: {reason(context)}"
