"""Registers the ways to build a tree, by name."""

from collections.abc import Callable
from functools import partial

from tracecore.bvh import tree_cache
from tracecore.bvh.tree import BinaryTree
from tracecore.errors import KernelError
from tracecore.on_demand import OnDemand, check_new_name
from tracecore.rays import Floats

#: Takes triangles, (t, 3, 3) float32, finite, and as keywords `max_leaf` and `triangle_block`, as `binned_sah.build`.
Builder = Callable[..., BinaryTree]

#: The default first.
BUILDERS: OnDemand[Builder] = OnDemand(
    {
        "reinserted": "tracecore.bvh.reinsertion:build",
        "ploc": "tracecore.bvh.ploc:build",
        "binned": "tracecore.bvh.binned_sah:build",
    }
)

#: Those whose trees are kept, as they change with this package alone.
_KEPT = frozenset(BUILDERS)


def register_builder(name: str, build: Builder) -> None:
    """Makes a builder known by a name.

    build: takes and returns what `binned_sah.build` does; the tree has no more than `max_leaf` triangles in a leaf.

    Raises `KernelError` where the name is taken, or is not letters, digits and - _ . alone.
    """
    check_new_name("builder", name, BUILDERS)
    BUILDERS[name] = build


def build_by(name: str | None, triangles: Floats, *, max_leaf: int = 4, triangle_block: int = 1) -> BinaryTree:
    """Returns the tree that a builder makes, or one of this package has made of the same triangles before
    (`tree_cache`).

    name: of `BUILDERS`; None for the default.
    triangles: (t, 3, 3) float32, checked.
    max_leaf, triangle_block: as `binned_sah.build` takes them.

    Raises `KernelError` for an unknown name, and where `TRACECORE_TREE_BYTES` is not a number of bytes.
    """
    name = name or next(iter(BUILDERS))
    if name not in BUILDERS:
        raise KernelError(f"unknown builder {name!r}; there are {', '.join(BUILDERS)}")
    build = partial(BUILDERS[name], triangles, max_leaf=max_leaf, triangle_block=triangle_block)
    if name not in _KEPT:
        return build()
    return tree_cache.kept(triangles, f"{name}, max_leaf {max_leaf}, triangle_block {triangle_block}", build)
