"""How much memory a scene takes once every instance of a shape has triangles of its own, and whether there is so much.

Tracers see triangles alone. So instances are stored once in a scene, and become triangles when it is played.
"""

import os

from scenes.errors import SceneError

#: Bytes of a triangle: corners, normals, texture coordinates, material and whether it is seen, twice (what stands
#: still, and the snapshot); the tree with its triangles, and what building it takes.
SNAPSHOT_BYTES, TREE_BYTES = 2 * (36 + 36 + 24 + 4 + 1), 230


def needed_bytes(triangles: int) -> int:
    """What a scene of so many triangles takes from reading to tracing."""
    return triangles * (SNAPSHOT_BYTES + TREE_BYTES)


def free_bytes() -> int | None:
    """Memory that is free now, where the system tells."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            sizes = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
        return sizes["MemAvailable"] * 1024
    except (OSError, KeyError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def check_memory(triangles: int, stored: int) -> None:
    """Raises SceneError where so many triangles will not fit. stored: how many there are before shapes are placed."""
    needed, free = needed_bytes(triangles), free_bytes()
    if free is not None and needed > free:
        raise SceneError(
            f"{triangles:,} triangles, placed from {stored:,}, would take about {gigabytes(needed)}, and "
            f"{gigabytes(free)} are free; use fewer instances or a smaller size"
        )


def gigabytes(size: int) -> str:
    """Bytes, to be read by people."""
    return f"{size / 1e9:.1f} GB"
