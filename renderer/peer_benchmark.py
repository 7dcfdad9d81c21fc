"""Peers on the rays that our kernels trace: how fast they are, and whether they answer as we do."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from renderer.kernel_benchmark import Measurement
from renderer.workload import RaySet, Workload
from tracecore.direct import usable_cores
from tracecore.errors import PeerError
from tracecore.peers import PEERS, Peer, agreement, for_peers, open_peer, peer_errors
from tracecore.rays import Floats
from tracecore.triangles import checked_triangles


@dataclass(frozen=True, kw_only=True)
class PeerFacts:
    """A peer, and what its seconds are."""

    name: str
    clock: str


def compare_peers(
    names: Sequence[str], positions: Floats, workload: Workload, *, repeats: int, threads: int | None
) -> Iterator[tuple[PeerFacts, list[Measurement]]]:
    """Each way of each peer on all rays. One that cannot run is left out, and stderr says why, once.

    positions: (t, 3, 3). workload: with answers.
    """
    triangles, said = checked_triangles(positions), set()
    for name, way in ((name, way) for name in names for way in PEERS[name].ways):
        try:
            peer = open_peer(name, way, triangles, threads or usable_cores())
            measured = [
                measure_peer(peer, rays, ours, repeats)
                for rays, ours in zip(workload.sets, workload.answers, strict=True)
            ]
        except PeerError as error:
            if str(error) not in said:
                print(f"tracecore: {error}", file=sys.stderr, flush=True)
            said.add(str(error))
            continue
        yield PeerFacts(name=peer.name, clock=peer.clock), measured


def measure_peer(peer: Peer, rays: RaySet, ours: Floats, repeats: int) -> Measurement:
    """The rate of a peer on some rays. ours: what it should answer."""
    with peer_errors(peer.name, "try fewer rays (--size, --photon-rays)"):
        rounds = peer.trace(for_peers(rays.rays), rays.query, repeats)
    rates = [len(ours) / seconds / 1e6 for seconds in rounds.seconds]
    return Measurement(
        kernel=peer.name,
        kind=rays.kind,
        view=rays.view,
        rays=len(ours),
        rate=median(rates),
        least=min(rates),
        most=max(rates),
        agreement=agreement(rounds.t, ours),
    )


def peer_notes(facts: Sequence[PeerFacts], measurements: Sequence[Measurement]) -> list[str]:
    """A line for each peer: what its rates are, and the share of rays for which it answers as we do."""
    lines = []
    for peer in facts:
        shares = [
            f"{one.kind} {one.agreement:.4%}"
            for one in measurements
            if one.kernel == peer.name and one.agreement is not None
        ]
        lines.append(f"{peer.name}: {peer.clock}; same answers: {', '.join(shares)}")
    return lines
