"""The photon run traces photons until so many are stored or sent out, and measures how fast that goes.

A pilot comes first, whose photons are kept. It shows how many are stored per photon emitted, loads compiled code, and
is not timed. What it leaves to do is timed, and takes one round as a rule. The same may be traced and timed again: a
fast device is done before processors run at their full clock, and the median of some runs says more than one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from renderer.drivers.driver import RenderSettings, Work
from renderer.drivers.pass_photons import photon_task
from renderer.errors import FleetError, UsageError
from renderer.run.photon_run.gpu_tracing import tracing_of
from renderer.run.photon_run.local_tracing import Counters, Tracing
from renderer.run.photon_run.rounds import RangeRounds, Rounds
from renderer.run.statistics import ratio
from renderer.scene.packed_scene import pack_scene
from tracecore.kernels.choice import RayClass

if TYPE_CHECKING:
    from renderer.photons.batch import PhotonTask
    from renderer.photons.photon_map import Words
    from renderer.photons.tracing import TracedPhotons
    from renderer.run.containment import Containment
    from tracecore.rays import Floats
    from tracecore.workers.pool import Log

#: What the rays of a photon run are like.
RAY_CLASS = RayClass.INCOHERENT


@dataclass(frozen=True, kw_only=True)
class PhotonRun:
    """Holds what a photon run has stored and measured.

    Timed is what comes after the pilot: tracing, shading and storing, from the moment when all threads are ready to the
    last hit shaded, without loading, building, compiling, having memory ready, and order.

    parts: (n, WORDS) uint32 each, in order one after the other.
    task: of all of them.
    work: rays and photons of all that is kept; seconds and bytes of what is timed.
    seconds: wall time of what is timed, in the median run.
    rays: traced meanwhile, also those of a round that was cut off.
    busy_seconds: in which the device traced.
    rates: rays per second of each run.
    sample: (n, 8) float32, rays such as photons have.
    logs: of each thread, the pilot too.
    shading: where hits were shaded, "cpu" or "gpu".
    finished: whether there are as many as asked for.
    error: with which a fleet ended the run before, or None.
    members: what the statistics say of the processes that shared the photons out, where there were several.
    """

    parts: list[Words]
    task: PhotonTask
    work: Work
    seconds: float
    rays: int
    busy_seconds: float
    rates: list[float]
    sample: Floats
    logs: list[Log]
    shading: str
    finished: bool
    error: FleetError | None
    members: dict[str, Any]

    @property
    def scale(self) -> float:
        """Returns the watts per unit of their flux, where no others belong to them."""
        return self.task.flux_unit / self.work.photons.emitted

    @cached_property
    def photons(self) -> Words:
        """Returns all photons, (n, WORDS) uint32, in order; to put many side by side takes seconds."""
        return np.concatenate(self.parts)


def trace_until_stored(
    containment: Containment,
    settings: RenderSettings,
    photons: int | range,
    *,
    repeat: int = 1,
    is_kept: bool = True,
    on_progress: Callable[[int], None] = lambda reached: None,
    shared: Callable[[PhotonTask], Tracing] | None = None,
) -> PhotonRun:
    """Traces until at least so many photons are stored, in rounds whose sizes depend on counts alone; or those of a
    range, whatever is stored of them.

    A seed therefore decides which photons there are, whatever the threads. An interrupt, or a fleet that cannot go on,
    ends it with the rounds that are finished, if there are any.

    containment: has the scene and the tracer, and another one where that fails; the round is traced again then.
    photons: how many are to be stored, or the indices of those that are sent out.
    repeat: how often what is timed is traced.
    is_kept: whether photons stay, or are counted alone.
    on_progress: called after the pilot and each round with the number that there are so far of those asked for.
    shared: has other processes trace, of the task of all photons; None where it is done here.
    """
    snapshot = containment.context.snapshot
    scene = pack_scene(snapshot)
    if scene.lights.power <= 0.0:
        raise UsageError(f"scene {snapshot.name}: no light with power, so there are no photons to trace")
    task = photon_task(scene, settings, 0, min_bounces=0)
    tracing = tracing_of(scene, task, settings, containment) if shared is None else shared(task)
    name, trace = snapshot.name, tracing.trace if is_kept else partial(_counted, tracing)
    rounds = RangeRounds(name, photons, trace) if isinstance(photons, range) else Rounds(name, photons, trace)
    try:
        spent, stop = _trace_and_time(rounds, repeat, on_progress, tracing.counters)
        sample = tracing.sample_rays()
    finally:
        tracing.close()
    rates = [ratio(run["rays"], run["seconds"]) for run in spent]
    timed = sorted(spent, key=lambda run: float(run["seconds"]))[len(spent) // 2]
    return PhotonRun(
        parts=[traced.stored for traced in rounds.all],
        task=task,
        seconds=timed.pop("seconds"),
        rays=timed.pop("rays"),
        busy_seconds=timed.pop("busy_seconds"),
        rates=rates,
        work=_work(rounds, timed),
        sample=sample,
        logs=tracing.logs(),
        shading=tracing.shading,
        finished=stop is None,
        error=stop if isinstance(stop, FleetError) else None,
        members=tracing.members,
    )


def _counted(tracing: Tracing, photons: range, expected_rays: int = 0) -> TracedPhotons:
    """Returns what is known of the photons of a range, without themselves."""
    traced = tracing.trace(photons, expected_rays, is_kept=False)
    return traced._replace(stored=traced.stored[:0].copy())


def _trace_and_time(
    rounds: Rounds, repeat: int, on_progress: Callable[[int], None], counters: Callable[[], Counters]
) -> tuple[list[Counters], BaseException | None]:
    """Trace the pilot, then what is timed, `repeat` times.

    Returns what each of these runs spent, of what `counters` counts, and what ended them early, or None: an interrupt
    or an error of a fleet leaves at least one, or is raised again where no round is finished.
    """
    start: Counters = {}
    spent: list[Counters] = []
    try:
        rounds.trace_pilot()
        while len(spent) < repeat:
            start = counters()
            rounds.trace_again() if spent else rounds.trace_rest(on_progress)
            spent.append(_since(start, counters()))
    except (KeyboardInterrupt, FleetError) as stop:
        if not rounds.all:
            raise
        return spent or [_since(start, counters())], stop
    return spent, None


def _since(start: Counters, now: Counters) -> Counters:
    """Returns what has been spent since the start; nothing where it was not counted then."""
    return {name: count - start.get(name, count) for name, count in now.items()}


def _work(rounds: Rounds, counters: Counters) -> Work:
    """Returns the work of all rounds. counters: of what is timed, named as by `WorkerPool.counters`."""
    order_seconds = sum((traced.order_seconds for traced in rounds.timed), 0.0)
    work = Work(photons=rounds.counts, **counters | {"map_seconds": order_seconds})
    work.rays.photon = sum(traced.rays for traced in rounds.all)
    return work
