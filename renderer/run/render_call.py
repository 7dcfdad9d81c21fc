"""This module has the call that makes a picture, `render`, and that which yields it after each pass, `render_passes`.

They are what users of Python call (docs/python.md); the command line calls the same parts. Before, a plan is made of
settings: what cannot be done is refused, the scene is read, and what it proposes is filled in.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from renderer.atomic_file import check_outputs
from renderer.drivers import find_driver
from renderer.drivers.driver import Driver
from renderer.errors import UsageError
from renderer.film.image_file import check_folder, check_photon_path, check_writable, make_default_folder
from renderer.film.layers import LAYER_COLUMNS
from renderer.film.picture import Picture
from renderer.interrupts import NOTHING_SAVED, nothing_saved
from renderer.plugins import load_installed
from renderer.run import first_run
from renderer.run.memory import check_fits
from renderer.run.picture.make_picture import make_picture, picture_by_pass
from renderer.run.picture.picture_files import written_files
from renderer.run.plan import Plan, layers_for, layers_wanted
from renderer.scene.render_context import (
    RenderContext,
    TracerChoice,
    context_of,
    gpu_found_meanwhile,
    has_gpu,
    viewing_of,
)
from renderer.settings.picture import (
    AUTO_DRIVER,
    DEFAULT_DRIVER,
    DRIVER_SETTINGS,
    GROUPS_LAYER,
    LIGHT_LAYERS,
    Settings,
)
from scenes import loading
from scenes.document import Scene
from scenes.files.memory import limit_memory
from scenes.files.written_file import target_of
from scenes.keys.place import did_you_mean
from scenes.model import Snapshot, check_camera
from scenes.playing.evaluator import viewed
from tracecore import device_and_index
from tracecore.compilation.cached import begin_to_load
from tracecore.threads import bounded_threads


def render(scene: AnyScene, settings: Settings | None = None, **changes: Any) -> Picture:
    """Makes a picture of a scene.

    scene: name of a shipped scene such as "cornell" or "museum:50k", path of a scene file, what such a file says as
    dictionaries (`scenes.from_tables`), or a `Scene` or `Snapshot` of the package `scenes`.
    settings: what is chosen; None for the defaults.
    changes: fields of `Settings` by name, which win over `settings`, such as driver="path", passes=16, size=(400, 300).

    Ctrl-C ends it early: then the picture has the passes that were finished (`Picture.is_finished`), and if there are
    none `KeyboardInterrupt` is raised. Raises `UsageError` for what cannot be done, `TypeError` for a keyword that is
    no setting, `scenes.SceneError` for a scene that cannot be read.
    """
    from renderer.run.members.open_fleet import members_ahead

    chosen = changed(settings, changes)
    with members_ahead(chosen):
        return render_plan(plan_picture(scene, chosen))


def render_passes(scene: AnyScene, settings: Settings | None = None, **changes: Any) -> Iterator[Picture]:
    """Makes a picture, and yields it after each pass as it converges; leave the loop when it is good enough.

    scene, settings, changes: as `render` takes them.

    What cannot be done is raised before the first pass. Nothing is written: `output`, `save_photons`
    and `timeline` are refused, `Picture.save` writes what is wanted.
    """
    plan = plan_picture(scene, changed(settings, changes))
    check_without_files(plan.settings)
    return _pictures(plan)


def check_without_files(settings: Settings) -> None:
    """Raise `UsageError` for files that are asked for, where passes are yielded."""
    for name in ("output", "save_photons", "timeline"):
        if getattr(settings, name) is not None:
            raise UsageError(f"{name} is for render alone; with render_passes save a picture by its method save")


def _pictures(plan: Plan) -> Iterator[Picture]:
    with ExitStack() as stack:
        context, plan = _begun(plan, stack)
        yield from picture_by_pass(context, plan)


def changed(settings: Settings | None, changes: dict[str, Any]) -> Settings:
    """Return settings with changes. Raises `TypeError` for one that is no setting, with those there are."""
    known = [field.name for field in fields(Settings)]
    for name in changes:
        if name not in known:
            listed = f"settings are {', '.join(known)}{did_you_mean(name, known)}"
            raise TypeError(f"unexpected keyword argument '{name}'; {listed}")
    return replace(settings or Settings(), **changes)


def render_plan(plan: Plan) -> Picture:
    """Makes a picture, and its files if there are to be some.

    Raises `KeyboardInterrupt` where Ctrl-C came before the first pass was finished.
    """
    with ExitStack() as stack:
        with nothing_saved():
            context, plan = _begun(plan, stack)
        return picture_of(context, plan)


def picture_of(context: RenderContext, plan: Plan) -> Picture:
    """Makes a picture of a scene that is open, and its files. Raises as `render_plan`."""
    chosen = plan.settings
    with nothing_saved():
        make_default_folder((chosen.output, chosen.save_photons, chosen.timeline))
    picture = make_picture(context, plan, chosen.output)
    if picture is None:
        raise KeyboardInterrupt(NOTHING_SAVED)
    return picture


def _begun(plan: Plan, stack: ExitStack) -> tuple[RenderContext, Plan]:
    """Returns the scene with an open tracer, and the plan with the members of a fleet where these share the work out;
    the stack closes both.
    """
    if plan.settings.is_shared:
        from renderer.run.members.fleet_driver import with_members

        plan = stack.enter_context(with_members(plan))
    return stack.enter_context(opened(plan, plan.choice_for_one)), plan


@contextmanager
def opened(plan: Plan, choice: TracerChoice | None = None) -> Iterator[RenderContext]:
    """Yields the scene at its moment with an open tracer, which is closed at the end of the block.

    choice: of the tracer, None for the plan's.
    """
    start = time.perf_counter()
    if not plan.settings.is_shared:
        begin_to_load(plan.driver.code)
    snapshot = plan.snapshot()
    check_fits(plan.estimate(snapshot))
    has_loops = plan.driver.traces_photons and plan.settings.shading == "cpu"
    helped = first_run.helped(plan.driver.code) if has_loops else nullcontext()
    with first_run.shown(quiet=plan.settings.quiet), helped:
        plan.note_unseen_light(snapshot)
        load_seconds = plan.load_seconds + time.perf_counter() - start
        with context_of(snapshot, choice or plan.choice, load_seconds=load_seconds) as context:
            yield context


#: What may be rendered: the name of a shipped scene or the path of a file, what such a file says as dictionaries, a
#: scene, or a scene at one moment.
AnyScene = str | Path | Mapping[str, Any] | Scene | Snapshot

log = logging.getLogger(__name__)


def plan_picture(scene: AnyScene, settings: Settings, *, is_sequence: bool = False) -> Plan:
    """Checks what is asked for, reads the scene, and fills in what it proposes.

    scene: as `render` takes it.
    settings: what is chosen.
    is_sequence: whether frames will be made of it.

    Raises `UsageError` for what cannot be done, as far as possible before the scene is read, and `scenes.SceneError`.
    """
    load_installed()
    limit_memory(settings.memory)
    taken: dict[str, Any] = {"threads": bounded_threads(settings.threads)}
    if settings.driver not in (None, AUTO_DRIVER):
        check_driver(settings, settings.driver)
    check_shading(settings, is_sequence=is_sequence)
    check_motion(settings, scene, is_sequence=is_sequence)
    check_files(settings, is_sequence=is_sequence)
    start = time.perf_counter()
    if isinstance(scene, str | Path):
        with gpu_found_meanwhile(settings.device):
            scene = loading.load(
                scene,
                viewing_of(settings),
                settings.define,
                allow_outside=settings.allow_outside,
                strict=settings.strict,
            )
    elif isinstance(scene, Mapping):
        from scenes.tables import from_tables

        read = from_tables(scene, allow_outside=settings.allow_outside, strict=settings.strict)
        scene = viewed(read, viewing_of(settings))
    elif settings.define:
        raise UsageError("define has values for parameters of a scene file; this scene has been read already")
    elif isinstance(scene, Scene):
        scene = viewed(scene, viewing_of(settings))
    if isinstance(scene, Scene):
        check_outputs(written_files(settings), scene.files)
        if settings.camera is not None and scene.document.cameras:  # one that has none is given one as it is played
            check_camera(scene.name, settings.camera, scene.document.cameras)
        note_stillness(scene, settings, is_sequence=is_sequence)
    proposed: dict[str, Any] = {} if isinstance(scene, Snapshot) else dict(scene.document.settings)
    name = chosen_driver(settings, scene, settings.driver or proposed.get("driver") or DEFAULT_DRIVER)
    check_driver(settings, name)
    driver = find_driver(name)
    taken |= proposals(settings, driver, proposed) | {"driver": name}
    taken["shading"] = settings.shading or usual_shading(settings, driver, is_sequence=is_sequence)
    settings = replace(settings, **taken)
    return Plan(scene=scene, settings=settings, driver=driver, load_seconds=time.perf_counter() - start)


def proposals(settings: Settings, driver: type[Driver], proposed: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what a scene proposes where nothing is said, but for what the driver has no use for."""
    return {
        name: value
        for name, value in proposed.items()
        if getattr(settings, name) is None and (name in driver.takes or name not in DRIVER_SETTINGS)
    }


def chosen_driver(settings: Settings, scene: Scene | Snapshot, name: str) -> str:
    """Returns the name of a driver; for AUTO_DRIVER it is that for the light of the scene, of those that can have what
    is asked for, and why is logged."""
    if name != AUTO_DRIVER:
        return name
    from renderer.drivers.choice import best_drivers

    names, why = best_drivers(scene if isinstance(scene, Snapshot) else scene.at(scene.animation.start))
    for name in names:
        with suppress(UsageError):
            check_driver(settings, name)
            if not settings.quiet:
                log.warning("note: driver '%s': %s", name, why if name == names[0] else "it takes what is asked for")
            return name
    return names[0]


def note_stillness(scene: Scene, settings: Settings, *, is_sequence: bool) -> None:
    """Logs that frames are chosen of a scene that stands still, unless errors alone are wanted."""
    if settings.quiet or scene.animation.start != scene.animation.end:
        return
    if settings.frame:
        log.warning("note: scene %s stands still: --frame %d changes nothing", scene.name, settings.frame)
    elif is_sequence:
        log.warning("note: scene %s stands still: all frames show the same moment", scene.name)


#: Settings that not every driver can have, beside those that it `takes`: by the field of its class that says whether it
#: can, what it lacks, in words.
NEEDED = {
    "save_photons": ("keeps_photons", "keeps no photons; use --driver photons-only with --save-photons"),
    "load_photons": ("keeps_photons", "has maps of each pass; use --driver photons-only with --load-photons"),
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
    if settings.adaptive:
        check_adaptive(settings, driver)
    if GROUPS_LAYER in layers_wanted(settings) and not driver.has_light_groups:
        raise UsageError(f"driver {driver_name} does not tell lamps apart; leave {GROUPS_LAYER} out of --layers")
    if LAYER_COLUMNS[layers_for(settings)] > LAYER_COLUMNS[driver.layers]:
        if driver.layers == "features":
            light = ", ".join(LIGHT_LAYERS)
            raise UsageError(f"driver {driver_name} does not tell kinds of light apart; leave {light} out of --layers")
        asked = "denoise" if layers_for(replace(settings, denoise=False)) == "beauty" else "layers"
        raise UsageError(f"driver {driver_name} makes no layers beside the picture; leave out {option(asked)}")


def check_adaptive(settings: Settings, driver: type[Driver]) -> None:
    """Raise `UsageError` where passes cannot leave pixels out, or nobody knows when."""
    if not driver.can_leave_out:
        raise UsageError(f"driver {driver.name} makes whole passes; leave out --adaptive")
    if settings.target_noise is None:
        raise UsageError("--adaptive needs to know which noise is low enough; add --target-noise, such as 0.02")
    for name in ("crop", "gpus", "cluster"):
        if getattr(settings, name) is not None:
            raise UsageError(f"--adaptive looks at whole pictures of one process; leave out {option(name)}")
    if set(layers_wanted(settings)) & {*LIGHT_LAYERS, GROUPS_LAYER}:
        raise UsageError("--adaptive does not tell kinds of light apart; leave them out of --layers")


def check_files(settings: Settings, *, is_sequence: bool) -> None:
    """Raise `UsageError` now for files that could not be written later, and for checkpoints that nobody keeps."""
    is_to_a_file = settings.output is not None and target_of(settings.output) is not None
    if not (is_sequence or is_to_a_file) and (settings.resume or settings.checkpoint is not None):
        raise UsageError("checkpoint and resume need output, a file beside which a picture's checkpoint is kept")
    if settings.output is not None:
        check_writable(settings.output)
        check_output(settings, settings.output)
    if settings.save_photons is not None:
        check_photon_path(settings.save_photons)
    if settings.load_photons is not None:
        from renderer.run.photon_run.photon_parts import check_photon_run

        check_photon_run(settings.load_photons)
    if settings.timeline is not None:
        check_folder(settings.timeline)
    if settings.denoise:
        from renderer.film.denoising import check_denoiser

        check_denoiser()


def check_output(settings: Settings, path: Path) -> None:
    """Raise `UsageError` for a setting that would do nothing to a file of this kind."""
    suffix = path.suffix.lower()
    for name in ("exposure", "tone_map", "white_point"):
        if getattr(settings, name) is not None and suffix in (".exr", ".npy"):
            raise UsageError(f"{option(name)} is for .png alone; '{path}' holds linear radiance; leave it out")
    if settings.exr != "single" and suffix != ".exr":
        raise UsageError(f"--exr is for .exr alone; leave it out, or name an .exr instead of '{path}' with -o")
    if settings.layers and suffix != ".exr":
        raise UsageError(f"--layers needs a file that can hold them; name an .exr instead of '{path}' with -o")
    if settings.denoise and suffix == ".npy":
        raise UsageError(f"--denoise is for .png and .exr; '{path}' holds the picture as it is; leave it out")


def check_shading(settings: Settings, *, is_sequence: bool) -> None:
    """Raise `UsageError` where a GPU is to shade passes that are shared out, of sequences whole frames are, and where
    it is to have batches."""
    if settings.is_shared and settings.shading not in (None, "cpu") and not is_sequence:
        raise UsageError(f"--shading {settings.shading}: passes of other processes are shaded by CPUs; leave it out")
    if settings.is_shared and (settings.device, settings.shading) == ("cpu", "gpu"):
        raise UsageError(
            "--shading gpu: only the tracer of a GPU has one to shade on, and device is cpu; leave one out"
        )
    if settings.shading == "gpu" and settings.verify is not None:
        raise UsageError("--verify compares the hits of batches, and with --shading gpu there are none; leave one out")


def usual_shading(settings: Settings, driver: type[Driver], *, is_sequence: bool) -> str:
    """Returns where hits are shaded if nobody says so: on a GPU if there is one and the driver has waves, but for
    passes of other processes, and for what only batches that a CPU shades have."""
    if not settings.device.startswith(("auto", "gpu")) or (settings.is_shared and not is_sequence):
        return "cpu"
    of_batches = (settings.dispatch, settings.verify, settings.timeline)
    if of_batches != (None, None, None) or settings.batch_rays != Settings.batch_rays or not driver.has_waves():
        return "cpu"
    return "auto" if has_gpu(device_and_index(settings.device)[1]) else "cpu"


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
    elif settings.load_photons is not None:
        raise UsageError("--load-photons has one photon map, and with --shutter each time has its own; leave it out")
    elif settings.timeline is not None:
        raise UsageError(
            "--timeline shows one driver's threads, and with --shutter each time has a driver; leave it out"
        )


def option(name: str) -> str:
    """Return the option of the command line for a setting."""
    return f"--{name.replace('_', '-')}"
