"""This module makes shares of a picture's passes in a process of its own, a member of a fleet."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from renderer.drivers import find_driver
from renderer.drivers.driver import MadeShare, RenderSettings, Work
from renderer.drivers.shares import AnyShare, Share, known, made_shares
from renderer.film.film import Film
from renderer.film.layers import columns_of
from renderer.run.members.member_figures import TracerReport
from renderer.run.picture.pass_source import PassSource
from renderer.run.plan import Plan
from renderer.scene.render_context import context_of
from renderer.settings.picture import UNSHARED
from scenes.files.memory import share_memory
from tracecore.compilation.cached import begin_to_load
from tracecore.cuda.device import gpu_count, share_gpus
from tracecore.dispatch.tracer import TracerStatistics
from tracecore.threads import run_in_thread

if TYPE_CHECKING:
    from renderer.fleet.seats import Seat
    from renderer.run.members.sent_tree import SentTree
    from renderer.settings.picture import Settings
    from scenes.document import Scene
    from scenes.model import Snapshot


@dataclass(frozen=True, kw_only=True)
class MemberOrder:
    """Says what a member needs to make passes of a picture: all that is the same for all members.

    scene: what is rendered, of which a picture of one moment needs no more than that.
    settings: of the picture, with what the scene proposes filled in.
    snapshot: the scene at its moment, through its camera; None for members that see others.
    tree: of it, or None to build one.
    """

    scene: Scene | Snapshot
    settings: Settings
    snapshot: Snapshot | None = None
    tree: SentTree | None = None

    def plan(self, seat: Seat) -> Plan:
        """Returns what a member at a seat is to make. It writes no file, and takes its part of the host's memory: as
        much as each of the others, and as the process that they belong to.
        """
        share_memory(self.settings.memory, seat.neighbours + 1)
        if seat.device.startswith("gpu"):
            share_gpus(-(-seat.neighbours // gpu_count()))
        own = replace(
            self.settings,
            device=seat.device,
            threads=seat.threads,
            **UNSHARED,
            quiet=True,
            output=None,
            checkpoint=None,
            resume=False,
        )
        assert own.driver is not None
        return Plan(scene=self.scene, settings=own, driver=find_driver(own.driver))


class MemberReport(NamedTuple):
    """Is what a member says of itself when it is ready.

    settings: of its driver, as used.
    tracer: what traces.
    photons: that a pass sends out for maps which members can make together, or all passes where they share them; or 0.
    """

    settings: RenderSettings
    tracer: TracerReport
    photons: int


class MemberResult(NamedTuple):
    """Is a share that was made, and what the member has done since it began.

    made: the share.
    work: of the driver, of which the seconds count.
    traced: by the tracer.
    """

    made: MadeShare
    work: Work
    traced: TracerStatistics


class RunInMaking:
    """Adds up the passes of a run as they are made; stands for whoever waits for each of them.

    share: the run.
    film: of its passes, which has none yet.
    answer: gets what is made of the run, or the first error.
    """

    def __init__(self, share: Share, film: Film, answer: Future[MemberResult]) -> None:
        self._share, self._film, self._answer = share, film, answer
        self._work = Work()

    def set_result(self, result: MemberResult) -> None:
        """Takes the next pass of the run."""
        if self._answer.done():  # with an error
            return
        self._film.add(result.made.values)
        self._work.rays.add(result.made.work.rays)
        self._work.photons.add(result.made.work.photons)
        if self._film.passes == self._share.passes:
            made = MadeShare(self._film.sums(), self._work, {}, self._share.passes)
            self._answer.set_result(result._replace(made=made))

    def set_exception(self, error: BaseException) -> None:
        """Takes the error of a pass."""
        if not self._answer.done():
            self._answer.set_exception(error)


#: Who waits for what a member makes.
Answer = Future[MemberResult] | RunInMaking


class PictureMember:
    """Makes shares of passes; several threads may ask for some at once, and they are under way together.

    window: so many shares keep it busy.
    """

    def __init__(self, order: MemberOrder, seat: Seat) -> None:
        plan = order.plan(seat)
        self._clamp = plan.settings.clamp
        begin_to_load(plan.driver.code)
        snapshot = order.snapshot or plan.snapshot()
        self._opened = ExitStack()
        opened = context_of(snapshot, plan.choice, load_seconds=0.0, tree=order.tree and order.tree.taken())
        self._context = self._opened.enter_context(opened)
        source = PassSource(self._context, plan, plan.driver_settings(snapshot))
        self._source = self._opened.enter_context(closing(source))
        self._is_moving = plan.settings.shutter is not None
        self.window = 2 if self._is_moving else max(2, self._source.driver.room)
        self._changed = threading.Condition()
        self._asked: deque[tuple[AnyShare, Answer]] = deque()
        self._is_working = False

    def report(self) -> MemberReport:
        """Returns what the member says of itself."""
        driver = self._source.driver
        return MemberReport(driver.settings, TracerReport.of(self._context), driver.pass_photons)

    def make(self, share: AnyShare) -> MemberResult:
        """Returns a share, once it is made."""
        answer: Future[MemberResult] = Future()
        with self._changed:
            self._asked.extend(self._one_by_one(share, answer))
            begins, self._is_working = not self._is_working, True
        self._source.driver.look_again()
        if begins:
            run_in_thread(self._work)
        return answer.result()

    def close(self) -> None:
        """Closes the driver and the tracer."""
        self._opened.close()

    def _one_by_one(self, share: AnyShare, answer: Future[MemberResult]) -> list[tuple[AnyShare, Answer]]:
        """Returns what is made of a share, each with who waits for it: of a run its passes."""
        if not isinstance(share, Share) or share.passes == 1:
            return [(share, answer)]
        settings = self._source.driver.settings
        film = Film(*settings.film_size, columns_of(settings), self._clamp, share.index)
        run, indices = RunInMaking(share, film, answer), range(share.index, share.index + share.passes)
        return [(replace(share, index=index, passes=1), run) for index in indices]

    def _work(self) -> None:
        """Make what is asked for until nothing is: one thread does it for all who ask, as each waits for its share."""
        while True:
            under_way: deque[Answer] = deque()
            try:
                for made in self._made(under_way):
                    result = MemberResult(made, self._source.work, self._source.traced)
                    under_way[0].set_result(result)
                    under_way.popleft()
                    self._source.driver.look_again()
            except BaseException as error:
                for answer in under_way:
                    answer.set_exception(error)
            with self._changed:
                if not self._asked:
                    self._is_working = False
                    return

    def _made(self, under_way: deque[Answer]) -> Generator[MadeShare]:
        """Yields shares in the order in which they are taken. under_way: who waits for each."""
        shares = self._shares(under_way)
        if self._is_moving:
            return self._source.passes(share.index for share in known(shares) if isinstance(share, Share))
        return made_shares(self._source.driver, shares)

    def _shares(self, under_way: deque[Answer]) -> Iterator[AnyShare | None]:
        """Yields what is asked for, until nothing is; None as long as something is under way, since more may come."""
        while self._asked or under_way:
            share = None
            with self._changed:
                if self._asked:
                    share, answer = self._asked.popleft()
                    under_way.append(answer)
            yield share
