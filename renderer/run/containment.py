"""A device that fails is contained: passes that were under way are made again on another tracer, with the same bits.

Once they are tried on the device anew, by a new tracer. A process whose device has met an illegal address, or whose
kernel does not end, gets no other one from CUDA; then the CPU goes on if the user wants that, and else it is an error.
Passes that are finished are kept, and what a driver carries from pass to pass is handed on, as from a checkpoint.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from renderer.drivers.driver import Work, passes_of, resumable
from renderer.errors import UsageError
from renderer.run.motion import NO_WORK, MotionDriver, both, summed
from tracecore.errors import TraceError, WrongHitError

if TYPE_CHECKING:
    from pathlib import Path

    from renderer.drivers.driver import Carried, Driver, Radiance, RenderSettings, ResumableDriver
    from renderer.run.plan import Plan
    from renderer.scene.render_context import RenderContext, TracerChoice
    from tracecore.dispatch.tracer import TracerStatistics
    from tracecore.workers.pool import Log

log = logging.getLogger(__name__)


class Containment:
    """Holds the tracer that is in use, and puts another one in its place where that fails.

    context: the scene and the first tracer, which the caller closes as well.
    choice: by which it was opened; None where nothing is to be done about a failure.
    """

    def __init__(self, context: RenderContext, choice: TracerChoice | None) -> None:
        self.context, self.faults = context, context.faults
        self.choice = choice.fallen_back if choice is not None and context.faults else choice
        self._failed_at: int | None = None
        self._opened = ExitStack()

    def recover(self, error: TraceError, place: int) -> None:
        """Open another tracer in place of one that failed, whose ports are closed.

        error: of the tracer.
        place: how far the work had come; where a device fails twice at a place, it is not tried again.

        Raises the error, with what the user can do about it, where there is no other tracer.
        """
        old, choice = self.context, self.choice
        if choice is None or old.tracer.device == "cpu" or isinstance(error, WrongHitError):
            raise error
        self.faults += 1
        is_new, self._failed_at = self._failed_at != place, place
        with suppress(TraceError):
            old.tracer.close()
        log.warning("note: the %s failed: %s", old.tracer.device, error)
        if is_new and self._opens(replace(choice, fallback=None), old.tracer.tree):
            return
        if choice.fallback is None:
            raise type(error)(f"{error}; --fallback cpu goes on with the CPU") from error
        self.choice = choice.fallen_back
        self._opens(self.choice, None)

    def _opens(self, choice: TracerChoice, tree: Any) -> bool:
        """Open a tracer for the scene. Returns False where its device cannot be used."""
        old = self.context
        try:
            opened = self._opened.enter_context(choice.opened(old.snapshot, old.load_seconds, tree))
        except (TraceError, UsageError) as error:
            log.warning("note: the %s cannot be used any more: %s", old.tracer.device, error)
            return False
        self.context = replace(opened, is_refitted=old.is_refitted)
        log.warning("note: what was under way is traced again on the %s", opened.tracer.device)
        return True

    def close(self) -> None:
        """Close the tracers that were opened here."""
        self._opened.close()


class ContainedDriver:
    """Makes passes as a driver does, and goes on with another one where a tracer fails under it.

    context: the scene, and a tracer.
    plan: of the picture.
    settings: of the driver.
    """

    def __init__(self, context: RenderContext, plan: Plan, settings: RenderSettings) -> None:
        self._containment = Containment(context, None if plan.settings.is_shared else plan.choice)
        self._plan, self._asked = plan, settings
        self._work_before, self._traced_before = Work(), NO_WORK
        self._logs: list[Log] = []
        self._driver = self._new_driver()

    @property
    def name(self) -> str:
        """Returns the name of the driver."""
        return self._driver.name

    @property
    def settings(self) -> RenderSettings:
        """Returns the settings as used."""
        return self._driver.settings

    @property
    def context(self) -> RenderContext:
        """Returns the scene and the tracer that is in use."""
        return self._containment.context

    @property
    def faults(self) -> int:
        """Returns how often a tracer has failed."""
        return self._containment.faults

    @property
    def work(self) -> Work:
        """Returns what all drivers have done together, also what was done in vain."""
        return summed(self._work_before, self._driver.work)

    @property
    def traced(self) -> TracerStatistics:
        """Returns what all tracers have done."""
        now: TracerStatistics | None = getattr(self._driver, "traced", None)
        return both(self._traced_before, self.context.tracer.statistics() if now is None else now)

    @property
    def members(self) -> dict[str, Any]:
        """Returns what the statistics say of the processes that share the passes out, where there are several."""
        return getattr(self._driver, "member_figures", {})

    @property
    def can_resume(self) -> bool:
        """Returns whether pictures can go on in another process."""
        return resumable(self._driver) is not None

    def carried(self, passes: int) -> Carried:
        """Returns what the pass after so many needs of them, as `ResumableDriver` says."""
        return cast("ResumableDriver", self._driver).carried(passes)

    def take_up(self, passes: int, carried: Carried) -> None:
        """Goes on where a driver with the same scene and settings stopped, as `ResumableDriver` says."""
        cast("ResumableDriver", self._driver).take_up(passes, carried)

    def render_pass(self, index: int) -> Radiance:
        """Returns pass `index` alone."""
        with closing(self.passes(index, lambda other: other == index)) as passes:
            return next(passes)

    def passes(self, first: int, may_begin: Callable[[int], bool]) -> Generator[Radiance]:
        """Yields passes as `passes_of` does, some of them made by other drivers than the first."""
        index = first
        while True:
            try:
                with closing(passes_of(self._driver, index, may_begin)) as passes:
                    for image in passes:
                        index += 1
                        yield image
                return
            except TraceError as error:
                self._go_on(error, index)

    def give_up(self) -> None:
        """Has the passes under way end early, of a driver that can, as `EyeDriver.give_up` does."""
        give_up: Callable[[], None] | None = getattr(self._driver, "give_up", None)
        if give_up is not None:
            give_up()

    def logs(self) -> list[Log]:
        """Returns what the threads of all drivers did when, of drivers that know."""
        logs: Callable[[], list[Log]] = getattr(self._driver, "logs", list)
        return [*self._logs, *logs()]

    def save_photons(self, path: Path) -> None:
        """Keeps the photon map of a driver that has one."""
        cast("Any", self._driver).save_photons(path)

    def close(self) -> None:
        """Gives back what the driver holds, and closes the tracers that were opened here."""
        with closing(self._containment):
            self._driver.close()

    def _new_driver(self) -> Driver:
        """Returns a driver on the tracer that is in use, or on another one where that fails as the driver is made."""
        while True:
            try:
                return driver_of(self.context, self._plan, self._asked, self._containment.choice)
            except TraceError as error:
                self._containment.recover(error, -1)

    def _go_on(self, error: TraceError, index: int) -> None:
        """Put a driver on another tracer in place of one whose tracer failed, from pass `index` on."""
        old = self._driver
        before = resumable(old)
        carried = before.carried(index) if before is not None and index > 0 else None
        spent = self.work, self.traced, self.logs()
        with suppress(TraceError):
            old.close()
        self._containment.recover(error, index)
        self._driver = self._new_driver()
        self._work_before, self._traced_before, self._logs = spent
        if carried is not None:
            self.take_up(index, carried)
        elif index > 0:  # it has to see the passes before
            for _ in passes_of(self._driver, 0, lambda other: other < index):
                pass


def driver_of(
    context: RenderContext, plan: Plan, settings: RenderSettings, choice: TracerChoice | None = None
) -> Driver:
    """Returns the driver that makes a picture, at one moment of the scene or while the shutter is open.

    choice: by which tracers are opened for other times of the scene; None for that of the plan.
    """
    if plan.shared is not None:
        return plan.shared(context, settings)
    motion = plan.motion
    if motion is None:
        return plan.driver(context.snapshot, context.tracer, settings)
    return MotionDriver(
        plan.driver, context, settings, motion if choice is None else replace(motion, context=choice.opened)
    )
