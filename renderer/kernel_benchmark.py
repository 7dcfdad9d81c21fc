"""Kernels side by side: every one on the same rays of a scene, see `renderer.ray_kinds`."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

from renderer.errors import UsageError
from renderer.ray_kinds import RayPlan, RaySets
from renderer.stage import TracerChoice, stage_of
from scenes.model import Snapshot
from tracecore import Device
from tracecore.cpu import CpuTracer
from tracecore.emulator.tracer import EmulatedTracer
from tracecore.gpu import GpuTracer, gpu_unavailable_reason
from tracecore.kernel_time import kernel_seconds
from tracecore.rays import Floats
from tracecore.steps import StepsPerRay
from tracecore.strategies import find_strategy, strategy_names
from tracecore.tracer import Query, Tracer

#: Kinds whose rays only ask whether anything is hit.
ANY_HIT_KINDS = ("ao", "shadow")


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A kernel on a kind of rays: medians and ranges of rounds, in millions of rays per second.

    view: name of the view point that the rays come from. relative: to the baseline. bound: what the device could reach
    if memory took no time, by the simulator. of_bound: the rate as a share of it.
    """

    kernel: str
    kind: str
    rays: int
    rate: float
    least: float
    most: float
    view: str = "camera"
    relative: float | None = None
    steps: StepsPerRay | None = None
    bound: float | None = None

    @property
    def of_bound(self) -> float | None:
        """The rate over the bound."""
        return None if self.bound is None else self.rate / self.bound


@dataclass(frozen=True, kw_only=True)
class KernelFacts:
    """A kernel and its tree. registers, occupancy: on a GPU, of closest and any hit."""

    kernel: str
    nodes: int
    tree_bytes: int
    sah_cost: float
    registers: tuple[int, ...] = ()
    occupancy: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All measurements, and what is known of each kernel. baseline: the kernel that `relative` is over."""

    device: Device
    baseline: str
    kernels: tuple[KernelFacts, ...]
    measurements: tuple[Measurement, ...]

    def as_dict(self) -> dict[str, Any]:
        """For a file."""
        return asdict(self)


def device_of(choice: Device) -> Device:
    """The device that is meant: auto is the GPU if there is one, else the CPU."""
    if choice == "auto":
        return "cpu" if gpu_unavailable_reason() else "gpu"
    return choice


def kernel_names(device: Device) -> list[str]:
    """All kernels of a device: gpu and emulator have the same ones."""
    return [CpuTracer.name] if device == "cpu" else list(strategy_names())


def compare(
    snapshot: Snapshot,
    device: Device,
    kernels: Sequence[str],
    kinds: Sequence[str],
    plan: RayPlan,
    *,
    repeats: int,
    threads: int | None,
) -> Iterator[tuple[KernelFacts, list[Measurement]]]:
    """Kernel after kernel. All trace the same rays, which the first one found."""
    sets: dict[str, Floats] = {}
    for name in kernels:
        choice = TracerChoice(device=device, kernel=name, threads=threads)
        with stage_of(snapshot, choice, load_seconds=0.0) as stage:
            if not sets:
                made = RaySets(snapshot, stage.tracer, plan)
                sets = {kind: rays for kind in kinds if len(rays := made.of_kind(kind)) > 0}
            if not sets:
                raise UsageError("there are no rays of these kinds: nothing is hit, or there is no light")
            yield facts_of(stage.tracer), [measure(stage.tracer, kind, rays, repeats) for kind, rays in sets.items()]


def facts_of(tracer: Tracer) -> KernelFacts:
    """What is known of a tracer's kernel."""
    facts = KernelFacts(
        kernel=tracer.name, nodes=tracer.bvh.nodes, tree_bytes=tracer.bvh.bytes, sah_cost=tracer.bvh.sah_cost
    )
    if not isinstance(tracer, GpuTracer):
        return facts
    kernel = tracer.session.kernel
    return replace(facts, registers=tuple(kernel.registers), occupancy=tuple(kernel.occupancy))


def query_of(kind: str) -> Query:
    """What rays of a kind ask."""
    return Query.ANY if kind in ANY_HIT_KINDS else Query.CLOSEST


def measure(tracer: Tracer, kind: str, rays: Floats, repeats: int) -> Measurement:
    """The rate of a kernel on some rays, and what it does for them."""
    query = query_of(kind)
    rates = [len(rays) / seconds / 1e6 for seconds in kernel_seconds(tracer, rays, query, repeats)]
    return Measurement(
        kernel=tracer.name,
        kind=kind,
        rays=len(rays),
        rate=median(rates),
        least=min(rates),
        most=max(rates),
        steps=steps_per_ray(tracer, rays, query),
    )


def steps_per_ray(tracer: Tracer, rays: Floats, query: Query) -> StepsPerRay | None:
    """Counted by the GPU, or recorded by the emulator; None on a CPU, whose kernel is another."""
    if isinstance(tracer, GpuTracer):
        return tracer.count_steps(rays, query).per_ray(find_strategy(tracer.name))
    if isinstance(tracer, EmulatedTracer):
        return tracer.record_steps(rays, query).per_ray(find_strategy(tracer.name))
    return None


def over_baseline(measurements: Sequence[Measurement], baseline: str) -> list[Measurement]:
    """With `relative`: each rate over that of the baseline on the same rays."""
    rates = {one.kind: one.rate for one in measurements if one.kernel == baseline}
    return [replace(one, relative=one.rate / rates[one.kind]) for one in measurements]
