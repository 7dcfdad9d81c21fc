"""Registers the ways to build a tree, by name."""

from collections.abc import Callable
from functools import partial

from tracecore.bvh import tree_cache
from tracecore.bvh.tree import BinaryTree
from tracecore.errors import KernelError
from tracecore.on_demand import OnDemand
from tracecore.rays import Floats

#: Takes triangles, (t, 3, 3) float32, finite, and as keywords `max_leaf` and `triangle_block`, as `binned_sah.build`.
Builder = Callable[..., BinaryTree]

#: The default first.
BUILDERS: OnDemand[Builder] = OnDemand(
    {
        "reinserted": "tracecore.bvh.reinsertion:build",
        "ploc": "tracecore.bvh.ploc:build",
        "binned": "tracecore.bvh.binned_sah:build",
        "lbvh": "tracecore.bvh.lbvh:build",
    }
)


def build_by(name: str | None, triangles: Floats, *, max_leaf: int = 4, triangle_block: int = 1) -> BinaryTree:
    """Returns the tree that a builder makes, or has made of the same triangles before (`tree_cache`).

    name: of `BUILDERS`; None for the default.
    triangles: (t, 3, 3) float32, checked.
    max_leaf, triangle_block: as `binned_sah.build` takes them.

    Raises `KernelError` for an unknown name, and where `TRACECORE_TREE_BYTES` is not a number of bytes.
    """
    name = name or next(iter(BUILDERS))
    if name not in BUILDERS:
        raise KernelError(f"unknown builder {name!r}; there are {', '.join(BUILDERS)}")
    build = partial(BUILDERS[name], triangles, max_leaf=max_leaf, triangle_block=triangle_block)
    return tree_cache.kept(triangles, f"{name}, max_leaf {max_leaf}, triangle_block {triangle_block}", build)
