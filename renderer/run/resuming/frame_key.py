"""The key of a frame is one text of all that can change a bit of its picture.

It is by the key that `--resume` knows a frame, or the checkpoint of a picture, that is as it is wanted. Nothing is
listed that belongs to it: `renderer.run.resuming.fingerprint` walks the scene, the plan and the settings. What does not
belong to it is in `LEFT_OUT`. Of a shader it has the files of all its functions, and of those that are compiled also
what they call and name in other files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from renderer.run.motion import block_of
from renderer.run.plan import Plan
from renderer.run.resuming.fingerprint import Fingerprints, LeftOut
from renderer.settings.picture import UNSHARED, RenderSettings, Settings
from renderer.settings.setting import settings_of
from renderer.simd.bsdf_kinds import kind_of
from renderer.version import __version__
from scenes.model import Snapshot, own_files
from shaders.registry import get_shader
from tracecore.compilation.code_hash import code_hash

if TYPE_CHECKING:
    from renderer.photons.batch import PhotonTask

SAME_BITS = "the picture has the same bits whatever it is"
RESOLVED = "what is resolved of it for the frame is in the key instead"
IN_THE_SNAPSHOT = "what is seen of the scene is in the snapshot"
NOT_IN_THE_PICTURE = "no pixel and no text of the picture depends on it"

#: Settings that are not in the key as they were asked for, by the reason.
SETTINGS_LEFT_OUT = {
    RESOLVED: {"driver", "size", "draft", "filter"} | {one.name for one in fields(RenderSettings)} - {"layers"},
    IN_THE_SNAPSHOT: {"camera", "frame", "time", "define", "allow_outside", "strict", "mirrors", "ambient"}
    | {"eye", "look_at", "up", "fov", "up_axis", "aperture", "focus"},
    NOT_IN_THE_PICTURE: {"output", "preview", "checkpoint", "resume", "save_photons", "timeline", "quiet", "progress"},
    SAME_BITS: {"load_photons", "device", "kernel", "dispatch", *UNSHARED, "builder", "verify"}
    | {"fallback", "memory", "update"},
}

#: All that is not in the key, and why; neither is the format of the file, which is in the frame's name.
LEFT_OUT: LeftOut = {
    Snapshot: {"cameras": "the frame is seen through `camera` alone"},
    RenderSettings: {"threads": SAME_BITS, "batch_rays": SAME_BITS, "shading": SAME_BITS, "is_logged": SAME_BITS},
    Plan: {
        "scene": IN_THE_SNAPSHOT,
        "load_seconds": NOT_IN_THE_PICTURE,
        "asked": NOT_IN_THE_PICTURE,
        "shared": SAME_BITS,
    },
    Settings: {name: why for why, names in SETTINGS_LEFT_OUT.items() for name in names & settings_of(Settings).keys()},
}

#: What else of a scene is not in the key of a photon run.
NOT_IN_PHOTONS = dict.fromkeys(("camera", "cameras", "background"), "no photon depends on who looks")

#: Packages of the program whose sources decide a picture; what `scenes` does is in the snapshot.
SOURCE_PACKAGES = ("renderer", "shaders", "tracecore")

#: Packages that compute with it.
COMPUTING = ("numpy", "numba", "llvmlite")


def frame_key(plan: Plan, snapshot: Snapshot, passes: int) -> str:
    """Returns the key of a frame, in hexadecimal digits.

    plan: of the picture, with the seed of the frame.
    snapshot: the scene at the frame's time.
    passes: of which the picture is the mean; with an open shutter they say at which times it looks at the scene.

    Raises TypeError where something belongs to the key whose type `renderer.run.resuming.fingerprint` does not know.
    """
    fingerprints = Fingerprints(LEFT_OUT)
    if plan.motion is not None:  # of which many moments share the memory of what stands still
        fingerprints.remember(snapshot)
    settings = plan.driver_settings(snapshot)
    seen = [fingerprints.of(scene_view) for scene_view in moments(plan, snapshot, settings.seed, passes)]
    program_now = program(is_denoised=plan.settings.denoise)
    return fingerprints.of((*scene_and_code(snapshot), seen, plan, settings, program_now))


def photons_key(snapshot: Snapshot, task: PhotonTask, emitted: int) -> str:
    """Returns the key of a photon run, in hexadecimal digits, by which parts of it are known.

    snapshot: the scene.
    task: of all its photons.
    emitted: how many there are.
    """
    asked = {"seed": int(task.seed)} | {name: value for name, value in task._asdict().items() if name != "seed"}
    return Fingerprints({**LEFT_OUT, Snapshot: NOT_IN_PHOTONS}).of(
        (*scene_and_code(snapshot), asked, emitted, program(is_denoised=False))
    )


def scene_and_code(snapshot: Snapshot) -> tuple[Any, ...]:
    """Returns a scene, with what its own files have, its shaders and their code."""
    shaders = [get_shader(kind) for kind in sorted({material.kind for material in snapshot.materials})]
    files = [np.fromfile(path, np.uint8) for path in own_files(snapshot.materials)]
    codes = [(kind_of(one).code, code_hash([one.at_point] if one.at_point else [])) for one in shaders]
    return snapshot, files, shaders, codes


def moments(plan: Plan, snapshot: Snapshot, seed: int, passes: int) -> Iterator[Snapshot]:
    """Yields the scene at all times at which so many passes look at it while the shutter is open."""
    motion = plan.motion
    if motion is not None:
        for block in range(block_of(passes - 1, motion.samples) + 1):
            yield motion.snapshot_at(motion.time_of(block, snapshot.time, seed))


def source_files() -> dict[str, Path]:
    """Returns all sources of the program that decide a picture, by their names, which begin with their package."""
    root = Path(__file__).resolve().parents[3]
    found = sorted(path for package in SOURCE_PACKAGES for path in (root / package).rglob("*.py"))
    return {path.relative_to(root).as_posix(): path for path in found}


@cache
def program(*, is_denoised: bool) -> dict[str, str]:
    """Returns the versions of all that computes a picture, and a digest of the program's own sources.

    is_denoised: whether the denoiser is part of it.
    """
    digest = hashlib.blake2b(digest_size=32)
    for name, path in source_files().items():
        digest.update(f"{name} {path.stat().st_size}\n".encode() + path.read_bytes())
    packages = (*COMPUTING, "pyoidn") if is_denoised else COMPUTING
    return {"tracecore": __version__, "sources": digest.hexdigest()} | {
        name: metadata.version(name) for name in packages
    }
