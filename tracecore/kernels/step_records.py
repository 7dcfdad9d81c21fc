"""Defines the steps that kernels mark, and the records that a build for counting writes, as in `steps.cuh`."""

import enum

import numpy as np

#: Lanes of a warp.
WARP_LANES = 32


class Step(enum.IntEnum):
    """Names a kind of step, as in `kernels/steps.cuh`: an inner node visited, a leaf picked up, a triangle tested (by
    lanes side by side one each), and a test in which the ray's line passes inside of the edges.
    """

    NODE = 0
    LEAF = 1
    TRIANGLE = 2
    INSIDE = 3


#: The emulator's log has this in place of a step where an iteration of a kernel's loop ends, see `mark_iteration`.
ITERATION = len(Step)

#: Counts of all warps: how often a step was issued, and lanes with work of their own in it.
COUNTS = np.dtype([("issued", "<u8", len(Step)), ("useful", "<u8", len(Step))])
#: Counts of a ray: its steps, and lanes without work while its nodes were visited and its triangles tested.
RAY_COUNTS = np.dtype([("steps", "<u4", len(Step)), ("idle", "<u4"), ("unused", "<u4", 3)])
#: Named constants for every kernel.
DEFINES = {"COUNTS_BYTES": str(COUNTS.itemsize), "RAY_COUNTS_BYTES": str(RAY_COUNTS.itemsize)}
