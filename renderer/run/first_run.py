"""This module prints the line that tells why a first run takes longer to begin, and has two processes share its work.

Numba compiles one function at a time in a process. Drivers that look at photons need two large ones, the loop over
photons and then the loop over eye paths; another process compiles the second meanwhile.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: About what compilation takes on two cores.
COMPILE_SECONDS = 60

#: The kind of work that needs no loop but that over eye paths, and a program that does a little of it.
EYE_PATHS = "render-path"
HELPER = "import renderer; renderer.render('cornell', driver='path', size=(8, 8), passes=1, device='cpu', quiet=True)"


def announce(work: str, *, quiet: bool) -> None:
    """Say on stderr that code will be compiled, unless this kind of work, such as "render-path", was done before."""
    if not quiet and not _marker(work).exists():
        print(f"compiling for this machine (first run only, about {COMPILE_SECONDS} s)", file=sys.stderr, flush=True)


def note(work: str) -> None:
    """Note that this kind of work has been done, so that all of its code is in the cache."""
    with suppress(OSError):
        _marker(work).touch()


@contextmanager
def helped(work: str) -> Iterator[None]:
    """Has another process compile the loop over eye paths while the block does its work, if this kind of work was never
    done and a core is idle; `tracecore.compilation.cached` has one of both compile what both need.
    """
    if _marker(work).exists() or _marker(EYE_PATHS).exists() or not has_idle_core():
        yield
        return
    places = [str(Path(__file__).resolve().parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    helper = subprocess.Popen(
        [sys.executable, "-P", "-c", HELPER],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(places)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        helper.kill()
        helper.wait()


def has_idle_core() -> bool:
    """Returns whether a core had little to do in the last minute: on a busy machine a helper does not help."""
    return hasattr(os, "getloadavg") and os.getloadavg()[0] < (os.cpu_count() or 1) - 0.5


def _marker(work: str) -> Path:
    """Returns the path of a file beside the compiled code, which goes with it when a source changes."""
    from tracecore.compilation import cached as compiled

    return compiled.cache_folder("renderer") / f"{work}.done"
