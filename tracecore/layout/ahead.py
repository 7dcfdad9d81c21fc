"""What is packed of a tree before a tracer is opened with it: another thread does so while a frame before is traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from tracecore.ahead import Ahead
from tracecore.bvh.tree import BinaryTree
from tracecore.rays import Floats

T = TypeVar("T")

#: Of trees: the function that packed each, and what it made.
_ahead: Ahead[tuple[Callable[..., Any], Any]] = Ahead()


def pack_ahead(pack: Callable[[BinaryTree, Floats], object], tree: BinaryTree, triangles: Floats) -> None:
    """Packs a tree for the next `packed` of it.

    pack: of a layout.
    triangles: (t, 3, 3) float32, those that the tree is over.
    """
    leave_packed(pack, tree, pack(tree, triangles))


def leave_packed(pack: Callable[[BinaryTree, Floats], T], tree: BinaryTree, made: T) -> None:
    """Leaves what was packed of a tree, here or in another process, for the next `packed` of it. made: by `pack`."""
    _ahead.leave(tree, (pack, made))


def packed(pack: Callable[[BinaryTree, Floats], T], tree: BinaryTree, triangles: Floats) -> T:
    """Returns what a layout packs of a tree, as `pack_ahead` has made it if it has. Arguments: as of `pack_ahead`."""
    used, made = _ahead.take(tree) or (None, None)
    return cast("T", made) if used is pack else pack(tree, triangles)
