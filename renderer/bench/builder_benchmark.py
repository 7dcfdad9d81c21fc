"""Builders of binary trees are compared as Günther, Popov, Seidel, Slusallek compare theirs: Realtime Ray Tracing on
GPU with BVH-based Packet Traversal, 2007, table 1.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from renderer.bench.table import aligned, number, share
from tracecore.bvh import binned_sah, ploc, sweep_sah
from tracecore.bvh.reinsertion import reinserted
from tracecore.bvh.tree import BinaryTree
from tracecore.rays import Floats

#: The builder that others are compared with.
EXACT = "exact"


def _binned(triangles: Floats) -> BinaryTree:
    return binned_sah.build(triangles, threads=1)


def _fast(triangles: Floats) -> BinaryTree:
    return binned_sah.build(triangles, binning=binned_sah.FAST_BINNING, threads=1)


def _ploc(triangles: Floats) -> BinaryTree:
    return ploc.build(triangles, threads=1)


def _reinserted(triangles: Floats) -> BinaryTree:
    return reinserted(_binned(triangles), threads=1)


#: Ways to build a tree whose leaves hold at most four triangles.
BUILDERS: Mapping[str, Callable[[Floats], BinaryTree]] = {
    EXACT: sweep_sah.build,
    "binned": _binned,
    "fast": _fast,
    "ploc": _ploc,
    "reinserted": _reinserted,
}


@dataclass(frozen=True, kw_only=True)
class BuiltTree:
    """Holds what was measured of a builder on a scene.

    seconds, least, most: median and range over rounds, on one core, sorting included.
    nodes: how many nodes the binary tree has.
    sah_cost: expected cost of a ray by the surface area heuristic.
    """

    builder: str
    seconds: float
    least: float
    most: float
    nodes: int
    sah_cost: float


def built_trees(triangles: Floats, repeats: int) -> list[BuiltTree]:
    """Measures all builders on the same triangles.

    triangles: (t, 3, 3) float32, finite.
    repeats: rounds, in each of which every builder runs once. One more round comes first and is not counted, so that no
    time is spent on loading machine code.
    """
    rounds = [{name: build(triangles) for name, build in BUILDERS.items()} for _ in range(repeats + 1)][1:]
    return [_built(name, [of_round[name] for of_round in rounds]) for name in BUILDERS]


def _built(name: str, trees: list[BinaryTree]) -> BuiltTree:
    seconds = [tree.build_seconds for tree in trees]
    return BuiltTree(
        builder=name,
        seconds=median(seconds),
        least=min(seconds),
        most=max(seconds),
        nodes=len(trees[0].child),
        sah_cost=trees[0].sah_cost,
    )


def quality(trees: Sequence[BuiltTree], name: str) -> float:
    """Returns the cost of the exact builder's tree over that of the named builder: 1 is as good, less is worse."""
    cost = {tree.builder: tree.sah_cost for tree in trees}
    return cost[EXACT] / cost[name]


def table(trees: Sequence[BuiltTree]) -> str:
    """Returns a line for each builder: seconds and their range, nodes, cost and quality."""
    rows = [
        [
            tree.builder,
            f"{tree.seconds:.3g} ({tree.least:.3g}-{tree.most:.3g})",
            str(tree.nodes),
            number(tree.sah_cost),
            share(quality(trees, tree.builder)),
        ]
        for tree in trees
    ]
    return aligned([["builder", "seconds", "nodes", "SAH cost", "quality"], *rows])
