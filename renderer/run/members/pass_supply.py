"""This module says into which items the passes of a picture are cut for the members of a fleet, and in which order they
are handed out.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from renderer.drivers.pass_photons import Photons
from renderer.drivers.shares import AnyShare, MapShare, PhotonShare, Share
from renderer.fleet.fleet import Common
from renderer.photons.ranges import ranges_of

if TYPE_CHECKING:
    from renderer.drivers.driver import Carried
    from renderer.photons.lookup import PhotonLookup

#: Passes that are finished or under way beyond the one that is added next, for each member; and of passes that need
#: those before them, whose photons alone are traced ahead, in all.
MOST_AHEAD, MOST_SEQUENTIAL = 64, 3


@dataclass(frozen=True, kw_only=True)
class Cutting:
    """Says how the passes of a picture are cut.

    members: how many there are.
    passes: how many the picture has, or None where nobody knows.
    photons: that a pass sends out for its maps, or 0.
    is_sequential: whether a pass needs those before it.
    has_one_map: whether all passes look up in the same maps.
    is_whole: whether no pass is cut.
    run: passes that a member adds up before it sends them, or 1.
    """

    members: int
    passes: int | None
    photons: int = 0
    is_sequential: bool = False
    has_one_map: bool = False
    is_whole: bool = False
    run: int = 1

    def passes_from(self, index: int) -> int:
        """Returns how many passes are made as a run that begins with this one."""
        if self.passes is None or self.is_sequential or self.is_whole or self.parts_of(index) > 1:
            return 1
        return min(self.run, self.passes - self.passes % self.members - index)

    def parts_of(self, index: int) -> int:
        """Returns how many parts a pass is cut into: more than one where whole passes would leave members idle."""
        if self.is_whole:
            return 1
        if self.is_sequential:
            return self.members
        return 1 if self.passes is None or index < self.passes - self.passes % self.members else self.members

    def has_own_maps(self, index: int) -> bool:
        """Returns whether members trace the photons of a pass together, before its parts are made."""
        is_cut = self.is_sequential or self.parts_of(index) > 1
        return self.photons > 0 and is_cut and not (self.has_one_map or self.is_whole)

    @property
    def begins_with_maps(self) -> bool:
        """Returns whether members trace photons together before any pass is made."""
        return self.photons > 0 and self.has_one_map and not self.is_whole

    @property
    def most_ahead(self) -> int:
        """Returns how many passes may be under way, from the one on that is added next."""
        return MOST_SEQUENTIAL if self.is_sequential else max(MOST_AHEAD, 4 * self.run) * self.members


class PassSupply:
    """Has the shares of passes that are to be made.

    Of a pass that is cut first the ranges of its photons are handed out, then its maps, then its parts. What is nearer
    to its end comes first; photons of the passes that follow are traced meanwhile.

    cutting: of the passes.
    first: index of the first pass.
    indices: of the passes, counting up from the first one; the next is taken when a pass can begin.
    carried: what the first pass needs of those before it, if it needs something.
    """

    def __init__(self, cutting: Cutting, first: int, indices: Iterator[int], carried: Carried | None = None) -> None:
        self.wanted = first
        self._cutting, self._first, self._indices = cutting, first, indices
        self._lock = threading.Lock()
        self._ready: deque[AnyShare] = deque()
        self._waiting: list[int] = []  # passes that have begun, of which no part can be made yet
        self._runs: dict[int, int] = {}  # how many passes each has, by the index of the first
        self._next, self._is_over = first, False
        self._ranges = ranges_of(range(cutting.photons), cutting.members) if cutting.photons else []
        self._traced: dict[int, dict[int, Photons]] = {}
        self._maps: dict[int, Common[PhotonLookup]] = {}
        self._carried = {first: carried}

    def take(self) -> AnyShare | None:
        """Returns the next share; None where there is none now, or none any more."""
        with self._lock:
            while not self._ready and self._begins_next():
                pass
            return self._ready.popleft() if self._ready else None

    def left(self) -> int | None:
        """Returns about how many shares are still to be taken, or None where nobody knows."""
        with self._lock:
            passes = self._cutting.passes
            if passes is None:
                return None
            return len(self._ready) + len(self._waiting) + max(0, -(-(passes - self._next) // self._cutting.run))

    def note(self, share: PhotonShare | MapShare, values: Any) -> None:
        """Takes what was made of photons or maps, so that what needs it can be made."""
        with self._lock:
            if isinstance(share, MapShare):
                self._maps[share.index] = Common(values)
                self._release()
                return
            traced = self._traced.setdefault(share.index, {})
            traced[share.photons.first] = values
            if len(traced) == len(self._ranges):
                del self._traced[share.index]
                in_order = tuple(traced[each.first] for each in self._ranges)
                self._ready.appendleft(MapShare(share.index, Common(in_order)))

    def finish(self, carried: Carried | None, passes: int = 1) -> None:
        """Goes on after the pass or the run that is wanted, which is made.

        carried: what the next pass needs of it.
        passes: how many the run has.
        """
        with self._lock:
            self.wanted += passes
            self._carried = {self.wanted: carried}
            self._release()

    def _begins_next(self) -> bool:
        """Begin the next pass, unless enough are under way or there are no more."""
        if self._is_over or self._next - self.wanted >= self._cutting.most_ahead:
            return False
        passes = len(list(islice(self._indices, self._cutting.passes_from(self._next))))
        if passes == 0:
            self._is_over = True
            return False
        is_first = self._next == self._first
        if self._cutting.has_own_maps(self._next) or (is_first and self._cutting.begins_with_maps):
            self._ready.extend(PhotonShare(self._next, each) for each in self._ranges)
        self._waiting.append(self._next)
        self._runs[self._next] = passes
        self._next += passes
        self._release()
        return True

    def _release(self) -> None:
        """Have the parts of all passes made first that can be."""
        released = [index for index in self._waiting if self._can_be_made(index)]
        self._waiting = [index for index in self._waiting if index not in released]
        shares = [share for index in released for share in self._shares_of(index)]
        self._ready.extendleft(reversed(shares))

    def _can_be_made(self, index: int) -> bool:
        has_own, begins = self._cutting.has_own_maps(index), self._cutting.begins_with_maps
        has_maps = index in self._maps if has_own else self._first in self._maps or not begins
        return has_maps and (index in self._carried or not self._cutting.is_sequential)

    def _shares_of(self, index: int) -> list[Share]:
        parts, carried = self._cutting.parts_of(index), self._carried.get(index)
        given = self._maps.pop(index) if self._cutting.has_own_maps(index) else self._maps.get(self._first)
        run = self._runs.pop(index)
        return [Share(index, part, parts, carried, given, run) for part in range(parts)]
