"""Peers trace the rays that our kernels trace: this module measures how fast they are, and whether they answer as we
do.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

from renderer.bench.kernel_benchmark import Measurement, PeerFacts, measurement
from renderer.bench.workload import RaySet, Workload
from tracecore.cores import usable_cores
from tracecore.errors import PeerError
from tracecore.peers import PEERS, Peer, for_peers, open_peer, peer_errors
from tracecore.rays import Floats
from tracecore.triangles import checked_triangles


def compare_peers(
    names: Sequence[str], positions: Floats, workload: Workload, *, repeats: int, threads: int | None
) -> Iterator[tuple[PeerFacts, list[Measurement]]]:
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


def measure_peer(peer: Peer, rays: RaySet, repeats: int) -> Measurement:
    """Measures the rate of a peer on some rays, and whether its answers are ours."""
    with peer_errors(peer.name, "try fewer rays (--size, --photon-rays)"):
        rounds = peer.trace(for_peers(rays.rays), rays.query, repeats)
    agreement, wrong = rays.peer_answers(rounds.t)
    return replace(measurement(peer.name, rays, rounds.seconds), agreement=agreement, wrong=wrong)
