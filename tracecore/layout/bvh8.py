"""Lays out an 8-wide tree for vector instructions: eight boxes in one node, the triangles of a leaf side by side."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tracecore.bvh.boxes import half_area_of
from tracecore.bvh.tree import BinaryTree
from tracecore.bvh.wide import EMPTY, WideTree
from tracecore.compilation.cached import compiled, inlined
from tracecore.errors import KernelError
from tracecore.layout.occlusion_order import sort_children
from tracecore.layout.source import children_of, pad_of, source_of
from tracecore.rays import Floats
from tracecore.threads import Piece, in_pieces
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

#: Nodes that a thread writes at a time.
NODE_PIECE = 1 << 10


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
    is_leaf = (wide.binary != EMPTY) & (wide.wide == EMPTY)
    leaves = np.cumsum(is_leaf.sum(axis=1))
    nodes, blocks = _aligned(len(wide.binary), NODE), _aligned(max(int(leaves[-1]), 1), TRIANGLES)
    if leaves[-1] == 0:
        blocks["corner"] = np.nan
    fields = _Fields(nodes["lower"], nodes["upper"], nodes["child"], blocks["corner"], blocks["prim_id"])
    write = partial(_write_nodes, source_of(tree, triangles), children_of(wide), leaves, fields)
    in_pieces(write, len(nodes), NODE_PIECE)
    return Bvh8(
        nodes=nodes,
        blocks=blocks,
        stack=wide.depth * (WIDTH - 1) + 1,  # a visit takes one entry and leaves up to eight
        extent=extent_of(triangles),
    )


class _Fields(NamedTuple):
    """Holds what is written, by field: nodes, and the blocks of leaves."""

    lower: Any
    upper: Any
    child: Any
    corner: Any
    prim_id: Any


@compiled
def _write_nodes(source: Any, children: Any, leaves: Any, fields: Any, piece: Piece) -> None:
    """Writes a piece of the nodes, and the blocks of their leaves. leaves: (n,) int64, of all nodes up to each, itself
    too.

    Children are sorted by surface per triangle, the most last: a ray that wants any hit finds one there at the least
    work. Traversal for any hit visits the last child first; traversal for the nearest goes by distance anyway.
    """
    worth, child_of_place = np.empty(WIDTH), np.empty(WIDTH, np.int64)
    block = np.int64(0) if piece[0] == 0 else leaves[piece[0] - 1]
    for node in range(piece[0], piece[1]):
        for i in range(WIDTH):
            worth[i] = _worth(source, children.binary[node, i], children.count[node, i])
        sort_children(worth, child_of_place)
        for place in range(WIDTH):
            i = child_of_place[place]
            own, link = children.binary[node, i], children.wide[node, i]
            _write_box(source, own, fields, (node, place))
            fields.child[node, place] = link  # an empty child links to the first block, should a ray ever follow it
            if own != EMPTY and link == EMPTY:
                fields.child[node, place] = ~block
                _write_block(source, (children.first[node, i], children.count[node, i]), fields, block)
                block += 1


@inlined
def _worth(source: Any, own: int, count: int) -> float:
    """Returns half of the surface of a child for each of its triangles; a spare one comes last."""
    return np.inf if own == EMPTY else half_area_of(source.lower, source.upper, own) / max(count, 1)


@inlined
def _write_box(source: Any, own: int, fields: Any, place: Any) -> None:
    """Writes the box of a child: of a node of the binary tree, or of none. place: the packed node, and the child."""
    node, child_index = place
    infinity = np.float32(np.inf)
    pad = np.float32(0.0) if own == EMPTY else pad_of(source.lower, source.upper, own)
    for axis in range(3):
        fields.lower[node, axis, child_index] = infinity if own == EMPTY else source.lower[own, axis] - pad
        fields.upper[node, axis, child_index] = -infinity if own == EMPTY else source.upper[own, axis] + pad


@inlined
def _write_block(source: Any, leaf: Any, fields: Any, block: int) -> None:
    """Writes the triangles of a leaf. leaf: its first leaf index, and how many there are."""
    first, count = leaf
    for i in range(BLOCK):
        own = source.order[first + i if i < count else 0]
        fields.prim_id[block, i] = own
        for corner in range(3):
            for axis in range(3):
                coordinate = source.triangles[own, corner, axis] if i < count else np.float32(np.nan)
                fields.corner[block, corner, axis, i] = coordinate


def on_cache_lines(tree: Bvh8) -> Bvh8:
    """Returns a tree whose records begin on cache lines, which they may not where they have come from elsewhere."""
    return replace(tree, nodes=_moved(tree.nodes), blocks=_moved(tree.blocks))


def _moved(records: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    if records.ctypes.data % CACHE_LINE == 0:
        return records
    moved = _aligned(len(records), records.dtype)
    moved[:] = records
    return moved


def _aligned(count: int, dtype: np.dtype[np.void]) -> npt.NDArray[np.void]:
    """Returns zeroed records that begin on a cache line."""
    raw = np.zeros(count * dtype.itemsize + CACHE_LINE, np.uint8)
    start = -raw.ctypes.data % CACHE_LINE
    return raw[start : start + count * dtype.itemsize].view(dtype)
