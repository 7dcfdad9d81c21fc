"""Kernels are measured on the trees of each builder, with the same rays."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from renderer.bench.kernel_benchmark import Comparison, KernelFacts, Measurement, over_views
from renderer.bench.table import aligned, number, ranged
from tracecore import Device
from tracecore.bvh.builders import BUILDERS

#: What is told of each kernel, one after the other.
Steps = Iterable[tuple[KernelFacts, list[Measurement]]]

#: Kinds of rays that trees are compared on: coherent, incoherent, and those of photons.
KINDS = ("primary", "bounce1", "photon")


@dataclass(frozen=True, kw_only=True)
class TreeRate:
    """Holds the rate of a kernel on the tree of a builder.

    rate, least, most: median and range of rounds, over all view points, in millions of rays per second.
    relative: the rate over that of the default builder's tree, with the same kernel and rays.
    sah_cost: expected cost of a ray by the surface area heuristic, of the tree as the kernel traverses it.
    """

    builder: str
    kernel: str
    kind: str
    rays: int
    rate: float
    least: float
    most: float
    relative: float
    sah_cost: float


def tree_rates(device: Device, measured: Callable[[str], Steps]) -> list[TreeRate]:
    """Returns the rates of kernels on the trees of all builders that renders can choose, the default first.

    measured: measures all kernels, by `kernel_benchmark.compare`, on trees of the builder of a name.
    """
    return list(_over_default({builder: _compared(device, measured(builder)) for builder in BUILDERS}))


def _compared(device: Device, steps: Steps) -> Comparison:
    """Returns what was measured on the trees of one builder, over all view points."""
    facts, measurements = zip(*steps, strict=True)
    return over_views(
        Comparison(
            device=device,
            baseline=facts[0].kernel,
            kernels=facts,
            measurements=tuple(one for of_kernel in measurements for one in of_kernel),
        )
    )


def _over_default(found: Mapping[str, Comparison]) -> Iterator[TreeRate]:
    """Yields the rates, builder after builder."""
    defaults = {(one.kernel, one.kind): one.rate for one in found[next(iter(BUILDERS))].measurements}
    for builder, compared in found.items():
        costs = {facts.kernel: facts.sah_cost for facts in compared.kernels}
        for one in compared.measurements:
            yield TreeRate(
                builder=builder,
                kernel=one.kernel,
                kind=one.kind,
                rays=one.rays,
                rate=one.rate,
                least=one.least,
                most=one.most,
                relative=one.rate / defaults[one.kernel, one.kind],
                sah_cost=costs[one.kernel],
            )


def rate_table(rates: Sequence[TreeRate]) -> str:
    """Returns a line for each kernel and builder, with the cost of the tree and a column for each kind of rays: Mrays/s
    with their range, and how many times the rate on the default builder's tree.
    """
    kinds = list(dict.fromkeys(one.kind for one in rates))
    cells = {(one.kernel, one.builder, one.kind): f"{ranged(one)} {one.relative:.2f}x" for one in rates}
    costs = {(one.kernel, one.builder): number(one.sah_cost) for one in rates}
    rows = [
        [kernel, builder, costs[kernel, builder], *(cells[kernel, builder, kind] for kind in kinds)]
        for kernel in dict.fromkeys(one.kernel for one in rates)
        for builder in dict.fromkeys(one.builder for one in rates)
    ]
    return aligned([["kernel, Mrays/s", "builder", "SAH cost", *kinds], *rows])
