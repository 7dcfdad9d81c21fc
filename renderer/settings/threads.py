"""This module bounds how many threads work at a time: those beyond a few for each core only wait for one another."""

import logging

from tracecore.cores import usable_cores

#: Threads that a core can be given.
THREADS_PER_CORE = 8

log = logging.getLogger(__name__)


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
