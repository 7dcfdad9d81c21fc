"""Defines the record that the host hands to the kernels of `refit.cuh`, which checks its size, and the `Program` of
each layout whose trees are refitted on a GPU.

Pointers are addresses as the device sees them.
"""

from collections.abc import Mapping

from tracecore import precision
from tracecore.kernels.ploc_records import BLOCK_SIZE, members, struct
from tracecore.kernels.program import Program
from tracecore.kernels.source import KERNELS
from tracecore.layout import bvh2, bvh4, compressed8
from tracecore.layout.device_layout import DeviceLayout
from tracecore.layout.occlusion_order import UNIT_BITS

REFIT = struct(
    members(
        "nodes packed_triangles triangles parent arrivals boxes extent",
        "node_count triangle_count",
    )
)


def _program(layout: DeviceLayout, width: int, **defines: str) -> Program:
    """Returns the program that fits trees of a layout.

    width: children of a node.
    defines: constants of this layout alone.
    """
    return Program(
        source=KERNELS / f"refit_{layout.name}.cu",
        entries=dict.fromkeys(("measure", "move_triangles", "link", "fit_nodes"), REFIT),
        defines={
            **layout.defines,
            "WIDTH": str(width),
            "REFIT_BYTES": str(REFIT.itemsize),
            "SURFACE_UNIT_BITS": str(UNIT_BITS),
            "PAD": precision.DEFINES["PAD"],
            **defines,
        },
        block_size=BLOCK_SIZE,
    )


# : By the name of the layout.
PROGRAMS: Mapping[str, Program] = {
    "bvh2": _program(bvh2.LAYOUT, 2),
    "bvh4": _program(bvh4.LAYOUT, bvh4.WIDTH),
    "compressed8": _program(compressed8.LAYOUT, compressed8.WIDTH, **compressed8.BOX_DEFINES),
}
