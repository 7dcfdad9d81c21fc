"""Peers render the pictures that our drivers render: this module has them do it, and measures their error.

A peer is a module with `render(way, order)` and a row in `PEERS`. Each runs in a process of its own, so that one that
fails ends nothing else; a line on stderr says so.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

from renderer.bench.error_benchmark import Picture, error_of
from scenes.model import Camera

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class PeerOrder:
    """Says what a peer renders.

    path: the scene, in Mitsuba's XML.
    camera: that looks at it, whatever cameras the file has.
    size: width and height of the picture.
    samples: of each pixel, of one picture after the other.
    max_bounces: longest path, in interactions with surfaces.
    repeats: how often each picture is made and timed.
    threads: of the CPU, or None for all cores.
    """

    path: Path
    camera: Camera
    size: tuple[int, int]
    samples: tuple[int, ...]
    max_bounces: int
    repeats: int
    threads: int | None


@dataclass(frozen=True, kw_only=True)
class PeerPicture:
    """Holds a picture that a peer has made.

    samples: of each pixel.
    seconds: wall time of each time that it was rendered, without what came before.
    linear: (height, width, 3) float32, radiance.
    """

    samples: int
    seconds: list[float]
    linear: Picture


@dataclass(frozen=True, kw_only=True)
class PeerModule:
    """Says where a peer is found.

    module: the module that has `render(way, order)`, which returns pictures in the order of `samples`.
    ways: the device that each of its ways runs on, by name.
    """

    module: str
    ways: dict[str, str]


PEERS = {
    "mitsuba": PeerModule(
        module="renderer.bench.mitsuba_pictures",
        ways={"scalar_rgb": "cpu", "llvm_ad_rgb": "cpu", "cuda_ad_rgb": "gpu"},
    ),
    "luxcore": PeerModule(module="renderer.bench.luxcore_pictures", ways={"PATHCPU": "cpu"}),
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
                print(f"tracecore: peer '{name}' ({way}) is left out: {reason[:300]}", file=sys.stderr, flush=True)
                continue
            errors = [
                {"passes": one.samples, "seconds": median(one.seconds), "error": error_of(one.linear, reference)}
                for one in made
            ]
            yield {"peer": f"{name} {way}", "device": device, "errors": errors}


def in_process(module: str, way: str, order: PeerOrder) -> list[PeerPicture]:
    """Returns what a peer renders in a process of its own, of whose words only its error is heard. Raises what it
    raises, and `BrokenProcessPool` where that process has crashed.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_silence) as process:
        return process.submit(_render, module, way, order).result()


def _silence() -> None:
    """Has this process print nothing more: renderers have logs of their own, and compilers dump what they fail at."""
    with open(os.devnull, "w") as nowhere:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere.fileno(), stream.fileno())


def _render(module: str, way: str, order: PeerOrder) -> list[PeerPicture]:
    render: Callable[[str, PeerOrder], list[PeerPicture]] = import_module(module).render
    return render(way, order)
