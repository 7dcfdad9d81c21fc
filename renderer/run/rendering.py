"""This module has the call that makes a picture: settings are checked, the scene fills in what is open, a driver
renders.

`render` and `render_passes` are what users of Python call (docs/python.md); the command line calls the same parts.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import scenes
from renderer.atomic_file import check_outputs
from renderer.drivers import DRIVERS, EyeDriver, find_driver
from renderer.drivers.blindness import blindness_note
from renderer.drivers.driver import RenderSettings, curve_of, settings_taken
from renderer.drivers.photon import PhotonDriver
from renderer.errors import UsageError
from renderer.film.image_file import check_folder, check_photon_path, check_writable
from renderer.film.picture import Picture
from renderer.film.white_point import Chromaticity, chromaticity_of
from renderer.plugins import load_installed
from renderer.run import first_run
from renderer.run.checkpoint import CheckpointOrder, checkpoint_path
from renderer.run.earlier_picture import Asked, files_of
from renderer.run.frame_key import frame_key
from renderer.run.memory import Estimate, check_fits, picture_bytes
from renderer.run.motion import Motion
from renderer.run.picture import Made, make_picture, picture_by_pass
from renderer.run.picture_order import PictureOrder
from renderer.run.session import Limits
from renderer.scene.render_context import RenderContext, SceneView, TracerChoice, check_scene, viewing_of
from renderer.settings.picture import (
    DEFAULT_DRIVER,
    DEFAULT_FILTER,
    DEFAULT_MOTION_SAMPLES,
    DEFAULT_PASSES,
    DEFAULT_PREVIEW,
    DEFAULT_UPDATE,
    DRAFT_PASSES,
    DRAFT_SHARE,
    DRIVER_SETTINGS,
    FEATURE_LAYERS,
    LIGHT_LAYERS,
    USUAL_LAYERS,
    Settings,
)
from renderer.settings.setting import MAX_PIXELS
from renderer.settings.threads import bounded_threads
from scenes.evaluator import viewed
from scenes.memory import limit_memory
from scenes.model import Snapshot, check_camera
from scenes.scene import Scene
from tracecore.bvh.tree import BinaryTree

#: What may be rendered: the name of a shipped scene or the path of a file, a scene, or a scene at one moment.
AnyScene = str | Path | Scene | Snapshot

#: What helps where there is too little memory.
REMEDY = "use a smaller --size, fewer --photons or a smaller scene"

log = logging.getLogger(__name__)


def render(scene: AnyScene, settings: Settings | None = None, **changes: Any) -> Picture:
    """Makes a picture of a scene.

    scene: name of a shipped scene such as "cornell" or "museum:50k", path of a scene file, or a `Scene` or `Snapshot`
    of the package `scenes`.
    settings: what is chosen; None for the defaults.
    changes: fields of `Settings` by name, which win over `settings`, such as driver="path", passes=16, size=(400, 300).

    Ctrl-C ends it early: then the picture has the passes that were finished (`Picture.is_finished`), and if there are
    none `KeyboardInterrupt` is raised. Raises `UsageError` for what cannot be done, `TypeError` for a keyword that is
    no setting, `scenes.SceneError` for a scene that cannot be read.
    """
    return render_plan(plan_picture(scene, changed(settings, changes)))


def render_passes(scene: AnyScene, settings: Settings | None = None, **changes: Any) -> Iterator[Picture]:
    """Makes a picture, and yields it after each pass as it converges; leave the loop when it is good enough.

    scene, settings, changes: as `render` takes them.

    What cannot be done is raised before the first pass. Nothing is written: `output`, `save_photons`
    and `timeline` are refused, `Picture.save` writes what is wanted.
    """
    plan = plan_picture(scene, changed(settings, changes))
    for name in ("output", "save_photons", "timeline"):
        if getattr(plan.settings, name) is not None:
            raise UsageError(f"{name} is for render alone; with render_passes save a picture by its method save")
    return _pictures(plan)


def changed(settings: Settings | None, changes: dict[str, Any]) -> Settings:
    """Return settings with changes. Raises `TypeError` for one that is no setting, with those there are."""
    known = [field.name for field in fields(Settings)]
    for name in changes:
        if name not in known:
            raise TypeError(f"unexpected keyword argument '{name}'; settings are {', '.join(known)}")
    return replace(settings or Settings(), **changes)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Holds what is to be made, checked.

    scene: what is rendered.
    settings: with what the scene proposes filled in.
    driver: the class of the driver.
    load_seconds: wall time that it took to read the scene.
    asked: what a command asks for, to be kept with the picture.
    """

    scene: Scene | Snapshot
    settings: Settings
    driver: type[EyeDriver]
    load_seconds: float
    asked: Asked | None = None

    def order(self) -> PictureOrder:
        """Return how a picture of it is made, whatever the moment."""
        chosen = self.settings
        return PictureOrder(
            kind=self.driver,
            settings=lambda snapshot: driver_settings(chosen, snapshot),
            limits=Limits(passes=passes_of(chosen), seconds=chosen.time_limit, noise=chosen.target_noise),
            exposure=None if chosen.exposure == "auto" else chosen.exposure or 0.0,
            curve=chosen.tone_map or curve_of(self.driver),
            white_point=white_of(chosen),
            layers=layers_wanted(chosen),
            photon_path=chosen.save_photons,
            timeline_path=chosen.timeline,
            preview=DEFAULT_PREVIEW if chosen.preview is None else chosen.preview,
            denoise=chosen.denoise,
            clamp=chosen.clamp,
            motion=self._motion(),
            choice=TracerChoice.chosen(self.settings),
            quiet=chosen.quiet,
            asked=self.asked,
        )

    def snapshot(self, **scene_view: Any) -> Snapshot:
        """Returns the scene at the moment chosen, or at another.

        scene_view: `frame` or `time`, to replace the one chosen.
        """
        view = replace(SceneView.chosen(self.settings), **scene_view)
        return view.seen(self.scene) if isinstance(self.scene, Snapshot) else view.of(self.scene)

    def estimate(self, snapshot: Snapshot) -> Estimate:
        """Returns how much memory a picture of a snapshot will take at its peak."""
        settings = driver_settings(self.settings, snapshot)
        return picture_bytes(snapshot, self.driver, settings, passes_of(self.settings))

    def context(
        self, snapshot: Snapshot, load_seconds: float, tree: BinaryTree | None = None
    ) -> AbstractContextManager[RenderContext]:
        """Return an open tracer for a snapshot, which is closed at the end of the block."""
        return TracerChoice.chosen(self.settings).opened(snapshot, load_seconds, tree)

    def checkpoint_order(self, snapshot: Snapshot) -> CheckpointOrder | None:
        """Return how a picture of a snapshot can be resumed, if it is written to a file."""
        chosen = self.settings
        if chosen.output is None:
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


def plan_picture(scene: AnyScene, settings: Settings, *, is_sequence: bool = False) -> Plan:
    """Checks what is asked for, reads the scene, and fills in what it proposes.

    scene: as `render` takes it.
    settings: what is chosen.
    is_sequence: whether frames will be made of it.

    Raises `UsageError` for what cannot be done, as far as possible before the scene is read, and `scenes.SceneError`.
    """
    load_installed()
    limit_memory(settings.memory)
    settings = replace(settings, threads=bounded_threads(settings.threads))
    if settings.driver is not None:
        check_driver(settings, settings.driver)
    if is_sequence and settings.exposure == "auto":
        raise UsageError("--exposure auto would differ from frame to frame; give a number of stops with --frames")
    check_files(settings)
    if not is_sequence:
        check_resuming(settings)
    check_motion(settings, scene, is_sequence=is_sequence)
    start = time.perf_counter()
    if isinstance(scene, str | Path):
        check_scene(str(scene))
        scene = scenes.load(scene, viewing_of(settings), settings.define, allow_outside=settings.allow_outside)
    elif settings.define:
        raise UsageError("define has values for parameters of a scene file; this scene has been read already")
    elif isinstance(scene, Scene):
        scene = viewed(scene, viewing_of(settings))
    if isinstance(scene, Scene):
        check_outputs(written_files(settings), scene.files)
        if settings.camera is not None and scene.document.cameras:  # one that has none is given one as it is played
            check_camera(scene.name, settings.camera, scene.document.cameras)
    filled = settings if isinstance(scene, Snapshot) else with_proposals(settings, scene)
    name = filled.driver or DEFAULT_DRIVER
    check_driver(settings, name)
    load_seconds = time.perf_counter() - start
    driver = find_driver(name)
    if filled.exposure is None:
        is_of_file = isinstance(scene, Scene) and scene.is_of_file  # the lights of others are made for 0
        is_metered = is_of_file and not is_sequence and curve_of(driver) != "linear"
        filled = replace(filled, exposure="auto" if is_metered else 0.0)
    return Plan(scene=scene, settings=replace(filled, driver=name), driver=driver, load_seconds=load_seconds)


def written_files(settings: Settings) -> list[Path | None]:
    """Returns the files that are to be written of a picture; None stands for one that is not."""
    files = [] if settings.output is None else files_of(settings.output)
    return [*files, settings.save_photons, settings.timeline]


def render_plan(plan: Plan) -> Picture:
    """Make a picture, and its files if there are to be some.

    Raises `KeyboardInterrupt` where Ctrl-C came before the first pass was finished.
    """
    with opened(plan) as context:
        order = replace(plan.order(), checkpoint=plan.checkpoint_order(context.snapshot))
        made: Made = make_picture(context, order, plan.settings.output)
    if made.picture is None:
        raise KeyboardInterrupt("before the first pass was finished")
    return made.picture


@contextmanager
def opened(plan: Plan) -> Iterator[RenderContext]:
    """Return the scene at its moment with an open tracer, which is closed at the end of the block."""
    start = time.perf_counter()
    snapshot = plan.snapshot()
    check_fits(plan.estimate(snapshot), REMEDY)
    helped = first_run.helped() if issubclass(plan.driver, PhotonDriver) else nullcontext()
    with first_run.shown(quiet=plan.settings.quiet), helped:
        plan.note_blindness(snapshot)
        with plan.context(snapshot, plan.load_seconds + time.perf_counter() - start) as context:
            yield context


def _pictures(plan: Plan) -> Iterator[Picture]:
    with opened(plan) as context:
        yield from picture_by_pass(context, plan.order())


def with_proposals(settings: Settings, scene: Scene) -> Settings:
    """Return settings with what a scene proposes where nothing is said, but for what the driver has no use for."""
    proposed: dict[str, Any] = dict(scene.document.settings)
    driver = find_driver(settings.driver or proposed.get("driver") or DEFAULT_DRIVER)
    useless = set(DRIVER_SETTINGS) - settings_taken(driver)
    taken = {name: value for name, value in proposed.items() if name not in useless and getattr(settings, name) is None}
    return replace(settings, **taken)


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


def check_driver(settings: Settings, driver_name: str) -> None:
    """Raise `UsageError` for a driver that there is not, and for a setting that would do nothing to it."""
    driver = find_driver(driver_name)
    taken = settings_taken(driver)
    for name in DRIVER_SETTINGS:
        if name not in taken and getattr(settings, name) is not None:
            raise UsageError(f"{option(name)} does nothing for the driver {driver_name}; leave it out")
    if settings.crop is not None and not getattr(driver, "can_crop", False):
        raise UsageError(f"--crop is not for the driver {driver_name}, which makes whole pictures; leave it out")
    if settings.save_photons is not None and not hasattr(driver, "save_photons"):
        raise UsageError(f"driver {driver_name} keeps no photons; use --driver photons-only with --save-photons")


def check_files(settings: Settings) -> None:
    """Raise `UsageError` now for files that could not be written later."""
    if settings.output is not None:
        check_writable(settings.output)
        check_output(settings, settings.output)
    if settings.save_photons is not None:
        check_photon_path(settings.save_photons)
    if settings.timeline is not None:
        check_folder(settings.timeline)
    if settings.denoise:
        from renderer.film.denoising import check_denoiser

        check_denoiser()


def check_resuming(settings: Settings) -> None:
    """Raise `UsageError` for settings of checkpoints of a picture that is not written."""
    if settings.output is None and (settings.resume or settings.checkpoint is not None):
        raise UsageError("checkpoint and resume need output, beside which a picture's checkpoint is kept")


def check_output(settings: Settings, path: Path) -> None:
    """Raise `UsageError` for a setting that would do nothing to a file of this kind."""
    suffix = path.suffix.lower()
    for name in ("exposure", "tone_map", "white_point"):
        if getattr(settings, name) is not None and suffix in (".exr", ".npy"):
            raise UsageError(f"{option(name)} is for .png alone; '{path}' holds linear radiance; leave it out")
    if settings.layers and suffix != ".exr":
        raise UsageError(f"--layers needs a file that can hold them; name an .exr instead of '{path}' with -o")
    if settings.denoise and suffix == ".npy":
        raise UsageError(f"--denoise is for .png and .exr; '{path}' holds the picture as it is; leave it out")


def check_motion(settings: Settings, scene: AnyScene, *, is_sequence: bool) -> None:
    """Raise `UsageError` for what would do nothing with an open shutter, or without it, or to a moment."""
    if isinstance(scene, Snapshot) and (settings.frame or settings.time is not None or settings.shutter is not None):
        raise UsageError("a Snapshot is one moment of a scene; leave out frame, time and shutter, or give the Scene")
    if isinstance(scene, Snapshot) and settings.up_axis is not None:
        raise UsageError("a Snapshot has a camera; leave out up_axis, or give the Scene")
    if settings.shutter is None:
        if settings.motion_samples is not None:
            raise UsageError("--motion-samples does nothing without --shutter; leave it out")
        if not is_sequence and settings.update is not None:
            raise UsageError("--update does nothing without --frames or --shutter; leave it out")
    elif settings.save_photons is not None:
        raise UsageError("--save-photons keeps one photon map, and with --shutter each time has its own; leave it out")
    elif settings.timeline is not None:
        raise UsageError(
            "--timeline shows one driver's threads, and with --shutter each time has a driver; leave it out"
        )


def option(name: str) -> str:
    """Return the option of the command line for a setting."""
    return f"--{name.replace('_', '-')}"
