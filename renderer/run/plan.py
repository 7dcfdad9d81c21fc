"""A plan holds what is to be made of a scene, checked, and fills in what the scene leaves open."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Literal

from renderer.drivers import DRIVERS
from renderer.drivers.driver import Driver, RenderSettings
from renderer.drivers.unseen_light import unseen_light_note
from renderer.errors import UsageError
from renderer.film.image_file import FilmTime
from renderer.film.tone_mapping import ToneMapping
from renderer.film.white_point import Chromaticity, chromaticity_of
from renderer.fleet.seats import members_here
from renderer.run.checkpoint import CheckpointOrder
from renderer.run.memory import Estimate, Sharing, picture_bytes
from renderer.run.motion import Motion
from renderer.run.picture_files import Asked
from renderer.run.session import PassLimits
from renderer.scene.render_context import RenderContext, SceneView, TracerChoice
from renderer.settings.picture import (
    DEFAULT_FILTER,
    DEFAULT_MOTION_SAMPLES,
    DEFAULT_PASSES,
    DEFAULT_PREVIEW,
    DEFAULT_UPDATE,
    DRAFT_PASSES,
    DRAFT_SHARE,
    FEATURE_LAYERS,
    LIGHT_LAYERS,
    USUAL_LAYERS,
    Settings,
    resolved,
)
from scenes.keys.proposals import MAX_PIXELS
from scenes.model import Snapshot
from scenes.scene import Scene
from tracecore.bvh.tree import BinaryTree
from tracecore.compilation.ahead import begin_to_load
from tracecore.cores import usable_cores

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Holds how a picture is made, checked, with nothing left open but what only the scene at a moment says.

    scene: what is rendered.
    settings: what is asked for; what that leaves open is filled in as the plan is made.
    driver: the class of the driver.
    load_seconds: wall time that it took to read the scene.
    asked: what a command asks for, see `renderer.run.picture_files`.
    white: luminance, after an exposure that is a number, that the curve shows as white.
    film_time: which frame of a film it is, where its file is to say so.
    checkpoint: of what can be resumed, or None where none is kept.
    shared: makes the driver whose passes a fleet makes, where several processes share them out.
    """

    scene: Scene | Snapshot
    settings: Settings
    driver: type[Driver]
    load_seconds: float = 0.0
    asked: Asked | None = None
    white: float = ToneMapping.white
    film_time: FilmTime | None = None
    checkpoint: CheckpointOrder | None = None
    shared: Callable[[RenderContext, RenderSettings], Driver] | None = None

    def __post_init__(self) -> None:
        is_of_file = isinstance(self.scene, Scene) and self.scene.is_of_file  # the lights of others are made for 0
        curve = self.driver.curve
        exposure: Literal["auto"] | float = "auto" if is_of_file and curve != "linear" else 0.0
        object.__setattr__(self, "settings", filled(self.settings, curve=curve, exposure=exposure))

    def driver_settings(self, snapshot: Snapshot) -> RenderSettings:
        """Returns the settings of the driver for the scene at a moment."""
        return driver_settings(self.settings, snapshot)

    @property
    def limits(self) -> PassLimits:
        """Returns when to stop."""
        chosen = self.settings
        return PassLimits(passes=chosen.passes, seconds=chosen.time_limit, noise=chosen.target_noise)

    @property
    def curve(self) -> str:
        """Returns the name of the curve by which the picture is shown."""
        return self.settings.tone_map or self.driver.curve

    @property
    def layers(self) -> tuple[str, ...]:
        """Returns the names of the layers that are kept beside the picture."""
        return layers_wanted(self.settings)

    def snapshot(self, **scene_view: Any) -> Snapshot:
        """Returns the scene at the moment chosen, or at another.

        scene_view: `frame` or `time`, to replace the one chosen.
        """
        view = replace(SceneView.chosen(self.settings), **scene_view)
        return view.seen(self.scene) if isinstance(self.scene, Snapshot) else view.of(self.scene)

    def estimate(self, snapshot: Snapshot, *, is_frame: bool = False) -> Estimate:
        """Returns how much memory a picture of a snapshot will take at its peak, of all processes of this host.

        is_frame: whether it is one of a sequence.
        """
        sharing = Sharing(members_here(self.settings.gpus, self.settings.cluster), is_frame)
        return picture_bytes(snapshot, self.driver, self.settings_of_each(snapshot), self.settings.passes, sharing)

    def settings_of_each(self, snapshot: Snapshot) -> RenderSettings:
        """Returns the settings of the driver in each process that makes passes of a snapshot's picture."""
        chosen, settings = self.settings, self.driver_settings(snapshot)
        members = members_here(chosen.gpus, chosen.cluster)
        if members == 0 or (chosen.cluster is not None and settings.threads is not None):
            return settings
        return replace(settings, threads=max(1, (settings.threads or usable_cores()) // members))

    def begin_to_load(self) -> None:
        """Begins to load the machine code of passes, in a thread of its own, if this process makes some."""
        if not self.settings.is_shared:
            begin_to_load(self.driver.code)

    def context(
        self, snapshot: Snapshot, load_seconds: float, tree: BinaryTree | None = None
    ) -> AbstractContextManager[RenderContext]:
        """Return an open tracer for a snapshot, which is closed at the end of the block."""
        return self.choice.opened(snapshot, load_seconds, tree)

    @property
    def choice(self) -> TracerChoice:
        """Returns which tracer this process opens; where others share the work out, it only builds the tree."""
        chosen = TracerChoice.chosen(self.settings, self.driver.ray_class)
        return chosen.building_only if self.settings.is_shared else chosen

    @property
    def choice_again(self) -> TracerChoice | None:
        """Returns by which another tracer is opened where one fails; None where others share the work out."""
        return None if self.settings.is_shared else self.choice

    def note_unseen_light(self, snapshot: Snapshot) -> None:
        """Log what the driver cannot see of a scene, unless errors alone are wanted."""
        note = None if self.settings.quiet else unseen_light_note(self.driver, snapshot, DRIVERS)
        if note is not None:
            log.warning("note: %s", note)

    @property
    def motion(self) -> Motion | None:
        """Returns how the scene moves while the shutter is open, if it is to be seen."""
        chosen = self.settings
        if chosen.shutter is None:
            return None
        return Motion(
            shutter=chosen.shutter,
            samples=chosen.motion_samples or DEFAULT_MOTION_SAMPLES,
            snapshot_at=lambda time: self.snapshot(time=time),
            context=self.context,
            update=chosen.update or DEFAULT_UPDATE,
        )


def filled(settings: Settings, *, curve: str, exposure: float | Literal["auto"]) -> Settings:
    """Returns settings with what is not said, but for what depends on the scene at a moment.

    curve, exposure: of the picture, where the settings name none.
    """
    return replace(
        settings,
        passes=passes_of(settings),
        preview=DEFAULT_PREVIEW if settings.preview is None else settings.preview,
        exposure=exposure if settings.exposure is None else settings.exposure,
        tone_map=settings.tone_map or curve,
        white_point=white_of(settings),
        layers=layers_wanted(settings) or False,
    )


def driver_settings(settings: Settings, snapshot: Snapshot) -> RenderSettings:
    """Return the settings of the drivers; the scene proposes the size."""
    width, height = settings.size or snapshot.camera.resolution
    if not (width >= 1 and height >= 1 and width * height <= MAX_PIXELS):
        raise UsageError(f"the scene proposes {width}x{height} pixels, which is out of bounds; choose with --size")
    if settings.draft:
        width, height = (max(1, side // DRAFT_SHARE) for side in (width, height))
    return resolved(
        settings,
        width=width,
        height=height,
        crop=crop_within(settings.crop, (width, height)),
        pixel_filter=settings.filter or DEFAULT_FILTER,
        layers=layers_for(settings),
        is_logged=settings.timeline is not None,
    )


def crop_within(crop: tuple[int, int, int, int] | None, size: tuple[int, int]) -> tuple[int, int, int, int] | None:
    """Return a part of a picture. size: width and height of all of it. Raises `UsageError` where it is not within."""
    if crop is not None and (crop[0] + crop[2] > size[0] or crop[1] + crop[3] > size[1]):
        raise UsageError(f"--crop {','.join(map(str, crop))} is not within the picture, {size[0]}x{size[1]} pixels")
    return crop


def passes_of(settings: Settings) -> int | None:
    """Return as many passes as asked for; without a word and without another limit the default."""
    has_limit = settings.time_limit is not None or settings.target_noise is not None
    usual = DRAFT_PASSES if settings.draft else DEFAULT_PASSES
    return usual if settings.passes is None and not has_limit else settings.passes


def white_of(settings: Settings) -> Chromaticity | None:
    """Return x and y of what is shown white, or None for what is white anyway."""
    white = settings.white_point
    return chromaticity_of(white) if isinstance(white, float) else white


def layers_wanted(settings: Settings) -> tuple[str, ...]:
    """Return the names of the layers that are kept beside the picture."""
    return (USUAL_LAYERS if settings.layers else ()) if isinstance(settings.layers, bool) else settings.layers


def layers_for(settings: Settings) -> str:
    """Return the least of `layers.LAYER_COLUMNS` that has what is asked for."""
    wanted = set(layers_wanted(settings))
    if wanted & set(LIGHT_LAYERS):
        return "all"
    if settings.denoise or wanted & set(FEATURE_LAYERS):
        return "features"
    return "beauty" if settings.target_noise is None else "bias"
