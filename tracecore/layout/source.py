"""What layouts of wide trees are packed from, as compiled functions take it, and boxes as kernels read them: with their
pads, and of centres and half extents (the struct Box of `kernels/box.cuh`).
"""

from typing import Any, NamedTuple

import numpy as np

from tracecore.bvh.tree import BinaryTree
from tracecore.bvh.wide import WideTree
from tracecore.compilation.cached import inlined
from tracecore.compilation.vector import bits_float, float_bits
from tracecore.precision import PAD
from tracecore.rays import Floats

#: The largest number of float32.
MOST = np.finfo(np.float32).max


class Source(NamedTuple):
    """Holds what is packed: the binary tree's boxes and leaf indices, and the triangles."""

    lower: Any
    upper: Any
    order: Any
    triangles: Any


class Children(NamedTuple):
    """Holds the children of all nodes as in `WideTree`."""

    binary: Any
    wide: Any
    first: Any
    count: Any


def source_of(tree: BinaryTree, triangles: Floats) -> Source:
    """Returns what is packed of a binary tree of triangles."""
    return Source(tree.lower, tree.upper, tree.order, triangles)


def children_of(wide: WideTree) -> Children:
    """Returns the children of all nodes of a wide tree."""
    return Children(wide.binary, wide.wide, wide.first, wide.count)


@inlined
def centre_and_half(lower: np.float32, upper: np.float32) -> tuple[np.float32, np.float32]:
    """Returns, for one axis, the centre of a box, and a half that reaches from it to both planes or farther.

    lower, upper: world units, with their pads.
    """
    centre = np.float32((np.float64(lower) + np.float64(upper)) / 2.0)
    half = max(np.float64(centre) - np.float64(lower), np.float64(upper) - np.float64(centre))
    rounded = np.float32(half)
    if half > 0.0 and np.float64(rounded) <= half and rounded < MOST:  # above it: the difference was rounded
        rounded = bits_float(float_bits(rounded) + 1)
    return centre, rounded


@inlined
def pad_of(lower: Any, upper: Any, node: int) -> np.float32:
    """Returns by how much the box of a node is widened, as `precision.padded` does it. lower, upper: (n, 3) float32."""
    reach = abs(lower[node, 0])
    for axis in range(3):
        reach = max(reach, abs(lower[node, axis]), abs(upper[node, axis]))
    return PAD * reach
