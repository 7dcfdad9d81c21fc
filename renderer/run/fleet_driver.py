"""This module has the driver whose passes the members of a fleet make, with the bits that one process gives them.

Whole passes are handed out as members can take them. A pass is cut into parts where a driver's passes need those before
them, and where there are fewer passes left than members: each makes some of the pixels. Photons of such a pass are
traced once, by all members together, and so are those of a map that all passes share.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from renderer.drivers.driver import Carried, Radiance, RenderSettings, Work
from renderer.drivers.eye import EyeDriver, cropped, pixels_by_tile, within_crop
from renderer.drivers.shares import Share, part_of
from renderer.errors import RenderError
from renderer.film.layers import LAYER_COLUMNS
from renderer.run.member_figures import member_figures
from renderer.run.pass_supply import Cutting, PassSupply
from renderer.run.statistics import ratio
from tracecore.dispatch.tracer import TracerStatistics

if TYPE_CHECKING:
    from renderer.fleet.fleet import Fleet
    from renderer.run.picture_member import MemberReport, MemberResult

#: Counts of a driver's work that are seconds of its threads, and those that are bytes.
SECONDS = tuple(field.name for field in fields(Work) if field.name.endswith("_seconds"))
BYTES = ("bytes_up", "bytes_down")


class FleetDriver:
    """Makes passes by a fleet, as `Driver` says.

    kind: the class of the members' drivers.
    fleet: its members are open for this picture.
    reports: of the members.
    passes: how many the picture has, or None where nobody knows.
    is_whole: whether no pass is cut into parts.
    """

    def __init__(
        self, kind: type[EyeDriver], fleet: Fleet, reports: list[MemberReport], passes: int | None, *, is_whole: bool
    ) -> None:
        self._kind, self._fleet, self._reports = kind, fleet, reports
        self._cutting = Cutting(
            members=len(reports),
            passes=passes,
            photons=reports[0].photons,
            is_sequential=kind.is_sequential,
            has_one_map=kind.has_one_map,
            is_whole=is_whole,
        )
        self._work = Work()
        self._under_way: dict[int, list[Work]] = {}
        self._latest: dict[str, MemberResult] = {}
        self._rays: dict[str, int] = {}
        self._carried: dict[int, Carried] = {}
        settings = reports[0].settings
        self._pixels = cropped(pixels_by_tile(settings.width, settings.height), settings)

    @property
    def name(self) -> str:
        """Returns the name of the members' drivers."""
        return self._kind.name

    @property
    def settings(self) -> RenderSettings:
        """Returns the settings as used by all members."""
        return self._reports[0].settings

    @property
    def work(self) -> Work:
        """Returns rays and photons of the passes that were yielded; seconds are the mean over the members."""
        latest = [result.work for result in self._latest.values()]
        done = replace(self._work)
        for name in SECONDS:
            setattr(done, name, ratio(sum(getattr(work, name) for work in latest), len(latest)))
        done.bytes_up, done.bytes_down = (sum(getattr(work, name) for work in latest) for name in BYTES)
        return done

    @property
    def traced(self) -> TracerStatistics:
        """Returns what the members' tracers have done together; busy seconds are the mean over them."""
        latest = [result.traced for result in self._latest.values()]
        sums = {field.name: sum(getattr(one, field.name) for one in latest) for field in fields(TracerStatistics)}
        return TracerStatistics(**sums | {"busy_seconds": ratio(sums["busy_seconds"], len(latest))})

    @property
    def member_figures(self) -> dict[str, Any]:
        """Returns what the statistics say of the members."""
        return member_figures(self._reports[0].tracer, self._fleet.shares, self._rays)

    @property
    def can_resume(self) -> bool:
        """Returns whether pictures can go on in another process, as of `EyeDriver`."""
        return not self._kind.is_sequential or self._kind.carries is not EyeDriver.carries

    def carried(self, passes: int) -> Carried:
        """Returns what the pass after so many needs of them, as `ResumableDriver` says."""
        return self._carried[passes] if self._kind.is_sequential else {}

    def take_up(self, passes: int, carried: Carried) -> None:
        """Goes on where another driver stopped, as `ResumableDriver` says."""
        self._carried = {passes: carried}

    def render_pass(self, index: int) -> Radiance:
        """Returns pass `index` alone."""
        with closing(self.passes(index, lambda other: other == index)) as passes:
            return next(passes)

    def passes(self, first: int, may_begin: Callable[[int], bool]) -> Generator[Radiance]:
        """Yields passes as `passes_of` does."""
        if self._kind.is_sequential and first > 0 and first not in self._carried:
            raise RenderError(f"pass {first} of {self.name} needs the one before it")
        supply = PassSupply(self._cutting, first, may_begin, self._carried.get(first))
        waiting: dict[int, dict[int, MemberResult]] = {}
        with closing(self._fleet.results(supply)) as results:
            for share, name, result in results:
                self._note(name, share.index, result)
                if not isinstance(share, Share):
                    supply.note(share, result.made.values)
                    continue
                waiting.setdefault(share.index, {})[share.part] = result
                while len(waiting.get(supply.wanted, {})) == self._cutting.parts_of(supply.wanted):
                    index, made = supply.wanted, waiting.pop(supply.wanted)
                    self._carry_on(index, made)
                    supply.finish(self._carried.get(index + 1))
                    for work in self._under_way.pop(index):
                        self._work.rays.add(work.rays)
                        self._work.photons.add(work.photons)
                    yield self._together(made)

    def close(self) -> None:
        """Does nothing: the fleet is its owner's."""

    def _note(self, name: str, index: int, result: MemberResult) -> None:
        """Keep what a member says of its work, which is counted with the pass that it was for."""
        self._latest[name] = result
        self._rays[name] = self._rays.get(name, 0) + result.made.work.rays.total
        self._under_way.setdefault(index, []).append(result.made.work)

    def _carry_on(self, index: int, made: dict[int, MemberResult]) -> None:
        """Keep what the pass after one needs, of a driver whose passes need those before them."""
        if self._kind.is_sequential:
            self._carried = {index: self._carried.get(index, {}), index + 1: self._next_carried(made)}

    def _next_carried(self, made: dict[int, MemberResult]) -> Carried:
        """Returns what the next pass needs: what the first part's member knows, and of the other parts' pixels what
        theirs do."""
        whole = made[0].made.carried
        for part in range(1, len(made)):
            pixels = part_of(self._pixels, Share(0, part, len(made)))
            for name, values in made[part].made.carried.items():
                whole[name][pixels] = values[pixels]
        return whole

    def _together(self, made: dict[int, MemberResult]) -> Radiance:
        """Returns the pass that all its parts make."""
        if len(made) == 1:
            values: Radiance = made[0].made.values
            return values
        settings = self.settings
        image = np.zeros((settings.width * settings.height, LAYER_COLUMNS[settings.layers]))
        for part, result in made.items():
            image[part_of(self._pixels, Share(0, part, len(made)))] = result.made.values
        return within_crop(image, settings)
