"""Describes how a kernel's loop is organised: what the lanes of a warp do together, and in which order."""

from dataclasses import dataclass

#: Stands for as often as any lane wants it.
UNTIL_NONE_WANTS = 1 << 30


@dataclass(frozen=True, kw_only=True)
class Loop:
    """Says what an iteration of a loop does: lanes visit inner nodes, then they pick up leaves and test their
    triangles.

    nodes: visits in an iteration, at most.
    leaves: leaves picked up in an iteration, at most.
    tests: tested triangles of each leaf, at most.
    """

    nodes: int = UNTIL_NONE_WANTS
    leaves: int = UNTIL_NONE_WANTS
    tests: int = UNTIL_NONE_WANTS


#: Aila, Laine: Understanding the Efficiency of Ray Traversal on GPUs, 2009, for these two.
WHILE_WHILE = Loop()
IF_IF = Loop(nodes=1, leaves=1, tests=1)

#: A node, and then all triangles of a leaf. Lier, Stamminger, Selgrad: CPU-Style SIMD Ray Traversal on GPUs, 2018.
NODE_THEN_LEAF = Loop(nodes=1, leaves=1)
