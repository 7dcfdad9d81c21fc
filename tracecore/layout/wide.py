"""Lays out a wide tree for lanes side by side: lane i of a group loads the box of child i as two words of 16 bytes.

After Lier, Stamminger, Selgrad: CPU-Style SIMD Ray Traversal on GPUs, 2018. `kernels/wide.cuh` is the other side.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tracecore import cutouts
from tracecore.bvh.tree import BinaryTree
from tracecore.bvh.wide import EMPTY, WideTree, collapse, stack_need
from tracecore.compilation.cached import compiled, inlined
from tracecore.errors import KernelError
from tracecore.layout import packed_triangle
from tracecore.layout.device_layout import DeviceLayout, PackedTree
from tracecore.layout.packed_triangle import ROW
from tracecore.layout.source import children_of, pad_of, source_of
from tracecore.rays import Floats
from tracecore.threads import Piece, in_pieces
from tracecore.triangles import extent_of

WIDTHS = (2, 4, 8, 16, 32)
LEAF_COUNT_BITS = 6
MAX_LEAF = (1 << LEAF_COUNT_BITS) - 1
MAX_TRIANGLES = 1 << (31 - LEAF_COUNT_BITS)

#: Nodes that a thread writes at a time.
NODE_PIECE = 1 << 10

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
    nodes, rows = _pack_all(tree, wide, triangles)
    return PackedTree(
        arrays={"nodes": nodes, "rows": rows},
        scalars={"extent": float(extent_of(triangles))},
        nodes=len(nodes),
        stack=stack_need(wide),
    )


def _check_limits(wide: WideTree, triangles: Floats) -> None:
    name = f"layout wide{wide.binary.shape[1]}"
    largest = int(wide.count[wide.wide == EMPTY].max(initial=0))
    if largest > MAX_LEAF:
        raise KernelError(f"{name}: a leaf has {largest} triangles, at most {MAX_LEAF}; build with a lower max_leaf")
    if len(triangles) > MAX_TRIANGLES:
        raise KernelError(f"{name}: {len(triangles)} triangles, at most {MAX_TRIANGLES}; split the scene")


def _pack_all(tree: BinaryTree, wide: WideTree, triangles: Floats) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void]]:
    """Returns the nodes and (3 * t,) `ROW` records."""
    nodes, rows = np.zeros(len(wide.binary), node_of(wide.binary.shape[1])), np.empty(3 * len(triangles), ROW)
    z = nodes["z"]
    fields = _Fields(nodes["xy"], (z["lower"], z["upper"]), z["child"], rows["component"], rows["prim_id"])
    in_pieces(partial(_write_nodes, source_of(tree, triangles), children_of(wide), fields), len(nodes), NODE_PIECE)
    return nodes, rows


class _Fields(NamedTuple):
    """Holds what is written: of nodes the boxes along x and y, along z, and the children, and of rows all."""

    xy: Any
    z: Any
    child: Any
    component: Any
    prim_id: Any


@compiled
def _write_nodes(source: Any, children: Any, fields: Any, piece: Piece) -> None:
    """Writes a piece of the nodes, and the triangles of their leaves."""
    for node in range(piece[0], piece[1]):
        for i in range(children.binary.shape[1]):
            begin, count = children.first[node, i], children.count[node, i]
            _write_box(source, children.binary[node, i], fields, (node, i))
            if children.wide[node, i] == EMPTY:
                fields.child[node, i] = ~(begin << LEAF_COUNT_BITS | count)
                _write_rows(source, begin, count, fields)
            else:
                fields.child[node, i] = children.wide[node, i]


@inlined
def _write_box(source: Any, own: int, fields: Any, place: Any) -> None:
    """Writes the box of a child: of a node of the binary tree, or of none. place: the packed node, and the child."""
    infinity = np.float32(np.inf)
    pad = np.float32(0.0) if own == EMPTY else pad_of(source.lower, source.upper, own)
    for axis in range(3):
        low = infinity if own == EMPTY else source.lower[own, axis] - pad
        high = infinity if own == EMPTY else source.upper[own, axis] + pad
        if axis == 2:
            fields.z[0][place], fields.z[1][place] = low, high
        else:
            fields.xy[place][2 * axis], fields.xy[place][2 * axis + 1] = low, high


@inlined
def _write_rows(source: Any, begin: int, count: int, fields: Any) -> None:
    """Writes the rows of a leaf, behind all rows of the leaves before."""
    for axis in range(3):
        for triangle in range(count):
            row, own = 3 * begin + axis * count + triangle, source.order[begin + triangle]
            fields.prim_id[row] = own
            for corner in range(3):
                fields.component[row, corner] = source.triangles[own, corner, axis]


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
