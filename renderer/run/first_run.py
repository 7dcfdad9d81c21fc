"""This module prints the line that tells why a first run takes longer to begin."""

import sys
from contextlib import suppress
from pathlib import Path

#: About what compilation takes on two cores.
COMPILE_SECONDS = 60


def announce(work: str, *, quiet: bool) -> None:
    """Say on stderr that code will be compiled, unless this kind of work, such as "render-path", was done before."""
    if not quiet and not _marker(work).exists():
        print(f"compiling for this machine (first run only, about {COMPILE_SECONDS} s)", file=sys.stderr, flush=True)


def note(work: str) -> None:
    """Note that this kind of work has been done, so that all of its code is in the cache."""
    with suppress(OSError):
        _marker(work).touch()


def _marker(work: str) -> Path:
    """Returns the path of a file beside the compiled code, which goes with it when a source changes."""
    from tracecore.compilation import cached as compiled

    return compiled.cache_folder("renderer") / f"{work}.done"
