"""Lays out a binary tree for the GPU: nodes of 64 bytes hold both children's boxes, triangles in the order of leaves.

After Aila, Laine: Understanding the Efficiency of Ray Traversal on GPUs, 2009. `kernels/bvh2.cuh` is the other side.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tracecore import cutouts
from tracecore.bvh.tree import BinaryTree
from tracecore.bvh.wide import Ints, leaf_ranges
from tracecore.compilation.cached import compiled, inlined
from tracecore.errors import KernelError
from tracecore.layout import packed_triangle
from tracecore.layout.device_layout import DeviceLayout, PackedTree
from tracecore.layout.occlusion_order import surface_before
from tracecore.layout.packed_triangle import pack_triangles
from tracecore.layout.source import centre_and_half, pad_of
from tracecore.rays import Floats
from tracecore.threads import Piece, in_pieces
from tracecore.triangles import extent_of

LEAF_COUNT_BITS = 6
MAX_LEAF = (1 << LEAF_COUNT_BITS) - 1
MAX_TRIANGLES = 1 << (31 - LEAF_COUNT_BITS)

#: The first index is the child, left or right. xy: centre.x half.x centre.y half.y. z: centre, half. A box lies between
#: centre - half and centre + half, where half is rounded up.
#: child: index of a node, or ~(first leaf index << LEAF_COUNT_BITS | count) of a leaf.
NODE = np.dtype([("xy", "<f4", (2, 4)), ("z", "<f4", (2, 2)), ("child", "<i4", 2), ("unused", "<i4", 2)])
SCENE = np.dtype([("nodes", "<u8"), ("triangles", "<u8"), *cutouts.POINTERS, ("extent", "<f4")], align=True)


def pack(tree: BinaryTree, triangles: Floats) -> PackedTree:
    """Returns nodes and triangles as the kernel reads them.

    tree: built over the triangles.
    triangles: (t, 3, 3) float32, in the caller's order.
    Raises `KernelError` where a leaf or the scene has more triangles than a node can name.
    """
    _check_limits(tree, triangles)
    extent = float(extent_of(triangles))
    names, inner, depth = _named(tree)
    return PackedTree(
        arrays={
            "nodes": _pack_nodes(tree, names, inner, surface_before(tree, triangles, extent)),
            "triangles": pack_triangles(tree.order, triangles),
        },
        scalars={"extent": extent},
        nodes=max(len(inner), 1),
        stack=depth + 1,  # a child for each level, and the mark at the bottom
    )


def _check_limits(tree: BinaryTree, triangles: Floats) -> None:
    largest = int(tree.count.max())
    if largest > MAX_LEAF:
        raise KernelError(
            f"layout bvh2: a leaf has {largest} triangles, at most {MAX_LEAF}; build with a lower max_leaf"
        )
    if len(triangles) > MAX_TRIANGLES:
        raise KernelError(f"layout bvh2: {len(triangles)} triangles, at most {MAX_TRIANGLES}; split the scene")


def _named(tree: BinaryTree) -> tuple[Ints, Ints, int]:
    """Returns how a parent names each node, (n,) int32: its index among the inner ones, or the code of a leaf; which
    nodes are inner, (m,) int32; and how many levels of inner nodes there are.
    """
    names, inner = np.empty(len(tree.child), np.int32), np.empty(np.count_nonzero(tree.child), np.int32)
    return names, inner, int(_name_all(tree.child, tree.first, tree.count, names, inner))


@compiled
def _name_all(child: Any, first: Any, count: Any, names: Any, inner: Any) -> int:
    """Writes names and inner nodes. Returns how many levels of these there are."""
    made, depth = 0, 0
    level = np.ones(len(child), np.uint8)
    for node in range(len(child)):
        left = child[node]
        if left == 0:
            names[node] = ~(first[node] << LEAF_COUNT_BITS | count[node])
            continue
        names[node], inner[made] = made, node
        made += 1
        depth = max(depth, level[node])
        level[left] = level[left + 1] = level[node] + 1
    return depth


def _pack_nodes(tree: BinaryTree, names: Ints, inner: Ints, surface: npt.NDArray[np.int64]) -> npt.NDArray[np.void]:
    """Returns nodes whose right child has no less surface than the left one.

    names, inner: as of `_named`.
    surface: (t + 1,) int64, of all triangles before each leaf index.
    """
    nodes = np.zeros(max(len(inner), 1), NODE)
    boxes = (tree.lower, tree.upper)
    fields = _Fields(nodes["xy"], nodes["z"], nodes["child"])
    if len(inner) == 0:  # the root is the leaf on the left, and on the right is a leaf without triangles
        _write_root(boxes, fields)
        nodes["child"] = names[0], ~0
        return nodes
    ranges = leaf_ranges(tree)
    children = _Children(tree.child, names, ranges.first, ranges.count, surface)
    in_pieces(partial(_write_nodes, boxes, children, inner, fields), len(inner))
    return nodes


class _Fields(NamedTuple):
    """Holds the nodes by field. xy, z: (m, 2, 4) and (m, 2, 2) float32. child: (m, 2) int32."""

    xy: Any
    z: Any
    child: Any


class _Children(NamedTuple):
    """Says of each node of the tree what comes below, (n,) int32 each: its left child, how its parent names it, and
    its leaf indices. surface: as `_pack_nodes` takes it.
    """

    child: Any
    name: Any
    first: Any
    count: Any
    surface: Any


@compiled
def _write_nodes(boxes: Any, children: Any, inner: Any, fields: Any, piece: Piece) -> None:
    """Writes a piece of the nodes. boxes: corners of all of the tree, (n, 3) float32 each."""
    for node in range(piece[0], piece[1]):
        left = children.child[inner[node]]
        is_swapped = _surface(children, left + 1) < _surface(children, left)
        for side in range(2):
            own = left + (side ^ is_swapped)
            fields.child[node, side] = children.name[own]
            _write_box(boxes, own, fields, (node, side))


@compiled
def _write_root(boxes: Any, fields: Any) -> None:
    """Writes the boxes of the one node of a tree that is a leaf."""
    for side in range(2):
        _write_box(boxes, 0, fields, (0, side))


@inlined
def _surface(children: Any, node: int) -> int:
    """Returns the surface below a node."""
    first = children.first[node]
    return children.surface[first + children.count[node]] - children.surface[first]


@inlined
def _write_box(boxes: Any, own: int, fields: Any, place: Any) -> None:
    """Writes the box of a node of the tree as that of a child. place: the packed node, and the side of the child."""
    (lower, upper), (node, side) = boxes, place
    pad = pad_of(lower, upper, own)
    for axis in range(2):
        box = centre_and_half(lower[own, axis] - pad, upper[own, axis] + pad)
        fields.xy[node, side, 2 * axis], fields.xy[node, side, 2 * axis + 1] = box
    fields.z[node, side, 0], fields.z[node, side, 1] = centre_and_half(lower[own, 2] - pad, upper[own, 2] + pad)


LAYOUT = DeviceLayout(
    name="bvh2",
    scene=SCENE,
    defines={
        **packed_triangle.DEFINES,
        "NODE_BYTES": str(NODE.itemsize),
        "SCENE_BYTES": str(SCENE.itemsize),
        "LEAF_COUNT_BITS": str(LEAF_COUNT_BITS),
    },
    pack=pack,
    max_leaf=MAX_LEAF,
    gpu_builders=("ploc",),
)
