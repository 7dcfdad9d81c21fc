"""The photon run traces photons until so many are stored, and measures how fast that goes.

A pilot comes first, whose photons are kept. It shows how many are stored per photon emitted, loads compiled code, and
is not timed. What it leaves to do is timed, and takes one round as a rule. The same may be traced and timed again: a
fast device is done before processors run at their full clock, and the median of some runs says more than one.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from renderer.drivers.driver import RenderSettings, Work
from renderer.drivers.pass_photons import photon_task
from renderer.errors import UsageError
from renderer.photons.batch import PhotonTask
from renderer.photons.counts import PhotonCounts
from renderer.photons.photon_map import Words
from renderer.photons.tracing import TracedPhotons, trace_photons
from renderer.run.containment import Containment
from renderer.run.statistics import ratio
from renderer.scene.packed_scene import PackedScene, pack_scene
from tracecore.errors import TraceError
from tracecore.kernels.choice import RayClass
from tracecore.rays import Floats
from tracecore.workers.pool import Log, WorkerPool

#: What the rays of a photon run are like.
RAY_CLASS = RayClass.INCOHERENT

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

#: Photons have 32-bit numbers.
MOST_PHOTONS = 1 << 32

#: Rows of each thread's log, of which a batch takes two or three.
LOG_ROWS = 1 << 15

#: Seconds, rays and bytes by name.
Counters = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class PhotonRun:
    """Holds what a photon run has stored and measured.

    Timed is what comes after the pilot: tracing, shading and storing, from the moment when all threads are ready to the
    last hit shaded, without loading, building, compiling, having memory ready, and order.

    parts: (n, WORDS) uint32 each, in order one after the other.
    scale: watts per unit of their flux.
    work: rays and photons of all that is kept; seconds and bytes of what is timed.
    seconds: wall time of what is timed, in the median run.
    rays: traced meanwhile, also those of a round that was cut off.
    busy_seconds: in which the device traced.
    rates: rays per second of each run.
    sample: (n, 8) float32, rays such as photons have.
    logs: of each thread, the pilot too.
    finished: whether as many are stored as asked for.
    members: what the statistics say of the processes that shared the photons out, where there were several.
    """

    parts: list[Words]
    scale: float
    work: Work
    seconds: float
    rays: int
    busy_seconds: float
    rates: list[float]
    sample: Floats
    logs: list[Log]
    finished: bool
    members: dict[str, Any]

    @cached_property
    def photons(self) -> Words:
        """Returns all photons, (n, WORDS) uint32, in order; to put many side by side takes seconds."""
        return np.concatenate(self.parts)


class Tracing(Protocol):
    """Traces the photons of a run."""

    def trace(self, photons: range, expected_rays: int = 0) -> TracedPhotons:
        """Returns the photons of a range, as `trace_photons` does."""

    def counters(self) -> Counters:
        """Returns what has to be looked at before and after what is timed."""

    def logs(self) -> list[Log]:
        """Returns what each thread did when."""

    def sample_rays(self) -> Floats:
        """Returns (n, 8) float32, rays such as photons have."""

    @property
    def members(self) -> dict[str, Any]:
        """Returns what the statistics say of the processes that trace, where these are others."""

    def close(self) -> None:
        """Gives back what is held."""


class _TracingHere:
    """Traces photons on a tracer, and where that fails on another one; see `Tracing`.

    task: of all photons.
    containment: has the tracer.
    """

    def __init__(
        self, scene: PackedScene, task: PhotonTask, settings: RenderSettings, containment: Containment
    ) -> None:
        self._scene, self._task, self._settings = scene, task, settings
        self._containment = containment
        self._spent: Counters = {}
        self._logs: list[Log] = []
        self.pool = self._new_pool()

    def trace(self, photons: range, expected_rays: int = 0) -> TracedPhotons:
        """Returns the photons of a range, as `trace_photons` does."""
        while True:
            try:
                return trace_photons(self._scene, self._task, self.pool, photons, expected_rays)
            except TraceError as error:
                self._spent, self._logs = self.counters(), self.logs()
                with suppress(TraceError):
                    self.pool.close()
                self._containment.recover(error, photons.start)
                self.pool = self._new_pool()

    def counters(self) -> Counters:
        """Returns what has to be looked at before and after what is timed, of all tracers together."""
        busy = self._containment.context.tracer.statistics().busy_seconds
        now = {"seconds": self.pool.seconds, "rays": self.pool.rays, "busy_seconds": busy, **self.pool.counters()}
        return {name: count + self._spent.get(name, 0) for name, count in now.items()}

    def logs(self) -> list[Log]:
        """Returns what the threads of all tracers did when."""
        return [*self._logs, *self.pool.logs()]

    def sample_rays(self) -> Floats:
        """Returns rays that are left of the last round."""
        return self.pool.sample_rays()

    @property
    def members(self) -> dict[str, Any]:
        """Returns nothing: this process traces."""
        return {}

    def close(self) -> None:
        """Closes the pool."""
        self.pool.close()

    def _new_pool(self) -> WorkerPool:
        tracer = self._containment.context.tracer
        return WorkerPool(tracer, self._settings.threads, self._settings.batch_rays, log_rows=LOG_ROWS)


class _Rounds:
    """Traces photons in rounds, and keeps what has been traced so far.

    trace: traces the photons of a range, with memory for so many rays at hand.
    """

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
        first = sum(traced.counts.emitted for traced in self.pilot)
        for traced in self.timed:
            end = first + traced.counts.emitted
            self._trace(range(first, end), math.ceil(ROOM * traced.rays))
            first = end

    def trace_rest(self, on_progress: Callable[[int], None]) -> None:
        """Traces rounds until enough photons are stored."""
        while (counts := self.counts).stored < self._wanted:
            on_progress(counts.stored)
            photons = self._next_round(counts)
            rays = sum(traced.rays for traced in self.all) / counts.emitted * photons
            indices = range(counts.emitted, counts.emitted + photons)
            self.timed.append(self._trace(indices, math.ceil(ROOM * rays)))
        on_progress(counts.stored)

    def _next_round(self, counts: PhotonCounts) -> int:
        emitted, stored = counts.emitted, counts.stored
        if stored == 0 and emitted >= HOPELESS_PHOTONS:
            raise UsageError(f"scene {self._name}: none of {emitted} photons hit a diffuse surface")
        photons = min(photons_to_emit([part.counts for part in self.pilot], counts, self._wanted), ROUND_PHOTONS)
        if emitted + photons > MOST_PHOTONS:
            raise UsageError(
                f"scene {self._name}: {emitted} photons stored but {stored}, and there are no more than 2^32"
            )
        return photons


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


def trace_until_stored(
    containment: Containment,
    settings: RenderSettings,
    photons: int,
    *,
    repeat: int = 1,
    on_progress: Callable[[int], None] = lambda stored: None,
    shared: Callable[[PhotonTask], Tracing] | None = None,
) -> PhotonRun:
    """Traces until at least `photons` are stored, in rounds whose sizes depend on counts alone.

    A seed therefore decides which photons there are, whatever the threads. An interrupt ends it with the rounds that
    are finished, if there are any.

    containment: has the scene and the tracer, and another one where that fails; the round is traced again then.
    repeat: how often what is timed is traced.
    on_progress: called after the pilot and each round with the number stored so far.
    shared: has other processes trace, of the task of all photons; None where it is done here.
    """
    snapshot = containment.context.snapshot
    scene = pack_scene(snapshot)
    if scene.lights.power <= 0.0:
        raise UsageError(f"scene {snapshot.name}: no light with power, so there are no photons to trace")
    task = photon_task(scene, settings, 0, min_bounces=0)
    tracing = _TracingHere(scene, task, settings, containment) if shared is None else shared(task)
    rounds = _Rounds(snapshot.name, photons, tracing.trace)
    try:
        spent, finished = _trace_and_time(rounds, repeat, on_progress, tracing.counters)
        sample = tracing.sample_rays()
    finally:
        tracing.close()
    rates = [ratio(run["rays"], run["seconds"]) for run in spent]
    timed = sorted(spent, key=lambda run: float(run["seconds"]))[len(spent) // 2]
    return PhotonRun(
        parts=[traced.stored for traced in rounds.all],
        scale=task.flux_unit / rounds.counts.emitted,
        seconds=timed.pop("seconds"),
        rays=timed.pop("rays"),
        busy_seconds=timed.pop("busy_seconds"),
        rates=rates,
        work=_work(rounds, timed),
        sample=sample,
        logs=tracing.logs(),
        finished=finished,
        members=tracing.members,
    )


def _trace_and_time(
    rounds: _Rounds, repeat: int, on_progress: Callable[[int], None], counters: Callable[[], Counters]
) -> tuple[list[Counters], bool]:
    """Trace the pilot, then what is timed, `repeat` times.

    Returns what each of these runs spent, of what `counters` counts, and whether all came to their end: an interrupt
    leaves at least one, or is raised again where no round is finished.
    """
    start: Counters = {}
    spent: list[Counters] = []
    try:
        rounds.trace_pilot()
        while len(spent) < repeat:
            start = counters()
            rounds.trace_again() if spent else rounds.trace_rest(on_progress)
            spent.append(_since(start, counters()))
    except KeyboardInterrupt:
        if not rounds.all:
            raise
        return spent or [_since(start, counters())], False
    return spent, True


def _since(start: Counters, now: Counters) -> Counters:
    """Returns what has been spent since the start; nothing where it was not counted then."""
    return {name: count - start.get(name, count) for name, count in now.items()}


def _work(rounds: _Rounds, counters: Counters) -> Work:
    """Returns the work of all rounds. counters: of what is timed, named as by `WorkerPool.counters`."""
    order_seconds = sum((traced.order_seconds for traced in rounds.timed), 0.0)
    work = Work(photons=rounds.counts, **counters | {"map_seconds": order_seconds})
    work.rays.photon = sum(traced.rays for traced in rounds.all)
    return work
