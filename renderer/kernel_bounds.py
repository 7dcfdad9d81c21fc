"""Bounds of kernels that are measured: the same kernel on a sample of the same rays, emulated and simulated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from renderer.ray_kinds import sample
from renderer.simulation import Costs
from renderer.stage import TracerChoice, stage_of
from renderer.workload import RaySet
from scenes.model import Snapshot
from tracecore import Device
from tracecore.bound import GPUS, Gpu, bound
from tracecore.emulator.library import emulator_unavailable_reason
from tracecore.emulator.tracer import EmulatedTracer
from tracecore.gpu import GpuTracer
from tracecore.gpu_device import gpu_at_hand
from tracecore.simulator import own_organisation, simulate
from tracecore.steps import StepsPerRay
from tracecore.strategies import find_strategy
from tracecore.tracer import Query, Tracer


class Bounds:
    """How fast a GPU could trace the rays of a scene if memory took no time.

    device: the GPU at hand is meant; for kernels that are emulated an H200. most: rays of a sample. missing: why there
    are no bounds; empty as long as there are.
    """

    def __init__(self, snapshot: Snapshot, device: Device, most: int) -> None:
        self.gpu: Gpu = gpu_at_hand() if device == "gpu" else GPUS["h200"]
        self.missing = emulator_unavailable_reason() or ""
        self._snapshot = snapshot
        self._most = most
        self._costs = Costs(self.gpu.arch)

    @contextmanager
    def of_kernel(self, tracer: Tracer) -> Iterator[KernelBound | None]:
        """Of the kernel and the tree that a tracer has; None where there can be none."""
        if self.missing:
            yield None
            return
        choice = TracerChoice(device="emulator", kernel=tracer.name)
        with stage_of(self._snapshot, choice, load_seconds=0.0, tree=tracer.tree) as stage:
            assert isinstance(stage.tracer, EmulatedTracer)
            yield KernelBound(tracer, stage.tracer, self.gpu, self._costs, self._most)
        self.missing = self._costs.missing


class KernelBound:
    """Bounds of one kernel. tracer: that is measured. emulated: the same kernel."""

    def __init__(self, tracer: Tracer, emulated: EmulatedTracer, gpu: Gpu, costs: Costs, most: int) -> None:
        self._tracer = tracer
        self._emulated = emulated
        self._gpu = gpu
        self._costs = costs
        self._most = most
        self._strategy = find_strategy(tracer.name)

    def of(self, rays: RaySet) -> tuple[StepsPerRay, float | None]:
        """Steps of a ray, with simulated efficiencies, and the bound in millions of rays per second; None where nobody
        can count instructions."""
        some = sample(rays.rays, self._most)
        sequences = self._emulated.record_steps(some, rays.query)
        organisation = replace(own_organisation(self._strategy), rounds=self._rounds(len(rays.rays), rays.query))
        schedule = simulate(sequences, organisation, self._gpu.width)
        costs = self._costs(self._strategy, rays.query)
        known = None if costs is None else bound(schedule, len(some), costs, self._gpu)
        return schedule.per_ray(sequences, self._strategy), known

    def _rounds(self, rays: int, query: Query) -> int:
        """How often a warp gets rays: the more persistent ones there are, the fewer."""
        if not self._strategy.persistent or not isinstance(self._tracer, GpuTracer):
            return 1
        blocks = self._tracer.session.kernel.blocks_for(rays, query)
        at_once = blocks * self._strategy.block_size // self._strategy.lanes_per_ray
        return max(round(rays / at_once), 1)
