"""A plug-in with a kernel that says of every ray that it hits nothing: the fastest of all, if nobody looks."""

from pathlib import Path

PLUGIN = """
from dataclasses import replace
from pathlib import Path
from tracecore.kernels.strategies import find_strategy, register_strategy

source = Path(__file__).with_name("blind.cu")
register_strategy(replace(find_strategy("packet-8"), name="blind", source=source, packet_rays=1, defines={}))
"""

SOURCE = """
#include "bvh2.cuh"

template <bool ANY_HIT>
__device__ Hit trace(const Scene&, const Ray&, unsigned&) {
    return miss();
}

#include "rounds.cuh"
"""


def written(folder: Path) -> str:
    """The path of the plug-in, which is put into a folder."""
    (folder / "blind.cu").write_text(SOURCE)
    (folder / "blind.py").write_text(PLUGIN)
    return str(folder / "blind.py")
