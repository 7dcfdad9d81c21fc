"""The line that tells why a first run takes longer to begin."""

import sys

#: About what compilation takes on two cores.
COMPILE_SECONDS = 30


def announce(*, quiet: bool) -> None:
    """Say on stderr that code will be compiled, unless it is in the cache already."""
    from tracecore.compiled import has_cached_code

    if not quiet and not has_cached_code("renderer"):
        print(f"compiling for this machine (first run only, about {COMPILE_SECONDS} s)", file=sys.stderr, flush=True)
