"""Kernels are measured end to end in the photon run: traced, shaded and stored, with each kernel in each way of
dispatch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from renderer.drivers.driver import RenderSettings
from renderer.run.containment import Containment
from renderer.run.photon_run import trace_until_stored
from renderer.run.statistics import ratio
from renderer.scene.render_context import TracerChoice, context_of
from scenes.model import Snapshot
from tracecore import Device
from tracecore.tracers.gpu import DISPATCHES


@dataclass(frozen=True, kw_only=True)
class EndToEnd:
    """Holds what was measured of a photon run with one kernel and one way of dispatch.

    rate, least, most: millions of rays per second of wall time, median and range of the runs.
    busy: share of the time in which the co-processor had something to trace.
    """

    kernel: str
    dispatch: str
    rate: float
    least: float
    most: float
    busy: float


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
    for kernel in kernels:
        for dispatch in DISPATCHES if device == "gpu" else (None,):
            choice = TracerChoice(device=device, kernel=kernel, dispatch=dispatch, threads=threads)
            with context_of(snapshot, choice, load_seconds=0.0) as context:
                run = trace_until_stored(Containment(context, None), settings, photons, repeat=repeats)
                if not run.finished:
                    raise KeyboardInterrupt
                rates = [rate / 1e6 for rate in run.rates]
                yield EndToEnd(
                    kernel=kernel,
                    dispatch=context.tracer.dispatch,
                    rate=median(rates),
                    least=min(rates),
                    most=max(rates),
                    busy=ratio(run.busy_seconds, run.seconds),
                )
