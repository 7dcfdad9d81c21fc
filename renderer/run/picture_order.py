"""Says how a picture is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from renderer.film.image_file import FilmTime
from renderer.film.tone_mapping import ToneMapping
from renderer.run.checkpoint import CheckpointOrder
from renderer.run.session import Limits
from renderer.settings.picture import DEFAULT_PREVIEW

if TYPE_CHECKING:
    from renderer.drivers.driver import Driver, RenderSettings
    from renderer.film.white_point import Chromaticity
    from renderer.run.motion import Motion
    from renderer.scene.render_context import RenderContext, TracerChoice
    from scenes.model import Snapshot
    from tracecore.dispatch.tracer import Tracer


@dataclass(frozen=True, kw_only=True)
class PictureOrder:
    """Says how a picture is made, whatever the scene.

    kind: makes the driver.
    settings: returns the driver's settings for a snapshot.
    limits: when to stop.
    exposure: in stops, or None for what suits the picture, see `renderer.film.exposure`.
    curve: the tone curve, which compresses bright light.
    white: luminance, after an exposure that is a number, that the curve shows as white.
    white_point: x and y of what is shown white, or None for the white of sRGB.
    layers: names of what is kept beside the picture.
    photon_path: where the photon map is kept, of a driver that has one.
    timeline_path: where it is written what each thread did when, of a driver that knows.
    preview: at least so many seconds between two unfinished pictures.
    checkpoint: of what can be resumed, or None where none is kept.
    denoise: whether a .png is shown without noise, and a layer of it is kept.
    clamp: the greatest luminance of a sample, or None.
    motion: of the scene while the shutter is open, or None for a moment of it.
    choice: of tracers where the device fails, or None where that is an error.
    shared: makes the driver whose passes a fleet makes, where several processes share them out.
    quiet: whether no progress is shown.
    film_time: which frame of a film it is, where its file is to say so.
    asked: what a command asks for, see `renderer.run.picture_files`.
    """

    kind: Callable[[Snapshot, Tracer, RenderSettings], Driver]
    settings: Callable[[Snapshot], RenderSettings]
    limits: Limits
    exposure: float | None = 0.0
    curve: str = "reinhard"
    white: float = ToneMapping.white
    white_point: Chromaticity | None = None
    layers: tuple[str, ...] = ()
    photon_path: Path | None = None
    timeline_path: Path | None = None
    preview: float = DEFAULT_PREVIEW
    checkpoint: CheckpointOrder | None = None
    denoise: bool = False
    clamp: float | None = None
    motion: Motion | None = None
    choice: TracerChoice | None = None
    shared: Callable[[RenderContext, RenderSettings], Driver] | None = None
    quiet: bool = False
    film_time: FilmTime | None = None
    asked: Mapping[str, Any] | None = None

    def traced_by(self, choice: TracerChoice | None) -> PictureOrder:
        """Returns the order with tracers for other times of the scene that are opened as is chosen."""
        if self.motion is None or choice is None:
            return self
        return replace(self, motion=replace(self.motion, context=choice.opened))
