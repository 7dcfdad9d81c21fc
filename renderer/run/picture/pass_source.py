"""This module holds where the passes of a picture come from: a driver on a tracer, and those that come in its place
where the scene moves, and where a tracer fails.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from itertools import chain, groupby
from typing import TYPE_CHECKING

from renderer.drivers.driver import Driver, Work, summed
from renderer.errors import UsageError
from renderer.run.containment import Containment
from renderer.run.resuming.checkpoints import NO_WORK, both
from renderer.scene.render_context import context_of
from tracecore.errors import TraceError

if TYPE_CHECKING:
    from renderer.drivers.driver import Carried, MadeShare, RenderSettings
    from renderer.run.motion import Motion
    from renderer.run.plan import Plan
    from renderer.scene.render_context import RenderContext
    from renderer.scene.tree_updates import TreeUpdates
    from scenes.model import Snapshot
    from tracecore.dispatch.tracer import TracerStatistics
    from tracecore.workers.pool import Log


class PassSource:
    """Has a driver make the passes of a picture, and knows what those before it have done.

    Another driver comes in its place where the scene moves, and where a tracer fails.

    context: the scene at the picture's moment, and a tracer of it, by the plan's choice.
    settings: of the driver, as they were asked for.
    is_contained: whether another tracer is opened where one fails, unless other processes trace.
    on_driver: called with each driver that comes before it makes a pass, or None.
    """

    def __init__(
        self, context: RenderContext, plan: Plan, settings: RenderSettings, *, is_contained: bool = False
    ) -> None:
        choice = plan.choice if is_contained and not plan.settings.is_shared else None
        self.containment, self.plan = Containment(context, choice), plan
        self.on_driver: Callable[[Driver], None] | None = None
        self._asked, self._is_at_work = settings, False
        self._work, self._traced = Work(), NO_WORK
        self._logs: list[Log] = []
        self._others = ExitStack()
        self.begin()
        if settings.shading == "gpu" and (reason := self.driver.why_on_cpu) is not None:
            self.close()
            raise UsageError(f"--shading gpu: {reason}")

    @property
    def work(self) -> Work:
        """Returns what all drivers have done together, also what was done in vain."""
        return summed(self._work, self.driver.work) if self._is_at_work else self._work

    @property
    def traced(self) -> TracerStatistics:
        """Returns what all tracers have done."""
        elsewhere = self.driver.traced if self._is_at_work else None
        return both(self._traced, elsewhere or self.at.tracer.statistics())

    def logs(self) -> list[Log]:
        """Returns what the threads of all drivers did when."""
        return [*self._logs, *(self.driver.logs() if self._is_at_work else [])]

    def passes(self, indices: Iterator[int], carried: Carried | None = None) -> Generator[MadeShare]:
        """Yields passes as `Driver.passes` does, and goes on with another driver where a tracer fails under one."""
        taken: deque[int] = deque()  # and not made yet
        done = 0

        def noted(more: Iterator[int]) -> Iterator[int]:
            for index in more:
                taken.append(index)
                yield index

        while True:
            again = tuple(taken)
            taken.clear()
            try:
                with closing(self._uncontained(noted(chain(again, indices)), carried)) as passes:
                    for made in passes:
                        for _ in range(made.passes):
                            done = taken.popleft() + 1
                        carried = made.carried
                        yield made
                return
            except TraceError as error:
                self.fail(error, done)
                if not self.driver.can_resume:  # it has to see the passes before
                    for _ in self._uncontained(iter(range(done))):
                        pass

    def _uncontained(self, indices: Iterator[int], carried: Carried | None = None) -> Generator[MadeShare]:
        """Yields passes as `passes` does, up to a failure of a tracer."""
        motion, choice = self.plan.motion, self.containment.choice
        if motion is None or self.plan.shared is not None:
            return self.driver.passes(indices, carried)
        return in_motion(self, motion if choice is None else replace(motion, choice=choice), indices, carried)

    def begin(self) -> None:
        """Puts a driver on the tracer that is in use, or on another one where that fails as the driver is made."""
        self.updates: TreeUpdates | None = None
        while True:
            try:
                self.put(self.containment.context, self._asked)
                return
            except TraceError as error:
                self.containment.recover(error, -1)

    def put(self, at: RenderContext, settings: RenderSettings) -> None:
        """Puts a driver in the place of the one that is retired. at: what it looks at, and its tracer."""
        self.at, plan = at, self.plan
        make = plan.shared
        #: The driver that is at work, or the last one that was.
        self.driver = plan.driver(at.snapshot, at.tracer, settings) if make is None else make(at, settings)
        self._is_at_work = True
        if (path := plan.settings.load_photons) is not None:
            from renderer.run.photon_run.photon_parts import photons_of_run

            driver = self.driver
            driver.take_photons(photons_of_run(path, at.snapshot, driver.photon_run(), driver.pass_photons))
        if self.on_driver is not None:
            self.on_driver(self.driver)

    def retire(self) -> None:
        """Closes the driver, whose work counts on."""
        if self._is_at_work:
            self._work, self._logs, self._is_at_work = self.work, self.logs(), False
            self.driver.close()

    def leave_tracer(self) -> ExitStack:
        """Counts on what the tracer has done, and closes it if it is of another time. Returns what closes the next."""
        self._traced = self.traced
        self._others.close()
        return self._others

    def fail(self, error: TraceError, index: int) -> None:
        """Puts a driver on another tracer in place of one whose tracer failed at pass `index`."""
        traced = self.traced
        with suppress(TraceError):
            self.retire()
        self._others.close()
        self.containment.recover(error, index)
        self._traced = traced
        self.begin()

    def close(self) -> None:
        """Closes the driver, and the tracers that were opened here."""
        with closing(self.containment), self._others:
            if self._is_at_work:
                self.driver.close()


def in_motion(
    source: PassSource, motion: Motion, indices: Iterator[int], carried: Carried | None = None
) -> Generator[MadeShare]:
    """Yields passes as `Driver.passes` does, by a driver for each time; photons too are those of the time.

    Where nothing moves, it is one driver, with the same bits as without a shutter. All have the settings of the first,
    which sees the scene at the time of the picture. What a sequential driver keeps from pass to pass goes on from time
    to time: the radii of `sppm` belong to a pixel, whatever moment it is seen at (Hachisuka, Jensen: Stochastic
    Photon Mapping, 2009).
    """
    from renderer.run.motion import block_of

    start, seed = source.containment.context.snapshot.time, source.driver.settings.seed
    for block, of_block in groupby(indices, lambda index: block_of(index, motion.samples)):
        look_at(source, motion, motion.snapshot_at(motion.time_of(block, start, seed)))
        with closing(source.driver.passes(of_block, carried)) as passes:
            for made in passes:
                carried = made.carried
                yield made


def look_at(source: PassSource, motion: Motion, snapshot: Snapshot) -> None:
    """Has a driver for a snapshot make passes, if that looks different from what is looked at."""
    from renderer.run.motion import looks_same, stands_still

    at, settings, seconds = source.at, source.driver.settings, source.driver.work.trace_seconds
    if looks_same(at.snapshot, snapshot):
        return
    source.retire()
    if stands_still(at.snapshot, snapshot):
        source.put(replace(at, snapshot=snapshot), settings)
        return
    if source.updates is None:  # pictures that stand still do without
        from renderer.scene.tree_updates import TreeUpdates

        source.updates = TreeUpdates(motion.update)
    updates = source.updates
    updates.note(at.tracer, is_refitted=at.is_refitted, trace_seconds=seconds)
    opened = source.leave_tracer()
    tree = updates.tree_for(snapshot.positions)
    source.put(opened.enter_context(context_of(snapshot, motion.choice, load_seconds=0.0, tree=tree)), settings)
