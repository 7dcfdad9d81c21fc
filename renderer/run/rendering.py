"""This module has the call that makes a picture: settings are checked, the scene fills in what is open, a driver
renders.

`render` and `render_passes` are what users of Python call (docs/python.md); the command line calls the same parts.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import scenes
from renderer.atomic_file import check_outputs
from renderer.drivers import find_driver
from renderer.errors import UsageError
from renderer.film.image_file import check_folder, check_photon_path, check_writable
from renderer.film.layers import LAYER_COLUMNS
from renderer.film.picture import Picture
from renderer.interrupts import NOTHING_SAVED, nothing_saved
from renderer.plugins import load_installed
from renderer.run import first_run
from renderer.run.checkpoint import CheckpointOrder, checkpoint_path
from renderer.run.fleets import fleet_of, shared_driver
from renderer.run.frame_key import frame_key
from renderer.run.memory import check_fits
from renderer.run.picture import Made, make_picture, picture_by_pass
from renderer.run.picture_files import files_of
from renderer.run.plan import Plan, layers_for
from renderer.scene.render_context import RenderContext, check_scene, viewing_of
from renderer.settings.near_miss import did_you_mean
from renderer.settings.picture import (
    DEFAULT_DRIVER,
    DRIVER_SETTINGS,
    Settings,
)
from renderer.settings.threads import bounded_threads
from scenes.evaluator import viewed
from scenes.memory import limit_memory
from scenes.model import Snapshot, check_camera
from scenes.scene import Scene
from scenes.written_file import target_of

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
            listed = f"settings are {', '.join(known)}{did_you_mean(name, known)}"
            raise TypeError(f"unexpected keyword argument '{name}'; {listed}")
    return replace(settings or Settings(), **changes)


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
    if not is_sequence:
        check_resuming(settings)
    check_motion(settings, scene, is_sequence=is_sequence)
    check_files(settings)
    start = time.perf_counter()
    if isinstance(scene, str | Path):
        check_scene(str(scene))
        scene = scenes.load(
            scene,
            viewing_of(settings),
            settings.define,
            allow_outside=settings.allow_outside,
            strict=settings.strict,
        )
    elif settings.define:
        raise UsageError("define has values for parameters of a scene file; this scene has been read already")
    elif isinstance(scene, Scene):
        scene = viewed(scene, viewing_of(settings))
    if isinstance(scene, Scene):
        check_outputs(written_files(settings), scene.files)
        if settings.camera is not None and scene.document.cameras:  # one that has none is given one as it is played
            check_camera(scene.name, settings.camera, scene.document.cameras)
        note_stillness(scene, settings, is_sequence=is_sequence)
    proposed = settings if isinstance(scene, Snapshot) else with_proposals(settings, scene)
    name = proposed.driver or DEFAULT_DRIVER
    check_driver(settings, name)
    seconds = time.perf_counter() - start
    return Plan(scene=scene, settings=replace(proposed, driver=name), driver=find_driver(name), load_seconds=seconds)


def note_stillness(scene: Scene, settings: Settings, *, is_sequence: bool) -> None:
    """Logs that frames are chosen of a scene that stands still, unless errors alone are wanted."""
    if settings.quiet or scene.animation.start != scene.animation.end:
        return
    if settings.frame:
        log.warning("note: scene %s stands still: --frame %d changes nothing", scene.name, settings.frame)
    elif is_sequence:
        log.warning("note: scene %s stands still: all frames show the same moment", scene.name)


def written_files(settings: Settings) -> list[Path | None]:
    """Returns the files that are to be written of a picture, also its checkpoint; None stands for one that is not."""
    files = [] if settings.output is None else [*files_of(settings.output), checkpoint_path(settings.output)]
    return [*files, settings.save_photons, settings.timeline]


def render_plan(plan: Plan) -> Picture:
    """Make a picture, and its files if there are to be some.

    Raises `KeyboardInterrupt` where Ctrl-C came before the first pass was finished.
    """
    with ExitStack() as stack:
        with nothing_saved():
            fleet, context = stack.enter_context(fleet_of(plan)), stack.enter_context(opened(plan))
        plan = replace(plan, checkpoint=checkpoint_order(plan, context.snapshot))
        if fleet is not None:
            plan = replace(plan, shared=shared_driver(plan, fleet))
        made: Made = make_picture(context, plan, plan.settings.output)
    if made.picture is None:
        raise KeyboardInterrupt(NOTHING_SAVED)
    return made.picture


def checkpoint_order(plan: Plan, snapshot: Snapshot) -> CheckpointOrder | None:
    """Returns how a picture of a snapshot can be resumed, if it is written to a file and no device or pipe."""
    chosen = plan.settings
    if chosen.output is None or target_of(chosen.output) is None:
        return None
    return CheckpointOrder(
        path=checkpoint_path(chosen.output),
        key_of=partial(frame_key, plan, snapshot),
        seconds=chosen.checkpoint,
        resume=chosen.resume,
    )


@contextmanager
def opened(plan: Plan) -> Iterator[RenderContext]:
    """Return the scene at its moment with an open tracer, which is closed at the end of the block."""
    start = time.perf_counter()
    plan.begin_to_load()
    snapshot = plan.snapshot()
    check_fits(plan.estimate(snapshot), REMEDY)
    helped = first_run.helped() if plan.driver.traces_photons else nullcontext()
    with first_run.shown(quiet=plan.settings.quiet), helped:
        plan.note_unseen_light(snapshot)
        with plan.context(snapshot, plan.load_seconds + time.perf_counter() - start) as context:
            yield context


def _pictures(plan: Plan) -> Iterator[Picture]:
    with opened(plan) as context:
        yield from picture_by_pass(context, plan)


def with_proposals(settings: Settings, scene: Scene) -> Settings:
    """Return settings with what a scene proposes where nothing is said, but for what the driver has no use for."""
    proposed: dict[str, Any] = dict(scene.document.settings)
    driver = find_driver(settings.driver or proposed.get("driver") or DEFAULT_DRIVER)
    useless = set(DRIVER_SETTINGS) - driver.takes
    taken = {name: value for name, value in proposed.items() if name not in useless and getattr(settings, name) is None}
    return replace(settings, **taken)


#: Settings that not every driver can have, beside those that it `takes`: by the field of its class that says whether it
#: can, what it lacks, in words.
NEEDED = {
    "save_photons": ("keeps_photons", "keeps no photons; use --driver photons-only with --save-photons"),
    "timeline": ("has_log", "does not tell what its threads do; leave out --timeline"),
    "gpus": ("can_share", "makes its passes one after the other; leave out --gpus and --cluster"),
    "cluster": ("can_share", "makes its passes one after the other; leave out --gpus and --cluster"),
    "shutter": (
        "can_resume",
        "does not tell what it keeps from pass to pass, so that it cannot go on at another time; leave out --shutter",
    ),
}


def check_driver(settings: Settings, driver_name: str) -> None:
    """Raise `UsageError` for a driver that there is not, and for a setting that would do nothing to it."""
    driver = find_driver(driver_name)
    for name in DRIVER_SETTINGS:
        if name not in driver.takes and getattr(settings, name) is not None:
            raise UsageError(f"{option(name)} does nothing for the driver {driver_name}; leave it out")
    for name, (field, lack) in NEEDED.items():
        if getattr(settings, name) is not None and not getattr(driver, field):
            raise UsageError(f"driver {driver_name} {lack}")
    if settings.is_shared and driver.is_sequential and settings.shutter is not None:
        raise UsageError(f"driver {driver_name} makes its passes one after the other; leave out --gpus and --cluster")
    if LAYER_COLUMNS[layers_for(settings)] > LAYER_COLUMNS[driver.layers]:
        asked = "denoise" if layers_for(replace(settings, denoise=False)) == "beauty" else "layers"
        raise UsageError(f"driver {driver_name} makes no layers beside the picture; leave out {option(asked)}")


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
    """Raise `UsageError` for settings of checkpoints of a picture that is not written, or not to a file."""
    is_kept = settings.output is not None and target_of(settings.output) is not None
    if not is_kept and (settings.resume or settings.checkpoint is not None):
        raise UsageError("checkpoint and resume need output, a file beside which a picture's checkpoint is kept")


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
