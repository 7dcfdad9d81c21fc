"""This module prints the line that tells why a first run takes longer to begin, and has another process help.

Drivers that look at photons need two large loops, that over photons and then that over eye paths. Another process
begins to compile the second meanwhile.
"""

import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

#: About what compilation takes on two cores.
COMPILE_SECONDS = 40

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


def helped(work: str) -> AbstractContextManager[None]:
    """Has another process compile the loop over eye paths while the block does its work, if this kind of work was never
    done and there are cores for it.
    """
    from tracecore.compilation.side_by_side import beside, processes

    if _marker(work).exists() or _marker(EYE_PATHS).exists() or processes() == 1:
        return nullcontext()
    return beside([(HELPER, b"")])


def _marker(work: str) -> Path:
    """Returns the path of a file beside the compiled code, which goes with it when a source changes."""
    from tracecore.compilation import cache_folder as compiled

    return compiled.cache_folder("renderer") / f"{work}.done"
