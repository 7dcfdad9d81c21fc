"""Says what kernels do for rays, step by step: totals from a device, whole sequences from the emulator.

Kernels mark their steps (`kernels/steps.cuh`); a build for counting adds them up or logs them. Steps and efficiency are
those of Aila, Laine: Understanding the Efficiency of Ray Traversal on GPUs, 2009.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tracecore.errors import KernelError
from tracecore.kernels.step_records import COUNTS, ITERATION, RAY_COUNTS, WARP_LANES, Step
from tracecore.rays import HIT, RAY

if TYPE_CHECKING:
    from tracecore.kernels.strategy import KernelStrategy

Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True, eq=False)
class StepCounts:
    """Holds what was counted of rays that a device traced.

    steps: (n, 4) by `Step`, in which each ray took part.
    idle: (n,) as in `RAY_COUNTS`.
    issued, useful: (4,) as in `COUNTS`.
    """

    steps: Integers
    idle: Integers
    issued: Integers
    useful: Integers

    @classmethod
    def read(cls, memory: Bytes) -> StepCounts:
        """Reads the bytes of `COUNTS`, and of the `RAY_COUNTS` of each ray behind them."""
        totals = memory[: COUNTS.itemsize].view(COUNTS)[0]
        rays = memory[COUNTS.itemsize :].view(RAY_COUNTS)
        issued, useful = totals["issued"].astype(np.int64), totals["useful"].astype(np.int64)
        return cls(
            steps=rays["steps"].astype(np.int64), idle=rays["idle"].astype(np.int64), issued=issued, useful=useful
        )

    @classmethod
    def joined(cls, parts: list[StepCounts]) -> StepCounts:
        """Returns the counts of launches one after the other as those of one."""
        return cls(
            steps=np.concatenate([part.steps for part in parts]),
            idle=np.concatenate([part.idle for part in parts]),
            issued=sum((part.issued for part in parts), np.zeros(len(Step), np.int64)),
            useful=sum((part.useful for part in parts), np.zeros(len(Step), np.int64)),
        )

    def efficiency(self, step: Step) -> float | None:
        """Returns the share of a warp's lanes that had work of their own in such steps; None if there was none."""
        issued = int(self.issued[step])
        return int(self.useful[step]) / (WARP_LANES * issued) if issued else None

    @property
    def inactive(self) -> npt.NDArray[np.float64]:
        """Returns the share of lanes without work while a ray had nodes visited and triangles tested, (n,); 0 if it had
        none.
        """
        lanes = WARP_LANES * (self.steps[:, Step.NODE] + self.steps[:, Step.TRIANGLE])
        return np.divide(self.idle, lanes, out=np.zeros(len(lanes)), where=lanes > 0)

    def per_ray(self, strategy: KernelStrategy) -> StepsPerRay:
        """Returns the means over all rays."""
        nodes, triangles = (float(self.steps[:, step].mean()) for step in (Step.NODE, Step.TRIANGLE))
        if strategy.lanes_per_ray > 1:
            triangles = int(self.useful[Step.TRIANGLE]) / len(self.steps)
        return replace(
            StepsPerRay.of(strategy, nodes, triangles),
            node_efficiency=self.efficiency(Step.NODE),
            triangle_efficiency=self.efficiency(Step.TRIANGLE),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class StepSequences:
    """Holds the steps that a kernel did, item after item. An item is what goes through the tree together: a ray, or a
    packet.

    kinds: (n,) `Step`, within an item in the order of time; INSIDE follows its TRIANGLE.
    useful: (n,) lanes of the item with work of their own in each step.
    starts: (items + 1,) where each item's steps begin.
    lanes, rays: how many an item has.
    iteration_ends: before which steps iterations of the kernel's loop ended, of items of one lane; none where the
    kernel does not mark them.
    """

    kinds: Bytes
    useful: Bytes
    starts: Integers
    lanes: int
    rays: int
    iteration_ends: Integers = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def items(self) -> int:
        return len(self.starts) - 1

    def total(self, step: Step) -> int:
        """Returns how many such steps all items have."""
        return int(np.count_nonzero(self.kinds == step))

    def total_useful(self, step: Step) -> int:
        """Returns how many lanes of all items had work of their own in such steps."""
        return int(self.useful[self.kinds == step].sum(dtype=np.int64))

    @property
    def of_items(self) -> Integers:
        """Returns how many steps each item has, (items, 4) by `Step`."""
        item = np.repeat(np.arange(self.items), np.diff(self.starts))
        cells = item * len(Step) + self.kinds
        return np.bincount(cells, minlength=self.items * len(Step)).reshape(-1, len(Step))

    def per_ray(self, strategy: KernelStrategy) -> StepsPerRay:
        """Returns the means over all items."""
        nodes = self.total(Step.NODE) / self.items
        of_groups = strategy.lanes_per_ray > 1
        triangles = (self.total_useful if of_groups else self.total)(Step.TRIANGLE) / self.items
        return StepsPerRay.of(strategy, nodes, triangles)

    @classmethod
    def joined(cls, parts: list[StepSequences]) -> StepSequences:
        """Returns sequences of one kernel joined, one after the other."""
        ends = np.cumsum([0, *(len(part.kinds) for part in parts)])
        return cls(
            kinds=np.concatenate([part.kinds for part in parts]),
            useful=np.concatenate([part.useful for part in parts]),
            starts=np.concatenate(
                [*(part.starts[:-1] + end for part, end in zip(parts, ends, strict=False)), ends[-1:]]
            ),
            lanes=parts[0].lanes,
            rays=parts[0].rays,
            iteration_ends=np.concatenate([part.iteration_ends + end for part, end in zip(parts, ends, strict=False)]),
        )

    @classmethod
    def decoded(cls, entries: npt.NDArray[np.uint64], rays: int, strategy: KernelStrategy) -> StepSequences:
        """Reads the emulator's log of so many rays, in the order of time.

        entries: (n,) uint64, ray << 32 | lane << 16 | has work << 8 | kind, which is that of a `Step` or `ITERATION`.
        rays: how many rays were traced.
        strategy: the kernel that traced them.
        """
        ray = (entries >> np.uint64(32)).astype(np.int64)
        item = ray // strategy.packet_rays
        lane = ((entries >> np.uint64(16)) & np.uint64(0xFFFF)).astype(np.int64) + ray % strategy.packet_rays
        order = np.lexsort((lane, item))
        kinds = (entries & np.uint64(0xFF)).astype(np.uint8)[order]
        useful = ((entries >> np.uint64(8)) & np.uint64(1)).astype(np.uint8)[order]
        lanes = strategy.lanes_per_ray * strategy.packet_rays
        item, lane = item[order], lane[order]
        ends = np.flatnonzero(kinds == ITERATION)
        item, lane, kinds, useful = (np.delete(values, ends) for values in (item, lane, kinds, useful))
        ends -= np.arange(len(ends))
        if lanes > 1:
            ends = ends[:0]
            item, kinds, useful = _together(item, lane, kinds, useful)
        items = -(-rays // strategy.packet_rays)
        starts = np.searchsorted(item, np.arange(items + 1))
        return cls(
            kinds=kinds, useful=useful, starts=starts, lanes=lanes, rays=strategy.packet_rays, iteration_ends=ends
        )


def _together(item: Integers, lane: Integers, kinds: Bytes, useful: Bytes) -> tuple[Integers, Bytes, Bytes]:
    """Returns the steps of an item's lanes, which all take the same ones, as steps of the item."""
    is_step = kinds != Step.INSIDE
    is_inside = np.append(~is_step[1:], False)[is_step]
    item, lane, kinds, useful = item[is_step], lane[is_step], kinds[is_step], useful[is_step]
    begins = np.flatnonzero(np.append(True, (item[1:] != item[:-1]) | (lane[1:] != lane[:-1])))
    rank = np.arange(len(item)) - np.repeat(begins, np.diff(np.append(begins, len(item))))
    order = np.lexsort((rank, item))
    item, rank, kinds = item[order], rank[order], kinds[order]
    firsts = np.flatnonzero(np.append(True, (item[1:] != item[:-1]) | (rank[1:] != rank[:-1])))
    count = np.diff(np.append(firsts, len(item)))
    if not np.array_equal(np.repeat(kinds[firsts], count), kinds):
        raise KernelError(
            "lanes that go through the tree together took different steps; see packet_rays, lanes_per_ray"
        )
    item, kinds = item[firsts], kinds[firsts]
    lanes_useful = np.add.reduceat(useful[order].astype(np.int64), firsts).astype(np.uint8)
    lanes_inside = np.add.reduceat(is_inside[order].astype(np.int64), firsts).astype(np.uint8)
    after = np.flatnonzero(lanes_inside)

    def with_inside(values: npt.NDArray[Any], those: Any) -> npt.NDArray[Any]:
        return np.insert(values, after + 1, those)

    return (
        with_inside(item, item[after]),
        with_inside(kinds, Step.INSIDE),
        with_inside(lanes_useful, lanes_inside[after]),
    )


@dataclass(frozen=True, kw_only=True)
class StepsPerRay:
    """Holds means over rays.

    nodes: how many are visited.
    triangles: how many are tested.
    bytes: of nodes, triangles, ray and hit, if no cache held any; None where the layout does not say how large a node
    is.
    node_efficiency, triangle_efficiency: share of a warp's lanes that had work of their own; None where it is not
    known.
    """

    nodes: float
    triangles: float
    bytes: float | None
    node_efficiency: float | None = None
    triangle_efficiency: float | None = None

    @classmethod
    def of(cls, strategy: KernelStrategy, nodes: float, triangles: float) -> StepsPerRay:
        """Returns the means with the bytes that a kernel reads for so many; a packet reads a node or a triangle
        once.
        """
        defines = strategy.layout.defines
        size = None
        if "NODE_BYTES" in defines:
            triangle_bytes = int(defines.get("TRIANGLE_BYTES", 0)) or 3 * int(defines.get("CORNER_BYTES", 0))
            read = nodes * int(defines["NODE_BYTES"]) + triangles * triangle_bytes
            size = read / strategy.packet_rays + RAY.itemsize + HIT.itemsize
        return cls(nodes=nodes, triangles=triangles, bytes=size)
