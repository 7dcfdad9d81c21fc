"""Lays out a wide tree for lanes side by side: lane i of a group loads the box of child i as two words of 16 bytes.

After Lier, Stamminger, Selgrad: CPU-Style SIMD Ray Traversal on GPUs, 2018. `kernels/wide.cuh` is the other side.
"""

from functools import partial

import numpy as np
import numpy.typing as npt

from tracecore import cutouts
from tracecore.bvh.tree import BinaryTree
from tracecore.bvh.wide import EMPTY, WideTree, collapse, stack_need
from tracecore.errors import KernelError
from tracecore.layout import packed_triangle
from tracecore.layout.device_layout import DeviceLayout, PackedTree
from tracecore.layout.packed_triangle import ROW
from tracecore.precision import padded
from tracecore.rays import Floats, Ids
from tracecore.triangles import extent_of

WIDTHS = (2, 4, 8, 16, 32)
LEAF_COUNT_BITS = 6
MAX_LEAF = (1 << LEAF_COUNT_BITS) - 1
MAX_TRIANGLES = 1 << (31 - LEAF_COUNT_BITS)

#: A leaf has the rows of all its triangles along x, then all along y, then all along z, so that lanes with a triangle
#: each load words side by side.
SCENE = np.dtype([("nodes", "<u8"), ("rows", "<u8"), *cutouts.POINTERS, ("extent", "<f4")], align=True)


def node_of(width: int) -> np.dtype[np.void]:
    """Returns the record of a node of so many children.

    xy: lower.x upper.x lower.y upper.y of each child. z: its lower and upper z, and child: index of a node, or ~(first
    leaf index << LEAF_COUNT_BITS | count) of a leaf. A spare child has a box at infinity and a leaf without triangles.
    """
    z = np.dtype([("lower", "<f4"), ("upper", "<f4"), ("child", "<i4"), ("unused", "<i4")])
    return np.dtype([("xy", "<f4", (width, 4)), ("z", z, width)])


def pack(tree: BinaryTree, triangles: Floats, *, width: int) -> PackedTree:
    """Returns nodes and triangles as the kernel reads them.

    tree: built over the triangles.
    triangles: (t, 3, 3) float32, in the caller's order.
    width: children of a node.
    Raises `KernelError` where a leaf or the scene has more triangles than a node can name.
    """
    wide = collapse(tree, width=width, max_leaf=width)
    _check_limits(wide, triangles)
    return PackedTree(
        arrays={"nodes": _pack_nodes(tree, wide), "rows": _pack_rows(wide, tree.order, triangles)},
        scalars={"extent": float(extent_of(triangles))},
        nodes=len(wide.binary),
        stack=stack_need(wide),
    )


def _check_limits(wide: WideTree, triangles: Floats) -> None:
    name = f"layout wide{wide.binary.shape[1]}"
    largest = int(wide.count[wide.wide == EMPTY].max(initial=0))
    if largest > MAX_LEAF:
        raise KernelError(f"{name}: a leaf has {largest} triangles, at most {MAX_LEAF}; build with a lower max_leaf")
    if len(triangles) > MAX_TRIANGLES:
        raise KernelError(f"{name}: {len(triangles)} triangles, at most {MAX_TRIANGLES}; split the scene")


def _pack_nodes(tree: BinaryTree, wide: WideTree) -> npt.NDArray[np.void]:
    filled = (wide.binary != EMPTY)[:, :, None]
    boxes = padded(tree.lower[wide.binary], tree.upper[wide.binary])
    lower, upper = (np.where(filled, planes, np.inf) for planes in boxes)
    nodes = np.zeros(len(wide.binary), node_of(wide.binary.shape[1]))
    nodes["xy"] = np.stack([lower[:, :, 0], upper[:, :, 0], lower[:, :, 1], upper[:, :, 1]], axis=-1)
    nodes["z"]["lower"], nodes["z"]["upper"] = lower[:, :, 2], upper[:, :, 2]
    nodes["z"]["child"] = np.where(wide.wide == EMPTY, ~(wide.first << LEAF_COUNT_BITS | wide.count), wide.wide)
    return nodes


def _pack_rows(wide: WideTree, order: Ids, triangles: Floats) -> npt.NDArray[np.void]:
    """Returns (3 * t,) `ROW` records."""
    first, count = _leaf_of_index(wide)
    index = 2 * first + np.arange(len(order))  # of the row along x: behind all rows of the leaves before
    rows = np.zeros(3 * len(order), ROW)
    for axis in range(3):
        rows["component"][index + axis * count] = triangles[order, :, axis]
        rows["prim_id"][index + axis * count] = order
    return rows


def _leaf_of_index(wide: WideTree) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Returns for every leaf index the first leaf index and the number of leaf indices of its leaf, (t,) int32 each."""
    is_leaf = wide.wide == EMPTY
    first, count = wide.first[is_leaf], wide.count[is_leaf]
    by_leaf_index = np.argsort(first)
    return np.repeat(first[by_leaf_index], count[by_leaf_index]), np.repeat(count[by_leaf_index], count[by_leaf_index])


def _layout(width: int) -> DeviceLayout:
    return DeviceLayout(
        name=f"wide{width}",
        scene=SCENE,
        defines={
            "WIDTH": str(width),
            "NODE_BYTES": str(node_of(width).itemsize),
            **packed_triangle.DEFINES,
            "SCENE_BYTES": str(SCENE.itemsize),
            "LEAF_COUNT_BITS": str(LEAF_COUNT_BITS),
        },
        pack=partial(pack, width=width),
        max_leaf=MAX_LEAF,
    )


#: Layouts by their width.
LAYOUTS = {width: _layout(width) for width in WIDTHS}
