"""Kernels are measured end to end in the photon run: traced, shaded and stored, with each kernel in each way of
dispatch, after the hits of a few photons have been compared with the CPU's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from renderer.bench.dispatch_benchmark import check_photons
from renderer.drivers.driver import RenderSettings
from renderer.drivers.photon import photon_task
from renderer.run.containment import Containment
from renderer.run.photon_run import trace_until_stored
from renderer.run.statistics import ratio
from renderer.scene.packed_scene import pack_scene
from renderer.scene.render_context import RenderContext, TracerChoice, context_of
from scenes.model import Snapshot
from tracecore import Device, Tracer
from tracecore.errors import WrongHitError
from tracecore.tracers.gpu import DISPATCHES
from tracecore.tracers.verified import Judge


@dataclass(frozen=True, kw_only=True)
class EndToEnd:
    """Holds what was measured of a photon run with one kernel and one way of dispatch.

    rate, least, most: millions of rays per second of wall time, median and range of the runs; 0 where hits are wrong.
    busy: share of the time in which the co-processor had something to trace.
    wrong: the first wrong hit in words, for which the kernel was not timed; None where all were right.
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
                        yield _wrong_run(context.tracer, error)
                    else:
                        yield _timed_run(context, settings, photons, repeats)


def _wrong_run(tracer: Tracer, error: WrongHitError) -> EndToEnd:
    """Returns what is told of a kernel whose hits are wrong."""
    return EndToEnd(
        kernel=tracer.name, dispatch=tracer.dispatch, rate=0.0, least=0.0, most=0.0, busy=0.0, wrong=str(error)
    )


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
