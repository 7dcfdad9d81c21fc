"""Bounds of kernels that were measured come from the same kernels on samples of the same rays,
emulated and simulated.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from renderer.bench.ray_generators import sample
from renderer.bench.simulation import Costs, simulated_bound
from renderer.bench.workload import RaySet
from renderer.scene.render_context import TracerChoice, context_of
from scenes.model import Snapshot
from tracecore import Device
from tracecore.analysis.steps import StepsPerRay
from tracecore.cores import usable_cores
from tracecore.cuda.device import gpu_at_hand
from tracecore.cuda.gpus import GPUS
from tracecore.emulator.library import emulator_unavailable_reason
from tracecore.emulator.tracer import EmulatedTracer
from tracecore.errors import KernelError
from tracecore.kernels.strategies import find_strategy

if TYPE_CHECKING:
    from renderer.bench.kernel_benchmark import Comparison, KernelFacts, Measurement

#: Fewest rays of a sample, of kernels with many lanes for a ray, which take as much longer.
LEAST_RAYS = 1024

#: A kernel's steps of a ray, with simulated efficiencies, and its bound, by kernel, kind of rays and view point.
Found = dict[tuple[str, str, str], tuple[StepsPerRay, float | None]]


class Bounds:
    """Computes how fast a GPU could trace rays if memory took no time.

    device: the GPU at hand is meant; for kernels that are emulated an H200.
    most: rays of a sample.
    missing: why there are no bounds; empty as long as there are.
    """

    def __init__(self, snapshot: Snapshot, device: Device, most: int) -> None:
        self.missing = emulator_unavailable_reason() or ""
        self._gpu = gpu_at_hand() if device == "gpu" else GPUS["h200"]
        self._snapshot = snapshot
        self._most = most
        self._costs = Costs(self._gpu.arch)

    def add_to(self, found: Comparison, sets: Sequence[RaySet]) -> Comparison:
        """Returns the comparison on these rays with bounds, and with simulated steps where a device has not counted
        them, of kernels whose hits are right.

        It works on all cores.
        """
        if self.missing:
            return found
        known: Found = {}
        wrong = {one.kernel for one in found.wrong_ones}
        right = [facts for facts in found.kernels if facts.kernel not in wrong]
        with ThreadPoolExecutor(usable_cores()) as pool:
            for of_kernel in pool.map(lambda facts: self._of_kernel(facts, sets), right):
                known |= of_kernel
        self.missing = self.missing or self._costs.missing
        return replace(found, measurements=tuple(_with_bound(one, known) for one in found.measurements))

    def _of_kernel(self, facts: KernelFacts, sets: Sequence[RaySet]) -> Found:
        choice = TracerChoice(device="emulator", kernel=facts.kernel, threads=1)
        with context_of(self._snapshot, choice, load_seconds=0.0) as context:
            assert isinstance(context.tracer, EmulatedTracer)
            emulated = context.tracer
            try:
                return {(facts.kernel, one.kind, one.view): self._of_rays(facts, emulated, one) for one in sets}
            except KernelError as error:
                self.missing = str(error)
                return {}

    def _of_rays(self, facts: KernelFacts, emulated: EmulatedTracer, rays: RaySet) -> tuple[StepsPerRay, float | None]:
        strategy = find_strategy(facts.kernel)
        some = sample(rays.rays, max(self._most // strategy.lanes_per_ray, LEAST_RAYS))
        sequences = emulated.record_steps(some, rays.query)
        return simulated_bound(strategy, sequences, rays.query, self._gpu, self._costs, _rounds(facts, rays))


def _rounds(facts: KernelFacts, rays: RaySet) -> int:
    """Returns how often a warp that stays gets rays: the more of them there is room for, the less often."""
    return max(round(len(rays.rays) / facts.rays_at_once[rays.query]), 1) if facts.rays_at_once else 1


def _with_bound(one: Measurement, known: Found) -> Measurement:
    if (one.kernel, one.kind, one.view) not in known:  # a peer
        return one
    steps, most = known[one.kernel, one.kind, one.view]
    return replace(one, steps=one.steps or steps, bound=most)
