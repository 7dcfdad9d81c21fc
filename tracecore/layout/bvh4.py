"""Lays out a 4-wide tree for one ray per thread: nodes of 160 bytes, four lower planes along x side by side, then four
upper ones, then the lower ones again, ... Two rows side by side are the nearer and the farther planes for a ray,
whether it goes up or down along the axis.

After Guthe: Latency Considerations of Depth-first GPU Ray Tracing, 2014. `kernels/bvh4.cuh` is the other side.
"""

import numpy as np
import numpy.typing as npt

from tracecore import cutouts
from tracecore.arrays import pieces
from tracecore.bvh.optimal_collapse import optimal_collapse
from tracecore.bvh.tree import BinaryTree
from tracecore.bvh.wide import EMPTY, WideTree, stack_need
from tracecore.errors import KernelError
from tracecore.layout import packed_triangle
from tracecore.layout.device_layout import DeviceLayout, PackedTree
from tracecore.layout.occlusion_order import surface_below
from tracecore.layout.packed_triangle import pack_triangles
from tracecore.precision import padded
from tracecore.rays import Floats
from tracecore.triangles import extent_of

WIDTH = 4
LEAF_COUNT_BITS = 4
MAX_LEAF = (1 << LEAF_COUNT_BITS) - 1
MAX_TRIANGLES = 1 << (31 - LEAF_COUNT_BITS)

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
    extent = float(extent_of(triangles))
    wide = _by_surface(optimal_collapse(tree, width=WIDTH, max_leaf=1), surface_below(tree, triangles, extent))
    _check_limits(wide, triangles)
    return PackedTree(
        arrays={"nodes": _pack_nodes(tree, wide), "triangles": pack_triangles(tree.order, triangles)},
        scalars={"extent": extent},
        nodes=len(wide.binary),
        stack=stack_need(wide) + WIDTH - 1,  # before a visit there is room for all children but one
    )


def _by_surface(wide: WideTree, surface: npt.NDArray[np.int64]) -> WideTree:
    """Returns the tree with the children of each node by their surface, ascending."""
    order = np.argsort(np.where(wide.binary == EMPTY, -1, surface[wide.binary]), axis=1, kind="stable")
    arrays = (wide.binary, wide.wide, wide.first, wide.count)
    binary, links, first, count = (np.take_along_axis(array, order, axis=1) for array in arrays)
    return WideTree(binary=binary, wide=links, first=first, count=count, depth=wide.depth)


def _check_limits(wide: WideTree, triangles: Floats) -> None:
    largest = int(wide.count[wide.wide == EMPTY].max(initial=0))
    if largest > MAX_LEAF:
        raise KernelError(
            f"layout bvh4: a leaf has {largest} triangles, at most {MAX_LEAF}; build with a lower max_leaf"
        )
    if len(triangles) > MAX_TRIANGLES:
        raise KernelError(f"layout bvh4: {len(triangles)} triangles, at most {MAX_TRIANGLES}; split the scene")


def _pack_nodes(tree: BinaryTree, wide: WideTree) -> npt.NDArray[np.void]:
    nodes = np.zeros(len(wide.binary), NODE)
    for piece in pieces(len(nodes)):
        binary = wide.binary[piece]
        lower, upper = padded(tree.lower[binary], tree.upper[binary])
        lower[binary == EMPTY], upper[binary == EMPTY] = np.finfo(np.float32).max, np.finfo(np.float32).min
        for row, plane in enumerate((lower, upper, lower)):
            nodes["planes"][piece, :, row] = plane.transpose(0, 2, 1)
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
