"""This module makes a plan of settings: what cannot be done is refused, the scene is read, and what it proposes is
filled in.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from renderer.atomic_file import check_outputs
from renderer.drivers import find_driver
from renderer.errors import UsageError
from renderer.film.image_file import check_folder, check_photon_path, check_writable
from renderer.film.layers import LAYER_COLUMNS
from renderer.plugins import load_installed
from renderer.run.picture.picture_files import written_files
from renderer.run.plan import Plan, layers_for
from renderer.scene.render_context import check_scene, viewing_of
from renderer.settings.picture import DEFAULT_DRIVER, DRIVER_SETTINGS, Settings
from scenes import loading
from scenes.document import Scene
from scenes.files.memory import limit_memory
from scenes.files.written_file import target_of
from scenes.model import Snapshot, check_camera
from scenes.playing.evaluator import viewed
from tracecore.cores import bounded_threads

#: What may be rendered: the name of a shipped scene or the path of a file, a scene, or a scene at one moment.
AnyScene = str | Path | Scene | Snapshot

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
    if settings.driver is not None:
        check_driver(settings, settings.driver)
    check_motion(settings, scene, is_sequence=is_sequence)
    check_files(settings, is_sequence=is_sequence)
    start = time.perf_counter()
    if isinstance(scene, str | Path):
        check_scene(str(scene))
        scene = loading.load(
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
    proposed: dict[str, Any] = {} if isinstance(scene, Snapshot) else dict(scene.document.settings)
    name = settings.driver or proposed.get("driver") or DEFAULT_DRIVER
    check_driver(settings, name)
    driver = find_driver(name)
    for key, value in proposed.items():  # where nothing is said, but for what the driver has no use for
        if getattr(settings, key) is None and (key in driver.takes or key not in DRIVER_SETTINGS):
            taken[key] = value
    seconds = time.perf_counter() - start
    settings = replace(settings, **taken | {"driver": name})
    return Plan(scene=scene, settings=settings, driver=driver, load_seconds=seconds)


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
    if settings.is_shared and settings.shading != "cpu":
        raise UsageError(f"--shading {settings.shading}: other processes shade on their CPUs; leave it out")
    for name, (field, lack) in NEEDED.items():
        if getattr(settings, name) is not None and not getattr(driver, field):
            raise UsageError(f"driver {driver_name} {lack}")
    if settings.is_shared and driver.is_sequential and settings.shutter is not None:
        raise UsageError(f"driver {driver_name} makes its passes one after the other; leave out --gpus and --cluster")
    if LAYER_COLUMNS[layers_for(settings)] > LAYER_COLUMNS[driver.layers]:
        asked = "denoise" if layers_for(replace(settings, denoise=False)) == "beauty" else "layers"
        raise UsageError(f"driver {driver_name} makes no layers beside the picture; leave out {option(asked)}")


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
    elif settings.load_photons is not None:
        raise UsageError("--load-photons has one photon map, and with --shutter each time has its own; leave it out")
    elif settings.timeline is not None:
        raise UsageError(
            "--timeline shows one driver's threads, and with --shutter each time has a driver; leave it out"
        )


def option(name: str) -> str:
    """Return the option of the command line for a setting."""
    return f"--{name.replace('_', '-')}"
