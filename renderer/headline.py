"""The headline workload: trace photons until so many are stored, and see how fast that goes."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from renderer.driver import PhotonCounts, RenderSettings, Work
from renderer.drivers import photon_task
from renderer.errors import UsageError
from renderer.feeding import Feeder
from renderer.packed_scene import pack_scene
from renderer.photon_map import Words
from renderer.photon_tracing import TracedPhotons, trace_photons
from scenes.model import Snapshot
from tracecore.tracer import Tracer

#: Fewest and most photons of the first round, which shows how many are stored per photon emitted.
PILOT_PHOTONS = (1 << 10, 1 << 16)

#: Most photons of a round. Many, since batches are full only amid a round.
ROUND_PHOTONS = 1 << 23

#: Photons emitted of which none was stored, after which it is given up.
HOPELESS_PHOTONS = 10_000_000

#: Photons have 32-bit numbers.
MOST_PHOTONS = 1 << 32


@dataclass(frozen=True, kw_only=True)
class PhotonRun:
    """photons: (n, WORDS) uint32, in order. scale: watts per unit of their flux. finished: as many as asked for.

    seconds: wall time of tracing, shading and storing, without loading, building and compiling.
    """

    photons: Words
    scale: float
    work: Work
    seconds: float
    finished: bool


def trace_until_stored(
    snapshot: Snapshot,
    tracer: Tracer,
    settings: RenderSettings,
    photons: int,
    *,
    on_progress: Callable[[int], None] = lambda stored: None,
) -> PhotonRun:
    """Trace until at least `photons` are stored, in rounds whose sizes depend on counts alone, so that a seed decides
    which photons there are, whatever the threads.

    on_progress: called after each round with the number stored so far. An interrupt ends it with the rounds that are
    finished, if there are any.
    """
    scene = pack_scene(snapshot)
    if scene.lights.power <= 0.0:
        raise UsageError(f"scene {snapshot.name}: no light with power, so there are no photons to trace")
    task = photon_task(scene, settings, 0, min_bounces=0)
    feeder = Feeder(tracer, settings.threads, settings.batch_rays)
    rounds: list[TracedPhotons] = []
    finished = True
    try:
        trace_photons(scene, task, feeder, range(1))  # loads compiled code before the clock starts
        warm_seconds = feeder.trace_seconds
        started = time.perf_counter()
        while (counts := _counts(rounds)).stored < photons:
            on_progress(counts.stored)
            more = _next_round(snapshot.name, counts, photons)
            rounds.append(trace_photons(scene, task, feeder, range(counts.emitted, counts.emitted + more)))
        on_progress(counts.stored)
    except KeyboardInterrupt:
        if not rounds:
            raise
        finished = False
    finally:
        feeder.close()
    seconds = time.perf_counter() - started
    trace_seconds = feeder.trace_seconds - warm_seconds
    counts = _counts(rounds)
    work = Work(photons=counts, trace_seconds=trace_seconds, shade_seconds=seconds - trace_seconds)
    work.rays.photon = sum(traced.rays for traced in rounds)
    return PhotonRun(
        photons=np.concatenate([traced.stored for traced in rounds]),
        scale=task.flux_unit / counts.emitted,
        work=work,
        seconds=seconds,
        finished=finished,
    )


def _counts(rounds: list[TracedPhotons]) -> PhotonCounts:
    """Fates of the photons of all rounds."""
    total = PhotonCounts()
    for traced in rounds:
        total.add(traced.counts)
    return total


def _next_round(name: str, counts: PhotonCounts, wanted: int) -> int:
    """Photons to emit: a pilot round, then about as many as are missing and a little more."""
    emitted, stored = counts.emitted, counts.stored
    fewest, most = PILOT_PHOTONS
    if emitted == 0:
        return min(max(wanted // 16, fewest), most)
    if stored == 0 and emitted >= HOPELESS_PHOTONS:
        raise UsageError(f"scene {name}: none of {emitted} photons met a diffuse surface")
    missing = 1.002 * (wanted - stored) * emitted / stored + 64 if stored else emitted
    photons = int(min(missing, ROUND_PHOTONS))
    if emitted + photons > MOST_PHOTONS:
        raise UsageError(f"scene {name}: {emitted} photons stored but {stored}, and there are no more than 2^32")
    return photons
