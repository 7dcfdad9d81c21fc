"""This module holds what is the same for all passes of a picture and goes into its files: how it is shown, and texts
that say what decided it. Parts of a picture carry it along, as plain values.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from renderer.film.exposure import metered
from renderer.film.image_file import FilmTime, Window
from renderer.film.picture import Picture
from renderer.film.tone_mapping import ToneMapping, adapted
from renderer.version import SOFTWARE, __version__

if TYPE_CHECKING:
    from renderer.drivers.driver import RenderSettings
    from renderer.film.film import Film
    from renderer.film.white_point import Chromaticity
    from renderer.run.plan import Plan
    from renderer.run.statistics import Statistics
    from renderer.scene.first_hits import Floats
    from scenes.model import Snapshot

#: Resolved settings that no pixel of the picture depends on, or that are told otherwise.
NOT_TOLD = ("threads", "batch_rays", "shading", "layers", "is_logged")


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

    @classmethod
    def of(cls, plan: Plan, snapshot: Snapshot, driver_name: str, settings: RenderSettings) -> PictureFacts:
        """Returns the facts of a plan's picture. settings: of the driver, as used."""
        crop, chosen = settings.crop, plan.settings
        left_out = (*NOT_TOLD, *(["crop"] if crop is None else []))
        return cls(
            scene=snapshot.name,
            driver=driver_name,
            settings={name: value for name, value in asdict(settings).items() if name not in left_out},
            time=snapshot.time,
            more=_more(plan, snapshot),
            exposure=chosen.exposure,
            curve=plan.curve,
            white=plan.white,
            white_point=plan.white_point,
            layer_names=plan.layers,
            is_denoised=chosen.denoise,
            window=crop and Window(*crop[:2], settings.width, settings.height),
            film_time=plan.film_time,
        )

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> PictureFacts:
        """Returns what `plain` was made of, as JSON gives it back."""
        window, white = values["window"], values["white_point"]
        return cls(
            **{
                **values,
                "layer_names": tuple(values["layer_names"]),
                "window": None if window is None else Window(*window),
                "white_point": None if white is None else tuple(white),
            }
        )

    @property
    def plain(self) -> dict[str, Any]:
        """Returns the facts of a picture that is no frame of a film, for a file of JSON."""
        return asdict(replace(self, film_time=None))

    def picture(self, film: Film, figures: Statistics, first_hits: Mapping[str, Floats]) -> Picture:
        """Returns the picture so far, which stays as it is when the film goes on.

        figures: its statistics, as `Picture` has them.
        first_hits: layers of the middles of pixels, by name.
        """
        mapping = self.mapping(film)
        return Picture(
            film=copy.copy(film),
            texts=self.texts(film.passes, mapping),
            figures=figures,
            mapping=mapping,
            layer_names=self.layer_names,
            first_hits=first_hits,
            is_denoised=self.is_denoised,
            is_finished=False,
            window=self.window,
            film_time=self.film_time,
        )

    def mapping(self, film: Film) -> ToneMapping:
        """Returns how the picture is shown, with the exposure that was asked for, or what suits it."""
        exposure, white = self.exposure, self.white_point
        if exposure is None or isinstance(exposure, str):
            linear = film.linear if white is None else adapted(film.linear.astype(np.float64), white)
            return replace(metered(linear, self.curve), white_point=white)
        return ToneMapping(exposure=exposure, curve=self.curve, white=self.white, white_point=white)

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


def _more(plan: Plan, snapshot: Snapshot) -> dict[str, Any]:
    """Returns what is told of a picture where it differs from what is usual."""
    camera, motion, chosen = snapshot.camera, plan.motion, plan.settings
    more: dict[str, Any] = {}
    if camera.aperture > 0.0:
        more |= {"aperture": camera.aperture, "focus": camera.focus}
    if motion is not None:
        more |= {"shutter": motion.shutter, "motion_samples": motion.samples}
    if chosen.denoise:
        more |= {"denoise": True}
    if chosen.clamp is not None:
        more |= {"clamp": chosen.clamp}
    return more
