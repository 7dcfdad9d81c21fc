"""Kernels are measured by class of rays, through the ring and alone, so that runs may choose one by it. One whose hits
are not the CPU's is measured no more, and never chosen.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from statistics import median
from typing import NamedTuple

from renderer.bench.ray_generators import RayPlan
from renderer.bench.ray_sources import PlannedRays
from renderer.bench.table import MISSING, STRUCK_OUT, aligned
from renderer.bench.view_points import ViewPoint
from renderer.bench.workload import RaySet, Workload, WrongRay
from renderer.plain_text import rounded
from renderer.scene.render_context import TracerChoice, context_of
from scenes.model import Snapshot
from tracecore import Device
from tracecore.benchmarks.kernel_rates import ring_rate, timed_rounds
from tracecore.dispatch.tracer import Tracer
from tracecore.kernels.choice import RateFacts, RayClass, RayWay
from tracecore.tracers.gpu import GpuTracer

#: Kinds of rays, of `ray_generators.KINDS`, that stand for a class.
KINDS: Mapping[RayClass, tuple[str, ...]] = {
    RayClass.COHERENT: ("primary",),
    RayClass.INCOHERENT: ("bounce1", "photon"),
    RayClass.OCCLUSION: ("ao",),
}


class TuningContest(NamedTuple):
    """Names what kernels are compared on: a class of rays, and how they reach the kernel."""

    rays: RayClass
    way: RayWay


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
    def contests(self) -> list[TuningContest]:
        """Returns what is compared, in the order of the table."""
        ways = (RayWay.RING, RayWay.LAUNCH) if self.device == "gpu" else (RayWay.LAUNCH,)
        return [TuningContest(rays, way) for rays in RayClass for way in ways]

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
WAY_WORDS = {RayWay.RING: "in the ring", RayWay.LAUNCH: "alone"}


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """Holds the rates of all rounds of a contest.

    rounds: millions of rays per second, by kernel.
    wrong: kernels whose hits were wrong in any contest, and how, in words: they are not to be chosen.
    """

    contest: TuningContest
    rounds: Mapping[str, Sequence[float]]
    wrong: Mapping[str, str] = field(default_factory=dict)

    @property
    def rates(self) -> dict[str, float]:
        """Returns the medians of kernels with right hits."""
        return {kernel: median(rates) for kernel, rates in self.rounds.items() if kernel not in self.wrong}

    def facts(self, architecture: str, source: str) -> RateFacts:
        """Returns the medians, as a choice is made by them. There must be one at least."""
        return RateFacts(
            architecture=architecture, way=self.contest.way, rays=self.contest.rays, rates=self.rates, source=source
        )


def tune(plan: TuningPlan) -> list[Tuned]:
    """Measures all kernels, which take turns in each round, and says on stderr how far it is.

    The hits of each round are compared with the CPU's. A class of which the scene has no rays is left out. Raises
    `UsageError` where it has none of any class.
    """
    kinds = [kind for of_class in KINDS.values() for kind in of_class]
    source = PlannedRays(snapshot=plan.snapshot, views=plan.views, plan=plan.rays, kinds=kinds)
    workload = Workload(source.sets)
    workload.prepare(plan.snapshot, plan.threads)
    wrong: dict[str, str] = {}
    with ExitStack() as opened:
        tracers: list[Tracer] = []
        for kernel in plan.kernels:
            choice = TracerChoice(device=plan.device, kernel=kernel, threads=plan.threads)
            tracers.append(opened.enter_context(context_of(plan.snapshot, choice, load_seconds=0.0)).tracer)
        found = list(_contests(plan, tracers, workload.sets, wrong))
    return [replace(one, wrong=wrong) for one in found]


def _contests(
    plan: TuningPlan, tracers: Sequence[Tracer], sets: Sequence[RaySet], wrong: dict[str, str]
) -> Iterator[Tuned]:
    """Yields contest after contest. wrong: is given the kernels whose hits turn out to be wrong."""
    for contest in plan.contests:
        own = [one for one in sets if one.kind in KINDS[contest.rays]]
        if not own:
            continue
        rounds: dict[str, list[float]] = {tracer.name: [] for tracer in tracers}
        for tracer in (tracer for _ in range(plan.repeats) for tracer in tracers):
            if tracer.name not in wrong:
                rate, wrong_ray = _judged_rate(plan, tracer, own, contest.way)
                rounds[tracer.name].append(rate)
                if wrong_ray is not None:
                    wrong[tracer.name] = f"{contest.rays.value} rays {WAY_WORDS[contest.way]}: {wrong_ray}"
        print(f"{contest.rays.value} rays {WAY_WORDS[contest.way]} done", file=sys.stderr, flush=True)
        yield Tuned(contest=contest, rounds=rounds)


def _judged_rate(
    plan: TuningPlan, tracer: Tracer, sets: Sequence[RaySet], way: RayWay
) -> tuple[float, WrongRay | None]:
    """Returns the rate of one round, millions of rays per second, which is all rays by all their time, and the first
    wrong ray.
    """
    seconds, wrong = 0.0, None
    for one in sets:
        if way is RayWay.LAUNCH:
            timed = timed_rounds(tracer, one.rays, one.query, 1)
            seconds += timed.seconds[0]
            wrong = wrong or one.wrong_ray(timed.hits)
        else:
            assert isinstance(tracer, GpuTracer)
            shape = tracer.threads, tracer.batches
            rung = ring_rate(tracer, one.rays, one.query, shape, plan.ring_rays)
            seconds += len(one.rays) / rung.rate / 1e6
            wrong = wrong or one.wrong_ray(rung.hits, rung.indices)
    return sum(len(one.rays) for one in sets) / seconds / 1e6, wrong


def table(found: Sequence[Tuned]) -> str:
    """Returns rates as text, a row for each kernel, a column for each contest; a star marks what would be chosen. Lines
    below say whose hits are wrong.
    """
    heads = [f"{one.contest.rays.value} {WAY_WORDS[one.contest.way]}" for one in found]
    chosen = [one.facts("", "").chosen if one.rates else "" for one in found]
    kernels = list(dict.fromkeys(kernel for one in found for kernel in one.rounds))
    rows = [
        [kernel, *(_cell(one, kernel, kernel == best) for one, best in zip(found, chosen, strict=True))]
        for kernel in kernels
    ]
    wrong = {kernel: words for one in found for kernel, words in one.wrong.items()}
    lines = (f"Struck out: {kernel}, whose hits are wrong: {words}." for kernel, words in wrong.items())
    return "\n".join([aligned([["Mrays/s", *heads], *rows]), *lines])


def _cell(one: Tuned, kernel: str, is_chosen: bool) -> str:
    if kernel in one.wrong:
        return STRUCK_OUT
    rates = one.rounds.get(kernel)
    if not rates:
        return MISSING
    return f"{rounded(median(rates))} ({rounded(min(rates))}-{rounded(max(rates))}){' *' if is_chosen else ''}"
