"""Computes the rate that a GPU could reach if memory took no time: rays over the clocks that it needs to issue all
instructions, or that its ALU pipe needs for those which go there.

Aila, Laine: Understanding the Efficiency of Ray Traversal on GPUs, 2009, section 3.
"""

import numpy as np

from tracecore.analysis.instruction_counts import StepInstructions
from tracecore.analysis.simulator import Schedule, SimulatedWork
from tracecore.cuda.gpus import Gpu

#: Instructions by which lanes change a ray against one of a queue: 15 words (ray, hit so far, node, leaf, height of the
#: stack) are written to shared memory, and 15 are read.
MOVE_INSTRUCTIONS = 30.0


def instructions(schedule: Schedule, costs: StepInstructions, move: float = MOVE_INSTRUCTIONS) -> float:
    """Returns how many instructions warps issue in a schedule.

    schedule: what the warps do.
    costs: instructions that a warp issues for each kind of step.
    move: instructions for one change of rays between lanes and a queue.
    """
    of_work = {
        SimulatedWork.NODE: costs.node,
        SimulatedWork.LEAF: costs.leaf,
        SimulatedWork.TRIANGLE: costs.triangle,
        SimulatedWork.INSIDE: costs.inside,
        SimulatedWork.RAYS: costs.ray,
        SimulatedWork.ITERATION: costs.iteration,
        SimulatedWork.MOVE: move,
    }
    return float(np.dot(schedule.issued, [of_work[work] for work in SimulatedWork]))


def bound(schedule: Schedule, rays: int, costs: StepInstructions, gpu: Gpu, move: float = MOVE_INSTRUCTIONS) -> float:
    """Returns millions of rays per second at most; infinite for a schedule without instructions.

    schedule: what the warps do for the rays.
    rays: how many rays these are.
    costs: instructions that a warp issues for each kind of step.
    gpu: the GPU whose rates of instructions count.
    move: instructions for one change of rays between lanes and a queue.
    """
    clocks = instructions(schedule, costs, move) / gpu.issue
    if costs.alu is not None:  # moves go to shared memory
        clocks = max(clocks, instructions(schedule, costs.alu, move=0.0) / gpu.alu)
    return rays / clocks * gpu.clock_rate(schedule.width) / 1e6 if clocks else float("inf")
