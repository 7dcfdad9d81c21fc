"""Packs a binary tree that lies on a GPU in the layout of a wide one, there: the bits of `layout.bvh4` and of
`layout.compressed8`.

What comes down are records of levels and one number: how many wide nodes there are, and how deep a walk may go.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tracecore.bvh.tree import MAX_DEPTH
from tracecore.cuda.device import CudaDevice, Stream
from tracecore.cuda.device_memory import DeviceMemory
from tracecore.cuda.device_program import DeviceProgram, Members
from tracecore.kernels.collapse_records import LEVEL, WIDE_LAYOUTS, WideLayout
from tracecore.layout.packed_triangle import PACKED_TRIANGLE

INDEX_BYTES = 4

#: Arrays of so many bytes for each inner node, besides those whose size is up to the layout.
INDICES = ("parent", "arrivals", "inner_before", "triangles_before", "need")

#: Kernels of a level, in their order; some layouts do without place_level.
LEVEL_ENTRIES = ("open_level", "place_level", "scan_level", "number_level")

#: Levels that are opened before the host looks whether there are more, and more than any tree has.
LEVELS_AHEAD = 8
LEVELS = MAX_DEPTH + LEVELS_AHEAD

#: Blocks that work on a level at most: each takes what is left of it, as the host does not know how long it is.
LEVEL_BLOCKS = 2048


@dataclass(frozen=True, kw_only=True, eq=False)
class DeviceBinaryTree:
    """Is a binary tree on a device whose root is no leaf. The children of an inner node of rank r are 1 + 2 * r and the
    next node.

    arrays: of a `BinaryTree`, by their names.
    inner: how many inner nodes there are.
    triangles: (t, 3, 3) float32, in the caller's order.
    triangle_count: how many of them.
    """

    arrays: Mapping[str, DeviceMemory]
    inner: int
    triangles: DeviceMemory
    triangle_count: int


@dataclass(frozen=True, kw_only=True, eq=False)
class PackedMemory:
    """Is a packed tree on a device.

    memory: arrays of the layout's scene, by their names.
    nodes, stack: as of a `PackedTree`.
    """

    memory: Mapping[str, DeviceMemory]
    nodes: int
    stack: int


def room_for(tree: DeviceBinaryTree, layout: WideLayout) -> int:
    """Returns the bytes that packing takes at most, with the packed tree."""
    indices = 2 * layout.width + len(INDICES) + 1
    of_node = layout.costs_bytes + layout.node_bytes + indices * INDEX_BYTES
    return tree.inner * of_node + tree.triangle_count * PACKED_TRIANGLE.itemsize


def packed(device: CudaDevice, stream: Stream, tree: DeviceBinaryTree, layout: str) -> PackedMemory:
    """Returns a tree as a layout has it.

    device: where it lies; the calling thread is attached to it.
    stream: what makes the tree; all is done in the end.
    layout: a name of `WIDE_LAYOUTS`.

    Raises `DeviceError` where the device has no room or does not answer.
    """
    found = WIDE_LAYOUTS[layout]
    device.check_room(tree.triangle_count, "triangles whose tree the GPU packs", room_for(tree, found))
    return _Collapse(device, stream, tree, found).packed()


class _Collapse:
    """Is one run of the kernels."""

    def __init__(self, device: CudaDevice, stream: Stream, tree: DeviceBinaryTree, layout: WideLayout) -> None:
        self._device, self._stream, self._tree, self._layout = device, stream, tree, layout
        self._program = DeviceProgram(device, layout.program)
        self._levels = DeviceMemory(device, (LEVELS + 1) * LEVEL.itemsize)
        indices = {name: DeviceMemory(device, tree.inner * INDEX_BYTES) for name in INDICES}
        stream.clear(indices["arrivals"].address, indices["arrivals"].size)
        self._need = indices["need"]
        tiles, places = self._program.blocks_for(tree.inner), tree.inner * layout.width
        members: Members = {
            **tree.arrays,
            **indices,
            "triangles": tree.triangles,
            "costs": DeviceMemory(device, tree.inner * layout.costs_bytes),
            "binary": DeviceMemory(device, places * INDEX_BYTES),
            "wide": DeviceMemory(device, places * INDEX_BYTES),
            "tile_inner": DeviceMemory(device, tiles * INDEX_BYTES),
            "tile_triangles": DeviceMemory(device, tiles * INDEX_BYTES),
            "tree_nodes": 2 * tree.inner + 1,
            "triangle_count": tree.triangle_count,
        }
        self._used = [*members.values(), self._levels]
        self._record = self._program.record("share_out", **members, level=self._levels)

    def packed(self) -> PackedMemory:
        """Returns what `packed` does."""
        for entry in ("link_parents", "share_out"):
            self._start(entry, 2 * self._tree.inner + 1)
        levels = self._opened()
        nodes = int(levels["length"].sum())
        for level in reversed(range(len(levels))):
            self._start_level("find_need", level)
        memory = {
            "nodes": DeviceMemory(self._device, nodes * self._layout.node_bytes),
            "triangles": DeviceMemory(self._device, self._tree.triangle_count * PACKED_TRIANGLE.itemsize),
        }
        addresses = memory["nodes"].address, memory["triangles"].address, nodes
        self._record["nodes"], self._record["packed_triangles"], self._record["wide_nodes"] = addresses
        self._start("pack_nodes", nodes)
        if "pack_triangles" in self._layout.program.entries:
            self._start("pack_triangles", self._tree.triangle_count)
        self._stream.finish(self, memory)
        need = int(self._need.copied(INDEX_BYTES).view(np.uint32)[0])
        return PackedMemory(memory=memory, nodes=nodes, stack=need + self._layout.stack)

    def _opened(self) -> npt.NDArray[np.void]:
        """Opens level after level. Returns those that there are, `LEVEL`."""
        found = np.empty(0, LEVEL)
        for level in range(LEVELS):
            for entry in LEVEL_ENTRIES:
                if entry in self._layout.program.entries:
                    self._start_level(entry, level)
            if level % LEVELS_AHEAD == LEVELS_AHEAD - 1:
                self._stream.finish(self)
                found = self._levels.copied().view(LEVEL)[: level + 2]
                if found["length"][-1] == 0:
                    break
        return found[found["length"] > 0]

    def _start_level(self, entry: str, level: int) -> None:
        self._record["level"] = self._levels.address + level * LEVEL.itemsize
        self._record["next_level"] = self._record["level"] + LEVEL.itemsize
        most = self._program.block_size if entry == "scan_level" else LEVEL_BLOCKS * self._program.block_size
        self._start(entry, min(self._tree.inner, most))

    def _start(self, entry: str, threads: int) -> None:
        self._program.launch(entry, self._program.blocks_for(threads), self._stream, self._record)
