"""What is made of something before it is asked for: another thread packs a tree, or a scene, while the frame before is
traced.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from tracecore.bvh.tree import BinaryTree
from tracecore.rays import Floats

T = TypeVar("T")


class Ahead(Generic[T]):
    """Holds values by the objects that they are made of: each is taken once, and dropped with its object."""

    def __init__(self) -> None:
        self._made: dict[int, T] = {}

    def leave(self, source: object, value: T) -> None:
        """Leaves what was made of an object."""
        self._made[id(source)] = value
        weakref.finalize(source, self._made.pop, id(source), None)

    def take(self, source: object) -> T | None:
        """Returns what was made of an object, if anything was and nobody has taken it yet."""
        return self._made.pop(id(source), None)


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
