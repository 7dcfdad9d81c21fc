"""A tree so deep that traversal needs much of its stack, and rays that do or do not."""

import numpy as np
import numpy.typing as npt

from tracecore.bvh.tree import BinaryTree
from tracecore.checks.ray_cases import Floats
from tracecore.rays import make_rays


def slices(levels: int) -> Floats:
    """(levels + 1, 3, 3) triangles, each one half of a square, one above the other."""
    corners = np.array([[-1, -1, 0], [1, -1, 0], [-1, 1, 0]], np.float32)
    return corners + np.arange(levels + 1, dtype=np.float32)[:, None, None] * np.array([0, 0, 1], np.float32)


def chain(levels: int) -> BinaryTree:
    """A tree of slices: each left child is a leaf of the lowest, each right child has all above it."""
    node = np.arange(2 * levels + 1)
    is_leaf = (node % 2 == 1) | (node == node[-1])
    low = node // 2
    high = np.where(is_leaf, low, levels)
    one = np.ones(len(node))
    return BinaryTree(
        lower=np.stack([-one, -one, low], axis=1).astype(np.float32),
        upper=np.stack([one, one, high], axis=1).astype(np.float32),
        child=np.where(is_leaf, 0, node + 1).astype(np.int32),
        first=np.where(is_leaf, low, 0).astype(np.int32),
        count=is_leaf.astype(np.int32),
        order=np.arange(levels + 1, dtype=np.uint32),
        build_seconds=0.0,
    )


def vertical_rays(levels: int, above: npt.ArrayLike, hit: npt.ArrayLike) -> Floats:
    """Up from below or down from above, through triangles or through the rest of their boxes. Both: (n,) bool."""
    from_above = np.asarray(above, bool)
    x = np.where(hit, -0.5, 0.5)
    direction = np.where(from_above, -1.0, 1.0)
    z = np.where(from_above, levels + 1.0, -1.0)
    return make_rays(np.stack([x, x, z], axis=1), direction[:, None] * np.array([0, 0, 1]))
