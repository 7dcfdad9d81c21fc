"""Lays out a binary tree for the GPU: nodes of 64 bytes hold both children's boxes, triangles in the order of leaves.

After Aila, Laine: Understanding the Efficiency of Ray Traversal on GPUs, 2009. `kernels/bvh2.cuh` is the other side.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from tracecore import cutouts
from tracecore.bvh.tree import BinaryTree
from tracecore.compilation.cached import compiled
from tracecore.errors import KernelError
from tracecore.layout import packed_triangle
from tracecore.layout.centre_box import centre_and_half
from tracecore.layout.device_layout import DeviceLayout, PackedTree
from tracecore.layout.occlusion_order import surface_below
from tracecore.layout.packed_triangle import pack_triangles
from tracecore.precision import padded
from tracecore.rays import Floats
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
    nodes = _pack_nodes(tree, surface_below(tree, triangles, extent))
    return PackedTree(
        arrays={"nodes": nodes, "triangles": pack_triangles(tree.order, triangles)},
        scalars={"extent": extent},
        nodes=len(nodes),
        stack=_depth(tree) + 1,  # a child for each level, and the mark at the bottom
    )


def _check_limits(tree: BinaryTree, triangles: Floats) -> None:
    largest = int(tree.count.max())
    if largest > MAX_LEAF:
        raise KernelError(
            f"layout bvh2: a leaf has {largest} triangles, at most {MAX_LEAF}; build with a lower max_leaf"
        )
    if len(triangles) > MAX_TRIANGLES:
        raise KernelError(f"layout bvh2: {len(triangles)} triangles, at most {MAX_TRIANGLES}; split the scene")


def _pack_nodes(tree: BinaryTree, surface: npt.NDArray[np.int64]) -> npt.NDArray[np.void]:
    """Returns nodes whose right child has no less surface than the left one."""
    first = tree.child[~tree.is_leaf]
    if len(first) == 0:  # the root is the leaf on the left, and on the right is a leaf without triangles
        children = np.zeros((1, 2), np.int32)
        names = np.array([[_names(tree)[0], ~0]], np.int32)
    else:
        swapped = surface[first + 1] < surface[first]
        children = np.stack([first + swapped, first + ~swapped], axis=1, dtype=np.int32)
        names = _names(tree)[children]
    nodes = np.zeros(len(children), NODE)
    nodes["child"] = names
    _write_boxes(nodes["xy"], nodes["z"], children, *padded(tree.lower, tree.upper))
    return nodes


def _names(tree: BinaryTree) -> npt.NDArray[np.int32]:
    """Returns how a parent names each node of the tree: its index among the inner ones, or the code of a leaf."""
    index = np.cumsum(~tree.is_leaf, dtype=np.int32) - 1
    return np.where(tree.is_leaf, ~((tree.first << LEAF_COUNT_BITS) | tree.count), index).astype(np.int32)


@compiled
def _write_boxes(xy: Any, z: Any, children: Any, lower: Any, upper: Any) -> None:
    """Writes the boxes of both children of each node.

    xy, z: of the nodes, (n, 2, 4) and (n, 2, 2) float32.
    children: (n, 2) int32, nodes of the tree.
    lower, upper: (m, 3) float32, corners of the boxes of all nodes of the tree, with their pads.
    """
    for node in range(len(children)):
        for side in range(2):
            own = children[node, side]
            for axis in range(2):
                box = centre_and_half(lower[own, axis], upper[own, axis])
                xy[node, side, 2 * axis], xy[node, side, 2 * axis + 1] = box
            z[node, side, 0], z[node, side, 1] = centre_and_half(lower[own, 2], upper[own, 2])


def _depth(tree: BinaryTree) -> int:
    """Returns how many levels of inner nodes there are."""
    depth = 0
    level = np.zeros(1, np.int64)
    while len(level := level[~tree.is_leaf[level]]) > 0:
        level = (tree.child[level][:, None] + np.arange(2)).ravel()
        depth += 1
    return depth


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
    gpu_builders=("lbvh",),
)
