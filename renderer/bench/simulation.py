"""Kernels are simulated on machines: what each one does for the rays of a scene is scheduled on warps, see
`tracecore.analysis.simulator`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from renderer.bench.ray_generators import sample
from renderer.bench.ray_sources import PlannedRays
from renderer.bench.table import MISSING, STRUCK_OUT, aligned, share
from renderer.bench.workload import RaySet, Workload, WrongRay
from renderer.scene.render_context import TracerChoice, context_of
from scenes.model import Snapshot
from tracecore.analysis.bound import bound
from tracecore.analysis.instruction_counts import StepInstructions, step_instructions
from tracecore.analysis.simulator import Lanes, Organisation, Queues, SimulatedWork, fits, own_organisation, simulate
from tracecore.analysis.steps import StepSequences, StepsPerRay
from tracecore.cuda.gpus import Gpu
from tracecore.emulator.tracer import EmulatedTracer
from tracecore.errors import DeviceError, KernelError
from tracecore.kernels.loop import IF_IF
from tracecore.kernels.step_records import WARP_LANES
from tracecore.kernels.strategies import REPLACE_BELOW, find_strategy
from tracecore.kernels.strategy import KernelStrategy
from tracecore.rays import HIT_FLOATS, Query

#: Name of the loop that the kernel has.
OWN = "own"

#: Any kernel's steps can be done in each of these loops.
LOOPS: Mapping[str, Organisation] = {
    "while-while": Lanes(),
    "if-if": Lanes(loop=IF_IF),
    "replacing-while-while": Lanes(replace_below=REPLACE_BELOW / WARP_LANES),
    "replacing-if-if": Lanes(loop=IF_IF, replace_below=REPLACE_BELOW / WARP_LANES),
    "queues": Queues(),
}


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Says what is to be simulated.

    gpu: the GPU that bounds are for.
    widths: lanes of a warp.
    loops: `OWN` and names of `LOOPS`.
    move: instructions by which the lanes of a warp exchange rays for those of a queue.
    """

    gpu: Gpu
    widths: Sequence[int]
    loops: Sequence[str]
    move: float


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """Holds what was simulated of a kernel on a kind of rays, in a loop on warps of a width, as `figure_keys.SIMULATE`
    explains it. Where hits are wrong, the figures count for nothing.
    """

    kernel: str
    kind: str
    loop: str
    width: int
    rays: int
    steps: StepsPerRay
    efficiency: float | None
    bound: float | None
    compared: int = 0
    wrong: WrongRay | None = None


class Costs:
    """Counts the instructions of kernels' steps on an architecture.

    missing: why none are known; empty as long as they are.
    """

    def __init__(self, arch: str) -> None:
        self.arch = arch
        self.missing = ""

    def __call__(self, strategy: KernelStrategy, query: Query) -> StepInstructions | None:
        """Returns the instructions of each step, or None where they cannot be counted."""
        try:
            return step_instructions(strategy, self.arch, query)
        except (DeviceError, KernelError) as error:
            self.missing = str(error)
            return None


def samples(rays: PlannedRays, most: int, threads: int | None) -> list[RaySet]:
    """Returns a sample of each set of rays.

    most: rays of a set.

    Raises `UsageError` where there are no rays at all.
    """
    workload = Workload(lambda tracer: [replace(one, rays=sample(one.rays, most)) for one in rays.sets(tracer)])
    workload.prepare(rays.snapshot, threads)
    return list(workload.sets)


def simulations(
    snapshot: Snapshot,
    kernel: str,
    sets: Sequence[RaySet],
    machine: Machine,
    cost_of: Costs,
    keep: dict[str, StepSequences] | None = None,
) -> Iterator[Simulated]:
    """Yields what was simulated of a kernel on all sets of rays.

    keep: is given the steps of the kernel, by "KERNEL/KIND".
    """
    strategy = find_strategy(kernel)
    with context_of(snapshot, TracerChoice(device="emulator", kernel=kernel), load_seconds=0.0) as context:
        assert isinstance(context.tracer, EmulatedTracer)
        for one in sets:
            hits = np.empty((len(one.rays), HIT_FLOATS), np.float32)
            sequences = context.tracer.record_steps(one.rays, one.query, hits)
            wrong = one.wrong_ray(hits)
            if keep is not None:
                keep[f"{kernel}/{one.kind}"] = sequences
            costs, rays = cost_of(strategy, one.query), len(one.rays)
            for width, loop in product(machine.widths, machine.loops):
                if fits(width, sequences.lanes):
                    organisation = own_organisation(strategy) if loop == OWN else LOOPS[loop]
                    schedule = simulate(sequences, organisation, width)
                    yield Simulated(
                        kernel=kernel,
                        kind=one.kind,
                        loop=loop,
                        width=width,
                        rays=rays,
                        steps=schedule.per_ray(sequences, strategy),
                        efficiency=schedule.efficiency(SimulatedWork.NODE, SimulatedWork.TRIANGLE),
                        bound=None if costs is None else bound(schedule, rays, costs, machine.gpu, machine.move),
                        compared=one.compared,
                        wrong=wrong,
                    )


def simulated_bound(
    strategy: KernelStrategy, sequences: StepSequences, query: Query, gpu: Gpu, cost_of: Costs, rounds: int
) -> tuple[StepsPerRay, float | None]:
    """Returns what a ray costs in the loop that a kernel has on a GPU, with SIMD efficiencies, and a bound as in
    `Simulated`.

    rounds: as in `simulator.Lanes`.
    """
    schedule = simulate(sequences, replace(own_organisation(strategy), rounds=rounds), gpu.width)
    costs = cost_of(strategy, query)
    rays = sequences.items * sequences.rays
    return schedule.per_ray(sequences, strategy), None if costs is None else bound(schedule, rays, costs, gpu)


def table(found: Sequence[Simulated]) -> str:
    """Returns a row for each kernel, loop and width, in a block for each kind of rays; then how many rays were compared
    with the CPU, and whose hits are wrong.
    """
    blocks = []
    for kind in dict.fromkeys(one.kind for one in found):
        own = [one for one in found if one.kind == kind]
        heads = ("loop", "width", "nodes", "triangles", "traversal", "intersection", "both", "Mrays/s")
        blocks.append(aligned([[f"{kind}: {own[0].rays} rays", *heads], *(_row(one) for one in own)]))
    counts = {one.kind: f"{one.kind} {one.compared} of {one.rays}" for one in found}
    wrong = {(one.kernel, one.kind): one.wrong for one in found if one.wrong}
    lines = [f"Struck out: {kernel} on {kind}, whose hits are wrong: {ray}." for (kernel, kind), ray in wrong.items()]
    return "\n\n".join([*blocks, "\n".join([f"compared with the CPU: {', '.join(counts.values())} rays", *lines])])


def _row(one: Simulated) -> list[str]:
    if one.wrong:
        return [one.kernel, one.loop, str(one.width), STRUCK_OUT, *[MISSING] * 5]
    steps = one.steps
    shares = (steps.node_efficiency, steps.triangle_efficiency, one.efficiency)
    return [
        one.kernel,
        one.loop,
        str(one.width),
        f"{steps.nodes:.1f}",
        f"{steps.triangles:.1f}",
        *map(share, shares),
        MISSING if one.bound is None else f"{one.bound:.0f}",
    ]
