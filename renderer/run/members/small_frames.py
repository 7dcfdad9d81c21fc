"""This module has several processes of this host share the frames of a film out where these are small.

One thread plays, packs and opens such a frame for about as long as all cores or the GPU make its passes, so that one
process leaves most of the machine idle.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from renderer.errors import UsageError
from renderer.run.members.open_fleet import HAS_SOCKETS, members_ahead
from renderer.settings.picture import DEFAULT_PASSES, Settings
from renderer.settings.setting import LOCAL
from tracecore.threads import usable_cores

if TYPE_CHECKING:
    from renderer.run.plan import Plan
    from scenes.model import Snapshot

log = logging.getLogger(__name__)

#: A film is made by so many processes at most, each with so many frames at least, of so many samples at most.
MOST_MEMBERS, FRAMES_OF_MEMBER, SAMPLES_OF_FRAME = 8, 4, 1 << 24

#: By what traces: the cores that each process has at least, and how many processes gain something.
CORES_OF_MEMBER, LEAST_MEMBERS = {"gpu": 4, "cpu": 2}, {"gpu": 2, "cpu": 4}

#: Settings that are for one process, or for frames that take long.
FOR_ONE = ("checkpoint", "fallback", "timeline", "verify", "time_limit", "target_noise")


def begun_ahead(settings: Settings, frames: Sequence[int] | None) -> AbstractContextManager[None]:
    """Has members of this host begin, as `members_ahead` does, if it is known that there will be some before the scene
    is read, while which somebody looks what the device `auto` is.

    frames: numbers of those that are made, or None for one picture.
    """
    if frames is not None and settings.device != "auto":
        settings = with_members(settings, settings.size, len(frames))
    return members_ahead(settings)


def shared_out(plan: Plan, first: Snapshot, frames: int) -> Plan:
    """Returns the plan of a film, which processes share out where that is faster and there is memory for all of them.

    first: the scene at the first frame.
    frames: how many there are.
    """
    shared = replace(plan, settings=with_members(plan.settings, plan.driver_settings(first).film_size, frames))
    if plan.settings.is_shared or not shared.settings.is_shared or not _is_there(shared.settings.device):
        return plan
    from renderer.run.memory import check_fits

    try:
        check_fits(shared.estimate(first, is_frame=True))
    except UsageError:
        return plan
    if not plan.settings.quiet:
        log.warning(
            "note: %d processes make the frames, as for --cluster %s", shared.members_here, shared.settings.cluster
        )
    return shared


def _is_there(device: str) -> bool:
    """Returns whether a device can be used; what is wrong with one that cannot is told by whoever opens it."""
    from renderer.scene.render_context import has_gpu
    from tracecore import device_and_index

    name, index = device_and_index(device)
    return name != "gpu" or has_gpu(index)


def with_members(settings: Settings, size: tuple[int, int] | None, frames: int) -> Settings:
    """Returns settings by which processes of this host share the frames of a film out, each of which makes whole ones,
    if these are small and nobody said who is to make them.

    size: width and height of a frame, pixels, or None if it is not known; then one process makes them.
    frames: how many there are.
    """
    samples = (settings.passes or DEFAULT_PASSES) * math.prod(size or (math.inf, 1))
    is_open = not settings.is_shared and all(getattr(settings, name) is None for name in FOR_ONE)
    if not (HAS_SOCKETS and is_open and samples <= SAMPLES_OF_FRAME and frames >= 2 * FRAMES_OF_MEMBER):
        return settings
    from renderer.fleet.seats import device_of

    device = "gpu:0" if settings.device == "gpu" else device_of(settings.device, 0)
    kind = device.partition(":")[0]
    # A GPU serves one stream of batches at a time; and that a CPU is no GPU to shade on is told by whoever opens it.
    if kind not in CORES_OF_MEMBER or settings.shading == {"gpu": "cpu", "cpu": "gpu"}[kind]:
        return settings
    cores = min(settings.threads or usable_cores(), usable_cores())
    count = min(MOST_MEMBERS, cores // CORES_OF_MEMBER[kind], frames // FRAMES_OF_MEMBER)
    if count < LEAST_MEMBERS[kind]:
        return settings
    own = settings.threads and settings.threads // count
    return replace(settings, cluster=f"{LOCAL}{count}", device=device, threads=own)
