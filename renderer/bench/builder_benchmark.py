"""Builders of binary trees are compared as Günther, Popov, Seidel, Slusallek compare theirs: Realtime Ray Tracing on
GPU with BVH-based Packet Traversal, 2007, table 1.
"""

import gc
import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

from renderer.bench.table import MISSING, aligned, number, share
from tracecore.bvh import binned_sah, lbvh, ploc, sweep_sah
from tracecore.bvh.reinsertion import reinserted
from tracecore.bvh.tree import BinaryTree
from tracecore.rays import Floats

#: The builder that others are compared with.
EXACT = "exact"

#: Triangles that are built before anything is measured, so that no time is spent on loading machine code.
FIRST_TRIANGLES = 1000

#: Builds a tree with so many threads, None for all cores.
Build = Callable[[Floats, int | None], BinaryTree]


@dataclass(frozen=True, kw_only=True)
class Way:
    """Is a way to build a tree whose leaves hold at most four triangles.

    uses_threads: whether more threads than one build.
    most: triangles that it is tried with, at most.
    beyond: what there is to say of it with more.
    """

    build: Build
    uses_threads: bool = True
    most: int = sys.maxsize
    beyond: str = ""


def _exact(triangles: Floats, _threads: int | None) -> BinaryTree:
    return sweep_sah.build(triangles)


def _binned(triangles: Floats, threads: int | None) -> BinaryTree:
    return binned_sah.build(triangles, threads=threads)


def _fast(triangles: Floats, threads: int | None) -> BinaryTree:
    return binned_sah.build(triangles, binning=binned_sah.FAST_BINNING, threads=threads)


def _ploc(triangles: Floats, threads: int | None) -> BinaryTree:
    return ploc.build(triangles, threads=threads)


def _lbvh(triangles: Floats, _threads: int | None) -> BinaryTree:
    return lbvh.build(triangles)


def _reinserted(triangles: Floats, threads: int | None) -> BinaryTree:
    return reinserted(_binned(triangles, threads), threads=threads)


BUILDERS: Mapping[str, Way] = {
    EXACT: Way(build=_exact, uses_threads=False, most=4_000_000, beyond="it takes minutes"),
    "binned": Way(build=_binned),
    "fast": Way(build=_fast),
    "ploc": Way(build=_ploc),
    "lbvh": Way(build=_lbvh, uses_threads=False),
    "reinserted": Way(build=_reinserted),
}


@dataclass(frozen=True, kw_only=True)
class BuiltTree:
    """Holds what was measured of a builder on a scene.

    seconds, least, most: median and range over rounds, processor time of one thread, sorting included.
    thread_seconds: median wall time of all threads; None where one thread builds.
    bytes: the most that arrays took while it was built, for each triangle, the tree included.
    nodes: how many nodes the binary tree has.
    sah_cost: expected cost of a ray by the surface area heuristic.
    """

    builder: str
    seconds: float
    least: float
    most: float
    thread_seconds: float | None
    bytes: float
    nodes: int
    sah_cost: float


def builders_for(triangles: int) -> list[str]:
    """Returns the names of the builders that are tried with so many triangles."""
    return [name for name, way in BUILDERS.items() if triangles <= way.most]


def left_out(triangles: int) -> list[str]:
    """Returns a line for each builder that is not tried with so many triangles: why."""
    return [
        f"{name} is left out: with more than {way.most} triangles {way.beyond}"
        for name, way in BUILDERS.items()
        if triangles > way.most
    ]


def built_trees(triangles: Floats, repeats: int, threads: int | None = None) -> list[BuiltTree]:
    """Measures the builders on the same triangles, each as `builders_for` has it.

    triangles: (t, 3, 3) float32, finite, t > 0.
    repeats: rounds, in each of which every builder runs once by one thread, and once by all if it uses them.
    threads: all of them, None for all cores.
    """
    names = builders_for(len(triangles))
    for name in names:
        BUILDERS[name].build(triangles[:FIRST_TRIANGLES], threads)
    rounds = [{name: _seconds(BUILDERS[name], triangles, threads) for name in names} for _ in range(repeats)]
    return [_built(name, triangles, [of_round[name] for of_round in rounds]) for name in names]


def _seconds(way: Way, triangles: Floats, threads: int | None) -> tuple[float, float | None]:
    """Returns the processor time of one thread, and the wall time of all, or None if one thread builds."""
    alone = _elapsed(time.process_time, partial(way.build, triangles, 1))
    return alone, _elapsed(time.perf_counter, partial(way.build, triangles, threads)) if way.uses_threads else None


def _elapsed(clock: Callable[[], float], action: Callable[[], object]) -> float:
    start = clock()
    action()
    return clock() - start


def _built(name: str, triangles: Floats, rounds: Sequence[tuple[float, float | None]]) -> BuiltTree:
    alone = [seconds for seconds, _ in rounds]
    together = [seconds for _, seconds in rounds if seconds is not None]
    tree, peak = _tree_and_peak(partial(BUILDERS[name].build, triangles, 1))
    return BuiltTree(
        builder=name,
        seconds=median(alone),
        least=min(alone),
        most=max(alone),
        thread_seconds=median(together) if together else None,
        bytes=peak / len(triangles),
        nodes=len(tree.child),
        sah_cost=tree.sah_cost,
    )


def _tree_and_peak(build: Callable[[], BinaryTree]) -> tuple[BinaryTree, int]:
    """Returns a tree, and the most bytes that Python and NumPy took while it was built."""
    gc.collect()
    tracemalloc.start()
    try:
        tree = build()
        return tree, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def quality(trees: Sequence[BuiltTree], name: str) -> float | None:
    """Returns the cost of the exact builder's tree over that of the named builder: 1 is as good, less is worse. It is
    None where the exact builder was not tried.
    """
    cost = {tree.builder: tree.sah_cost for tree in trees}
    return cost[EXACT] / cost[name] if EXACT in cost else None


def table(trees: Sequence[BuiltTree]) -> str:
    """Returns a line for each builder: seconds with their range and of all threads, bytes, nodes, cost and quality."""
    rows = [
        [
            tree.builder,
            f"{tree.seconds:.3g} ({tree.least:.3g}-{tree.most:.3g})",
            MISSING if tree.thread_seconds is None else f"{tree.thread_seconds:.3g}",
            f"{tree.bytes:.0f}",
            str(tree.nodes),
            number(tree.sah_cost),
            share(quality(trees, tree.builder)),
        ]
        for tree in trees
    ]
    heads = ["builder", "s, one thread", "s, all threads", "bytes a triangle", "nodes", "SAH cost", "quality"]
    return aligned([heads, *rows])
