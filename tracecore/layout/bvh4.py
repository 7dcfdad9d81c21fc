"""Lays out a 4-wide tree for one ray per thread: nodes of 160 bytes, four lower planes along x side by side, then four
upper ones, then the lower ones again, ... Two rows side by side are the nearer and the farther planes for a ray,
whether it goes up or down along the axis.

After Guthe: Latency Considerations of Depth-first GPU Ray Tracing, 2014. `kernels/bvh4.cuh` is the other side.
"""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tracecore import cutouts
from tracecore.bvh.optimal_collapse import optimal_collapse
from tracecore.bvh.tree import BinaryTree
from tracecore.bvh.wide import EMPTY, WideTree, stack_need
from tracecore.compilation.cached import compiled, inlined
from tracecore.errors import KernelError
from tracecore.layout import packed_triangle
from tracecore.layout.device_layout import DeviceLayout, PackedTree
from tracecore.layout.occlusion_order import sort_children, surface_before
from tracecore.layout.packed_triangle import pack_triangles
from tracecore.layout.source import MOST, children_of, pad_of
from tracecore.rays import Floats
from tracecore.threads import Piece, in_pieces
from tracecore.triangles import extent_of

WIDTH = 4
LEAF_COUNT_BITS = 4
MAX_LEAF = (1 << LEAF_COUNT_BITS) - 1
MAX_TRIANGLES = 1 << (31 - LEAF_COUNT_BITS)

#: Subtrees of so many triangles may become leaves, besides those of the binary tree.
WIDE_LEAF = 1

#: planes: by axis, then lower, upper and lower, and child.
#: child: index of a node, or ~(first leaf index << LEAF_COUNT_BITS | count) of a leaf. A spare child has its planes the
#: wrong way round, as far apart as can be, and is a leaf without triangles.
NODE = np.dtype([("planes", "<f4", (3, 3, WIDTH)), ("child", "<i4", WIDTH)])
SCENE = np.dtype([("nodes", "<u8"), ("triangles", "<u8"), *cutouts.POINTERS, ("extent", "<f4")], align=True)


def pack(tree: BinaryTree, triangles: Floats) -> PackedTree:
    """Returns nodes and triangles as the kernel reads them.

    tree: built over the triangles.
    triangles: (t, 3, 3) float32, in the caller's order.
    Raises `KernelError` where a leaf or the scene has more triangles than a node can name.
    """
    wide = optimal_collapse(tree, width=WIDTH, max_leaf=WIDE_LEAF)
    _check_limits(wide, triangles)
    extent = float(extent_of(triangles))
    return PackedTree(
        arrays={
            "nodes": _pack_nodes(tree, wide, surface_before(tree, triangles, extent)),
            "triangles": pack_triangles(tree.order, triangles),
        },
        scalars={"extent": extent},
        nodes=len(wide.binary),
        stack=stack_need(wide) + WIDTH - 1,  # before a visit there is room for all children but one
    )


def _check_limits(wide: WideTree, triangles: Floats) -> None:
    largest = int(wide.count[wide.wide == EMPTY].max(initial=0))
    if largest > MAX_LEAF:
        raise KernelError(
            f"layout bvh4: a leaf has {largest} triangles, at most {MAX_LEAF}; build with a lower max_leaf"
        )
    if len(triangles) > MAX_TRIANGLES:
        raise KernelError(f"layout bvh4: {len(triangles)} triangles, at most {MAX_TRIANGLES}; split the scene")


def _pack_nodes(tree: BinaryTree, wide: WideTree, surface: npt.NDArray[np.int64]) -> npt.NDArray[np.void]:
    """Returns nodes whose children are in the order of their surface, ascending, after the spare ones.

    surface: (t + 1,) int64, of all triangles before each leaf index.
    """
    nodes = np.empty(len(wide.binary), NODE)
    fields = nodes["planes"], nodes["child"]
    write = partial(_write_nodes, (tree.lower, tree.upper), children_of(wide), surface, fields)
    in_pieces(write, len(nodes))
    return nodes


@compiled
def _write_nodes(boxes: Any, children: Any, before: Any, fields: Any, piece: Piece) -> None:
    """Writes a piece of the nodes.

    boxes: corners of all of the binary tree, (n, 3) float32 each.
    before: the surface as `_pack_nodes` takes it.
    fields: planes and children of the nodes.
    """
    planes, child = fields
    surface, child_of_place = np.empty(WIDTH, np.int64), np.empty(WIDTH, np.int64)
    for node in range(piece[0], piece[1]):
        for i in range(WIDTH):
            surface[i] = _surface(children, before, node, i)
        sort_children(surface, child_of_place)
        for place in range(WIDTH):
            i = child_of_place[place]
            _write_planes(boxes, children.binary[node, i], planes[node], place)
            code = ~(children.first[node, i] << LEAF_COUNT_BITS | children.count[node, i])
            child[node, place] = code if children.wide[node, i] == EMPTY else children.wide[node, i]


@inlined
def _surface(children: Any, before: Any, node: int, i: int) -> int:
    """Returns the surface below a child, -1 of a spare one."""
    if children.binary[node, i] == EMPTY:
        return -1
    first = children.first[node, i]
    return before[first + children.count[node, i]] - before[first]


@inlined
def _write_planes(boxes: Any, own: int, planes: Any, place: int) -> None:
    """Writes the planes of a child: of a node of the binary tree, or of none."""
    lower, upper = boxes
    pad = np.float32(0.0) if own == EMPTY else pad_of(lower, upper, own)
    for axis in range(3):
        low, high = (MOST, -MOST) if own == EMPTY else (lower[own, axis] - pad, upper[own, axis] + pad)
        planes[axis, 0, place], planes[axis, 1, place], planes[axis, 2, place] = low, high, low


LAYOUT = DeviceLayout(
    name="bvh4",
    scene=SCENE,
    defines={
        **packed_triangle.DEFINES,
        "NODE_BYTES": str(NODE.itemsize),
        "SCENE_BYTES": str(SCENE.itemsize),
        "WIDTH": str(WIDTH),
        "LEAF_COUNT_BITS": str(LEAF_COUNT_BITS),
    },
    pack=pack,
    max_leaf=MAX_LEAF,
    gpu_builders=("ploc",),
)
