"""This module chooses one exposure for all frames of a film, by a pilot: a few of its frames, small.

The pilot's frames are spread over the whole animation, whichever frames are made, and nothing counts that differs from
machine to machine or says only how noisy a frame may be. So parts of a film that are made apart look alike.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from renderer.film.tone_mapping import Linear, ToneMapping, adapted, metered
from renderer.run.plan import Plan
from renderer.run.sequence.frame_maker import FrameMaker
from renderer.settings.picture import UNSHARED, Settings
from scenes.document import Scene
from scenes.model import AnimationRange, Snapshot

#: Frames of the pilot at most, its passes, and the longer side of its frames, pixels.
PILOT_FRAMES, PILOT_PASSES, PILOT_SIDE = 5, 8, 96

log = logging.getLogger(__name__)


def with_exposure(plan: Plan, *, is_shown: bool) -> Plan:
    """Returns the plan of a film with one exposure and one white for all its frames, metered where it is "auto".

    is_shown: whether frames are made for screens; the linear light of others depends on no exposure, which is 0 then.

    Raises `KeyboardInterrupt` where the pilot was interrupted.
    """
    if plan.settings.exposure != "auto":
        return plan
    if not is_shown:
        return replace(plan, settings=replace(plan.settings, exposure=0.0))
    frames = pilot_frames(plan.scene)
    mapping = _metered(replace(plan, settings=pilot_settings(plan)), frames)
    if not plan.settings.quiet:
        log.warning("note: exposure %g for all frames, metered on %d of them", mapping.exposure, len(frames))
    return replace(plan, settings=replace(plan.settings, exposure=mapping.exposure), white=mapping.white)


def pilot_frames(scene: Scene | Snapshot) -> list[int]:
    """Returns the numbers of frames that are spread evenly over the animation of a scene, its ends with them."""
    animation = scene.animation if isinstance(scene, Scene) else AnimationRange()
    if animation.start == animation.end:
        return [0]
    return sorted({round(frame) for frame in np.linspace(0, animation.frames - 1, PILOT_FRAMES)})


def pilot_settings(plan: Plan) -> Settings:
    """Returns the settings of the pilot's frames: those of the film that say what light there is, and where this
    process traces; CPUs do where other hosts make the film, as this process may have no device.
    """
    chosen = plan.settings
    uncropped = replace(plan, settings=replace(chosen, crop=None, draft=False))
    full = uncropped.driver_settings(plan.snapshot(frame=0))
    share = PILOT_SIDE / max(full.width, full.height)
    size = (max(1, round(full.width * share)), max(1, round(full.height * share)))
    cpu = {"device": "cpu", "kernel": None, "dispatch": None, "shading": "cpu"}
    here: dict[str, Any] = UNSHARED if plan.members_here or not chosen.is_shared else UNSHARED | cpu
    noise: dict[str, Any] = {"photons": None, "radius": None, "guide_share": None, "seed": 0, "time_limit": None}
    noise |= {"target_noise": None, "adaptive": False, "layers": False, "denoise": False}
    noise |= {"shutter": None, "motion_samples": None}
    return replace(chosen, size=size, crop=None, draft=False, passes=PILOT_PASSES, quiet=True, **noise, **here)


def _metered(pilot: Plan, frames: list[int]) -> ToneMapping:
    """Returns what suits all frames of a pilot together."""
    light = np.concatenate([image.reshape(-1, 3) for image in _images(pilot, frames)]).astype(np.float64)
    return metered(adapted(light, pilot.white_point), pilot.curve)


def _images(pilot: Plan, frames: list[int]) -> Iterator[Linear]:
    """Yields the linear radiance of frames, (height, width, 3) float32."""
    maker = FrameMaker(pilot, is_checked=True)
    with closing(maker.played_ahead(frames)) as played:
        for one in played:
            picture = maker.render(maker.open(pilot, one))
            if picture is None or not picture.is_finished:
                raise KeyboardInterrupt
            yield picture.image
