"""A plan holds what is to be made of a scene, checked, and fills in what settings leave open."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, BinaryIO

from renderer.drivers import DRIVERS
from renderer.drivers.driver import Driver, RenderSettings
from renderer.errors import UsageError
from renderer.film.image_file import FilmTime
from renderer.film.tone_mapping import Chromaticity, ToneMapping, chromaticity_of
from renderer.run.memory import Estimate, Sharing, picture_bytes
from renderer.scene.light_groups import group_names
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
    GROUPS_LAYER,
    LIGHT_LAYERS,
    USUAL_LAYERS,
    Settings,
    resolved,
)
from renderer.settings.setting import PartOf
from scenes.document import Scene
from scenes.keys.values import MAX_PIXELS
from scenes.model import Snapshot
from tracecore.threads import usable_cores

if TYPE_CHECKING:
    from renderer.film.film import Film
    from renderer.run.motion import Motion

#: So many passes are needed to estimate their noise.
LEAST_PASSES = 4

log = logging.getLogger(__name__)

#: About how many rays a camera path takes, with its shadow rays and with photons for its pixel; and the size of a
#: picture, where the scene proposes one.
RAYS_OF_PATH, USUAL_SIZE = 20, (800, 600)


@dataclass(frozen=True, kw_only=True)
class PassLimits:
    """Says when to stop, whichever comes first.

    passes: index of the pass before which to stop: how many at most, but for a part of a picture.
    seconds: wall time after which no pass begins.
    noise: of the picture and bias of the photon search, as `Film.relative_deviation`, once LEAST_PASSES show them.
    first: index of the pass with which to begin, 0 but for a part of a picture.
    """

    passes: int | None = None
    seconds: float | None = None
    noise: float | None = None
    first: int = 0

    def __post_init__(self) -> None:
        if self.passes is None and self.seconds is None and self.noise is None:
            raise UsageError("a render needs a number of passes, a time limit or a target noise; got none")

    @property
    def is_of_passes_alone(self) -> bool:
        """Tells whether it is known from the beginning which pass is the last."""
        return self.seconds is None and self.noise is None

    def allow(self, index: int, seconds: float) -> bool:
        """Returns whether pass `index` may begin after so many seconds; the first one always may."""
        if self.passes is not None and index >= self.passes:
            return False
        return index == 0 or self.seconds is None or seconds < self.seconds

    def reached(self, film: Film) -> bool:
        """Returns whether a film is as it should be, but for the time that it may take."""
        passes = film.passes
        return (self.passes is not None and film.end >= self.passes) or (
            self.noise is not None
            and not film.is_adaptive  # which tells by `Film.allot`
            and passes >= LEAST_PASSES
            and film.relative_deviation <= self.noise
        )

    def after(self, seconds: float) -> PassLimits:
        """Returns the limits of a render that has taken so many seconds before."""
        return self if self.seconds is None else replace(self, seconds=self.seconds - seconds)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Holds how a picture is made, checked, with nothing left open but what only the scene at a moment says.

    scene: what is rendered.
    settings: what is asked for; where that leaves passes, previews and exposure open, they are filled in as the plan is
    made.
    driver: the class of the driver.
    load_seconds: wall time that it took to read the scene.
    asked: what a command asks for, see `renderer.run.picture.picture_files`.
    white: luminance, after an exposure that is a number, that the curve shows as white.
    film_time: which frame of a film it is, where its file is to say so.
    shared: makes the driver whose passes a fleet makes, where several processes share them out.
    pipe: where the picture goes as a .png in the end, instead of a file.
    part: which part of the passes is made, for a file that is merged with others; None for all.
    curve: name of the curve by which the picture is shown.
    layers: names of the layers that are kept beside the picture.
    white_point: x and y of what is shown white, or None for what is white anyway.
    """

    scene: Scene | Snapshot
    settings: Settings
    driver: type[Driver]
    load_seconds: float = 0.0
    asked: Mapping[str, Any] | None = None
    white: float = ToneMapping.white
    film_time: FilmTime | None = None
    shared: Callable[[RenderContext, RenderSettings], Driver] | None = None
    pipe: BinaryIO | None = None
    part: PartOf | None = None
    curve: str = field(init=False)
    layers: tuple[str, ...] = field(init=False)
    white_point: Chromaticity | None = field(init=False)

    def __post_init__(self) -> None:
        chosen, white = self.settings, self.settings.white_point
        filled: dict[str, Any] = {}
        if chosen.passes is None and chosen.time_limit is None and chosen.target_noise is None:
            filled["passes"] = DRAFT_PASSES if chosen.draft else DEFAULT_PASSES
        if chosen.preview is None:
            filled["preview"] = DEFAULT_PREVIEW
        if chosen.exposure is None:  # the lights of scenes that are no files are made for 0
            is_of_file = isinstance(self.scene, Scene) and self.scene.is_of_file
            filled["exposure"] = "auto" if is_of_file and self.driver.curve != "linear" else 0.0
        if filled:
            object.__setattr__(self, "settings", replace(chosen, **filled))
        object.__setattr__(self, "curve", chosen.tone_map or self.driver.curve)
        object.__setattr__(self, "layers", layers_wanted(chosen))
        object.__setattr__(self, "white_point", chromaticity_of(white) if isinstance(white, float) else white)

    def driver_settings(self, snapshot: Snapshot) -> RenderSettings:
        """Returns the settings of the driver for the scene at a moment, which proposes the size."""
        chosen, crop = self.settings, self.settings.crop
        width, height = chosen.size or snapshot.camera.resolution
        if not (width >= 1 and height >= 1 and width * height <= MAX_PIXELS):
            raise UsageError(f"the scene proposes {width}x{height} pixels, which is out of bounds; choose with --size")
        if chosen.draft:
            width, height = (max(1, side // DRAFT_SHARE) for side in (width, height))
        if crop is not None and (crop[0] + crop[2] > width or crop[1] + crop[3] > height):
            raise UsageError(f"--crop {','.join(map(str, crop))} is not within the picture, {width}x{height} pixels")
        return resolved(
            chosen,
            width=width,
            height=height,
            crop=crop,
            pixel_filter=chosen.filter or DEFAULT_FILTER,
            layers=layers_for(chosen),
            light_groups=len(group_names(snapshot)) if GROUPS_LAYER in self.layers else 0,
            is_logged=chosen.timeline is not None,
        )

    @property
    def limits(self) -> PassLimits:
        """Returns with which pass to begin, and when to stop."""
        chosen = self.settings
        if self.part is None:
            return PassLimits(passes=chosen.passes, seconds=chosen.time_limit, noise=chosen.target_noise)
        own = self.part.range_of(chosen.passes or 0)
        return PassLimits(passes=own.stop, first=own.start)

    def with_part(self, part: PartOf) -> Plan:
        """Returns a plan of a part of the passes.

        Raises `UsageError` where they cannot be made apart, or nobody knows how many there are.
        """
        chosen, name = self.settings, self.driver.name
        if self.driver.is_sequential or not self.driver.can_share:
            raise UsageError(f"driver {name} makes its passes one after the other; leave out --part")
        for limit in ("time_limit", "target_noise"):
            if getattr(chosen, limit) is not None:
                raise UsageError(f"--part is of a number of passes; leave out --{limit.replace('_', '-')}")
        if not part.range_of(chosen.passes or 0):
            raise UsageError(f"--part {part} has none of {chosen.passes} passes; make fewer parts")
        return replace(self, part=part)

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
        sharing = Sharing(self.members_here, is_frame)
        return picture_bytes(snapshot, self.driver, self.settings_of_each(snapshot), self.settings.passes, sharing)

    def settings_of_each(self, snapshot: Snapshot) -> RenderSettings:
        """Returns the settings of the driver in each process that makes passes of a snapshot's picture."""
        chosen, settings = self.settings, self.driver_settings(snapshot)
        members = self.members_here
        if members == 0 or (chosen.cluster is not None and settings.threads is not None):
            return settings
        return replace(settings, threads=max(1, (settings.threads or usable_cores()) // members))

    @property
    def members_here(self) -> int:
        """Returns how many other processes of this host make passes."""
        if not self.settings.is_shared:
            return 0
        from renderer.fleet.seats import members_here

        return members_here(self.settings.gpus, self.settings.cluster)

    @property
    def choice(self) -> TracerChoice:
        """Returns which tracer this process opens; where others share the work out, it only builds the tree."""
        chosen = TracerChoice.chosen(self.settings, self.driver.ray_class)
        return chosen.on_cpu if self.settings.is_shared else chosen

    @property
    def choice_for_one(self) -> TracerChoice:
        """Returns which tracer is opened for this picture alone, and for no more."""
        return self.choice if self.settings.is_shared else replace(self.choice, rays=self.expected_rays)

    @property
    def expected_rays(self) -> int | None:
        """Returns about how many rays the picture takes, None where nobody knows how many passes there will be."""
        chosen, limits = self.settings, self.limits
        if limits.passes is None or not limits.is_of_passes_alone:
            return None
        width, height = chosen.size or USUAL_SIZE
        return RAYS_OF_PATH * (limits.passes - limits.first) * (width * height + (chosen.photons or 0))

    def note_unseen_light(self, snapshot: Snapshot) -> None:
        """Log what the driver cannot see of a scene, unless errors alone are wanted."""
        if self.settings.quiet:
            return
        from renderer.drivers.unseen_light import unseen_light_note

        note = unseen_light_note(self.driver, snapshot, DRIVERS)
        if note is not None:
            log.warning("note: %s", note)

    @property
    def motion(self) -> Motion | None:
        """Returns how the scene moves while the shutter is open, if it is to be seen."""
        chosen = self.settings
        if chosen.shutter is None:
            return None
        from renderer.run.motion import Motion

        return Motion(
            shutter=chosen.shutter,
            samples=chosen.motion_samples or DEFAULT_MOTION_SAMPLES,
            snapshot_at=lambda time: self.snapshot(time=time),
            choice=self.choice,
            update=chosen.update or DEFAULT_UPDATE,
        )


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
