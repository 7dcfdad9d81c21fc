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
from tracecore.layout.device_layout import DeviceLayout, PackedTree
from tracecore.layout.packed_triangle import PACKED_TRIANGLE, rows_of, write_triangle
from tracecore.layout.source import children_of, pad_of
from tracecore.rays import Floats
from tracecore.threads import Piece, in_pieces
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

#: Constants by which a GPU writes nodes.
BOX_DEFINES = {
    "WIDE_LEAF": str(MAX_LEAF),
    "MOST_STEPS": f"{MOST_STEPS}.0",
    "EXTENT_BITS": str(EXTENT_BITS),
    "EXPONENT_BIAS": str(EXPONENT_BIAS),
}

#: Signs by axis and position: +1 where the position is for children towards the positive end.
SIDES = np.where(np.arange(WIDTH) >> np.arange(3)[:, None] & 1, 1.0, -1.0)
SETS = 1 << WIDTH

#: Of each set of positions, two by two (an odd one twice), the positions that may be the last child's: the set, that
#: child, and both. Unsigned: no index counts from the end.
BIT = np.uint64(1)
PAIRS = np.array(
    [
        (positions, len(held) - 1, *held[i : i + 2], *held[i : i + 1])[:4]
        for positions in range(1, SETS)
        for held in [[position for position in range(WIDTH) if positions >> position & 1]]
        for i in range(0, len(held), 2)
    ],
    np.uint64,
)

#: Nodes whose children are placed side by side.
LANES = 64

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
def _place_children(boxes: Any, binary: Any, wide: Any, piece: Piece) -> None:
    """Gives the children of a piece of the nodes positions, so that a ray that takes these in the order of its octant
    goes from front to back; any may be spare. Bit 0 of a position is set where the child lies towards positive x, bit 1
    of y, bit 2 of z. It goes on from an `OpenChildren`.

    Of all assignments it is the one with the largest sum of gains, by the best one for every set of positions. The
    paper finds it by an auction.

    boxes: corners of all of the binary tree, (n, 3) float32 each.
    """
    offset, gain, worth = np.empty((3, WIDTH, LANES)), np.empty((WIDTH, WIDTH, LANES)), np.empty((SETS, LANES))
    child_of_position, row = np.empty((WIDTH, LANES), np.int64), np.empty(WIDTH, np.int32)
    for begin in range(piece[0], piece[1], LANES):
        lanes = min(LANES, piece[1] - begin)
        _write_offsets(boxes, binary, begin, offset, lanes)
        _write_gains(offset, gain, lanes)
        _write_worth(gain, worth, lanes)
        _write_best(gain, worth, child_of_position, lanes)
        for lane in range(lanes):
            for links in (binary, wide):
                for position in range(WIDTH):
                    row[position] = links[begin + lane, child_of_position[position, lane]]
                for position in range(WIDTH):
                    links[begin + lane, position] = row[position]


@inlined
def _write_offsets(boxes: Any, binary: Any, begin: int, offset: Any, lanes: int) -> None:
    """Writes how far the children of nodes lie from the mean of all of a node, twice, and 0 for spare ones. Lanes are
    nodes side by side, for vector instructions.

    binary: (m, 8) int32, the binary nodes that are the children; from `begin` on they are looked at.
    offset: (axis, child, lane) float64.
    """
    lower, upper = boxes
    for lane in range(lanes):  # nothing but loads, many at a time, and no branches
        for i in range(WIDTH):
            own = max(binary[begin + lane, i], 0)
            for axis in range(3):
                offset[axis, i, lane] = np.float64(lower[own, axis]) + np.float64(upper[own, axis])
    for lane in range(lanes):
        filled = 0
        for i in range(WIDTH):
            filled += binary[begin + lane, i] != EMPTY
        for axis in range(3):
            total = 0.0
            for i in range(filled):
                total += offset[axis, i, lane]
            for i in range(WIDTH):  # spare ones come last
                offset[axis, i, lane] = offset[axis, i, lane] - total / max(filled, 1) if i < filled else 0.0


@inlined
def _write_gains(offset: Any, gain: Any, lanes: int) -> None:
    """Writes how far children lie towards the sides of positions: (child, position, lane) float64."""
    for i in range(WIDTH):
        for position in range(WIDTH):
            x, y, z = SIDES[0, position], SIDES[1, position], SIDES[2, position]
            for lane in range(lanes):
                across = offset[0, i, lane] * x + offset[1, i, lane] * y
                gain[i, position, lane] = across + offset[2, i, lane] * z


@inlined
def _write_worth(gain: Any, worth: Any, lanes: int) -> None:
    """Writes the largest sum of gains by which as many children as a set has positions, the first ones, can be in it:
    (set, lane) float64.
    """
    worth[:] = -np.inf
    worth[0] = 0.0
    for pair in range(len(PAIRS)):
        positions, last, one, other = PAIRS[pair]
        without_one, without_other = positions ^ BIT << one, positions ^ BIT << other
        for lane in range(lanes):
            total = worth[without_one, lane] + gain[last, one, lane]
            second = worth[without_other, lane] + gain[last, other, lane]
            total = total if total > second else second
            most = worth[positions, lane]
            worth[positions, lane] = total if total > most else most


@inlined
def _write_best(gain: Any, worth: Any, child_of_position: Any, lanes: int) -> None:
    """Writes which child goes to each position, from the last child to the first: (position, lane) int64."""
    left = np.full(LANES, SETS - 1)
    for child_index in range(WIDTH - 1, -1, -1):
        for lane in range(lanes):
            positions, most, chosen = left[lane], -np.inf, 0
            for position in range(WIDTH):  # without branches, which no processor could foretell
                total = worth[positions & ~(1 << position), lane] + gain[child_index, position, lane]
                is_better = (positions >> position & 1) & (total > most)
                most = total if is_better else most
                chosen = position if is_better else chosen
            child_of_position[chosen, lane] = child_index
            left[lane] = positions ^ 1 << chosen


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
    children = children_of(wide)
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
def _write_nodes(source: Any, children: Any, fields: Any, rows: Any, piece: Piece) -> None:
    """Writes a piece of the nodes, and the triangles of their leaves."""
    planes, prim_ids = np.empty((3, 2, WIDTH, LANES)), np.empty((LANES * WIDTH + 1) * MAX_LEAF, np.uint32)
    for begin in range(piece[0], piece[1], LANES):
        lanes = min(LANES, piece[1] - begin)
        triangles = 0
        for node in range(begin, begin + lanes):
            triangles = _write_bits(source, children, fields, node, (prim_ids, triangles))
        for triangle in range(triangles):
            place = np.int64(fields.triangle_base[begin]) + triangle
            write_triangle(rows, place, source.triangles, prim_ids[triangle])
        _load_planes(source, children.binary, begin, planes, lanes)
        for axis in range(3):
            _write_axis(planes[axis], source.least_exponent, fields, axis, (begin, lanes))


@inlined
def _write_bits(source: Any, children: Any, fields: Any, node: int, listed: Any) -> int:
    """Writes which positions of a node hold inner nodes and triangles, and lists these. Returns how many are listed
    then. listed: room for them, and how many are before.
    """
    prim_ids, triangles = listed
    inner, bits, last = np.int64(0), np.int64(0), len(source.order) - 1
    for position in range(WIDTH):  # without branches, which no processor could foretell
        is_inner = np.int64(children.wide[node, position] != EMPTY)
        begin, count = children.first[node, position], children.count[node, position] * (1 - is_inner)
        inner |= is_inner << position
        bits |= ((1 << count) - 1) << MAX_LEAF * position
        for i in range(MAX_LEAF):  # those beyond the count are overwritten
            prim_ids[triangles + i] = source.order[min(begin + i, last)]
        triangles += count
    fields.inner[node], fields.triangles[node] = inner, bits
    return triangles


@inlined
def _load_planes(source: Any, binary: Any, begin: int, planes: Any, lanes: int) -> None:
    """Loads lower and upper planes of the children of nodes, with their pads: infinite, and the wrong way round, of
    spare ones. planes: (3, 2, child, lane) float64, written.
    """
    for lane in range(lanes):
        for position in range(WIDTH):
            own = binary[begin + lane, position]
            is_spare, own = own == EMPTY, max(own, 0)
            pad = pad_of(source.lower, source.upper, own)
            for axis in range(3):
                lower, upper = source.lower[own, axis] - pad, source.upper[own, axis] + pad
                planes[axis, 0, position, lane] = np.inf if is_spare else np.float64(lower)
                planes[axis, 1, position, lane] = -np.inf if is_spare else np.float64(upper)


@inlined
def _write_axis(planes: Any, least_exponent: int, fields: Any, axis: int, nodes: Any) -> None:
    """Writes origins, steps and planes of nodes along an axis.

    planes: (2, child, lane) float64, as of `_load_planes`.
    nodes: the first, and how many there are.
    """
    begin, lanes = nodes
    origin, steps_per_unit, steps = np.full(LANES, np.inf), np.empty(LANES), np.empty(LANES)
    end = np.full(LANES, -np.inf)
    for position in range(WIDTH):
        for lane in range(lanes):
            lower, upper = planes[0, position, lane], planes[1, position, lane]
            origin[lane] = lower if lower < origin[lane] else origin[lane]
            end[lane] = upper if upper > end[lane] else end[lane]
    for lane in range(lanes):
        exponent = _exponent(end[lane] - origin[lane], least_exponent)
        steps_per_unit[lane] = math.ldexp(1.0, -exponent)
        fields.origin[begin + lane, axis] = origin[lane]
        fields.exponent[begin + lane, axis] = exponent + EXPONENT_BIAS
    for position in range(WIDTH):
        for lane in range(lanes):
            lower = planes[0, position, lane]
            steps[lane] = _steps_within(lower, origin[lane], steps_per_unit[lane]) if lower < np.inf else 0.0
        for lane in range(lanes):
            fields.lower[begin + lane, axis, position] = np.int64(steps[lane])
        for lane in range(lanes):
            upper = planes[1, position, lane]
            steps[lane] = -_steps_within(-upper, -origin[lane], steps_per_unit[lane]) if upper > -np.inf else 0.0
        for lane in range(lanes):
            fields.upper[begin + lane, axis, position] = np.int64(steps[lane])


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
    return steps - 1.0 if (steps == distance * steps_per_unit) & (lost < 0.0) else steps


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
    gpu_builders=("ploc",),
)
