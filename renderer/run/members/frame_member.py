"""This module makes whole frames of a sequence in a process of its own, a member of a fleet."""

from __future__ import annotations

import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from renderer.errors import RenderError
from renderer.fleet.fleet import Items, Opening
from renderer.plugins import loaded_files
from renderer.run.members.picture_member import MemberOrder
from renderer.run.resuming.frame_key import frame_key
from renderer.run.sequence.frame_maker import FrameMaker
from renderer.run.sequence.sequence_order import FramesElsewhere, MadeFrame, Seeds, of_frame
from tracecore.compilation.cached import begin_to_load
from tracecore.freed_memory import keep_freed_memory

if TYPE_CHECKING:
    from renderer.film.image_file import FilmTime
    from renderer.fleet.fleet import Fleet
    from renderer.fleet.seats import Seat
    from renderer.run.plan import Plan
    from renderer.run.sequence.sequence_order import SequenceOrder
    from renderer.scene.packed_scene import PackedScene


@dataclass(frozen=True, kw_only=True)
class FramesOrder:
    """Says what a member needs to make frames.

    picture: what all frames have, but for their exposure.
    seeds, suffix: as of `SequenceOrder`, the latter of a frame's file.
    film_time: as of `Plan`.
    """

    picture: MemberOrder
    seeds: Seeds
    suffix: str
    film_time: FilmTime | None


@dataclass(frozen=True)
class SequenceFrame:
    """Is a frame of a sequence.

    number: of it.
    exposure, white: as of `Settings` and of `Plan`, which are known when members have long begun.
    """

    number: int
    exposure: float | Literal["auto"] | None
    white: float

    def __str__(self) -> str:
        """Returns its name in words."""
        return f"frame {self.number}"

    def shown(self, plan: Plan) -> Plan:
        """Returns a plan with the exposure of the frame."""
        return replace(plan, settings=replace(plan.settings, exposure=self.exposure), white=self.white)


class FrameMember:
    """Makes frames, one after the other; from one to the next the tree is fitted or built anew.

    Two threads ask for frames: while passes of one are made, the one before is mapped to what is shown, and the next is
    played and packed.
    """

    window = 2

    def __init__(self, order: FramesOrder, seat: Seat) -> None:
        self._seeds, self._suffix = order.seeds, order.suffix
        plan = replace(order.picture.plan(seat), film_time=order.film_time)
        keep_freed_memory()  # frame after frame needs arrays of the same sizes
        begin_to_load(plan.driver.code)
        self._maker = FrameMaker(plan)
        self._packed: PackedScene | None = None
        self._playing, self._rendering = threading.Lock(), threading.Lock()

    def report(self) -> None:
        """Returns nothing: what a member has to say is in the statistics of its frames."""

    def make(self, frame: SequenceFrame) -> MadeFrame:
        """Returns a frame."""
        with self._playing:
            played = self._maker.played(frame.number, self._packed)
            self._packed = played.packed
        plan = frame.shown(of_frame(self._maker.plan, self._seeds, frame.number))
        with self._rendering:
            picture = self._maker.render(self._maker.open(plan, played))
        if picture is None:
            raise RenderError(f"{frame} has no pass")
        return MadeFrame.of(picture, self._suffix, frame_key(plan, played.snapshot, picture.passes))

    def close(self) -> None:
        """Does nothing: what a frame needs is opened for it."""


def frames_by(order: SequenceOrder, fleet: Fleet) -> FramesElsewhere:
    """Has members of a fleet begin with a sequence, whose exposure nobody needs to know yet. Returns what has them make
    frames.
    """
    content = FramesOrder(
        picture=MemberOrder(scene=order.picture.scene, settings=order.picture.settings),
        seeds=order.seeds,
        suffix=order.still_suffix,
        film_time=order.picture.film_time,
    )
    opening = ThreadPoolExecutor(1, "fleet").submit(fleet.open, Opening(FrameMember, content, loaded_files()))

    def make(plan: Plan, numbers: list[int]) -> Generator[tuple[int, MadeFrame]]:
        opening.result()
        frames = (SequenceFrame(number, plan.settings.exposure, plan.white) for number in numbers)
        with closing(fleet.results(Items(frames))) as results:
            for frame, _, made in results:
                yield frame.number, made

    return make
