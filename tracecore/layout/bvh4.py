"""Lays out a 4-wide tree for one ray per thread: nodes of 128 bytes, four lower x side by side, then four upper x, ...

After Guthe: Latency Considerations of Depth-first GPU Ray Tracing, 2014. `kernels/bvh4.cuh` is the other side.
"""

import numpy as np
import numpy.typing as npt

from tracecore import cutouts
from tracecore.bvh.tree import BinaryTree
from tracecore.bvh.wide import EMPTY, WideTree, collapse_levels, stack_need
from tracecore.errors import KernelError
from tracecore.layout import packed_triangle
from tracecore.layout.device_layout import DeviceLayout, PackedScene
from tracecore.layout.packed_triangle import pack_triangles
from tracecore.rays import Floats
from tracecore.triangles import extent_of

WIDTH = 4
LEAF_COUNT_BITS = 4
MAX_LEAF = (1 << LEAF_COUNT_BITS) - 1
MAX_TRIANGLES = 1 << (31 - LEAF_COUNT_BITS)

#: planes: by axis, lower or upper, and child.
#: child: index of a node, or ~(first leaf index << LEAF_COUNT_BITS | count) of a leaf. A spare child has a box at
#: infinity and a leaf without triangles.
NODE = np.dtype([("planes", "<f4", (3, 2, WIDTH)), ("child", "<i4", WIDTH), ("unused", "<i4", 4)])
SCENE = np.dtype([("nodes", "<u8"), ("triangles", "<u8"), *cutouts.POINTERS, ("extent", "<f4")], align=True)


def pack(tree: BinaryTree, triangles: Floats) -> PackedScene:
    """Returns nodes and triangles as the kernel reads them.

    tree: built over the triangles.
    triangles: (t, 3, 3) float32, in the caller's order.
    Raises `KernelError` where a leaf or the scene has more triangles than a node can name.
    """
    wide = collapse_levels(tree, width=WIDTH)
    _check_limits(wide, triangles)
    return PackedScene(
        arrays={"nodes": _pack_nodes(tree, wide), "triangles": pack_triangles(tree.order, triangles)},
        scalars={"extent": float(extent_of(triangles))},
        nodes=len(wide.binary),
        stack=stack_need(wide),
    )


def _check_limits(wide: WideTree, triangles: Floats) -> None:
    largest = int(wide.count[wide.wide == EMPTY].max(initial=0))
    if largest > MAX_LEAF:
        raise KernelError(
            f"layout bvh4: a leaf has {largest} triangles, at most {MAX_LEAF}; build with a lower max_leaf"
        )
    if len(triangles) > MAX_TRIANGLES:
        raise KernelError(f"layout bvh4: {len(triangles)} triangles, at most {MAX_TRIANGLES}; split the scene")


def _pack_nodes(tree: BinaryTree, wide: WideTree) -> npt.NDArray[np.void]:
    filled = (wide.binary != EMPTY)[:, None, :]
    nodes = np.zeros(len(wide.binary), NODE)
    for side, box in enumerate((tree.lower, tree.upper)):
        nodes["planes"][:, :, side] = np.where(filled, box[wide.binary].transpose(0, 2, 1), np.inf)
    nodes["child"] = np.where(wide.wide == EMPTY, ~(wide.first << LEAF_COUNT_BITS | wide.count), wide.wide)
    return nodes


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
)
