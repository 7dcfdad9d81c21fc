"""What layouts of wide trees are packed from, as compiled functions take it."""

from typing import Any, NamedTuple

from tracecore.bvh.tree import BinaryTree
from tracecore.bvh.wide import WideTree
from tracecore.rays import Floats


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
