"""What a GPU could reach if memory took no time: rays over the clocks that it needs to issue all instructions.

Aila, Laine: Understanding the Efficiency of Ray Traversal on GPUs, 2009, section 3.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tracecore.simulator import Schedule, Work

#: Instructions by which lanes change a ray against one of a queue: 15 words (ray, hit so far, node, leaf, height of the
#: stack) are written to shared memory, and 15 are read.
MOVE_INSTRUCTIONS = 30.0


class StepCosts(Protocol):
    """Instructions that a warp issues for a step of each kind, for new rays, and for a turn of the loop around them."""

    @property
    def node(self) -> float: ...
    @property
    def leaf(self) -> float: ...
    @property
    def triangle(self) -> float: ...
    @property
    def inside(self) -> float: ...
    @property
    def ray(self) -> float: ...
    @property
    def turn(self) -> float: ...


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """A GPU. multiprocessors: their number. clock: GHz, the highest in normal use. issue: instructions of a warp that a
    multiprocessor begins in a clock. width: lanes of a warp. arch: to compile for, the nearest one there is."""

    name: str
    multiprocessors: int
    clock: float
    issue: float
    arch: str
    width: int = 32

    def instruction_rate(self, width: int) -> float:
        """Instructions per second of warps that are so wide: as many lanes in all as it has."""
        return self.multiprocessors * self.clock * 1e9 * self.issue * self.width / width


#: By name, as in the vendor's documents: NVIDIA H100 Tensor Core GPU Architecture, 2022 (four schedulers, each begins
#: an instruction a clock), with NVIDIA H200 Tensor Core GPU, data sheet, 2024; NVIDIA Ada GPU Architecture, 2022;
#: NVIDIA A100 Tensor Core GPU Architecture, 2020; NVIDIA CUDA Programming Guide 2.2, 2009 (a warp's instruction takes
#: four clocks of eight processors), with GeForce GTX 285, specifications, 2009. The last one is the GPU of the paper;
#: no compiler of today knows it, so its instructions are those of a later one.
GPUS = {
    gpu.name: gpu
    for gpu in (
        Gpu(name="h200", multiprocessors=132, clock=1.98, issue=4.0, arch="sm_90"),
        Gpu(name="rtx-4090", multiprocessors=128, clock=2.52, issue=4.0, arch="sm_89"),
        Gpu(name="a100", multiprocessors=108, clock=1.41, issue=4.0, arch="sm_80"),
        Gpu(name="gtx-285", multiprocessors=30, clock=1.476, issue=0.25, arch="sm_75"),
    )
}


def instructions(schedule: Schedule, costs: StepCosts, move: float = MOVE_INSTRUCTIONS) -> float:
    """That warps issue in a schedule. move: for one change of rays between lanes and a queue."""
    of_work = {
        Work.NODE: costs.node,
        Work.LEAF: costs.leaf,
        Work.TRIANGLE: costs.triangle,
        Work.INSIDE: costs.inside,
        Work.RAYS: costs.ray,
        Work.TURN: costs.turn,
        Work.MOVE: move,
    }
    return float(np.dot(schedule.issued, [of_work[work] for work in Work]))


def bound(schedule: Schedule, rays: int, costs: StepCosts, gpu: Gpu, move: float = MOVE_INSTRUCTIONS) -> float:
    """Millions of rays per second, for a schedule of so many rays; infinite for a schedule without instructions."""
    issued = instructions(schedule, costs, move)
    return rays / issued * gpu.instruction_rate(schedule.width) / 1e6 if issued else float("inf")
