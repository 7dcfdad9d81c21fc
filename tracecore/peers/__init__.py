"""Peers: other ray tracers, asked about the same rays and triangles, for whoever does not take our word for it.

`PEERS` lists them by name. A new one is a module with `peers_of` and a row there. None is needed for anything else, and
each is imported only when it is asked for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module

from tracecore.errors import PeerError
from tracecore.gpu_device import gpu_unavailable_reason
from tracecore.peers.peer import Peer, Rounds, agreement, for_peers, peer_errors
from tracecore.rays import Floats

__all__ = ["PEERS", "Peer", "Rounds", "agreement", "for_peers", "open_peers", "peer_errors"]


@dataclass(frozen=True)
class PeerModule:
    """module: has `peers_of(triangles, threads)`. package: that it needs, by the name that pip knows. on_gpu: whether
    it needs a GPU too."""

    module: str
    package: str
    on_gpu: bool


PEERS = {
    "warp": PeerModule("tracecore.peers.warp_mesh", "warp-lang", on_gpu=True),
    "optix": PeerModule("tracecore.peers.optix", "mitsuba", on_gpu=True),
    "embree": PeerModule("tracecore.peers.embree", "embreex", on_gpu=False),
}


def open_peers(name: str, triangles: Floats, threads: int) -> Iterator[Peer]:
    """The ways in which a peer traces, one after another; each has its memory back when the next one comes.

    triangles: (t, 3, 3) float32, checked. threads: of those that run on a CPU. Raises `PeerError` where it cannot run.
    """
    row = PEERS[name]
    if row.on_gpu and (reason := gpu_unavailable_reason()):
        raise PeerError(f"peer '{name}' is left out: no GPU can be used: {reason}")
    with peer_errors(name, f"install it with: pip install {row.package}", ImportError):
        module = import_module(row.module)
    with peer_errors(name, f"see whether {row.package} runs here by itself"):
        yield from module.peers_of(triangles, threads)
