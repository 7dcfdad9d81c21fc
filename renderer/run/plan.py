"""A plan holds what is to be made of a scene, checked, and fills in what the scene leaves open."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from renderer.drivers import DRIVERS
from renderer.drivers.blindness import blindness_note
from renderer.drivers.driver import RenderSettings, curve_of, ray_class_of
from renderer.drivers.eye import EyeDriver
from renderer.errors import UsageError
from renderer.film.image_file import FilmTime
from renderer.film.tone_mapping import ToneMapping
from renderer.film.white_point import Chromaticity, chromaticity_of
from renderer.fleet.seats import members_here
from renderer.run.checkpoint import CheckpointOrder, checkpoint_path
from renderer.run.frame_key import frame_key
from renderer.run.memory import Estimate, Sharing, picture_bytes
from renderer.run.motion import Motion
from renderer.run.picture_files import Asked
from renderer.run.picture_order import PictureOrder
from renderer.run.session import Limits
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
)
from renderer.settings.setting import MAX_PIXELS
from scenes.model import Snapshot
from scenes.scene import Scene
from scenes.written_file import target_of
from tracecore.bvh.tree import BinaryTree
from tracecore.compilation.ahead import begin_to_load
from tracecore.cores import usable_cores

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Holds what is to be made, checked.

    scene: what is rendered.
    settings: with what the scene proposes filled in.
    driver: the class of the driver.
    load_seconds: wall time that it took to read the scene.
    asked: what a command asks for, to be kept with the picture.
    white: as of `PictureOrder`.
    frames_per_second: of a film whose frames' files are to say so.
    """

    scene: Scene | Snapshot
    settings: Settings
    driver: type[EyeDriver]
    load_seconds: float
    asked: Asked | None = None
    white: float = ToneMapping.white
    frames_per_second: float | None = None

    def order(self) -> PictureOrder:
        """Return how a picture of it is made, whatever the moment."""
        chosen = self.settings
        return PictureOrder(
            kind=self.driver,
            settings=lambda snapshot: driver_settings(chosen, snapshot),
            limits=Limits(passes=passes_of(chosen), seconds=chosen.time_limit, noise=chosen.target_noise),
            exposure=None if chosen.exposure == "auto" else chosen.exposure or 0.0,
            curve=chosen.tone_map or curve_of(self.driver),
            white=self.white,
            white_point=white_of(chosen),
            layers=layers_wanted(chosen),
            photon_path=chosen.save_photons,
            timeline_path=chosen.timeline,
            preview=DEFAULT_PREVIEW if chosen.preview is None else chosen.preview,
            denoise=chosen.denoise,
            clamp=chosen.clamp,
            motion=self._motion(),
            choice=None if self.settings.is_shared else self.choice,
            quiet=chosen.quiet,
            film_time=None if self.frames_per_second is None else FilmTime(0, self.frames_per_second),
            asked=self.asked,
        )

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
        return picture_bytes(snapshot, self.driver, self.settings_of_each(snapshot), passes_of(self.settings), sharing)

    def settings_of_each(self, snapshot: Snapshot) -> RenderSettings:
        """Returns the settings of the driver in each process that makes passes of a snapshot's picture."""
        chosen, settings = self.settings, driver_settings(self.settings, snapshot)
        members = members_here(chosen.gpus, chosen.cluster)
        if members == 0 or (chosen.cluster is not None and settings.threads is not None):
            return settings
        return replace(settings, threads=max(1, (settings.threads or usable_cores()) // members))

    def begin_to_load(self) -> None:
        """Begins to load the machine code of passes, in a thread of its own, if this process makes some."""
        if not self.settings.is_shared:
            begin_to_load(getattr(self.driver, "code", ()))

    def context(
        self, snapshot: Snapshot, load_seconds: float, tree: BinaryTree | None = None
    ) -> AbstractContextManager[RenderContext]:
        """Return an open tracer for a snapshot, which is closed at the end of the block."""
        return self.choice.opened(snapshot, load_seconds, tree)

    @property
    def choice(self) -> TracerChoice:
        """Returns which tracer this process opens; where others share the work out, it only builds the tree."""
        chosen = TracerChoice.chosen(self.settings, ray_class_of(self.driver))
        return chosen.building_only if self.settings.is_shared else chosen

    def checkpoint_order(self, snapshot: Snapshot) -> CheckpointOrder | None:
        """Return how a picture of a snapshot can be resumed, if it is written to a file and no device or pipe."""
        chosen = self.settings
        if chosen.output is None or target_of(chosen.output) is None:
            return None
        return CheckpointOrder(
            path=checkpoint_path(chosen.output),
            key_of=partial(frame_key, self.order(), snapshot),
            seconds=chosen.checkpoint,
            resume=chosen.resume,
        )

    def note_blindness(self, snapshot: Snapshot) -> None:
        """Log what the driver cannot see of a scene, unless errors alone are wanted."""
        note = None if self.settings.quiet else blindness_note(self.driver, snapshot, DRIVERS)
        if note is not None:
            log.warning("note: %s", note)

    def _motion(self) -> Motion | None:
        """Return how the scene moves while the shutter is open, if it is to be seen."""
        if self.settings.shutter is None:
            return None
        return Motion(
            shutter=self.settings.shutter,
            samples=self.settings.motion_samples or DEFAULT_MOTION_SAMPLES,
            snapshot_at=lambda time: self.snapshot(time=time),
            context=self.context,
            update=self.settings.update or DEFAULT_UPDATE,
        )


def driver_settings(settings: Settings, snapshot: Snapshot) -> RenderSettings:
    """Return the settings of the drivers; the scene proposes the size."""
    width, height = settings.size or snapshot.camera.resolution
    if not (width >= 1 and height >= 1 and width * height <= MAX_PIXELS):
        raise UsageError(f"the scene proposes {width}x{height} pixels, which is out of bounds; choose with --size")
    if settings.draft:
        width, height = (max(1, side // DRAFT_SHARE) for side in (width, height))
    names = ("seed", "photons", "radius", "max_bounces", "threads", "batch_rays", "sampler", "guide_share")
    chosen: dict[str, Any] = {name: getattr(settings, name) for name in names if getattr(settings, name) is not None}
    pixel_filter, layers = settings.filter or DEFAULT_FILTER, layers_for(settings)
    chosen |= {"pixel_filter": pixel_filter, "layers": layers, "is_logged": settings.timeline is not None}
    chosen["crop"] = crop_within(settings.crop, (width, height))
    return RenderSettings(width=width, height=height, **chosen)


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
