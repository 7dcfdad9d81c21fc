"""Defines the records that the host hands to the kernels of `ploc.cu`, which checks their sizes, and its `Program`.

Pointers are addresses as the device sees them.
"""

import numpy as np

from tracecore import precision
from tracecore.bvh.morton import MOST_COORDINATE
from tracecore.bvh.ploc import LEAST_SHARE, RADIUS
from tracecore.bvh.tree import VISIT_COST
from tracecore.kernels.program import Program
from tracecore.kernels.source import KERNELS
from tracecore.layout import bvh2
from tracecore.layout.occlusion_order import UNIT_BITS

#: Threads of a block, bits of a digit of the sort, whose digits are as many, and keys that a block sorts in a pass.
BLOCK_SIZE, DIGIT_BITS, TILE_KEYS = 256, 8, 2048


def members(pointers: str, numbers: str = "") -> list[tuple[str, str]]:
    """Returns members of a struct: pointers and then numbers of 32 bits, by their names."""
    return [*((name, "<u8") for name in pointers.split()), *((name, "<u4") for name in numbers.split())]


def struct(*members: list[tuple[str, str]]) -> np.dtype[np.void]:
    return np.dtype([one for several in members for one in several], align=True)


_HIERARCHY = members("subtrees children", "triangle_count")
_TREE = "lower upper child first count name swapped"
_ROW = "row next_row nearest tile_pairs state next_state root"

CURVE = struct(members("triangles greatest codes prim_ids", "count"))
SORT = struct(members("keys indices sorted_keys sorted_indices tile_counts digit_counts", "count tiles shift"))
ROUND = struct(_HIERARCHY, members(f"triangles prim_ids greatest {_ROW}", "max_leaf triangle_block"))
NUMBER = struct(_HIERARCHY, members(f"prim_ids order {_TREE}"))
PACK = struct(members(f"{_TREE} triangles order nodes packed_triangles", "tree_nodes triangle_count"))

#: The row before a round: how many are in it, how many splits there are, and whether all are joined two by two.
ROW_STATE = np.dtype([("length", "<u4"), ("splits", "<u4"), ("by_twos", "<u4"), ("unused", "<u4")])

#: What is below a node: its box, triangles, inner nodes down to the leaves, costs times half of the scene's surface,
#: the surface of the triangles, and levels of inner nodes; and where the node is in the hierarchy.
SUBTREE = np.dtype(
    [
        ("lower", "<f4", 3),
        ("upper", "<f4", 3),
        ("count", "<u4"),
        ("inner", "<u4"),
        ("cost", "<f8"),
        ("surface", "<i8"),
        ("height", "<u4"),
        ("slot", "<u4"),
        ("unused", "<u4", 2),
    ]
)

PROGRAM = Program(
    source=KERNELS / "ploc.cu",
    entries={
        "bound": CURVE,
        "locate": CURVE,
        "count_digits": SORT,
        "scan_counts": SORT,
        "scatter": SORT,
        "plant": ROUND,
        "find_nearest": ROUND,
        "count_pairs": ROUND,
        "scan_pairs": ROUND,
        "join_pairs": ROUND,
        "number": NUMBER,
        "list_triangles": NUMBER,
        "pack_nodes": PACK,
        "pack_triangles": PACK,
    },
    defines={
        **bvh2.LAYOUT.defines,
        "CURVE_BYTES": str(CURVE.itemsize),
        "SORT_BYTES": str(SORT.itemsize),
        "ROUND_BYTES": str(ROUND.itemsize),
        "ROW_STATE_BYTES": str(ROW_STATE.itemsize),
        "NUMBER_BYTES": str(NUMBER.itemsize),
        "PACK_BYTES": str(PACK.itemsize),
        "SUBTREE_BYTES": str(SUBTREE.itemsize),
        "DIGIT_BITS": str(DIGIT_BITS),
        "TILE_KEYS": str(TILE_KEYS),
        "MOST_COORDINATE": f"{MOST_COORDINATE}.0",
        "RADIUS": f"{RADIUS}u",
        "LEAST_SHARE": str(LEAST_SHARE),
        "VISIT_COST": str(VISIT_COST),
        "SURFACE_UNIT_BITS": str(UNIT_BITS),
        "PAD": precision.DEFINES["PAD"],
    },
    block_size=BLOCK_SIZE,
)
