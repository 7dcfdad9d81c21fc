"""Kernels are measured on the trees of each builder, with the same rays."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from renderer.bench.kernel_benchmark import Comparison, KernelFacts, Measurement, over_views
from renderer.bench.table import MISSING, STRUCK_OUT, aligned, number, ranged
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
    relative: the rate over that of the default builder's tree, with the same kernel and rays; None where the hits on
    one of them are wrong.
    sah_cost: expected cost of a ray by the surface area heuristic, of the tree as the kernel traverses it.
    compared: how many rays had their hits compared with the CPU's.
    wrong: the first wrong ray in words; the rate counts for nothing then. None where all are right.
    """

    builder: str
    kernel: str
    kind: str
    rays: int
    rate: float
    least: float
    most: float
    relative: float | None
    sah_cost: float
    compared: int
    wrong: str | None


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
    right = (one for one in found[next(iter(BUILDERS))].measurements if not one.wrong)
    defaults = {(one.kernel, one.kind): one.rate for one in right}
    for builder, compared in found.items():
        costs = {facts.kernel: facts.sah_cost for facts in compared.kernels}
        for one in compared.measurements:
            default = None if one.wrong else defaults.get((one.kernel, one.kind))
            yield TreeRate(
                builder=builder,
                kernel=one.kernel,
                kind=one.kind,
                rays=one.rays,
                rate=one.rate,
                least=one.least,
                most=one.most,
                relative=None if default is None else one.rate / default,
                sah_cost=costs[one.kernel],
                compared=one.compared,
                wrong=str(one.wrong) if one.wrong else None,
            )


def rate_table(rates: Sequence[TreeRate]) -> str:
    """Returns a line for each kernel and builder, with the cost of the tree and a column for each kind of rays: Mrays/s
    with their range, and how many times the rate on the default builder's tree. Then a line for each that is wrong.
    """
    kinds = list(dict.fromkeys(one.kind for one in rates))
    cells = {(one.kernel, one.builder, one.kind): _cell(one) for one in rates}
    costs = {(one.kernel, one.builder): number(one.sah_cost) for one in rates}
    rows = [
        [kernel, builder, costs[kernel, builder], *(cells[kernel, builder, kind] for kind in kinds)]
        for kernel in dict.fromkeys(one.kernel for one in rates)
        for builder in dict.fromkeys(one.builder for one in rates)
    ]
    lines = [
        f"Struck out: {one.kernel} on the tree of {one.builder}, {one.kind}, whose hits are wrong: {one.wrong}."
        for one in rates
        if one.wrong
    ]
    return "\n".join([aligned([["kernel, Mrays/s", "builder", "SAH cost", *kinds], *rows]), *lines])


def _cell(one: TreeRate) -> str:
    if one.wrong:
        return STRUCK_OUT
    return f"{ranged(one)} {MISSING if one.relative is None else f'{one.relative:.2f}x'}"
