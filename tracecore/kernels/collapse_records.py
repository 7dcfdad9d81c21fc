"""Defines the records that the host hands to the kernels of `collapse.cuh`, which checks their sizes, and what
layouts are packed there.

Pointers are addresses as the device sees them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tracecore import precision
from tracecore.bvh.wide import TRIANGLE_COST
from tracecore.kernels.ploc_records import BLOCK_SIZE, members, struct
from tracecore.kernels.program import Program
from tracecore.kernels.source import KERNELS
from tracecore.layout import bvh4, compressed8
from tracecore.layout.device_layout import DeviceLayout
from tracecore.layout.occlusion_order import UNIT_BITS

_TREE = "lower upper child first count order"
_COSTS = "triangles parent arrivals costs"
_LEVELS = "binary wide inner_before triangles_before tile_inner tile_triangles need level next_level"

COLLAPSE = struct(members(f"{_TREE} {_COSTS} {_LEVELS} nodes packed_triangles", "tree_nodes wide_nodes triangle_count"))

#: The first wide node of a level, how many there are, and triangles in leaves of those before.
LEVEL = np.dtype([("first", "<u4"), ("length", "<u4"), ("triangles", "<u4"), ("unused", "<u4")])


def costs_of(width: int) -> np.dtype[np.void]:
    """Returns the record of what is below an inner node of the binary tree. width: children of a wide node."""
    members = [("least", "<f8", width), ("surface", "<i8"), ("first", "<i4"), ("count", "<i4"), ("useful", "<i4")]
    used = np.dtype([*members, ("share", "i1", width + 1)]).itemsize
    return np.dtype([*members, ("share", "i1", width + 1), ("unused", "i1", -used % 16)])


@dataclass(frozen=True, kw_only=True, eq=False)
class WideLayout:
    """Is a layout of a wide tree that a GPU packs.

    program: the kernels.
    width: children of a node.
    node_bytes: of a node.
    stack: entries of a walk's stack beyond those that `find_need` counts.
    """

    program: Program
    width: int
    node_bytes: int
    stack: int

    @property
    def costs_bytes(self) -> int:
        """Returns the bytes of what is below an inner node of the binary tree."""
        return costs_of(self.width).itemsize


#: Kernels of all layouts.
_ENTRIES = ("link_parents", "share_out", "open_level", "scan_level", "number_level", "find_need", "pack_nodes")


def _program(layout: DeviceLayout, width: int, entry: str, **defines: str) -> Program:
    """Returns the program that packs a layout.

    width: children of a wide node.
    entry: a kernel of this layout alone.
    defines: constants of this layout alone.
    """
    return Program(
        source=KERNELS / f"pack_{layout.name}.cu",
        entries=dict.fromkeys((*_ENTRIES, entry), COLLAPSE),
        defines={
            **layout.defines,
            "WIDTH": str(width),
            "TRIANGLE_COST": str(TRIANGLE_COST),
            "COSTS_BYTES": str(costs_of(width).itemsize),
            "LEVEL_BYTES": str(LEVEL.itemsize),
            "COLLAPSE_BYTES": str(COLLAPSE.itemsize),
            "SURFACE_UNIT_BITS": str(UNIT_BITS),
            "PAD": precision.DEFINES["PAD"],
            **defines,
        },
        block_size=BLOCK_SIZE,
    )


#: By the name of the layout.
WIDE_LAYOUTS: Mapping[str, WideLayout] = {
    "bvh4": WideLayout(
        program=_program(bvh4.LAYOUT, bvh4.WIDTH, "pack_triangles", WIDE_LEAF=str(bvh4.WIDE_LEAF)),
        width=bvh4.WIDTH,
        node_bytes=bvh4.NODE.itemsize,
        stack=bvh4.WIDTH - 1,
    ),
    "compressed8": WideLayout(
        program=_program(
            compressed8.LAYOUT,
            compressed8.WIDTH,
            "place_level",
            **compressed8.BOX_DEFINES,
        ),
        width=compressed8.WIDTH,
        node_bytes=compressed8.NODE.itemsize,
        stack=0,
    ),
}
