"""This module makes a comparison from beginning to end: kernels, peers, bounds and photon runs, one after the other. It
says on stderr how far it is.

Kernels are measured here, or by the members of a fleet, in processes of their own: several at once, each on a GPU that
has nothing else to do. The GPUs are taken to be alike. Peers trace the rays that kernels trace, and are asked whether
they answer as we do. Bounds come from the same kernels on samples of the same rays, emulated and simulated.
"""

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from renderer.bench.dispatch_benchmark import EndToEnd, end_to_end
from renderer.bench.files import Run
from renderer.bench.kernel_benchmark import (
    Comparison,
    KernelFacts,
    KernelMeasurement,
    PeerFacts,
    compare,
    facts_of,
    measure,
    measurement,
    over_baseline,
)
from renderer.bench.ray_generators import sample
from renderer.bench.simulation import Costs, simulated_bound
from renderer.bench.workload import RaySet, Workload
from renderer.fleet.fleet import Fleet, Items, Opening
from renderer.fleet.seats import Seat
from renderer.plugins import loaded_files
from renderer.scene.render_context import TracerChoice, context_of
from scenes.model import Snapshot
from tracecore import Device
from tracecore.analysis.steps import StepsPerRay
from tracecore.cuda.device import gpu_at_hand
from tracecore.cuda.gpus import GPUS
from tracecore.emulator.library import emulator_unavailable_reason
from tracecore.emulator.tracer import EmulatedTracer
from tracecore.errors import KernelError, PeerError
from tracecore.kernels.strategies import find_strategy
from tracecore.peers import PEERS, Peer, for_peers, open_peer, peer_errors
from tracecore.rays import Floats
from tracecore.threads import usable_cores
from tracecore.triangles import checked_triangles

#: Fewest rays of a sample, of kernels with many lanes for a ray, which take as much longer.
LEAST_RAYS = 1024

#: A kernel's steps of a ray, with simulated efficiencies, and its bound, by kernel, kind of rays and view point.
Found = dict[tuple[str, str, str], tuple[StepsPerRay, float | None]]


@dataclass(frozen=True, kw_only=True)
class Effort:
    """Says how much is measured of each kernel.

    repeats: rounds.
    bound_rays: rays of each kind that are simulated, 0 for none.
    photons: how many a photon run stores, 0 for no such runs.
    fleet: whose members measure the kernels, several at once; None where they are measured here.
    """

    repeats: int
    bound_rays: int
    photons: int
    fleet: Fleet | None = None


def measured(
    run: Run, kernels: Sequence[str], workload: Workload, effort: Effort, peers: Sequence[str] = ()
) -> Comparison:
    """Measures all kernels, then the peers, on the same rays, then photon runs and bounds of kernels whose hits are
    right.

    An interrupt ends it with what there is by then, if that has the baseline.
    """
    parts = Parts()
    try:
        for of_kernel, its in _compared(run, kernels, workload, effort):
            parts.kernels.append(of_kernel)
            parts.measurements += its
            _report(f"{of_kernel.kernel} done")
        for of_peer, its in compare_peers(
            peers, run.snapshot.positions, workload, repeats=effort.repeats, threads=run.threads
        ):
            parts.peers.append(of_peer)
            parts.measurements += its
            _report(f"{of_peer.peer} done")
        wrong = {one.kernel for one in parts.measurements if one.wrong}
        for one in _photon_runs(run, [name for name in kernels if name not in wrong], effort):
            parts.photon_runs.append(one)
            _report(f"{one.kernel} done, photon run, {one.dispatch}")
        return _bounded(parts.together(run.device, run.baseline), run, workload, effort.bound_rays)
    except KeyboardInterrupt:
        if run.baseline not in [facts.kernel for facts in parts.kernels]:
            raise
        return parts.together(run.device, run.baseline, finished=False)


def _compared(
    run: Run, kernels: Sequence[str], workload: Workload, effort: Effort
) -> Iterator[tuple[KernelFacts, list[KernelMeasurement]]]:
    """Yields one kernel after the other, with its measurements."""
    if effort.fleet is not None:
        return compare_by(effort.fleet, run.snapshot, kernels, workload, effort.repeats)
    return compare(run.snapshot, run.device, kernels, workload, repeats=effort.repeats, threads=run.threads)


@dataclass(kw_only=True)
class Parts:
    """Collects what has been measured so far."""

    kernels: list[KernelFacts] = field(default_factory=list)
    peers: list[PeerFacts] = field(default_factory=list)
    measurements: list[KernelMeasurement] = field(default_factory=list)
    photon_runs: list[EndToEnd] = field(default_factory=list)

    def together(self, device: Device, baseline: str, *, finished: bool = True) -> Comparison:
        """Returns the comparison that these parts make. finished: whether nobody interrupted it."""
        return Comparison(
            device=device,
            baseline=baseline,
            kernels=tuple(self.kernels),
            measurements=tuple(over_baseline(self.measurements, baseline)),
            peers=tuple(self.peers),
            photon_runs=tuple(self.photon_runs),
            finished=finished,
        )


def _bounded(found: Comparison, run: Run, workload: Workload, rays: int) -> Comparison:
    if rays == 0 or run.device == "cpu":
        return found
    bounds = Bounds(run.snapshot, run.device, rays)
    bounded = bounds.add_to(found, workload.sets)
    _report(f"tracecore: no bounds: {bounds.missing}" if bounds.missing else "bounds done")
    return bounded


def _photon_runs(run: Run, kernels: Sequence[str], effort: Effort) -> Iterator[EndToEnd]:
    if effort.photons > 0:
        yield from end_to_end(
            run.snapshot,
            run.device,
            kernels,
            photons=effort.photons,
            repeats=effort.repeats,
            seed=run.plan.seed,
            threads=run.threads,
        )


def _report(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def compare_peers(
    names: Sequence[str], positions: Floats, workload: Workload, *, repeats: int, threads: int | None
) -> Iterator[tuple[PeerFacts, list[KernelMeasurement]]]:
    """Yields each way of each peer with its measurements on all rays.

    A peer that cannot run is left out, and stderr says why, once.

    positions: (t, 3, 3) float32, corners of the scene's triangles.
    workload: the rays.
    """
    triangles = checked_triangles(positions)
    said: set[str] = set()
    for name, way in [(one, way) for one in names for way in PEERS[one].ways]:
        try:
            peer = open_peer(name, way, triangles, threads or usable_cores())
            measured = [measure_peer(peer, rays, repeats) for rays in workload.sets]
        except PeerError as error:
            if str(error) not in said:
                print(f"tracecore: {error}", file=sys.stderr, flush=True)
            said.add(str(error))
            continue
        yield PeerFacts(peer=peer.name, clock=peer.clock), measured


def measure_peer(peer: Peer, rays: RaySet, repeats: int) -> KernelMeasurement:
    """Measures the rate of a peer on some rays, and whether its answers are ours."""
    with peer_errors(peer.name, "try fewer rays (--size, --photon-rays)"):
        rounds = peer.trace(for_peers(rays.rays), rays.query, repeats)
    agreement, wrong = rays.peer_answers(rounds.t)
    return replace(measurement(peer.name, rays, rounds.seconds), agreement=agreement, wrong=wrong)


@dataclass(frozen=True, kw_only=True)
class KernelsOrder:
    """Says what kernels are measured on: sets of rays of a scene, in so many rounds each."""

    snapshot: Snapshot
    sets: tuple[RaySet, ...]
    repeats: int


@dataclass(frozen=True)
class Kernel:
    """Is a kernel that is to be measured, by its name."""

    name: str

    def __str__(self) -> str:
        return f"kernel {self.name}"


class MeasuredKernel(NamedTuple):
    """Is a kernel that was measured."""

    facts: KernelFacts
    measurements: list[KernelMeasurement]


class KernelMember:
    """Measures kernels, one after the other."""

    window = 1

    def __init__(self, order: KernelsOrder, seat: Seat) -> None:
        self._order, self._seat = order, seat

    def report(self) -> None:
        """Returns nothing: what a member has to say is in its measurements."""

    def make(self, kernel: Kernel) -> MeasuredKernel:
        """Returns what was measured of a kernel."""
        choice = TracerChoice(device=self._seat.device, kernel=kernel.name, threads=self._seat.threads)
        with context_of(self._order.snapshot, choice, load_seconds=0.0) as context:
            sets = [measure(context.tracer, rays, self._order.repeats) for rays in self._order.sets]
            return MeasuredKernel(facts_of(context.tracer), sets)

    def close(self) -> None:
        """Does nothing: a tracer is opened for each kernel."""


def compare_by(
    fleet: Fleet, snapshot: Snapshot, kernels: Sequence[str], workload: Workload, repeats: int
) -> Iterator[MeasuredKernel]:
    """Yields the kernels in order, each as a member of a fleet has measured it; the CPU finds the rays."""
    workload.prepare(snapshot, None)
    order = KernelsOrder(snapshot=snapshot, sets=tuple(workload.sets), repeats=repeats)
    fleet.open(Opening(KernelMember, order, loaded_files()))
    made: dict[str, MeasuredKernel] = {}
    with closing(fleet.results(Items(Kernel(name) for name in kernels))) as results:
        for name in kernels:
            while name not in made:
                kernel, _, one = next(results)
                made[kernel.name] = one
            yield made[name]


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


def _with_bound(one: KernelMeasurement, known: Found) -> KernelMeasurement:
    if (one.kernel, one.kind, one.view) not in known:  # a peer
        return one
    steps, most = known[one.kernel, one.kind, one.view]
    return replace(one, steps=one.steps or steps, bound=most)
