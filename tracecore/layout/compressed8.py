"""Lays out an 8-wide tree for the GPU: nodes of 80 bytes, whose children's boxes are whole steps from a corner.

After Ylitie, Karras, Laine: Efficient Incoherent Ray Traversal on GPUs Through Compressed Wide BVHs, 2017.
`kernels/compressed8.cuh` is the other side.
"""

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tracecore import cutouts
from tracecore.bvh.optimal_collapse import optimal_collapse
from tracecore.bvh.tree import BinaryTree
from tracecore.bvh.wide import EMPTY, WideTree
from tracecore.compilation.cached import compiled, inlined
from tracecore.errors import KernelError
from tracecore.layout import packed_triangle
from tracecore.layout.boxes import pad_of
from tracecore.layout.device_layout import DeviceLayout, PackedTree
from tracecore.layout.packed_triangle import PACKED_TRIANGLE, rows_of, write_triangle
from tracecore.rays import Floats
from tracecore.threads import in_pieces
from tracecore.triangles import extent_of

WIDTH = 8
MAX_LEAF = 3  # a position has so many bits for triangles

#: Steps are powers of two: `exponent` for each axis, biased as in a float32. inner: a bit for each position that holds
#: an inner node. These nodes lie side by side from child_base on, and the triangles of all leaves from triangle_base
#: on. triangles: three bits for each position, from the lowest a bit for each triangle of its leaf. lower, upper: steps
#: from the origin, by axis and position.
NODE = np.dtype(
    [
        ("origin", "<f4", 3),
        ("exponent", "u1", 3),
        ("inner", "u1"),
        ("child_base", "<u4"),
        ("triangle_base", "<u4"),
        ("triangles", "<u4"),
        ("unused", "<u4"),
        ("lower", "u1", (3, WIDTH)),
        ("upper", "u1", (3, WIDTH)),
    ]
)
SCENE = np.dtype([("nodes", "<u8"), ("triangles", "<u8"), *cutouts.POINTERS, ("extent", "<f4")], align=True)

MOST_STEPS = 255
EXPONENT_BIAS = 127
LEAST_EXPONENT = 1 - EXPONENT_BIAS  # a byte of 0 would not be a power of two

#: The extent's power of two is at most so much above the shortest step's. From this the kernel knows that its products
#: with steps do not underflow.
EXTENT_BITS = 39

#: Signs by axis and position: +1 where the position is for children towards the positive end.
SIDES = np.where(np.arange(WIDTH) >> np.arange(3)[:, None] & 1, 1.0, -1.0)
SETS = 1 << WIDTH

#: Of each set of positions, the last of as many children.
LAST_CHILD = np.bitwise_count(np.arange(SETS)).astype(np.int64) - 1

#: Nodes whose children are placed side by side.
LANES = 8

#: Nodes that a thread writes at a time.
NODE_PIECE = 1 << 10


def pack(tree: BinaryTree, triangles: Floats) -> PackedTree:
    """Returns nodes and triangles as the kernel reads them.

    tree: built over the triangles.
    triangles: (t, 3, 3) float32, in the caller's order.
    Raises `KernelError` where a leaf of the tree has more triangles than a node can name.
    """
    _check_limits(tree)
    place = partial(_place_children, (tree.lower, tree.upper))
    wide = optimal_collapse(tree, width=WIDTH, max_leaf=MAX_LEAF, place=place)
    extent = float(extent_of(triangles))
    nodes, packed_triangles = _pack_all(tree, wide, triangles, extent)
    return PackedTree(
        arrays={"nodes": nodes, "triangles": packed_triangles},
        scalars={"extent": extent},
        nodes=len(nodes),
        stack=int(_stack_need(wide.wide)),
    )


def _check_limits(tree: BinaryTree) -> None:
    largest = int(tree.count.max())
    if largest > MAX_LEAF:
        raise KernelError(
            f"layout compressed8: a leaf has {largest} triangles, at most {MAX_LEAF}; build with a lower max_leaf"
        )


# ------------------------------------------------------------------------------------------------------------ the order


@compiled
def _place_children(boxes: Any, binary: Any, wide: Any, first: int, end: int) -> None:
    """Gives the children of a piece of the nodes positions, so that a ray that takes these in the order of its octant
    goes from front to back; any may be spare. Bit 0 of a position is set where the child lies towards positive x, bit 1
    of y, bit 2 of z. It goes on from an `OpenChildren`.

    Of all assignments it is the one with the largest sum of gains, by the best one for every set of positions. The
    paper finds it by an auction.

    boxes: corners of all of the binary tree, (n, 3) float32 each.
    """
    gain, worth = np.empty((WIDTH, WIDTH, LANES)), np.empty((SETS, LANES))
    child_of_position = np.empty(WIDTH, np.int64)
    for begin in range(first, end, LANES):
        for lane in range(LANES):
            _write_gains(boxes, binary[min(begin + lane, end - 1)], gain, lane)
        find_worth(gain, worth)
        for lane in range(min(LANES, end - begin)):
            best_positions(gain, worth, lane, child_of_position)
            _place(binary[begin + lane], child_of_position)
            _place(wide[begin + lane], child_of_position)


@inlined
def _write_gains(boxes: Any, binary: Any, gain: Any, lane: int) -> None:
    """Writes how far each child of a node lies towards the side of each position, from the mean of all.

    binary: (8,) int32, the binary nodes that are the children.
    gain: (child, position, lane) float64.
    """
    filled = 0
    for i in range(WIDTH):
        filled += binary[i] != EMPTY
        for position in range(WIDTH):
            gain[i, position, lane] = 0.0
    lower, upper = boxes
    for axis in range(3):
        total = 0.0
        for i in range(WIDTH):
            if binary[i] != EMPTY:
                total += np.float64(lower[binary[i], axis]) + np.float64(upper[binary[i], axis])
        mean = total / max(filled, 1)
        for i in range(WIDTH):
            if binary[i] != EMPTY:
                centre = np.float64(lower[binary[i], axis]) + np.float64(upper[binary[i], axis])
                for position in range(WIDTH):
                    gain[i, position, lane] += (centre - mean) * SIDES[axis, position]


@inlined
def find_worth(gain: Any, worth: Any) -> None:
    """Writes the largest sum of gains by which as many children as a set has positions, the first ones, can be in it:
    (set, lane) float64. Lanes are nodes side by side, for vector instructions.
    """
    for lane in range(LANES):
        worth[0, lane] = 0.0
    for positions in range(1, SETS):
        for lane in range(LANES):
            worth[positions, lane] = -np.inf
        for position in range(WIDTH):
            if positions >> position & 1:
                others = positions ^ 1 << position
                for lane in range(LANES):
                    total = worth[others, lane] + gain[LAST_CHILD[positions], position, lane]
                    most = worth[positions, lane]
                    worth[positions, lane] = total if total > most else most


@inlined
def best_positions(gain: Any, worth: Any, lane: int, child_of_position: Any) -> None:
    """Writes which child goes to each position of the node in a lane, from the last child to the first."""
    positions = np.int64(SETS - 1)
    for child_index in range(WIDTH - 1, -1, -1):
        most, chosen = -np.inf, 0
        for position in range(WIDTH):
            if positions >> position & 1:
                total = worth[positions ^ 1 << position, lane] + gain[child_index, position, lane]
                if total > most:
                    most, chosen = total, position
        child_of_position[chosen] = child_index
        positions ^= 1 << chosen


@inlined
def _place(row: Any, child_of_position: Any) -> None:
    """Puts the elements of a row at their positions."""
    copy = row.copy()
    for position in range(WIDTH):
        row[position] = copy[child_of_position[position]]


@compiled
def _stack_need(links: Any) -> int:
    """Returns how many entries a walk may need. All other inner children of a node wait in one while it visits the
    first.
    """
    need = np.zeros(len(links), np.int64)
    for node in range(len(links) - 1, -1, -1):
        inner, below = 0, 0
        for position in range(WIDTH):
            if links[node, position] != EMPTY:
                inner += 1
                below = max(below, need[links[node, position]])
        need[node] = below + 1 if inner > 1 else below
    return need[0]


# ------------------------------------------------------------------------------------------------------------ the bytes


def _pack_all(
    tree: BinaryTree, wide: WideTree, triangles: Floats, extent: float
) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void]]:
    """Returns the nodes, and the triangles leaf by leaf."""
    nodes, packed = np.zeros(len(wide.binary), NODE), np.empty(len(triangles), PACKED_TRIANGLE)
    if len(triangles) == 0:
        return nodes, packed
    fields = _Fields(*(nodes[name] for name in _Fields._fields))
    children = _Children(wide.binary, wide.wide, wide.first, wide.count)
    _write_bases(children, fields)
    source = _Source(tree.lower, tree.upper, tree.order, triangles, _least_exponent(extent))
    in_pieces(partial(_write_nodes, source, children, fields, rows_of(packed)), len(nodes), NODE_PIECE)
    return nodes, packed


def _least_exponent(extent: float) -> int:
    """Returns the exponent of the shortest step that the kernel can take."""
    return max(int(np.frexp(extent)[1]) - 1 - EXTENT_BITS, LEAST_EXPONENT)


class _Source(NamedTuple):
    """Holds what is packed: the binary tree's boxes and leaf indices, the triangles, and the least exponent."""

    lower: Any
    upper: Any
    order: Any
    triangles: Any
    least_exponent: Any


class _Children(NamedTuple):
    """Holds the children of all nodes as in `WideTree`."""

    binary: Any
    wide: Any
    first: Any
    count: Any


class _Fields(NamedTuple):
    """Holds the nodes by the fields of `NODE`."""

    origin: Any
    exponent: Any
    inner: Any
    child_base: Any
    triangle_base: Any
    triangles: Any
    lower: Any
    upper: Any


@compiled
def _write_bases(children: Any, fields: Any) -> None:
    """Writes how many inner nodes and how many triangles come before those of each node."""
    nodes, triangles = 1, 0
    for node in range(len(children.binary)):
        fields.child_base[node], fields.triangle_base[node] = nodes, triangles
        for position in range(WIDTH):
            if children.wide[node, position] != EMPTY:
                nodes += 1
            else:
                triangles += children.count[node, position]


@compiled
def _write_nodes(source: Any, children: Any, fields: Any, rows: Any, first: int, end: int) -> None:
    """Writes a piece of the nodes, and the triangles of their leaves."""
    for node in range(first, end):
        inner, bits, place = 0, 0, np.int64(fields.triangle_base[node])
        for position in range(WIDTH):
            if children.wide[node, position] != EMPTY:
                inner |= 1 << position
                continue
            count = children.count[node, position]
            bits |= ((1 << count) - 1) << MAX_LEAF * position
            for leaf_index in range(children.first[node, position], children.first[node, position] + count):
                write_triangle(rows, place, source.triangles, source.order[leaf_index])
                place += 1
        fields.inner[node], fields.triangles[node] = inner, bits
        for axis in range(3):
            _write_axis(source, children.binary[node], fields, (node, axis))


@inlined
def _write_axis(source: Any, binary: Any, fields: Any, place: Any) -> None:
    """Writes origin, step and planes of a node along an axis.

    binary: (8,) int32, the binary nodes that are the children.
    place: the packed node, and the axis.
    """
    node, axis = place
    origin, end = np.inf, -np.inf
    for position in range(WIDTH):
        own = binary[position]
        if own != EMPTY:
            pad = pad_of(source.lower, source.upper, own)
            origin = min(origin, np.float64(source.lower[own, axis] - pad))
            end = max(end, np.float64(source.upper[own, axis] + pad))
    exponent = _exponent(end - origin, source.least_exponent)
    fields.origin[node, axis], fields.exponent[node, axis] = origin, exponent + EXPONENT_BIAS
    steps_per_unit = math.ldexp(1.0, -exponent)
    for position in range(WIDTH):
        own = binary[position]
        lower, upper = 0, 0
        if own != EMPTY:
            pad = pad_of(source.lower, source.upper, own)
            lower = np.int64(_steps_within(np.float64(source.lower[own, axis] - pad), origin, steps_per_unit))
            upper = -np.int64(_steps_within(-np.float64(source.upper[own, axis] + pad), -origin, steps_per_unit))
        fields.lower[node, axis, position], fields.upper[node, axis, position] = lower, upper


@inlined
def _exponent(size: float, least: int) -> int:
    """Returns the exponent of the shortest steps, powers of two, of which 255 cover a size. least: the lowest."""
    # frexp's power of two is above the quotient. Rounding keeps order: 255 such steps are above the exact size as well.
    return max(math.frexp(size / MOST_STEPS)[1], least) if size > 0.0 else least


@inlined
def _steps_within(value: float, origin: float, steps_per_unit: float) -> float:
    """Returns the most whole steps that do not lead from the origin beyond a value, exactly. steps_per_unit: a power of
    two.
    """
    distance = value - origin
    # What the rounding of the difference lost. Knuth: The Art of Computer Programming, volume 2, section 4.2.2, 1969.
    shift = distance - value
    lost = (value - (distance - shift)) - (origin + shift)
    steps = np.floor(distance * steps_per_unit)
    return steps - 1.0 if steps == distance * steps_per_unit and lost < 0.0 else steps


LAYOUT = DeviceLayout(
    name="compressed8",
    scene=SCENE,
    defines={
        "NODE_BYTES": str(NODE.itemsize),
        "SCENE_BYTES": str(SCENE.itemsize),
        **packed_triangle.DEFINES,
    },
    pack=pack,
    max_leaf=MAX_LEAF,
)
