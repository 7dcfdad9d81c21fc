"""A comparison from beginning to end: kernels, peers, bounds and photon runs, one after the other; says on stderr how
far it is."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from renderer.bench_files import Run
from renderer.end_to_end import EndToEnd, end_to_end
from renderer.kernel_benchmark import Comparison, compare, over_baseline
from renderer.kernel_bounds import Bounds
from renderer.peer_benchmark import compare_peers
from renderer.workload import Workload


@dataclass(frozen=True, kw_only=True)
class Effort:
    """What is spent on a kernel. repeats: rounds. bound_rays: of each kind that are simulated, 0 for none. photons:
    that a photon run stores, 0 for no such runs."""

    repeats: int
    bound_rays: int
    photons: int


def measured(
    run: Run, kernels: Sequence[str], workload: Workload, effort: Effort, peers: Sequence[str] = ()
) -> Comparison:
    """All kernels, then the peers, on the same rays."""
    facts, measurements, peer_facts = [], [], []
    for of_kernel, its in compare(
        run.snapshot, run.device, kernels, workload, repeats=effort.repeats, threads=run.threads
    ):
        facts.append(of_kernel)
        measurements += its
        _tell(f"{of_kernel.kernel} done")
    for of_peer, its in compare_peers(
        peers, run.snapshot.positions, workload, repeats=effort.repeats, threads=run.threads
    ):
        peer_facts.append(of_peer)
        measurements += its
        _tell(f"{of_peer.peer} done")
    found = Comparison(
        device=run.device,
        baseline=run.baseline,
        kernels=tuple(facts),
        measurements=tuple(over_baseline(measurements, run.baseline)),
        peers=tuple(peer_facts),
        photon_runs=_photon_runs(run, kernels, effort),
    )
    return _bounded(found, run, workload, effort.bound_rays)


def _bounded(found: Comparison, run: Run, workload: Workload, rays: int) -> Comparison:
    if rays == 0 or run.device == "cpu":
        return found
    bounds = Bounds(run.snapshot, run.device, rays)
    bounded = bounds.add_to(found, workload.sets)
    _tell(f"tracecore: no bounds: {bounds.missing}" if bounds.missing else "bounds done")
    return bounded


def _photon_runs(run: Run, kernels: Sequence[str], effort: Effort) -> tuple[EndToEnd, ...]:
    runs: list[EndToEnd] = []
    if effort.photons > 0:
        for one in end_to_end(
            run.snapshot,
            run.device,
            kernels,
            photons=effort.photons,
            repeats=effort.repeats,
            seed=run.plan.seed,
            threads=run.threads,
        ):
            runs.append(one)
            _tell(f"{one.kernel} done, photon run, {one.dispatch}")
    return tuple(runs)


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
