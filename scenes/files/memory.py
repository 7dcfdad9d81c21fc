"""This module says how much memory a scene takes once every instance of a shape has triangles of its own, and whether
there is so much.

Tracers see triangles alone. So instances are stored once in a scene, and become triangles when it is played. Scenes
that will take much say so by the log "scenes", before they do.
"""

import logging
import os
from pathlib import Path

from scenes.errors import SceneError

#: Bytes of a triangle: corners, normals, texture coordinates, material, object and whether it is seen, twice (what
#: stands still, and the snapshot, where anything moves); the tree with its triangles, and what building it takes.
#: Measured:
#: docs/lab/reliability.md.
SNAPSHOT_BYTES, TREE_BYTES = 2 * (36 + 36 + 24 + 4 + 4 + 1), 230

#: Scenes that take at least so many bytes are logged.
MUCH = 1_000_000_000

#: Where Linux says how much memory there is: in all, and for a group of processes as containers are.
ALL_MEMORY = Path("/proc/meminfo")
PROCESS = Path("/proc/self/statm")
GROUP_LIMIT, GROUP_USE = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")

#: What the user allows, as this process has one memory.
_limits: dict[str, int | None] = {"memory": None}


def needed_bytes(triangles: int) -> int:
    """Returns how many bytes a scene of so many triangles takes from reading to tracing."""
    return triangles * (SNAPSHOT_BYTES + TREE_BYTES)


def limit_memory(size: int | None) -> None:
    """Limits the memory of this process, in bytes, for all that asks here before it takes some; None for no limit."""
    _limits["memory"] = size


def share_memory(size: int | None, processes: int) -> None:
    """Limits the memory of this process to an equal part of what some processes of this host may take together.

    size: of all of them, in bytes, or None for what is free.
    """
    limit_memory(size)
    usable = usable_bytes()
    limit_memory(None if usable is None else usable // processes)


def free_bytes() -> int | None:
    """Returns how many bytes this process may still take, or None where the system does not say."""
    limit = _limits["memory"]
    allowed = None if limit is None else max(limit - own_bytes(), 0)
    found = [size for size in (free_of_all(), free_of_group(), free_of_process(), allowed) if size is not None]
    return min(found, default=None)


def usable_bytes() -> int | None:
    """Returns how many bytes this process may take with those that it has, or None where the system does not say."""
    free, limit = free_bytes(), _limits["memory"]
    usable = None if free is None else free + own_bytes()
    return usable if limit is None or usable is None else min(usable, limit)


def own_bytes() -> int:
    """Returns how many bytes of memory this process has, or 0 where the system does not say."""
    return _pages_of_process(1)


def free_of_process() -> int | None:
    """Returns how many more addresses this process may have, where they are limited (`ulimit -v`)."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    except (ImportError, OSError, ValueError):
        return None
    return None if limit == resource.RLIM_INFINITY else max(limit - _pages_of_process(0), 0)


def _pages_of_process(column: int) -> int:
    """Returns the bytes of a column of what Linux says of this process: 0 addresses, 1 memory."""
    try:
        return int(PROCESS.read_text().split()[column]) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError, IndexError):  # Windows has no os.sysconf
        return 0


def free_of_all() -> int | None:
    """Returns how many bytes of the machine's memory are free, or could be at once."""
    try:
        lines = (line.partition(":") for line in ALL_MEMORY.read_text().splitlines())
        return {name: int(rest.split()[0]) for name, _, rest in lines}["MemAvailable"] * 1024
    except (OSError, KeyError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def free_of_group() -> int | None:
    """Returns how many bytes are left of the share of this process' group, or None where there is no limit."""
    try:
        return int(GROUP_LIMIT.read_text()) - int(GROUP_USE.read_text())
    except (OSError, ValueError):
        return None


def check_memory(triangles: int, stored: int) -> None:
    """Raises SceneError where so many triangles will not fit. stored: how many there are before shapes are placed."""
    needed, free = needed_bytes(triangles), free_bytes()
    is_too_much = free is not None and needed > free
    if not is_too_much and needed < MUCH:
        return
    estimate = f"{triangles:,} triangles, placed from {stored:,}, take about {gigabytes(needed)}"
    if is_too_much:
        raise SceneError(f"{estimate}, and {gigabytes(free or 0)} are free; use fewer instances or a smaller size")
    logging.getLogger("scenes").info(estimate)


def gigabytes(size: int) -> str:
    """Writes a number of bytes for people to read."""
    return f"{size / 1e9:.1f} GB"
