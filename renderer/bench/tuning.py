"""Kernels are measured by class of rays, through the ring and alone, so that runs may choose one by it."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from renderer.bench.ray_generators import RayPlan, query_of
from renderer.bench.ray_sources import PlannedRays
from renderer.bench.table import MISSING, aligned
from renderer.bench.view_points import ViewPoint
from renderer.bench.workload import RaySet, Workload
from renderer.scene.render_context import TracerChoice, context_of
from scenes.model import Snapshot
from tracecore import Device
from tracecore.benchmarks.kernel_time import kernel_seconds
from tracecore.benchmarks.ring_rate import ring_rate
from tracecore.dispatch.tracer import Tracer
from tracecore.kernels.choice import RateFacts, RayClass, Way
from tracecore.tracers.gpu import GpuTracer

#: Kinds of rays, of `ray_generators.KINDS`, that stand for a class.
KINDS: Mapping[RayClass, tuple[str, ...]] = {
    RayClass.COHERENT: ("primary",),
    RayClass.INCOHERENT: ("bounce1", "photon"),
    RayClass.OCCLUSION: ("ao",),
}


class Contest(NamedTuple):
    """Names what kernels are compared on: a class of rays, and how they reach the kernel."""

    rays: RayClass
    way: Way


@dataclass(frozen=True, kw_only=True)
class TuningPlan:
    """Says what is measured.

    snapshot, views, rays: where rays come from.
    device: the GPU, or the emulator, whose kernels have no ring to be measured.
    kernels: by name.
    repeats: rounds; the median of them counts.
    ring_rays: rays that are traced through the ring in a round.
    threads: that ring, None for all cores.
    """

    snapshot: Snapshot
    views: Sequence[ViewPoint]
    rays: RayPlan
    device: Device
    kernels: Sequence[str]
    repeats: int
    ring_rays: int
    threads: int | None

    @property
    def contests(self) -> list[Contest]:
        """Returns what is compared, in the order of the table."""
        ways = (Way.RING, Way.LAUNCH) if self.device == "gpu" else (Way.LAUNCH,)
        return [Contest(rays, way) for rays in RayClass for way in ways]

    def described(self) -> str:
        """Returns in words what is measured, a line for each class of rays."""
        ways = " and ".join(dict.fromkeys(WAY_WORDS[one.way] for one in self.contests))
        return "\n".join(
            [
                f"{self.snapshot.name}, {len(self.snapshot.positions)} triangles, on the {self.device}: "
                f"{self.repeats} rounds in turn, {ways}",
                f"kernels: {', '.join(self.kernels)}",
                *(f"{rays.value} rays: {', '.join(kinds)}" for rays, kinds in KINDS.items()),
            ]
        )


#: How rays reach the kernel, as headings have it.
WAY_WORDS = {Way.RING: "in the ring", Way.LAUNCH: "alone"}


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """Holds the rates of all rounds of a contest, millions of rays per second, by kernel."""

    contest: Contest
    rounds: Mapping[str, Sequence[float]]

    def facts(self, architecture: str, source: str) -> RateFacts:
        """Returns the medians, as a choice is made by them."""
        return RateFacts(
            architecture=architecture,
            way=self.contest.way,
            rays=self.contest.rays,
            rates={kernel: median(rates) for kernel, rates in self.rounds.items()},
            source=source,
        )


def tune(plan: TuningPlan) -> list[Tuned]:
    """Measures all kernels, which take turns in each round, and says on stderr how far it is.

    A class of which the scene has no rays is left out. Raises `UsageError` where it has none of any class.
    """
    kinds = [kind for of_class in KINDS.values() for kind in of_class]
    source = PlannedRays(snapshot=plan.snapshot, views=plan.views, plan=plan.rays, kinds=kinds)
    workload = Workload(source.sets, is_judged=False)
    with ExitStack() as opened:
        tracers: list[Tracer] = []
        for kernel in plan.kernels:
            choice = TracerChoice(device=plan.device, kernel=kernel, threads=plan.threads)
            tracers.append(opened.enter_context(context_of(plan.snapshot, choice, load_seconds=0.0)).tracer)
            workload.prepare(tracers[0])
        return list(_contests(plan, tracers, workload.sets))


def _contests(plan: TuningPlan, tracers: Sequence[Tracer], sets: Sequence[RaySet]) -> Iterator[Tuned]:
    for contest in plan.contests:
        own = [one for one in sets if one.kind in KINDS[contest.rays]]
        if not own:
            continue
        rounds: dict[str, list[float]] = {tracer.name: [] for tracer in tracers}
        for _ in range(plan.repeats):
            for tracer in tracers:
                rounds[tracer.name].append(_rate(plan, tracer, own, contest.way))
        print(f"{contest.rays.value} rays {WAY_WORDS[contest.way]} done", file=sys.stderr, flush=True)
        yield Tuned(contest=contest, rounds=rounds)


def _rate(plan: TuningPlan, tracer: Tracer, sets: Sequence[RaySet], way: Way) -> float:
    """Returns the rate of one round, millions of rays per second: all rays by all their time."""
    seconds = 0.0
    for one in sets:
        query, count = query_of(one.kind), len(one.rays)
        if way is Way.LAUNCH:
            seconds += kernel_seconds(tracer, one.rays, query, 1)[0]
        else:
            assert isinstance(tracer, GpuTracer)
            shape = tracer.threads, tracer.batches
            seconds += count / ring_rate(tracer, one.rays, query, shape, plan.ring_rays)[0] / 1e6
    return sum(len(one.rays) for one in sets) / seconds / 1e6


def table(found: Sequence[Tuned]) -> str:
    """Returns rates as text, a row for each kernel, a column for each contest; a star marks what would be chosen."""
    heads = [f"{one.contest.rays.value} {WAY_WORDS[one.contest.way]}" for one in found]
    chosen = [one.facts("", "").chosen for one in found]
    kernels = list(dict.fromkeys(kernel for one in found for kernel in one.rounds))
    rows = [
        [kernel, *(_cell(one.rounds.get(kernel), kernel == best) for one, best in zip(found, chosen, strict=True))]
        for kernel in kernels
    ]
    return aligned([["Mrays/s", *heads], *rows])


def _cell(rates: Sequence[float] | None, is_chosen: bool) -> str:
    if not rates:
        return MISSING
    return f"{median(rates):.4g} ({min(rates):.4g}-{max(rates):.4g}){' *' if is_chosen else ''}"
