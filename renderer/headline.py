"""The headline workload: trace photons until so many are stored, and see how fast that goes."""

import time
from dataclasses import dataclass

import numpy as np

from renderer.driver import RenderSettings, Work
from renderer.drivers import photon_task
from renderer.errors import UsageError
from renderer.feeding import Feeder
from renderer.packed_scene import pack_scene
from renderer.photon_map import Words
from renderer.photon_tracing import trace_photons
from scenes.model import Snapshot
from tracecore.tracer import Tracer

#: Fewest and most photons of the first round, which shows how many are stored per photon emitted.
PILOT_PHOTONS = (1 << 10, 1 << 16)


@dataclass(frozen=True, kw_only=True)
class PhotonRun:
    """photons: (n, WORDS) uint32, at least as many as asked for, in order. scale: watts per unit of their flux.

    seconds: wall time of tracing, shading and storing, without loading, building and compiling.
    """

    photons: Words
    scale: float
    work: Work
    seconds: float


def trace_until_stored(snapshot: Snapshot, tracer: Tracer, settings: RenderSettings, photons: int) -> PhotonRun:
    """Trace until at least `photons` are stored, in rounds whose sizes depend on counts alone, so that a seed decides
    which photons there are, whatever the threads."""
    scene = pack_scene(snapshot)
    if scene.lights.power <= 0.0:
        raise UsageError(f"scene {snapshot.name}: no light with power, so there are no photons to trace")
    task = photon_task(scene, settings, 0, min_bounces=0)
    feeder = Feeder(tracer, settings.threads, settings.batch_rays)
    work, rounds = Work(), []
    try:
        trace_photons(scene, task, feeder, range(1))  # loads compiled code before the clock starts
        started = time.perf_counter()
        while work.photons.stored < photons:
            first = work.photons.emitted
            traced = trace_photons(scene, task, feeder, range(first, first + _next_round(work, photons)))
            rounds.append(traced.stored)
            work.photons.add(traced.counts)
            work.rays.photon += traced.rays
            if work.photons.stored == 0:
                raise UsageError(f"scene {snapshot.name}: none of {work.photons.emitted} photons met a diffuse surface")
        seconds = time.perf_counter() - started
        work.trace_seconds, work.shade_seconds = feeder.trace_seconds, feeder.shade_seconds
    finally:
        feeder.close()
    stored = np.concatenate(rounds)
    return PhotonRun(photons=stored, scale=task.flux_unit / work.photons.emitted, work=work, seconds=seconds)


def _next_round(work: Work, wanted: int) -> int:
    """Photons to emit: a pilot round, then about as many as are missing and a little more."""
    if work.photons.emitted == 0:
        fewest, most = PILOT_PHOTONS
        return min(max(wanted // 16, fewest), most)
    missing = wanted - work.photons.stored
    return int(1.002 * missing * work.photons.emitted / work.photons.stored) + 64
