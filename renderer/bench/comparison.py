"""This module makes a comparison from beginning to end: kernels, peers, bounds and photon runs, one after the other. It
says on stderr how far it is.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from renderer.bench.end_to_end import EndToEnd, end_to_end
from renderer.bench.files import Run
from renderer.bench.kernel_benchmark import Comparison, KernelFacts, Measurement, PeerFacts, compare, over_baseline
from renderer.bench.kernel_bounds import Bounds
from renderer.bench.kernel_member import compare_by
from renderer.bench.peer_benchmark import compare_peers
from renderer.bench.workload import Workload
from renderer.fleet.fleet import Fleet


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
    run: Run,
    kernels: Sequence[str],
    workload: Workload,
    effort: Effort,
    peers: Sequence[str] = (),
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
        return _bounded(parts.together(run, finished=True), run, workload, effort.bound_rays)
    except KeyboardInterrupt:
        if run.baseline not in [facts.kernel for facts in parts.kernels]:
            raise
        return parts.together(run, finished=False)


def _compared(
    run: Run, kernels: Sequence[str], workload: Workload, effort: Effort
) -> Iterator[tuple[KernelFacts, list[Measurement]]]:
    """Yields one kernel after the other, with its measurements."""
    if effort.fleet is not None:
        return compare_by(effort.fleet, run.snapshot, kernels, workload, effort.repeats)
    return compare(run.snapshot, run.device, kernels, workload, repeats=effort.repeats, threads=run.threads)


@dataclass(kw_only=True)
class Parts:
    """Collects what has been measured so far."""

    kernels: list[KernelFacts] = field(default_factory=list)
    peers: list[PeerFacts] = field(default_factory=list)
    measurements: list[Measurement] = field(default_factory=list)
    photon_runs: list[EndToEnd] = field(default_factory=list)

    def together(self, run: Run, *, finished: bool) -> Comparison:
        """Returns the comparison that these parts make.

        run: what was measured.
        finished: whether the run was finished, or was interrupted.
        """
        return Comparison(
            device=run.device,
            baseline=run.baseline,
            kernels=tuple(self.kernels),
            measurements=tuple(over_baseline(self.measurements, run.baseline)),
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
