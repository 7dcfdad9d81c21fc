"""Photons are compared by ways of dispatch: resident and streamed on a GPU, elsewhere the one that there is.

The real workload (tracing, shading and storing) runs for batches of several sizes and several of them in flight per
thread. Rates are rays per second of wall time. Before each is timed, the hits of some photons are compared with the
CPU's. Kernels are measured likewise, each in each way of dispatch, in photon runs that end when enough are stored.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from renderer.drivers.driver import RenderSettings
from renderer.drivers.pass_photons import photon_task
from renderer.photons.batch import PhotonTask
from renderer.photons.tracing import trace_photons
from renderer.run.containment import Containment
from renderer.run.photon_run.trace_until_stored import trace_until_stored
from renderer.run.statistics import ratio
from renderer.scene.packed_scene import PackedScene, pack_scene
from renderer.scene.render_context import RenderContext, TracerChoice, context_of
from scenes.model import Snapshot
from tracecore import Device
from tracecore.dispatch.tracer import Tracer
from tracecore.errors import WrongHitError
from tracecore.tracers.gpu import DISPATCHES
from tracecore.tracers.verified import Judge, VerifiedTracer
from tracecore.workers.pool import WorkerPool

BATCHES = (256, 1024, 4096, 16384, 65536)
IN_FLIGHT = (1, 2, 4, 8, 16, 32, 64)

#: Most rays in slots: 800 MB of pinned memory.
MOST_RAYS = 1 << 24

#: Photons whose hits are compared with the CPU's, at most: a second of its time.
COMPARED_PHOTONS = 1 << 15

Row = dict[str, Any]


def check_photons(
    tracer: Tracer, judge: Judge, scene: PackedScene, task: PhotonTask, photons: int, **shape: Any
) -> None:
    """Traces photons, no more than `COMPARED_PHOTONS`, and compares the hits of all batches with the CPU's. The CPU is
    not compared with itself.

    shape: as `WorkerPool` takes it.

    Raises `WrongHitError` where a ray has another hit.
    """
    if tracer.device != "cpu":
        with closing(WorkerPool(VerifiedTracer(tracer, judge), **shape)) as pool:
            trace_photons(scene, task, pool, range(min(photons, COMPARED_PHOTONS)))


def rate(scene: PackedScene, task: PhotonTask, pool: WorkerPool, photons: int, repeats: int) -> float:
    """Returns the rays per second of the median run, by the clock of the photon run, which starts no threads and puts
    no photons in order.

    repeats: runs; one more comes first and is not counted.
    """
    rates = []
    for _ in range(repeats + 1):
        before = pool.seconds
        traced = trace_photons(scene, task, pool, range(photons))
        rates.append(traced.rays / (pool.seconds - before))
    return median(rates[1:])


def rows(tracer: Tracer, judge: Judge, scene: PackedScene, photons: int, repeats: int) -> Iterator[Row]:
    """Yields a row for each size of batch and number of batches in flight. Raises `WrongHitError` where hits are not
    those of the judge.
    """
    task = photon_task(scene, RenderSettings(width=1, height=1), 0, min_bounces=0)
    for batch_rays in BATCHES:
        for batches in IN_FLIGHT:
            if tracer.threads * batches * batch_rays > MOST_RAYS:
                continue
            check_photons(tracer, judge, scene, task, photons, batch_rays=batch_rays, batches=batches)
            pool = WorkerPool(tracer, batch_rays=batch_rays, batches=batches)
            found = rate(scene, task, pool, photons, repeats)
            pool.close()
            yield {
                "dispatch": tracer.dispatch,
                "batch_rays": batch_rays,
                "in_flight": batches,
                "rays_per_second": found,
            }


def rows_of_ways(snapshot: Snapshot, choice: TracerChoice, photons: int, repeats: int) -> tuple[list[Row], str]:
    """Returns the rows of each way of dispatch that a device has, and what traced, in words."""
    scene, found, tracer = pack_scene(snapshot), list[Row](), ""
    with context_of(snapshot, TracerChoice(device="cpu", threads=1), load_seconds=0.0) as right:
        judge = Judge(right.tracer, len(snapshot.positions), share=1.0)
        for dispatch in DISPATCHES if choice.device == "gpu" else (None,):
            with context_of(snapshot, replace(choice, dispatch=dispatch), load_seconds=0.0) as context:
                found += rows(context.tracer, judge, scene, photons, repeats)
                tracer = f"{context.tracer.name} ({context.kernel_choice}), {context.tracer.threads} threads"
    return found, tracer


def dispatches(found: list[Row]) -> list[str]:
    """Returns the ways of dispatch that were measured, in order."""
    return list(dict.fromkeys(row["dispatch"] for row in found))


def table(found: list[Row]) -> str:
    """Returns millions of rays per second as text: a line for each dispatch and size of batch, a column for each number
    in flight.
    """
    lines = [f"{'in flight per thread':>24}" + "".join(f"{batches:>8}" for batches in IN_FLIGHT)]
    for dispatch in dispatches(found):
        for batch_rays in BATCHES:
            rates = {
                row["in_flight"]: row["rays_per_second"]
                for row in found
                if (row["dispatch"], row["batch_rays"]) == (dispatch, batch_rays)
            }
            cells = (f"{rates[batches] / 1e6:8.0f}" if batches in rates else f"{'-':>8}" for batches in IN_FLIGHT)
            lines.append(f"{dispatch:>14} {batch_rays:>9}" + "".join(cells))
    return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class EndToEnd:
    """Holds what was measured of a photon run with one kernel and one way of dispatch, as `figure_keys.COMPARISON`
    explains it; rates are 0 where hits are wrong.
    """

    kernel: str
    dispatch: str
    rate: float
    least: float
    most: float
    busy: float
    wrong: str | None = None


def end_to_end(
    snapshot: Snapshot,
    device: Device,
    kernels: Sequence[str],
    *,
    photons: int,
    repeats: int,
    seed: int,
    threads: int | None,
) -> Iterator[EndToEnd]:
    """Yields one run after the other, each until so many photons are stored.

    An interrupt ends it, with those that are finished.
    """
    settings = RenderSettings(width=1, height=1, seed=seed, threads=threads)
    scene = pack_scene(snapshot)
    task = photon_task(scene, settings, 0, min_bounces=0)
    with context_of(snapshot, TracerChoice(device="cpu", threads=1), load_seconds=0.0) as right:
        judge = Judge(right.tracer, len(snapshot.positions), share=1.0)
        for kernel in kernels:
            for dispatch in DISPATCHES if device == "gpu" else (None,):
                choice = TracerChoice(device=device, kernel=kernel, dispatch=dispatch, threads=threads)
                with context_of(snapshot, choice, load_seconds=0.0) as context:
                    try:
                        check_photons(context.tracer, judge, scene, task, photons, threads=threads)
                    except WrongHitError as error:
                        none = dict.fromkeys(("rate", "least", "most", "busy"), 0.0)
                        name, way = context.tracer.name, context.tracer.dispatch
                        yield EndToEnd(kernel=name, dispatch=way, **none, wrong=str(error))
                    else:
                        yield _timed_run(context, settings, photons, repeats)


def _timed_run(context: RenderContext, settings: RenderSettings, photons: int, repeats: int) -> EndToEnd:
    run = trace_until_stored(Containment(context, None), settings, photons, repeat=repeats)
    if not run.finished:
        raise KeyboardInterrupt
    rates = [rate / 1e6 for rate in run.rates]
    return EndToEnd(
        kernel=context.tracer.name,
        dispatch=context.tracer.dispatch,
        rate=median(rates),
        least=min(rates),
        most=max(rates),
        busy=ratio(run.busy_seconds, run.seconds),
    )
