"""Peers render the pictures that our drivers render: this module has them do it, and measures their error.

A peer is a module with `render(way, order)` and a row in `PEERS`. One that fails is left out; a line on stderr says so.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from renderer.bench.error_benchmark import Picture, error_of
from renderer.bench.peer_process import PeerOrder, in_process

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class PeerModule:
    """Says where a peer is found.

    module: the module that has `render(way, order)`, which returns pictures in the order of `samples`.
    package: what it needs, by the name that pip knows.
    ways: the device that each of its ways runs on, by name.
    """

    module: str
    package: str
    ways: dict[str, str]


PEERS = {
    "mitsuba": PeerModule(
        module="renderer.bench.mitsuba_pictures",
        package="mitsuba",
        ways={"scalar_rgb": "cpu", "llvm_ad_rgb": "cpu", "cuda_ad_rgb": "gpu"},
    ),
    "luxcore": PeerModule(module="renderer.bench.luxcore_pictures", package="pyluxcore", ways={"PATHCPU": "cpu"}),
}


def peer_rows(names: Sequence[str], devices: Sequence[str], order: PeerOrder, reference: Picture) -> Iterator[Row]:
    """Yields a row for each way of each peer that runs on one of the devices, with the error of its pictures."""
    for name in names:
        for way, device in PEERS[name].ways.items():
            if device not in devices:
                continue
            try:
                made = in_process(PEERS[name].module, way, order)
            except Exception as error:  # whatever a peer raises, or that it has crashed
                reason = " ".join(str(error).split()) or type(error).__name__
                if isinstance(error, ImportError):
                    reason += f"; install it with: pip install {PEERS[name].package}"
                print(f"tracecore: peer '{name}' ({way}) is left out: {reason[:300]}", file=sys.stderr, flush=True)
                continue
            errors = [
                {"passes": one.samples, "seconds": median(one.seconds), "error": error_of(one.linear, reference)}
                for one in made
            ]
            yield {"peer": f"{name} {way}", "device": device, "errors": errors}
