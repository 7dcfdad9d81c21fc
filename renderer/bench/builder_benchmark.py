"""Builders of binary trees are compared as Günther, Popov, Seidel, Slusallek compare theirs: Realtime Ray Tracing on
GPU with BVH-based Packet Traversal, 2007, table 1. Then kernels are measured on the trees of each builder that a render
can choose, with the same rays, and the builder that a GPU runs is timed step by step, beside the CPU.
"""

import argparse
import gc
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from statistics import median
from typing import Any

from renderer.bench.kernel_benchmark import Comparison, KernelFacts, KernelMeasurement, compare, over_views
from renderer.bench.ray_sources import PlannedRays
from renderer.bench.table import MISSING, aligned, number, rate_cell, share
from renderer.bench.workload import Workload
from renderer.plain_text import rounded
from scenes.model import Snapshot
from tracecore import Device
from tracecore.benchmarks.tree_time import KERNELS, TreeTime, tree_time
from tracecore.bvh import binned_sah, ploc, sweep_sah
from tracecore.bvh.builders import BUILDERS
from tracecore.bvh.reinsertion import reinserted
from tracecore.bvh.tree import BinaryTree
from tracecore.rays import Floats

#: The builder that others are compared with.
EXACT = "exact"

#: Triangles that are built before anything is measured, so that no time is spent on loading machine code.
FIRST_TRIANGLES = 1000

#: A row of a file of figures, by its keys in `figure_keys.BUILDERS`.
Row = dict[str, Any]

#: Builds a tree with so many threads, None for all cores.
Build = Callable[[Floats, int | None], BinaryTree]


@dataclass(frozen=True, kw_only=True)
class BuildWay:
    """Is a way to build a tree whose leaves hold at most four triangles.

    uses_threads: whether more threads than one build.
    most: triangles that it is tried with, at most.
    beyond: what there is to say of it with more.
    """

    build: Build
    uses_threads: bool = True
    most: int = sys.maxsize
    beyond: str = ""


WAYS: Mapping[str, BuildWay] = {
    EXACT: BuildWay(
        build=lambda triangles, _: sweep_sah.build(triangles),
        uses_threads=False,
        most=4_000_000,
        beyond="it takes minutes",
    ),
    "binned": BuildWay(build=lambda triangles, threads: binned_sah.build(triangles, threads=threads)),
    "fast": BuildWay(
        build=lambda triangles, threads: binned_sah.build(triangles, binning=binned_sah.FAST_BINNING, threads=threads)
    ),
    "ploc": BuildWay(build=lambda triangles, threads: ploc.build(triangles, threads=threads)),
    "reinserted": BuildWay(
        build=lambda triangles, threads: reinserted(binned_sah.build(triangles, threads=threads), threads=threads)
    ),
}


@dataclass(frozen=True, kw_only=True)
class BuiltTree:
    """Holds what was measured of a builder on a scene, as `figure_keys.BUILDERS` explains it."""

    builder: str
    seconds: float
    least: float
    most: float
    thread_seconds: float | None
    bytes: float
    nodes: int
    sah_cost: float


def scene_figures(
    arguments: argparse.Namespace, snapshot: Snapshot, device: Device, kernels: Sequence[str]
) -> dict[str, list[Row]]:
    """Measures the builders on a scene, the one that a GPU has of its own, and kernels on their trees; prints the
    tables, and returns the rows of each list of `figure_keys.BUILDERS`.

    arguments: those of `renderer.commands.bench_builders`.
    kernels: names, none where no rays are traced.
    """
    triangles, repeats, threads = snapshot.positions, arguments.repeat, arguments.threads
    heading = f"{snapshot.name}, {len(triangles)} triangles"
    trees = built_trees(triangles, repeats, threads)
    print(f"{heading}\n{table(trees)}", flush=True)
    print("".join(f"{line}\n" for line in left_out(len(triangles))), end="", flush=True)
    found: dict[str, list[Row]] = {"rows": [asdict(one) | {"quality": quality(trees, one.builder)} for one in trees]}
    if device == "gpu":
        times = [tree_time(triangles, repeats, kernel) for kernel in KERNELS]
        print(f"{heading}\n{time_table(times)}", flush=True)
        found["times"] = [time_row(one) for one in times]
    if kernels:
        workload = Workload(PlannedRays.chosen(arguments, snapshot, KINDS).sets)
        rounds = {"repeats": repeats, "threads": threads}
        rates = tree_rates(device, lambda name: compare(snapshot, device, kernels, workload, builder=name, **rounds))
        print(f"{heading}, on the {device}\n{rate_table(rates)}", flush=True)
        found["rates"] = rate_rows(rates)
    about = {"scene": snapshot.name, "triangles": len(triangles)}
    return {key: [about | row for row in rows] for key, rows in found.items()}


def builders_for(triangles: int) -> list[str]:
    """Returns the names of the builders that are tried with so many triangles."""
    return [name for name, way in WAYS.items() if triangles <= way.most]


def left_out(triangles: int) -> list[str]:
    """Returns a line for each builder that is not tried with so many triangles: why."""
    return [
        f"{name} is left out: with more than {way.most} triangles {way.beyond}"
        for name, way in WAYS.items()
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
        WAYS[name].build(triangles[:FIRST_TRIANGLES], threads)
    rounds = [{name: _seconds(WAYS[name], triangles, threads) for name in names} for _ in range(repeats)]
    return [_built(name, triangles, [of_round[name] for of_round in rounds]) for name in names]


def _seconds(way: BuildWay, triangles: Floats, threads: int | None) -> tuple[float, float | None]:
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
    tree, peak = _tree_and_peak(partial(WAYS[name].build, triangles, 1))
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
            f"{rounded(tree.seconds, 3)} ({rounded(tree.least, 3)}-{rounded(tree.most, 3)})",
            MISSING if tree.thread_seconds is None else rounded(tree.thread_seconds, 3),
            f"{tree.bytes:.0f}",
            str(tree.nodes),
            number(tree.sah_cost),
            share(quality(trees, tree.builder)),
        ]
        for tree in trees
    ]
    heads = ["builder", "s, one thread", "s, all threads", "bytes a triangle", "nodes", "SAH cost", "quality"]
    return aligned([heads, *rows])


def time_table(found: Sequence[TreeTime]) -> str:
    """Returns lines for each layout, with the milliseconds of each step, by the GPU and by the CPU."""
    rows = [["ploc for a GPU, wall ms", "step by step", "all (range)"]]
    for one in found:
        for where, steps, rounds in (("the GPU", one.gpu, one.gpu_rounds), ("the CPU", one.cpu, one.cpu_rounds)):
            each = ", ".join(f"{name} {rounded(1e3 * seconds, 3)}" for name, seconds in steps.items())
            least, most = (rounded(1e3 * seconds, 3) for seconds in (min(rounds), max(rounds)))
            middle = rounded(1e3 * median(rounds), 3)
            rows.append([f"{one.layout}, built and packed by {where}", each, f"{middle} ({least}-{most})"])
    return aligned(rows)


def time_row(found: TreeTime) -> Row:
    """Returns the figures for a file, by their keys in `figure_keys.BUILDERS`."""
    return {
        "layout": found.layout,
        "gpu": dict(found.gpu),
        "cpu": dict(found.cpu),
        "gpu_seconds": median(found.gpu_rounds),
        "cpu_seconds": median(found.cpu_rounds),
    }


#: What is told of each kernel, one after the other.
Steps = Iterable[tuple[KernelFacts, list[KernelMeasurement]]]

#: Kinds of rays that trees are compared on: coherent, incoherent, and those of photons.
KINDS = ("primary", "bounce1", "photon")


def tree_rates(device: Device, measured: Callable[[str], Steps]) -> dict[str, Comparison]:
    """Returns what kernels do on the trees of each builder that renders can choose, over all view points, by the name
    of the builder, the default first. Rates are relative to those on the default builder's trees.

    measured: measures all kernels, by `kernel_benchmark.compare`, on trees of the builder of a name.
    """
    found = {builder: _compared(device, measured(builder)) for builder in BUILDERS}
    right = (one for one in found[next(iter(BUILDERS))].measurements if not one.wrong)
    defaults = {(one.kernel, one.kind): one.rate for one in right}

    def over_default(one: KernelMeasurement) -> KernelMeasurement:
        default = None if one.wrong else defaults.get((one.kernel, one.kind))
        return replace(one, relative=None if default is None else one.rate / default)

    return {
        builder: replace(compared, measurements=tuple(map(over_default, compared.measurements)))
        for builder, compared in found.items()
    }


def _compared(device: Device, steps: Steps) -> Comparison:
    """Returns what was measured on the trees of one builder, over all view points."""
    facts, measurements = zip(*steps, strict=True)
    every = tuple(one for of_kernel in measurements for one in of_kernel)
    return over_views(Comparison(device=device, baseline=facts[0].kernel, kernels=facts, measurements=every))


def rate_rows(found: Mapping[str, Comparison]) -> list[Row]:
    """Returns the figures of `tree_rates` for a file, by their keys in `figure_keys.BUILDERS`."""
    names = ("kernel", "kind", "rays", "rate", "least", "most", "relative")
    return [
        {"builder": builder, **{name: getattr(one, name) for name in names}}
        | {"sah_cost": cost, "compared": one.compared, "wrong": str(one.wrong) if one.wrong else None}
        for builder, one, cost in _costed(found)
    ]


def _costed(found: Mapping[str, Comparison]) -> Iterator[tuple[str, KernelMeasurement, float]]:
    """Yields each measurement with its builder, and the cost of its tree by the surface area heuristic."""
    for builder, compared in found.items():
        costs = {facts.kernel: facts.sah_cost for facts in compared.kernels}
        for one in compared.measurements:
            yield builder, one, costs[one.kernel]


def rate_table(found: Mapping[str, Comparison]) -> str:
    """Returns a line for each kernel and builder, with the cost of the tree and a column for each kind of rays: Mrays/s
    with their range, and how many times the rate on the default builder's tree. Then a line for each that is wrong.
    """
    rows: dict[tuple[str, str], list[str]] = {}
    first = next(iter(found.values()))
    for kernel in first.kernel_names:
        for builder, one, cost in _costed(found):
            if one.kernel == kernel:
                rows.setdefault((kernel, builder), [kernel, builder, number(cost)]).append(rate_cell(one))
    lines = [
        f"Struck out: {one.kernel} on the tree of {builder}, {one.kind}, whose hits are wrong: {one.wrong}."
        for builder, one, _ in _costed(found)
        if one.wrong
    ]
    return "\n".join([aligned([["kernel, Mrays/s", "builder", "SAH cost", *first.kinds], *rows.values()]), *lines])
