"""This module has a peer render in a process of its own, so that one that crashes ends nothing else.

It imports nothing that is heavy, as that process does so too.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from renderer.errors import RenderError
from scenes.model import Camera, Floats
from tracecore.child_process import start_python


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
    raises, and `RenderError` where that process has crashed.
    """
    with start_python(
        ["-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        answer, _ = process.communicate(pickle.dumps((module, way, order)))
    if process.returncode != 0:
        raise RenderError(f"its process ended with status {process.returncode}")
    made: list[PeerPicture] | Exception = pickle.loads(answer)
    if isinstance(made, Exception):
        raise made
    return made


def answer() -> None:
    """Renders what standard input asks for, and tells standard output. Nothing else is printed: renderers have logs of
    their own, and compilers dump what they fail at.
    """
    module, way, order = pickle.load(sys.stdin.buffer)
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as told, open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
        try:
            render: Callable[[str, PeerOrder], list[PeerPicture]] = import_module(module).render
            made: list[PeerPicture] | Exception = render(way, order)
        except Exception as error:
            made = error
        told.write(pickle.dumps(made))


if __name__ == "__main__":
    answer()
