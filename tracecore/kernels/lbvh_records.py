"""Defines the records that the host hands to the kernels of `lbvh.cu`, which checks their sizes, and its `Program`.

Pointers are addresses as the device sees them.
"""

import numpy as np

from tracecore import precision
from tracecore.bvh.lbvh import PLACE_BITS
from tracecore.bvh.morton import MOST_COORDINATE
from tracecore.bvh.tree import VISIT_COST
from tracecore.kernels.program import Program
from tracecore.kernels.source import KERNELS
from tracecore.layout import bvh2
from tracecore.layout.occlusion_order import UNIT_BITS

#: Threads of a block, bits of a digit of the sort, whose digits are as many, and keys that a block sorts in a pass.
BLOCK_SIZE, DIGIT_BITS, TILE_KEYS = 256, 8, 2048


def _struct(pointers: str, numbers: str) -> np.dtype[np.void]:
    """Returns a struct of pointers and then of numbers of 32 bits, by their names."""
    members = [*((name, "<u8") for name in pointers.split()), *((name, "<u4") for name in numbers.split())]
    return np.dtype(members, align=True)


_TREE = "lower upper child first count name swapped"

CURVE = _struct("triangles greatest codes prim_ids", "count")
SORT = _struct("keys indices sorted_keys sorted_indices tile_counts digit_counts", "count tiles shift")
JOIN = _struct(
    "triangles codes prim_ids greatest subtrees slots arrivals root",
    "count max_leaf triangle_block",
)
NUMBER = _struct(f"subtrees slots root {_TREE}", "splits")
PACK = _struct(f"{_TREE} triangles order nodes packed_triangles", "tree_nodes triangle_count")

#: What is below a node: its box, costs times half of the scene's surface, triangles along the curve, inner nodes down
#: to the leaves, levels of them, and the surface of the triangles.
SUBTREE = np.dtype(
    [
        ("lower", "<f4", 3),
        ("upper", "<f4", 3),
        ("cost", "<f8"),
        ("first", "<u4"),
        ("count", "<u4"),
        ("inner", "<u4"),
        ("height", "<u4"),
        ("surface", "<i8"),
        ("unused", "<i8"),
    ]
)

PROGRAM = Program(
    source=KERNELS / "lbvh.cu",
    entries={
        "bound": CURVE,
        "locate": CURVE,
        "count_digits": SORT,
        "scan_counts": SORT,
        "scatter": SORT,
        "join": JOIN,
        "number": NUMBER,
        "pack_nodes": PACK,
        "pack_triangles": PACK,
    },
    defines={
        **bvh2.LAYOUT.defines,
        "CURVE_BYTES": str(CURVE.itemsize),
        "SORT_BYTES": str(SORT.itemsize),
        "JOIN_BYTES": str(JOIN.itemsize),
        "NUMBER_BYTES": str(NUMBER.itemsize),
        "PACK_BYTES": str(PACK.itemsize),
        "SUBTREE_BYTES": str(SUBTREE.itemsize),
        "DIGIT_BITS": str(DIGIT_BITS),
        "TILE_KEYS": str(TILE_KEYS),
        "MOST_COORDINATE": f"{MOST_COORDINATE}.0",
        "PLACE_BITS": str(PLACE_BITS),
        "VISIT_COST": str(VISIT_COST),
        "SURFACE_UNIT_BITS": str(UNIT_BITS),
        "PAD": precision.DEFINES["PAD"],
    },
    block_size=BLOCK_SIZE,
)
