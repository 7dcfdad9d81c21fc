"""Lays out an 8-wide tree for the GPU: nodes of 80 bytes, whose children's boxes are whole steps from a corner.

After Ylitie, Karras, Laine: Efficient Incoherent Ray Traversal on GPUs Through Compressed Wide BVHs, 2017.
`kernels/compressed8.cuh` is the other side.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from tracecore import cutouts
from tracecore.arrays import pieces
from tracecore.bvh.optimal_collapse import optimal_collapse
from tracecore.bvh.tree import BinaryTree
from tracecore.bvh.wide import EMPTY, Ints, WideTree
from tracecore.compilation.cached import compiled, inlined
from tracecore.errors import KernelError
from tracecore.layout import packed_triangle
from tracecore.layout.device_layout import DeviceLayout, PackedTree
from tracecore.layout.packed_triangle import pack_triangles
from tracecore.precision import padded
from tracecore.rays import Floats, Ids
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

Doubles = npt.NDArray[np.float64]


def pack(tree: BinaryTree, triangles: Floats) -> PackedTree:
    """Returns nodes and triangles as the kernel reads them.

    tree: built over the triangles.
    triangles: (t, 3, 3) float32, in the caller's order.
    Raises `KernelError` where a leaf of the tree has more triangles than a node can name.
    """
    _check_limits(tree)
    wide = _in_positions(tree, optimal_collapse(tree, width=WIDTH, max_leaf=MAX_LEAF))
    extent = float(extent_of(triangles))
    nodes, order, stack = _pack_nodes(tree, wide, extent), _order(tree, wide), _stack_need(wide.wide)
    del wide  # its memory is for the triangles
    return PackedTree(
        arrays={"nodes": nodes, "triangles": pack_triangles(order, triangles)},
        scalars={"extent": extent},
        nodes=len(nodes),
        stack=stack,
    )


def _check_limits(tree: BinaryTree) -> None:
    largest = int(tree.count.max())
    if largest > MAX_LEAF:
        raise KernelError(
            f"layout compressed8: a leaf has {largest} triangles, at most {MAX_LEAF}; build with a lower max_leaf"
        )


# ------------------------------------------------------------------------------------------------------------ the order


def _in_positions(tree: BinaryTree, wide: WideTree) -> WideTree:
    """Returns the same tree with children at positions, any of which may be spare.

    Nodes are breadth first, in the order of positions.
    """
    node_children = _children_of_positions(tree, wide)
    nodes = _breadth_first(np.take_along_axis(wide.wide, node_children, axis=1))
    node_children = node_children[nodes]

    def placed(values: Ints) -> Ints:
        return np.take_along_axis(values[nodes], node_children, axis=1)

    is_inner = placed(wide.wide) != EMPTY
    number = np.cumsum(is_inner, dtype=np.int32).reshape(is_inner.shape)
    return WideTree(
        binary=placed(wide.binary),
        wide=np.where(is_inner, number, EMPTY),
        first=placed(wide.first),
        count=placed(wide.count),
        depth=wide.depth,
    )


def _breadth_first(links: Ints) -> Ints:
    levels = [np.zeros(1, np.int32)]
    while len(levels[-1]) > 0:
        children = links[levels[-1]]
        levels.append(children[children != EMPTY])
    return np.concatenate(levels)


def _children_of_positions(tree: BinaryTree, wide: WideTree) -> Ints:
    """Returns (n, 8) int32: which child goes to each position, so that a ray that takes positions in the order of its
    octant goes from front to back.

    Bit 0 of a position is set where the child lies towards positive x, bit 1 of y, bit 2 of z.
    """
    node_children = np.empty(wide.binary.shape, np.int32)
    for piece in pieces(len(node_children)):
        _assign(_gains(tree, wide.binary[piece]), node_children[piece])
    return node_children


def _gains(tree: BinaryTree, binary: Ints) -> Doubles:
    """Returns how far each child lies towards the side of each position, from the mean of all: (n, child, position).

    binary: (n, 8) int32, the binary nodes that are the children.
    """
    filled = (binary != EMPTY)[:, :, None]
    centre = np.where(filled, tree.lower[binary].astype(np.float64) + tree.upper[binary], 0.0)
    mean = centre.sum(axis=1, keepdims=True) / np.maximum(filled.sum(axis=1, keepdims=True), 1)
    offset = np.where(filled, centre - mean, 0.0)
    gains: Doubles = sum(offset[:, :, axis, None] * SIDES[axis] for axis in range(3))
    return gains


@compiled
def _assign(gain: Any, node_children: Any) -> None:
    """Finds the assignment of children to positions with the largest sum of gains, by the best one for every set of
    positions. The paper finds it by an auction.

    gain: (n, child, position) float64.
    node_children: (n, position) int32, written.
    """
    size = np.zeros(SETS, np.int64)
    worth = np.zeros(SETS, np.float64)
    last = np.zeros(SETS, np.int64)
    for positions in range(1, SETS):
        size[positions] = size[positions >> 1] + (positions & 1)
    for node in range(len(gain)):
        for positions in range(1, SETS):
            worth[positions], last[positions] = _best_last(gain, node, size[positions] - 1, positions, worth)
        positions = SETS - 1
        for child_index in range(WIDTH - 1, -1, -1):
            node_children[node, last[positions]] = child_index
            positions ^= 1 << last[positions]


@inlined
def _best_last(gain: Any, node: int, child_index: int, positions: int, worth: Any) -> Any:
    """Returns the worth of a set of positions, and which of them the last child takes; the children before it take the
    others.
    """
    most, chosen = -np.inf, 0
    for position in range(WIDTH):
        if positions >> position & 1:
            total = worth[positions ^ 1 << position] + gain[node, child_index, position]
            if total > most:
                most, chosen = total, position
    return most, chosen


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


def _order(tree: BinaryTree, wide: WideTree) -> Ids:
    """Returns the `prim_id` of every packed triangle, leaf by leaf, (t,) uint32."""
    is_leaf = _is_leaf(wide)
    count = wide.count[is_leaf]
    return tree.order[np.repeat(wide.first[is_leaf] - _before(count), count) + np.arange(count.sum())]


def _is_leaf(wide: WideTree) -> npt.NDArray[np.bool_]:
    return (wide.binary != EMPTY) & (wide.wide == EMPTY)


def _before(count: Ints) -> npt.NDArray[np.int64]:
    """Returns for each number the sum of all before it."""
    return np.cumsum(count, dtype=np.int64) - count


# ------------------------------------------------------------------------------------------------------------ the bytes


def _pack_nodes(tree: BinaryTree, wide: WideTree, extent: float) -> npt.NDArray[np.void]:
    nodes = np.zeros(len(wide.binary), NODE)
    if len(tree.order) == 0:
        return nodes
    is_inner = wide.wide != EMPTY
    count = np.where(_is_leaf(wide), wide.count, 0)
    nodes["inner"] = np.packbits(is_inner, axis=1, bitorder="little")[:, 0]
    nodes["child_base"] = 1 + _before(is_inner.sum(axis=1, dtype=np.int32))
    nodes["triangle_base"] = _before(count.sum(axis=1, dtype=np.int32))
    for piece in pieces(len(nodes)):
        nodes["triangles"][piece] = (((1 << count[piece]) - 1) << MAX_LEAF * np.arange(WIDTH)).sum(axis=1)
        _set_boxes(nodes[piece], tree, wide.binary[piece], extent)
    return nodes


def _set_boxes(nodes: npt.NDArray[np.void], tree: BinaryTree, binary: Ints, extent: float) -> None:
    """Writes origins, steps and the children's boxes. binary: (n, 8) int32, the binary nodes that are the children."""
    filled = (binary != EMPTY)[:, :, None]
    lower, upper = (planes.astype(np.float64) for planes in padded(tree.lower[binary], tree.upper[binary]))
    origin = np.where(filled, lower, np.inf).min(axis=1, keepdims=True)
    end = np.where(filled, upper, -np.inf).max(axis=1, keepdims=True)
    exponent = _exponents(end - origin, extent)
    step = np.ldexp(1.0, exponent)
    nodes["origin"] = origin[:, 0]
    nodes["exponent"] = exponent[:, 0] + EXPONENT_BIAS
    nodes["lower"] = np.where(filled, _steps_within(lower, origin, step), 0).transpose(0, 2, 1)
    nodes["upper"] = np.where(filled, -_steps_within(-upper, -origin, step), 0).transpose(0, 2, 1)


def _exponents(size: Doubles, extent: float) -> npt.NDArray[np.int32]:
    """Returns the exponents of the shortest steps, powers of two, of which 255 cover a size; none are shorter than the
    kernel can take.
    """
    least = max(int(np.frexp(extent)[1]) - 1 - EXTENT_BITS, LEAST_EXPONENT)
    # frexp's power of two is above the quotient. Rounding keeps order: 255 such steps are above the exact size as well.
    return np.maximum(np.where(size > 0.0, np.frexp(size / MOST_STEPS)[1], least), least)


def _steps_within(value: Doubles, origin: Doubles, step: Doubles) -> Doubles:
    """Returns the most whole steps that do not lead from the origin beyond a value, exactly."""
    distance = value - origin
    # What the rounding of the difference lost. Knuth: The Art of Computer Programming, volume 2, section 4.2.2, 1969.
    shift = distance - value
    lost = (value - (distance - shift)) - (origin + shift)
    steps = np.floor(distance / step)
    return steps - ((steps * step == distance) & (lost < 0.0))


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
