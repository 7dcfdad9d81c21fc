"""This module makes whole frames of a sequence in a process of its own, a member of a fleet."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from renderer.errors import RenderError
from renderer.fleet.fleet import Items, Opening
from renderer.plugins import loaded_files
from renderer.run.members.picture_member import MemberOrder
from renderer.run.resuming.frame_key import frame_key
from renderer.run.sequence.frame_maker import FrameMaker
from renderer.run.sequence.sequence_order import MadeFrame, Seeds, of_frame
from tracecore.compilation.cached import begin_to_load
from tracecore.freed_memory import keep_freed_memory

if TYPE_CHECKING:
    from renderer.film.image_file import FilmTime
    from renderer.fleet.fleet import Fleet
    from renderer.fleet.seats import Seat
    from renderer.run.sequence.sequence_order import SequenceOrder
    from renderer.scene.packed_scene import PackedScene


@dataclass(frozen=True, kw_only=True)
class FramesOrder:
    """Says what a member needs to make frames.

    picture: what all frames have.
    seeds, suffix: as of `SequenceOrder`, the latter of a frame's file.
    white, film_time: as of `Plan`.
    """

    picture: MemberOrder
    seeds: Seeds
    suffix: str
    white: float
    film_time: FilmTime | None


@dataclass(frozen=True)
class SequenceFrame:
    """Is a frame of a sequence, by its number."""

    number: int

    def __str__(self) -> str:
        """Returns its name in words."""
        return f"frame {self.number}"


class FrameMember:
    """Makes frames, one after the other; from one to the next the tree is fitted or built anew.

    Two threads ask for frames: while passes of one are made, the one before is mapped to what is shown, and the next is
    played and packed.
    """

    window = 2

    def __init__(self, order: FramesOrder, seat: Seat) -> None:
        self._seeds, self._suffix = order.seeds, order.suffix
        plan = replace(order.picture.plan(seat), white=order.white, film_time=order.film_time)
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
            self._packed, plan = played.packed, of_frame(self._maker.plan, self._seeds, frame.number)
        with self._rendering:
            picture = self._maker.render(self._maker.open(plan, played))
        if picture is None:
            raise RenderError(f"{frame} has no pass")
        return MadeFrame.of(picture, self._suffix, frame_key(plan, played.snapshot, picture.passes))

    def close(self) -> None:
        """Does nothing: what a frame needs is opened for it."""


def frames_by(order: SequenceOrder, fleet: Fleet) -> Callable[[list[int]], Generator[tuple[int, MadeFrame]]]:
    """Returns what has a fleet make frames of a sequence, of their numbers: each with its number, in any order."""

    def make(numbers: list[int]) -> Generator[tuple[int, MadeFrame]]:
        plan = order.picture
        content = FramesOrder(
            picture=MemberOrder(scene=plan.scene, settings=plan.settings),
            seeds=order.seeds,
            suffix=order.still_suffix,
            white=plan.white,
            film_time=plan.film_time,
        )
        fleet.open(Opening(FrameMember, content, loaded_files()))
        with closing(fleet.results(Items(SequenceFrame(number) for number in numbers))) as results:
            for frame, _, made in results:
                yield frame.number, made

    return make
