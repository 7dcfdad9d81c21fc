"""How many cores a process may use, and how many threads are of use on them: those beyond a few for each core only wait
for one another.
"""

import logging
import os

#: Threads that a core can be given.
THREADS_PER_CORE = 8

log = logging.getLogger(__name__)


def usable_cores() -> int:
    """Returns how many cores this process may run on, which may be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def bounded_threads(threads: int | None) -> int | None:
    """Returns so many threads, or as many as are of use here, which a note tells. The picture is the same.

    threads: that are asked for, or None where it is left open.
    """
    cores = usable_cores()
    most = THREADS_PER_CORE * cores
    if threads is None or threads <= most:
        return threads
    log.warning("note: %d threads are too many for %d cores; taking %d", threads, cores, most)
    return most
