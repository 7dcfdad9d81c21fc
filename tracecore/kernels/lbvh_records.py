"""Defines the records that the host hands to the kernels of `lbvh.cu`, which checks their sizes, and its `Program`.

Pointers are addresses as the device sees them.
"""

import numpy as np

from tracecore.bvh.lbvh import PLACE_BITS
from tracecore.bvh.morton import MOST_COORDINATE
from tracecore.bvh.tree import VISIT_COST
from tracecore.kernels.program import Program
from tracecore.kernels.source import KERNELS
from tracecore.layout import bvh2
from tracecore.layout.occlusion_order import UNIT_BITS

#: Threads of a block, bits of a digit of the sort, whose digits are as many, and keys that a block sorts in a pass.
BLOCK_SIZE, DIGIT_BITS, TILE_KEYS = 256, 8, 2048

_TREE = [
    ("lower", "<u8"),
    ("upper", "<u8"),
    ("child", "<u8"),
    ("first", "<u8"),
    ("count", "<u8"),
    ("name", "<u8"),
    ("swapped", "<u8"),
]

CURVE = np.dtype(
    [("triangles", "<u8"), ("greatest", "<u8"), ("codes", "<u8"), ("prim_ids", "<u8"), ("count", "<u4")], align=True
)
SORT = np.dtype(
    [
        ("keys", "<u8"),
        ("indices", "<u8"),
        ("sorted_keys", "<u8"),
        ("sorted_indices", "<u8"),
        ("tile_counts", "<u8"),
        ("digit_counts", "<u8"),
        ("count", "<u4"),
        ("tiles", "<u4"),
        ("shift", "<u4"),
    ],
    align=True,
)
JOIN = np.dtype(
    [
        ("triangles", "<u8"),
        ("codes", "<u8"),
        ("prim_ids", "<u8"),
        ("greatest", "<u8"),
        ("subtrees", "<u8"),
        ("slots", "<u8"),
        ("arrivals", "<u8"),
        ("root", "<u8"),
        ("count", "<u4"),
        ("max_leaf", "<u4"),
        ("triangle_block", "<u4"),
    ],
    align=True,
)
NUMBER = np.dtype([("subtrees", "<u8"), ("slots", "<u8"), ("root", "<u8"), *_TREE, ("splits", "<u4")], align=True)
PACK = np.dtype(
    [
        *_TREE,
        ("triangles", "<u8"),
        ("order", "<u8"),
        ("nodes", "<u8"),
        ("packed_triangles", "<u8"),
        ("tree_nodes", "<u4"),
        ("triangle_count", "<u4"),
    ],
    align=True,
)

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
    },
    block_size=BLOCK_SIZE,
)
