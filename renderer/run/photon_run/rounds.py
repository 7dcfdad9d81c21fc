"""This module traces photons in rounds, a pilot and what it leaves to do, whose sizes depend on counts alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from renderer.errors import UsageError
from renderer.photons.counts import PhotonCounts
from renderer.photons.ranges import within_sequence
from renderer.run.memory import KEPT_BYTES, ROUND_BYTES, STORED_BY_RUN, Estimate, scene_bytes

if TYPE_CHECKING:
    from renderer.photons.tracing import TracedPhotons
    from scenes.model import Snapshot

#: Fewest and most photons of the pilot: a sixteenth of those wanted between these.
PILOT_PHOTONS = (1 << 10, 1 << 16)

#: Parts of the pilot, which show how much the number stored varies.
PILOT_PARTS = 16

#: Standard errors by which a round is larger than what is expected to be enough.
STANDARD_ERRORS = 3.0

#: Most photons of a round. Many, since batches are full only amid a round.
ROUND_PHOTONS = 1 << 24

#: Memory for photons that is made ready, in shares of what is expected: threads get different shares of the work.
ROOM = 1.25

#: Photons emitted of which none was stored, after which it is given up.
HOPELESS_PHOTONS = 10_000_000


class Rounds:
    """Traces photons in rounds until so many are stored, and keeps what has been traced so far.

    name: of the scene.
    wanted: photons to store.
    trace: traces the photons of a range, with memory for so many rays at hand.
    """

    first = 0

    def __init__(self, name: str, wanted: int, trace: Callable[..., TracedPhotons]) -> None:
        self.pilot: list[TracedPhotons] = []
        self.timed: list[TracedPhotons] = []
        self._name = name
        self._wanted = wanted
        self._trace = trace

    @property
    def all(self) -> list[TracedPhotons]:
        """Returns what the rounds have traced, in the order of their photons."""
        return self.pilot + self.timed

    @property
    def counts(self) -> PhotonCounts:
        """Returns the fates of the photons of all rounds."""
        total = PhotonCounts()
        for traced in self.all:
            total.add(traced.counts)
        return total

    def trace_pilot(self) -> None:
        """Traces the pilot, in rounds of equal size."""
        fewest, most = PILOT_PHOTONS
        part = min(max(self._wanted // 16, fewest), most) // PILOT_PARTS
        for i in range(PILOT_PARTS):
            self.pilot.append(self._trace(range(i * part, (i + 1) * part)))

    def trace_again(self) -> None:
        """Traces what is timed once more; nothing of it is kept."""
        first = self.first + sum(traced.counts.emitted for traced in self.pilot)
        for traced in self.timed:
            end = first + traced.counts.emitted
            self._trace(range(first, end), math.ceil(ROOM * traced.rays))
            first = end

    def trace_rest(self, on_progress: Callable[[int], None]) -> None:
        """Traces rounds until there are enough photons."""
        while count := self._next_round(counts := self.counts):
            on_progress(self._reached(counts))
            start = self.first + counts.emitted
            photons = within_sequence(range(start, start + count))
            rays = sum(traced.rays for traced in self.all) / counts.emitted * len(photons)
            self.timed.append(self._trace(photons, math.ceil(ROOM * rays)))
        on_progress(self._reached(counts))

    def _reached(self, counts: PhotonCounts) -> int:
        """Returns how many there are of what is wanted."""
        return counts.stored

    def _next_round(self, counts: PhotonCounts) -> int:
        """Returns how many photons the next round has, or 0 where none is needed."""
        emitted, stored = counts.emitted, counts.stored
        if stored >= self._wanted:
            return 0
        if stored == 0 and emitted >= HOPELESS_PHOTONS:
            raise UsageError(f"scene {self._name}: none of {emitted} photons hit a diffuse surface")
        return min(photons_to_emit([part.counts for part in self.pilot], counts, self._wanted), ROUND_PHOTONS)


class RangeRounds(Rounds):
    """Traces the photons of a range in rounds, whatever is stored of them. photons: their indices."""

    def __init__(self, name: str, photons: range, trace: Callable[..., TracedPhotons]) -> None:
        super().__init__(name, len(photons), trace)
        self.first = photons.start

    def trace_pilot(self) -> None:
        """Traces the pilot, in one round."""
        fewest, most = PILOT_PHOTONS
        end = self.first + min(max(self._wanted // 16, fewest), most, self._wanted)
        self.pilot.append(self._trace(within_sequence(range(self.first, end))))

    def _reached(self, counts: PhotonCounts) -> int:
        return counts.emitted

    def _next_round(self, counts: PhotonCounts) -> int:
        return min(self._wanted - counts.emitted, ROUND_PHOTONS)


def photons_to_emit(pilot: list[PhotonCounts], counts: PhotonCounts, wanted: int) -> int:
    """Returns how many more photons will do, nearly always: a function of counts alone.

    A photon emitted stores `mean` on average, with a variance of `variance`. The mean is that of all N emitted so far;
    the variance is estimated from the pilot's parts of p photons each, as the variance of their sums by p, and is taken
    for no less than that of a Poisson number. Of w missing, n = w / mean photons are expected to be enough. What n of
    them store is off by their variance n * variance, and by that of the mean, n^2 * variance / N. So n is increased by
    `STANDARD_ERRORS` * sqrt(variance * (n + n^2 / N)) / mean.
    """
    if counts.stored == 0:
        return counts.emitted
    mean = counts.stored / counts.emitted
    of_parts = float(np.var([part.stored for part in pilot], ddof=1))
    variance = max(of_parts / pilot[0].emitted, mean)
    n = (wanted - counts.stored) / mean
    return math.ceil(n + STANDARD_ERRORS * math.sqrt(variance * (n + n**2 / counts.emitted)) / mean)


def photon_run_bytes(snapshot: Snapshot, stored: int, *, is_kept: bool = True, members: int = 0) -> Estimate:
    """Estimates a photon run that stores so many photons.

    is_kept: whether they stay, or are counted alone.
    members: processes of this host that share them out, beside this one; what they trace is in memory once more on its
    way here.
    """
    of_photon = ROUND_BYTES + (KEPT_BYTES if members and is_kept else 0)
    of_round = int(of_photon * min(stored, STORED_BY_RUN * ROUND_PHOTONS))
    parts = {name: (members + 1) * size for name, size in scene_bytes(snapshot).items()}
    return Estimate(parts | {"photons": KEPT_BYTES * stored * is_kept, "photons under way": of_round}, members + 1)
