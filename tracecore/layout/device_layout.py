"""Says what a layout for the GPU is: how a tree becomes the arrays that a kernel walks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracecore.bvh.tree import BinaryTree
from tracecore.rays import Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class PackedTree:
    """Holds a tree and its triangles as a kernel reads them.

    arrays: by the names of the pointers in the kernel's `struct Scene`.
    scalars: its other members.
    nodes: how many nodes the kernel may visit.
    stack: entries that a depth-first walk may need.
    """

    arrays: Mapping[str, npt.NDArray[Any]]
    scalars: Mapping[str, float]
    nodes: int
    stack: int

    @property
    def bytes(self) -> int:
        """Returns the memory that the arrays take, in bytes."""
        return sum(array.nbytes for array in self.arrays.values())


@dataclass(frozen=True, kw_only=True, eq=False)
class DeviceLayout:
    """Is a way to pack a tree for a kernel.

    name: as messages call it.
    scene: the dtype of the kernel's `struct Scene`; a pointer is uint64. Its `extent`, float32, is the largest
    coordinate.
    defines: constants by which the kernel checks its structs.
    pack: takes a tree and its (t, 3, 3) float32 triangles and returns the packed scene.
    max_leaf: triangles that a leaf of the tree may have at most, None for any number.
    gpu_builders: names of the builders whose trees a GPU makes in this layout itself (`cuda.device_ploc`).
    """

    name: str
    scene: np.dtype[np.void]
    defines: Mapping[str, str]
    pack: Callable[[BinaryTree, Floats], PackedTree]
    max_leaf: int | None = None
    gpu_builders: tuple[str, ...] = ()
