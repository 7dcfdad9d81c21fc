"""Lays out an 8-wide tree for vector instructions: eight boxes in one node, the triangles of a leaf side by side."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tracecore.arrays import pieces
from tracecore.bvh.tree import BinaryTree
from tracecore.bvh.wide import EMPTY, Ints, WideTree
from tracecore.errors import KernelError
from tracecore.precision import padded
from tracecore.rays import Floats, Ids
from tracecore.triangles import extent_of

WIDTH = 8
BLOCK = 8

#: Boxes by axis and child; an empty child's box is inside out and comes last. child: a node, or ~block of a leaf.
NODE = np.dtype(
    [("lower", "<f4", (3, WIDTH)), ("upper", "<f4", (3, WIDTH)), ("child", "<i4", WIDTH), ("pad", "<i4", 8)]
)

#: A leaf: corners by corner, axis and child. Spare elements are NaN, which no ray hits.
TRIANGLES = np.dtype([("corner", "<f4", (3, 3, BLOCK)), ("prim_id", "<u4", BLOCK)])

CACHE_LINE = 64


@dataclass(frozen=True, kw_only=True, eq=False)
class Bvh8:
    """Is an 8-wide tree as the CPU reads it.

    nodes: (n,) `NODE` records, the root first, on cache lines.
    blocks: (b,) `TRIANGLES` records, on cache lines.
    stack: entries that no traversal exceeds.
    extent: largest absolute coordinate, world units.
    """

    nodes: npt.NDArray[np.void]
    blocks: npt.NDArray[np.void]
    stack: int
    extent: np.float32


def pack(tree: BinaryTree, wide: WideTree, triangles: Floats) -> Bvh8:
    """Lays out a tree of 8 children a node whose leaves hold at most 8 triangles.

    tree: the binary tree over the triangles.
    wide: the same tree, collapsed.
    triangles: (t, 3, 3) float32, in the caller's order.
    Raises KernelError for trees of other widths or leaves.
    """
    if wide.binary.shape[1] != WIDTH or wide.count[wide.wide == EMPTY].max(initial=0) > BLOCK:
        raise KernelError(
            f"bvh8 takes {WIDTH} children and leaves of at most {BLOCK} triangles, got {wide.binary.shape[1]} children "
            f"and leaves of {wide.count[wide.wide == EMPTY].max(initial=0)}; collapse the tree to these"
        )
    wide = _sorted_for_any_hit(tree, wide)
    filled = wide.binary != EMPTY
    is_leaf = filled & (wide.wide == EMPTY)
    nodes = _aligned(len(wide.binary), NODE)
    for piece in pieces(len(nodes)):
        lower, upper = padded(tree.lower[wide.binary[piece]], tree.upper[wide.binary[piece]])
        nodes["lower"][piece] = np.where(filled[piece, None], lower.transpose(0, 2, 1), np.inf)
        nodes["upper"][piece] = np.where(filled[piece, None], upper.transpose(0, 2, 1), -np.inf)
    nodes["child"] = wide.wide  # an empty child links to the first block, should a ray ever follow it
    nodes["child"][is_leaf] = ~np.arange(is_leaf.sum())
    return Bvh8(
        nodes=nodes,
        blocks=_pack_blocks(wide.first[is_leaf], wide.count[is_leaf], tree.order, triangles),
        stack=wide.depth * (WIDTH - 1) + 1,  # a visit takes one entry and leaves up to eight
        extent=extent_of(triangles),
    )


def _pack_blocks(first: Ints, count: Ints, order: Ids, triangles: Floats) -> npt.NDArray[np.void]:
    """Returns one block for every range of leaf indices, or one of NaN if there are none."""
    blocks = _aligned(max(len(first), 1), TRIANGLES)
    blocks["corner"] = np.nan
    child_index = np.arange(BLOCK)
    for piece in pieces(len(first)):
        used = child_index < count[piece, None]
        prim_id = order[np.where(used, first[piece, None] + child_index, 0)]
        blocks["prim_id"][piece][: len(prim_id)] = prim_id
        blocks["corner"][piece].transpose(0, 3, 1, 2)[: len(prim_id)][used] = triangles[prim_id[used]]
    return blocks


def _sorted_for_any_hit(tree: BinaryTree, wide: WideTree) -> WideTree:
    """Returns the tree with children sorted by surface area per triangle, the most last: a ray that wants any hit finds
    one there at the least work.

    Traversal for any hit visits the last child first; traversal for the nearest goes by distance anyway.
    """
    worth = np.where(wide.binary == EMPTY, np.inf, tree.half_area[wide.binary] / np.maximum(wide.count, 1))
    node_children = np.argsort(worth, axis=1, kind="stable")
    binary, links, first, count = (
        np.take_along_axis(value, node_children, axis=1) for value in (wide.binary, wide.wide, wide.first, wide.count)
    )
    return WideTree(binary=binary, wide=links, first=first, count=count, depth=wide.depth)


def _aligned(count: int, dtype: np.dtype[np.void]) -> npt.NDArray[np.void]:
    """Returns zeroed records that begin on a cache line."""
    raw = np.zeros(count * dtype.itemsize + CACHE_LINE, np.uint8)
    start = -raw.ctypes.data % CACHE_LINE
    return raw[start : start + count * dtype.itemsize].view(dtype)
