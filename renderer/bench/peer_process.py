"""This module has a peer render in a process of its own, so that one that crashes ends nothing else.

It imports nothing that is heavy, as that process does so too.
"""

import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

from scenes.model import Camera, Floats


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
    linear: Floats


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
