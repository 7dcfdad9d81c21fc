"""This module has the driver whose passes the members of a fleet make, with the bits that one process gives them.

Whole passes are handed out as members can take them. A pass is cut into parts where a driver's passes need those before
them, and where there are fewer passes left than members: each makes some of the pixels. Photons of such a pass are
traced by each.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import fields, replace
from itertools import count, takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from renderer.drivers.driver import Carried, Radiance, RenderSettings, Work
from renderer.drivers.eye import EyeDriver, Share, cropped, part_of, pixels_by_tile, within_crop
from renderer.drivers.photon import PhotonDriver
from renderer.errors import RenderError
from renderer.film.layers import LAYER_COLUMNS
from renderer.fleet.fleet import Items
from renderer.run.member_figures import member_figures
from renderer.run.statistics import ratio
from tracecore.dispatch.tracer import TracerStatistics

if TYPE_CHECKING:
    from renderer.fleet.fleet import Fleet
    from renderer.run.picture_member import MemberReport, MemberResult

#: Passes that are finished or under way beyond the one that is added next, for each member.
MOST_AHEAD = 64

#: Counts of a driver's work that are seconds of its threads, and those that are bytes.
SECONDS = tuple(field.name for field in fields(Work) if field.name.endswith("_seconds"))
BYTES = ("bytes_up", "bytes_down")


class PassSupply:
    """Has the shares of the passes that are to be made, in order.

    first: index of the first pass.
    may_begin: says of an index whether that pass is to be made, as `passes_of` takes it.
    passes: how many the picture has, or None where nobody knows.
    parts_of: says how many parts a pass is cut into, of its index.
    most_ahead: how many passes may be ahead of the one that is wanted.
    """

    def __init__(
        self,
        first: int,
        may_begin: Callable[[int], bool],
        passes: int | None,
        parts_of: Callable[[int], int],
        most_ahead: int,
    ) -> None:
        self._shares = self._in_order(first, may_begin, parts_of)
        self._most_ahead, self._passes = most_ahead, passes
        self._next = first
        self.wanted = first

    def take(self) -> Share | None:
        """Returns the next share; None where enough are ahead of the one that is wanted, or there are no more."""
        if self._next - self.wanted >= self._most_ahead:
            return None
        share = next(self._shares, None)
        if share is not None:
            self._next = share.index
        return share

    def left(self) -> int | None:
        """Returns how many passes are still to be taken, or None where nobody knows."""
        return None if self._passes is None else max(0, self._passes - self._next)

    @staticmethod
    def _in_order(first: int, may_begin: Callable[[int], bool], parts_of: Callable[[int], int]) -> Generator[Share]:
        for index in takewhile(may_begin, count(first)):
            parts = parts_of(index)
            yield from (Share(index, part, parts) for part in range(parts))


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
        self._kind, self._fleet, self._reports, self._passes = kind, fleet, reports, passes
        self._is_whole = is_whole
        self._work = Work(rays=reports[0].work.rays, photons=reports[0].work.photons)
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
        if self._kind.is_sequential:
            for index in takewhile(may_begin, count(first)):
                yield self._pass_in_parts(index)
            return
        members = len(self._reports)
        supply = PassSupply(first, may_begin, self._passes, self._parts_of, MOST_AHEAD * members)
        waiting: dict[int, dict[int, MemberResult]] = {}
        with closing(self._fleet.results(supply)) as results:
            for share, name, result in results:
                self._note(name, result)
                parts = waiting.setdefault(share.index, {})
                parts[share.part] = result
                while len(whole := waiting.get(supply.wanted, {})) == self._parts_of(supply.wanted):
                    del waiting[supply.wanted]
                    supply.wanted += 1
                    yield self._together(whole)

    def close(self) -> None:
        """Does nothing: the fleet is its owner's."""

    def _parts_of(self, index: int) -> int:
        """Returns how many parts a pass is cut into: more than one where whole passes would leave members idle."""
        members = len(self._reports)
        if self._is_whole:
            return 1
        if self._kind.is_sequential:
            return members
        if self._passes is None:
            return 1
        if issubclass(self._kind, PhotonDriver):  # each part would trace all photons
            return -(-members // self._passes) if self._passes < members else 1
        return members if index >= self._passes - self._passes % members else 1

    def _pass_in_parts(self, index: int) -> Radiance:
        """Returns a pass that needs those before it, of which each member makes a part."""
        if index > 0 and index not in self._carried:
            raise RenderError(f"pass {index} of {self.name} needs the one before it")
        carried, parts = self._carried.get(index), self._parts_of(index)
        shares = Items(Share(index, part, parts, carried) for part in range(parts))
        made: dict[int, MemberResult] = {}
        with closing(self._fleet.results(shares)) as results:
            for share, name, result in results:
                self._note(name, result)
                made[share.part] = result
        self._carried = {index: carried or {}, index + 1: self._next_carried(made)}
        return self._together(made)

    def _note(self, name: str, result: MemberResult) -> None:
        """Keep what a member says of its work."""
        self._latest[name] = result
        self._rays[name] = self._rays.get(name, 0) + result.made.work.rays.total

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
        """Returns the pass that all its parts make, and counts what it took; its photons are those of one part."""
        for part, result in made.items():
            self._work.rays.add(result.made.work.rays)
            if part == 0:
                self._work.photons.add(result.made.work.photons)
        if len(made) == 1:
            return made[0].made.values
        settings = self.settings
        image = np.zeros((settings.width * settings.height, LAYER_COLUMNS[settings.layers]))
        for part, result in made.items():
            image[part_of(self._pixels, Share(0, part, len(made)))] = result.made.values
        return within_crop(image, settings)
