"""Builds trees by joining neighbours on a GPU, and packs them there: the bits of `bvh.ploc` and of the layouts.

The triangles go up once. What comes down are a few records: how many subtrees are left, and how large the tree is.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tracecore.bvh.bottom_up import Leaves
from tracecore.bvh.morton import CODE_BITS
from tracecore.bvh.tree import MAX_DEPTH, BinaryTree
from tracecore.cuda import device_collapse
from tracecore.cuda.device import CudaDevice, Stream
from tracecore.cuda.device_memory import DeviceMemory
from tracecore.cuda.device_program import DeviceProgram, Members
from tracecore.kernels.ploc_records import DIGIT_BITS, PROGRAM, ROW_STATE, SUBTREE, TILE_KEYS
from tracecore.layout import bvh2
from tracecore.layout.bvh2 import MAX_TRIANGLES
from tracecore.layout.device_layout import PackedTree
from tracecore.layout.packed_triangle import PACKED_TRIANGLE
from tracecore.rays import Floats
from tracecore.triangles import check_finite

#: Blocks that look for the bounds of all triangles at most: each of their warps adds its own to the same six numbers.
BOUND_BLOCKS = 256

DIGITS = 1 << DIGIT_BITS

#: Rounds that are started before the host looks how many subtrees are left: an even number, as each round reads what
#: the one before it wrote.
ROUNDS_AHEAD = 8

#: Bytes of an index, and of a code along the curve.
INDEX_BYTES, CODE_BYTES = 4, 8

#: Bytes of a node, by the arrays of a `BinaryTree`; and what packing wants besides: `name`, which is what packed nodes
#: call it, and of inner nodes `swapped`, whether their children are the other way round there.
NODE_BYTES = {"lower": 12, "upper": 12, "child": 4, "first": 4, "count": 4, "name": 4, "swapped": 4}
FOR_PACKING = ("name", "swapped")


class Row(NamedTuple):
    """Holds triangles along the curve. codes: (t,) uint64, where they are. prim_ids: (t,) uint32, which each is."""

    codes: DeviceMemory
    prim_ids: DeviceMemory


class DeviceHierarchy(NamedTuple):
    """Holds nodes: first the triangles along the curve, then the splits.

    subtrees: (2 * t - 1,) `SUBTREE`, what is below each.
    children: (t - 1, 2) uint32, nodes of each split.
    """

    subtrees: DeviceMemory
    children: DeviceMemory


@dataclass(frozen=True, kw_only=True, eq=False)
class DeviceTree:
    """Is a tree on a device, as a `BinaryTree` and packed for kernels of a layout.

    arrays: of the `BinaryTree`, by their names.
    triangle_block: as of the `BinaryTree`.
    memory: arrays of the layout's scene, by their names.
    packed: what else there is of the scene; its own arrays are none.
    sah_cost: that of the `BinaryTree`, but for rounding.
    step_seconds: wall time of each step of building and packing.
    """

    is_cached: ClassVar[bool] = False
    arrays: Mapping[str, DeviceMemory]
    triangle_block: int
    memory: Mapping[str, DeviceMemory]
    packed: PackedTree
    sah_cost: float
    step_seconds: Mapping[str, float]

    @property
    def seconds(self) -> float:
        """Returns the wall time that building took, without packing."""
        return sum(seconds for name, seconds in self.step_seconds.items() if name != "pack")

    def fetched(self) -> BinaryTree:
        """Returns the tree. The calling thread is attached to the device. Raises `DeviceError` where that does not
        answer.
        """
        found = {name: memory.copied() for name, memory in self.arrays.items()}
        lower, upper = (found[name].view(np.float32).reshape(-1, 3) for name in ("lower", "upper"))
        child, first, count = (found[name].view(np.int32) for name in ("child", "first", "count"))
        return BinaryTree(
            lower=lower,
            upper=upper,
            child=child,
            first=first,
            count=count,
            order=found["order"].view(np.uint32),
            triangle_block=self.triangle_block,
            build_seconds=self.seconds,
        )


def build(device: CudaDevice, triangles: Floats, leaves: Leaves, layout: str = bvh2.LAYOUT.name) -> DeviceTree | None:
    """Returns the tree that `bvh.ploc` builds, packed as by `pack` of the layout, both with the same bits; None where
    the CPU has to: where the root is a leaf, or the tree would be too deep or too large for the layout.

    device: the GPU; the calling thread is attached to it, and no kernel stays there.
    triangles: (t, 3, 3) float32, checked, C-contiguous.
    leaves: what they may be.
    layout: name of one that has `ploc` among its `gpu_builders`.

    Raises `TriangleError` for a corner that is not finite, `DeviceError` where the device has no room or does not
    answer.
    """
    if not 2 <= len(triangles) <= MAX_TRIANGLES:
        return None
    check_finite(triangles)
    return _JoiningBuild(device, triangles, leaves, layout).tree()


class _JoiningBuild:
    """Is one run of the kernels, in steps each of which is done when the next one begins."""

    def __init__(self, device: CudaDevice, triangles: Floats, leaves: Leaves, layout: str) -> None:
        self._device = device
        self._layout = layout
        self._count = count = len(triangles)
        self._leaves = leaves
        self._seconds: dict[str, float] = {}
        self._made: list[DeviceMemory] = []  # in this step
        self._program = DeviceProgram(device, PROGRAM)
        self._stream = Stream(device)
        room = triangles.nbytes + count * (CODE_BYTES + 6 * INDEX_BYTES + 2 * SUBTREE.itemsize)
        self._check_room(room)
        with self._step("upload"):
            self._triangles = DeviceMemory.holding(device, triangles)

    @contextmanager
    def _step(self, name: str, *given: Any) -> Iterator[None]:
        """Sees to it that what is started meanwhile is done in the end, and keeps the wall time that it took.

        given: what that reads, besides the triangles and what is made meanwhile.
        """
        start = time.perf_counter()
        try:
            yield
        finally:
            self._stream.finish(self, given)
        self._made.clear()
        self._seconds[name] = time.perf_counter() - start

    def tree(self) -> DeviceTree | None:
        """Returns what `build` does."""
        with self._step("locate"):
            row, greatest = self._located()
        with self._step("sort", row):
            row = self._sorted(row)
        with self._step("join", row, greatest):
            hierarchy, root_memory = self._joined(row, greatest)
        root = root_memory.copied().view(SUBTREE)[0]
        if root["inner"] == 0 or root["height"] > MAX_DEPTH:
            return None
        with self._step("number", hierarchy, row):
            tree, order = self._numbered(hierarchy, row, int(root["inner"]))
        del hierarchy, row  # room for the next step
        arrays = {name: memory for name, memory in tree.items() if name not in FOR_PACKING} | {"order": order}
        with self._step("pack", tree, order):
            packed = self._packed(tree, arrays, root)
        return DeviceTree(
            arrays=arrays,
            triangle_block=self._leaves.block,
            memory=packed.memory,
            packed=PackedTree(
                arrays={},
                scalars={"extent": max(0.0, *root["upper"].tolist(), *(-root["lower"]).tolist())},
                nodes=packed.nodes,
                stack=packed.stack,
            ),
            sah_cost=self._cost(root, tree["count"]),
            step_seconds=self._seconds,
        )

    def _located(self) -> tuple[Row, DeviceMemory]:
        """Returns the triangles with their places along the curve, in the caller's order, and their bounds as kernels
        have them.
        """
        row, greatest = self._row(), self._zeros(6 * INDEX_BYTES)
        curve: Members = {"triangles": self._triangles, "greatest": greatest, "count": self._count, **row._asdict()}
        blocks = self._program.blocks_for(self._count)
        self._program.start("bound", min(blocks, BOUND_BLOCKS), self._stream, **curve)
        self._program.start("locate", blocks, self._stream, **curve)
        return row, greatest

    def _sorted(self, row: Row) -> Row:
        """Returns the triangles in the order of the curve, those at the same place in the caller's order."""
        other = self._row()
        tiles = -(-self._count // TILE_KEYS)
        counts = {
            "tile_counts": self._memory(DIGITS * tiles * INDEX_BYTES),
            "digit_counts": self._memory(DIGITS * INDEX_BYTES),
        }
        for shift in range(0, CODE_BITS, DIGIT_BITS):
            keys = {"keys": row.codes, "indices": row.prim_ids}
            sorted_keys = {"sorted_keys": other.codes, "sorted_indices": other.prim_ids}
            sort: Members = {**keys, **sorted_keys, **counts, "count": self._count, "tiles": tiles, "shift": shift}
            self._program.start("count_digits", tiles, self._stream, **sort)
            self._program.start("scan_counts", DIGITS, self._stream, **sort)
            self._program.start("scatter", tiles, self._stream, **sort)
            row, other = other, row
        return row

    def _joined(self, row: Row, greatest: DeviceMemory) -> tuple[DeviceHierarchy, DeviceMemory]:
        """Returns the hierarchy of triangles in a row, and a `SUBTREE`, of all. greatest: their bounds."""
        hierarchy = DeviceHierarchy(
            subtrees=self._memory((2 * self._count - 1) * SUBTREE.itemsize),
            children=self._memory(2 * (self._count - 1) * INDEX_BYTES),
        )
        root = self._memory(SUBTREE.itemsize)
        one, other = ((self._memory(self._count * INDEX_BYTES), self._memory(ROW_STATE.itemsize)) for _ in range(2))
        members: Members = {
            **hierarchy._asdict(),
            "triangle_count": self._count,
            "triangles": self._triangles,
            "prim_ids": row.prim_ids,
            "greatest": greatest,
            "nearest": self._memory(self._count * INDEX_BYTES),
            "tile_pairs": self._memory(-(-self._count // TILE_KEYS) * INDEX_BYTES),
            "root": root,
            "max_leaf": self._leaves.max_leaf,
            "triangle_block": self._leaves.block,
        }
        ways = [
            self._program.record("plant", **members, row=now[0], next_row=then[0], state=now[1], next_state=then[1])
            for now, then in ((one, other), (other, one))
        ]
        self._program.launch("plant", self._program.blocks_for(self._count), self._stream, ways[0])
        length = self._count
        while length > 1:
            blocks, tiles = self._program.blocks_for(length), -(-length // TILE_KEYS)
            for way in ways * (ROUNDS_AHEAD // 2):
                for entry, count in (
                    ("find_nearest", blocks),
                    ("count_pairs", tiles),
                    ("scan_pairs", 1),
                    ("join_pairs", tiles),
                ):
                    self._program.launch(entry, count, self._stream, way)
            self._stream.finish(self, row, greatest)
            length = int(one[1].copied().view(ROW_STATE)["length"][0])
        return hierarchy, root

    def _numbered(
        self, hierarchy: DeviceHierarchy, row: Row, inner: int
    ) -> tuple[dict[str, DeviceMemory], DeviceMemory]:
        """Returns the arrays of `NODE_BYTES`, and (t,) uint32, which triangle each of the tree is.

        inner: how many inner nodes there are.
        """
        self._check_room(nodes_of(inner) * sum(NODE_BYTES.values()) + self._count * INDEX_BYTES)
        arrays = {name: self._memory(nodes_of(inner) * size) for name, size in NODE_BYTES.items()}
        order = self._memory(self._count * INDEX_BYTES)
        nodes: Members = {**hierarchy._asdict(), "triangle_count": self._count, **arrays}
        for entry in ("number", "list_triangles"):
            blocks = self._program.blocks_for(self._count)
            self._program.start(entry, blocks, self._stream, **nodes, prim_ids=row.prim_ids, order=order)
        return arrays, order

    def _packed(
        self, tree: Mapping[str, DeviceMemory], arrays: Mapping[str, DeviceMemory], root: Any
    ) -> device_collapse.PackedMemory:
        """Returns the tree as the layout has it.

        tree: the arrays of `NODE_BYTES`.
        arrays: those of a `BinaryTree`.
        root: a `SUBTREE`.
        """
        inner = int(root["inner"])
        if self._layout != bvh2.LAYOUT.name:
            binary = device_collapse.DeviceBinaryTree(
                arrays=arrays, inner=inner, triangles=self._triangles, triangle_count=self._count
            )
            return device_collapse.packed(self._device, self._stream, binary, self._layout)
        self._check_room(inner * bvh2.NODE.itemsize + self._count * PACKED_TRIANGLE.itemsize)
        nodes = self._memory(inner * bvh2.NODE.itemsize)
        triangles = self._memory(self._count * PACKED_TRIANGLE.itemsize)
        counts = {"tree_nodes": nodes_of(inner), "triangle_count": self._count}
        given: Members = {**tree, **counts, "triangles": self._triangles, "order": arrays["order"]}
        for entry, threads in (("pack_nodes", nodes_of(inner)), ("pack_triangles", self._count)):
            blocks = self._program.blocks_for(threads)
            self._program.start(entry, blocks, self._stream, **given, nodes=nodes, packed_triangles=triangles)
        # on the stack a child for each level, and the mark at the bottom
        memory = {"nodes": nodes, "triangles": triangles}
        return device_collapse.PackedMemory(memory=memory, nodes=inner, stack=int(root["height"]) + 1)

    def _cost(self, root: Any, counts: DeviceMemory) -> float:
        """Returns the expected cost of a ray that hits the root's box; without a surface that of all leaves, as
        `BinaryTree` has it. counts: (n,) int32, of triangles of each leaf.
        """
        x, y, z = (root["upper"].astype(np.float64) - root["lower"]).tolist()
        half_area = x * y + y * z + z * x
        if half_area > 0.0:
            return float(root["cost"]) / half_area
        return float((-(-counts.copied().view(np.int32) // self._leaves.block)).sum())

    def _check_room(self, size: int) -> None:
        self._device.check_room(self._count, "triangles whose tree the GPU builds", size)

    def _row(self) -> Row:
        return Row(self._memory(self._count * CODE_BYTES), self._memory(self._count * INDEX_BYTES))

    def _memory(self, size: int) -> DeviceMemory:
        memory = DeviceMemory(self._device, size)
        self._made.append(memory)
        return memory

    def _zeros(self, size: int) -> DeviceMemory:
        """Returns memory that is zero for what comes behind in the stream."""
        memory = self._memory(size)
        self._stream.clear(memory.address, size)
        return memory


def nodes_of(inner: int) -> int:
    """Returns how many nodes a binary tree of so many inner ones has."""
    return 2 * inner + 1
