"""Asks other ray tracers, peers, about the same rays and triangles, for whoever does not take our word for it.

`PEERS` lists them by name. A new one is a module with `open_way` and a row there. None is needed for anything else, and
each is imported only when it is asked for.
"""

from dataclasses import dataclass
from importlib import import_module

from tracecore.cuda.device import gpu_unavailable_reason
from tracecore.errors import PeerError
from tracecore.peers.peer import Peer, Rounds, differing, for_peers, from_start, peer_errors
from tracecore.rays import Floats

__all__ = ["PEERS", "Peer", "Rounds", "differing", "for_peers", "from_start", "open_peer", "peer_errors"]


@dataclass(frozen=True, kw_only=True)
class PeerModule:
    """Says where a peer is found and what it needs.

    module: the module that has `open_way(way, triangles, threads)`.
    package: what it needs, by the name that pip knows.
    on_gpu: whether it needs a GPU too.
    ways: names of the ways in which it traces.
    """

    module: str
    package: str
    on_gpu: bool
    ways: tuple[str, ...]


PEERS = {
    "warp": PeerModule(
        module="tracecore.peers.warp_mesh",
        package="warp-lang",
        on_gpu=True,
        ways=("warp:cubql", "warp:sah", "warp:lbvh"),
    ),
    "optix": PeerModule(module="tracecore.peers.optix", package="mitsuba", on_gpu=True, ways=("optix",)),
    "embree": PeerModule(module="tracecore.peers.embree", package="embreex", on_gpu=False, ways=("embree",)),
}


def open_peer(name: str, way: str, triangles: Floats, threads: int) -> Peer:
    """Opens a peer of `PEERS` that traces in one of its ways.

    name: the peer's name.
    way: one of its `ways`.
    triangles: (t, 3, 3) float32, checked.
    threads: threads of those that run on a CPU.
    Raises `PeerError` where it cannot run.
    """
    row = PEERS[name]
    if row.on_gpu and (reason := gpu_unavailable_reason()):
        raise PeerError(f"peer '{name}' is left out: no GPU can be used: {reason}")
    with peer_errors(name, f"install it with: pip install {row.package}", ImportError):
        module = import_module(row.module)
    with peer_errors(way, f"see whether {row.package} runs here by itself"):
        peer: Peer = module.open_way(way, triangles, threads)
    return peer
