"""This module has the driver whose passes the members of a fleet make, with the bits that one process gives them.

Whole passes are handed out as members can take them. A pass is cut into parts where a driver's passes need those before
them, and where there are fewer passes left than members: each makes some of the pixels. Photons of such a pass are
traced once, by all members together, and so are those of a map that all passes share.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import fields, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from renderer.drivers.driver import Carried, Driver, MadeShare, Work, within_crop
from renderer.drivers.pass_site import cropped, pixels_by_tile
from renderer.drivers.shares import Share, part_of, run_of
from renderer.film.layers import columns_of
from renderer.fleet.fleet import Opening
from renderer.plugins import loaded_files
from renderer.run.members.member_figures import member_figures
from renderer.run.members.open_fleet import open_fleet
from renderer.run.members.pass_supply import Cutting, PassSupply
from renderer.run.members.picture_member import MemberOrder, PictureMember
from renderer.run.members.sent_tree import SentTree
from renderer.run.statistics import ratio
from tracecore.dispatch.tracer import TracerStatistics

if TYPE_CHECKING:
    from renderer.drivers.driver import RenderSettings
    from renderer.fleet.fleet import Fleet
    from renderer.run.members.picture_member import MemberReport, MemberResult
    from renderer.run.plan import PassLimits, Plan
    from renderer.scene.render_context import RenderContext

#: Counts of a driver's work that are seconds of its threads, and those that are bytes.
SECONDS = tuple(field.name for field in fields(Work) if field.name.endswith("_seconds"))
BYTES = ("bytes_up", "bytes_down")


class FleetDriver(Driver):
    """Makes passes by a fleet.

    kind: the class of the members' drivers.
    fleet: its members are open for this picture.
    reports: of the members.
    limits: of the picture.
    is_whole: whether no pass is cut into parts.
    """

    def __init__(
        self, kind: type[Driver], fleet: Fleet, reports: list[MemberReport], limits: PassLimits, *, is_whole: bool
    ) -> None:
        self.name, self.can_resume = kind.name, kind.can_resume  # type: ignore[misc]
        self.is_sequential = kind.is_sequential  # type: ignore[misc]
        self._fleet, self._reports, self.settings = fleet, reports, reports[0].settings
        self._cutting = Cutting(
            members=len(reports),
            passes=limits.passes,
            photons=reports[0].photons,
            is_sequential=kind.is_sequential,
            has_one_map=kind.has_one_map,
            is_whole=is_whole,
            run=run_of(limits.passes, len(reports)) if limits.is_of_passes_alone else 1,
        )
        self._work = Work()
        self._under_way: dict[int, list[Work]] = {}
        self._latest: dict[str, MemberResult] = {}
        self._rays: dict[str, int] = {}
        self._pixels = cropped(pixels_by_tile(self.settings.width, self.settings.height), self.settings)

    def counters(self) -> dict[str, Any]:
        """Returns seconds, which are the mean over the members, and bytes."""
        latest = [result.work for result in self._latest.values()]
        seconds = {name: ratio(sum(getattr(work, name) for work in latest), len(latest)) for name in SECONDS}
        return seconds | {name: sum(getattr(work, name) for work in latest) for name in BYTES}

    @property
    def traced(self) -> TracerStatistics:
        """Returns what the members' tracers have done together; busy seconds are the mean over them."""
        latest = [result.traced for result in self._latest.values()]
        sums = {field.name: sum(getattr(one, field.name) for one in latest) for field in fields(TracerStatistics)}
        return TracerStatistics(**sums | {"busy_seconds": ratio(sums["busy_seconds"], len(latest))})

    @property
    def members(self) -> dict[str, Any]:
        """Returns what the statistics say of the members."""
        return member_figures(self._reports[0].tracer, self._fleet.shares, self._rays)

    def passes(self, indices: Iterator[int], carried: Carried | None = None) -> Generator[MadeShare]:
        """Yields passes as `Driver` says."""
        first = next(indices, None)
        if first is None:
            return
        supply = PassSupply(self._cutting, first, chain([first], indices), carried or None)
        waiting: dict[int, dict[int, MemberResult]] = {}  # by index and part
        with closing(self._fleet.results(supply)) as results:
            for share, name, result in results:
                self._note(name, share.index, result)
                if not isinstance(share, Share):
                    supply.note(share, result.made.values)
                    continue
                waiting.setdefault(share.index, {})[share.part] = result
                while len(waiting.get(supply.wanted, {})) == self._cutting.parts_of(supply.wanted):
                    index, made = supply.wanted, waiting.pop(supply.wanted)
                    next_carried = self._next_carried(made) if self.is_sequential else {}
                    passes = made[0].made.passes
                    supply.finish(next_carried or None, passes)
                    yield MadeShare(self._together(made), self._worked(index), next_carried, passes)

    def _note(self, name: str, index: int, result: MemberResult) -> None:
        """Keep what a member says of its work, which is counted with the pass that it was for."""
        self._latest[name] = result
        self._rays[name] = self._rays.get(name, 0) + result.made.work.rays.total
        self._under_way.setdefault(index, []).append(result.made.work)

    def _worked(self, index: int) -> Work:
        """Returns rays and photons of a pass, which count from now on."""
        total = Work()
        for work in self._under_way.pop(index):
            for sums in (total, self._work):
                sums.rays.add(work.rays)
                sums.photons.add(work.photons)
        return total

    def _next_carried(self, made: dict[int, MemberResult]) -> Carried:
        """Returns what the next pass needs: what the first part's member knows, and of the other parts' pixels what
        theirs do."""
        whole = made[0].made.carried
        for part in range(1, len(made)):
            pixels = part_of(self._pixels, Share(0, part, len(made)))
            for name, values in made[part].made.carried.items():
                whole[name][pixels] = values[pixels]
        return whole

    def _together(self, made: dict[int, MemberResult]) -> Any:
        """Returns the pass that all its parts make, or what was made of a run of passes."""
        if len(made) == 1:
            return made[0].made.values
        settings = self.settings
        image = np.zeros((settings.width * settings.height, columns_of(settings)))
        for part, result in made.items():
            image[part_of(self._pixels, Share(0, part, len(made)))] = result.made.values
        return within_crop(image, settings)


def shared_driver(plan: Plan, fleet: Fleet) -> Callable[[RenderContext, RenderSettings], Driver]:
    """Returns what makes the driver of a plan's picture, whose passes a fleet makes."""

    def make(context: RenderContext, _: RenderSettings) -> Driver:
        settings, snapshot = plan.settings, context.snapshot
        scene, tree = plan.scene if settings.shutter else snapshot, SentTree.of(context.tracer, settings.cluster)
        content = MemberOrder(scene=scene, settings=settings, snapshot=snapshot, tree=tree)
        reports = fleet.open(Opening(PictureMember, content, loaded_files()))
        return FleetDriver(plan.driver, fleet, reports, plan.limits, is_whole=plan.settings.shutter is not None)

    return make


@contextmanager
def with_members(plan: Plan) -> Iterator[Plan]:
    """Yields the plan of a picture whose passes the members of a fleet make; they end with the block."""
    with open_fleet(plan.settings) as fleet:
        yield plan if fleet is None else replace(plan, shared=shared_driver(plan, fleet))
