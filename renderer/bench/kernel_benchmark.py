"""Kernels are compared on the same rays of a scene, see `renderer.bench.ray_generators`."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean, harmonic_mean, median
from typing import Any

from renderer.bench.dispatch_benchmark import EndToEnd
from renderer.bench.ray_generators import sample
from renderer.bench.workload import RaySet, Workload, WrongRay
from renderer.scene.render_context import TracerChoice, context_of
from scenes.model import Snapshot
from tracecore import Device, device_and_index
from tracecore.analysis.steps import StepsPerRay
from tracecore.benchmarks.kernel_rates import timed_rounds
from tracecore.cuda.device import choose_gpu
from tracecore.dispatch.tracer import Tracer
from tracecore.kernels.strategies import find_strategy, strategy_names
from tracecore.rays import Query
from tracecore.tracers.cpu import CpuTracer
from tracecore.tracers.gpu import GpuTracer, gpu_unavailable_reason

#: Stands for a view point where there are several.
MEAN_VIEW = "mean"

#: Rays of a set, at most, whose steps are counted.
COUNTED_RAYS = 1 << 20


@dataclass(frozen=True, kw_only=True)
class KernelMeasurement:
    """Holds what was measured of a kernel or peer on a kind of rays, as `figure_keys.COMPARISON` explains it.

    seconds: of several view points, of all their rays.
    view: may be NO_VIEW, or MEAN_VIEW, see `over_views`.
    wrong: the rate counts for nothing then. None where all are right, or, of a peer, all but so few as `workload` says.
    """

    kernel: str
    kind: str
    rays: int
    rate: float
    least: float
    most: float
    seconds: tuple[float, ...] = ()
    view: str = "camera"
    relative: float | None = None
    steps: StepsPerRay | None = None
    bound: float | None = None
    agreement: float | None = None
    compared: int = 0
    wrong: WrongRay | None = None

    @property
    def of_bound(self) -> float | None:
        """Returns the rate over the bound, or None where there is no bound."""
        return None if self.bound is None else self.rate / self.bound


@dataclass(frozen=True, kw_only=True)
class KernelFacts:
    """Holds what is known of a kernel and its tree, as `figure_keys.COMPARISON` explains it."""

    kernel: str
    nodes: int
    tree_bytes: int
    sah_cost: float
    build_seconds: float | None = None
    is_tree_cached: bool = False
    registers: tuple[int, ...] = ()
    occupancy: tuple[float, ...] = ()
    rays_at_once: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PeerFacts:
    """Holds the name of a peer, see `tracecore.peers`, and what its seconds are."""

    peer: str
    clock: str


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Holds all measurements, and what is known of each kernel and peer.

    baseline: the kernel that `relative` is over.
    finished: whether nobody interrupted it.
    """

    device: Device
    baseline: str
    kernels: tuple[KernelFacts, ...]
    measurements: tuple[KernelMeasurement, ...]
    peers: tuple[PeerFacts, ...] = ()
    photon_runs: tuple[EndToEnd, ...] = ()
    finished: bool = True

    @property
    def kinds(self) -> list[str]:
        """Returns the kinds of rays, in order."""
        return list(dict.fromkeys(one.kind for one in self.measurements))

    @property
    def kernel_names(self) -> list[str]:
        """Returns the names of all that was measured, in order."""
        return list(dict.fromkeys(one.kernel for one in self.measurements))

    @property
    def wrong_ones(self) -> list[KernelMeasurement]:
        """Returns the measurements that are struck out, as their hits are wrong."""
        return [one for one in self.measurements if one.wrong]

    @property
    def has_wrong_kernels(self) -> bool:
        """Returns whether hits of a kernel of ours are wrong, rather than of peers alone."""
        peers = {facts.peer for facts in self.peers}
        return any(one.kernel not in peers for one in self.wrong_ones) or any(run.wrong for run in self.photon_runs)

    def has_costs(self, kind: str) -> bool:
        """Returns whether steps or bounds of rays of a kind are known."""
        return any(one.kind == kind and (one.steps or one.bound) for one in self.measurements)

    def as_dict(self) -> dict[str, Any]:
        """Returns all figures as plain values, for a file."""
        return asdict(self)


def device_of(choice: str) -> Device:
    """Returns the device that is meant: auto is the GPU if there is one, else the CPU.

    A GPU with an index, such as gpu:1, becomes the calling thread's current GPU. Raises `DeviceError` where there is no
    such GPU.
    """
    device, index = device_and_index(choice)
    if device == "auto":
        return "cpu" if gpu_unavailable_reason() else "gpu"
    if index is not None:
        choose_gpu(index)
    return device


def kernel_names(device: Device) -> list[str]:
    """Returns the names of all kernels of a device: gpu and emulator have the same ones."""
    return [CpuTracer.name] if device == "cpu" else list(strategy_names())


def compare(
    snapshot: Snapshot,
    device: Device,
    kernels: Sequence[str],
    workload: Workload,
    *,
    repeats: int,
    threads: int | None,
    builder: str | None = None,
) -> Iterator[tuple[KernelFacts, list[KernelMeasurement]]]:
    """Yields one kernel after the other, with its measurements. All trace the same rays, which the CPU found.

    builder: of the trees, by name, or None for the default.
    """
    workload.prepare(snapshot, threads)
    for name in kernels:
        choice = TracerChoice(device=device, kernel=name, threads=threads, builder=builder)
        with context_of(snapshot, choice, load_seconds=0.0) as context:
            yield facts_of(context.tracer), [measure(context.tracer, rays, repeats) for rays in workload.sets]


def facts_of(tracer: Tracer) -> KernelFacts:
    """Returns what is known of a tracer's kernel."""
    facts = KernelFacts(
        kernel=tracer.name,
        nodes=tracer.bvh.nodes,
        tree_bytes=tracer.bvh.bytes,
        sah_cost=tracer.bvh.sah_cost,
        build_seconds=tracer.bvh.build_seconds,
        is_tree_cached=tracer.bvh.is_cached,
    )
    if not isinstance(tracer, GpuTracer):
        return facts
    kernel = tracer.launch_context.kernel
    return replace(
        facts,
        registers=tuple(kernel.registers),
        occupancy=tuple(kernel.occupancy),
        rays_at_once=tuple(kernel.rays_at_once(query) for query in Query),
    )


def measure(tracer: Tracer, rays: RaySet, repeats: int) -> KernelMeasurement:
    """Measures the rate of a kernel on some rays, whether its hits are right, and then what it does for them."""
    rounds = timed_rounds(tracer, rays.rays, rays.query, repeats)
    measured = replace(measurement(tracer.name, rays, rounds.seconds), wrong=rays.wrong_ray(rounds.hits))
    if measured.wrong or not isinstance(tracer, GpuTracer):  # which alone counts its steps
        return measured
    counts = tracer.count_steps(sample(rays.rays, COUNTED_RAYS), rays.query)
    return replace(measured, steps=counts.per_ray(find_strategy(tracer.name)))


def measurement(name: str, rays: RaySet, seconds: Sequence[float]) -> KernelMeasurement:
    """Returns the measurement of a kernel or peer that took so many seconds for the same rays in each round."""
    rates = [len(rays.rays) / of_round / 1e6 for of_round in seconds]
    return KernelMeasurement(
        kernel=name,
        kind=rays.kind,
        view=rays.view,
        rays=len(rays.rays),
        compared=rays.compared,
        rate=median(rates),
        least=min(rates),
        most=max(rates),
        seconds=tuple(seconds),
    )


def over_baseline(measurements: Sequence[KernelMeasurement], baseline: str) -> list[KernelMeasurement]:
    """Returns the measurements with `relative` set: each rate over that of the baseline on the same rays, where the
    hits of both are right.
    """
    rates = {(one.kind, one.view): one.rate for one in measurements if one.kernel == baseline and not one.wrong}
    return [
        replace(one, relative=one.rate / rates[one.kind, one.view])
        if (one.kind, one.view) in rates and not one.wrong
        else replace(one, relative=None)
        for one in measurements
    ]


def over_views(found: Comparison) -> Comparison:
    """Returns the comparison with one measurement for each kernel and kind of rays: all rays over the time that all of
    them take.

    That is the harmonic mean of the rates, where view points have as many rays; each ray counts alike, and so do steps
    and bounds. least and most are of all rounds from all view points. What is wrong from one is wrong.
    """
    by_kind: dict[tuple[str, str], list[KernelMeasurement]] = {}
    for one in found.measurements:
        by_kind.setdefault((one.kernel, one.kind), []).append(one)
    means = [own[0] if len(own) == 1 else _mean(own) for own in by_kind.values()]
    return replace(found, measurements=tuple(over_baseline(means, found.baseline)))


def _mean(own: Sequence[KernelMeasurement]) -> KernelMeasurement:
    rays = [one.rays for one in own]
    return replace(
        own[0],
        view=MEAN_VIEW,
        rays=sum(rays),
        rate=harmonic_mean([one.rate for one in own], rays),
        least=min(one.least for one in own),
        most=max(one.most for one in own),
        seconds=tuple(map(sum, zip(*(one.seconds for one in own), strict=True))),
        steps=_mean_steps(rays, [one.steps for one in own if one.steps is not None]),
        bound=_harmonic_if_known(rays, [one.bound for one in own]),
        agreement=_mean_if_known(rays, [one.agreement for one in own]),
        compared=sum(one.compared for one in own),
        wrong=next((one.wrong for one in own if one.wrong), None),
    )


def _mean_steps(rays: Sequence[int], steps: Sequence[StepsPerRay]) -> StepsPerRay | None:
    """Returns the mean steps per ray, or None where some are not known.

    Efficiencies are taken over all steps: lanes with work over all lanes.
    """
    if len(steps) < len(rays):
        return None
    nodes = [count * one.nodes for count, one in zip(rays, steps, strict=True)]
    triangles = [count * one.triangles for count, one in zip(rays, steps, strict=True)]
    return replace(
        steps[0],
        nodes=sum(nodes) / sum(rays),
        triangles=sum(triangles) / sum(rays),
        bytes=_mean_if_known(rays, [one.bytes for one in steps]),
        node_efficiency=_harmonic_if_known(nodes, [one.node_efficiency for one in steps]),
        triangle_efficiency=_harmonic_if_known(triangles, [one.triangle_efficiency for one in steps]),
    )


def _harmonic_if_known(weights: Sequence[float], values: Sequence[float | None]) -> float | None:
    """Returns the weighted harmonic mean, or None where a value is missing that has weight, and
    where none has weight.
    """
    known = [(weight, value) for weight, value in zip(weights, values, strict=True) if weight and value is not None]
    if not known or len(known) < sum(weight > 0 for weight in weights):
        return None
    own, numbers = zip(*known, strict=True)
    return harmonic_mean(numbers, own)


def _mean_if_known(weights: Sequence[float], values: Sequence[float | None]) -> float | None:
    """Returns the weighted mean, or None where a value is missing."""
    known = [value for value in values if value is not None]
    return fmean(known, weights) if len(known) == len(values) else None
